package oracletest

import "strings"

// memberRecords are faults of values, of routing, and values at their bounds.
func memberRecords() []hostile {
	number := func(row, old, replacement, reason string) hostile {
		return hostile{row, old, old[:strings.Index(old, ":")+1] + replacement, nil, reason}
	}
	txn := func(row, id, reason string) hostile { return hostile{row, `"t1"`, `"` + id + `"`, nil, reason} }
	stock := func(row, item, reason string) hostile {
		return hostile{row, `"item":"widget"`, `"item":"` + item + `"`, nil, reason}
	}
	key := func(row string, key []byte) hostile { return hostile{row, `"t1"`, `"t2"`, key, "key_mismatch"} }
	odd := `{"item":"<b>&\u2028\"\\\b\t\n\f\r\u0001\u001f\u007f","location":"\u00e9"}`
	const zeros = "000000000000000000000000000000"
	return []hostile{
		number("B069 fraction", `"qty":-5`, "1.0", "wrong_type"),
		number("B069 exponent", `"qty":-5`, "1e2", "wrong_type"),
		number("B069 huge exponent", `"qty":-5`, "1E+400", "wrong_type"),
		number("B069 string", `"qty":-5`, `"5"`, "wrong_type"),
		number("B069 above int64", `"qty":-5`, "9223372036854775808", "qty_out_of_range"),
		number("B069 below int64", `"qty":-5`, "-9223372036854775809", "qty_out_of_range"),
		number("B069 wraps to 1", `"qty":-5`, "18446744073709551617", "qty_out_of_range"),
		number("B069 very long", `"qty":-5`, "1"+strings.Repeat(zeros, 50), "qty_out_of_range"),
		number("B069 minus zero", `"qty":-5`, "-0", ""),
		number("B069 leading zero", `"qty":-5`, "007", "invalid_json"),
		number("B069 NaN", `"qty":-5`, "NaN", "invalid_json"),
		number("B069 plus", `"qty":-5`, "+5", "invalid_json"),
		number("B069 bare point", `"qty":-5`, "1.", "invalid_json"),
		number("B069 no integer part", `"qty":-5`, ".5", "invalid_json"),
		number("B069 bare exponent", `"qty":-5`, "1e", "invalid_json"),
		number("B069 bare minus", `"qty":-5`, "-", "invalid_json"),
		number("B069 hex", `"qty":-5`, "0x10", "invalid_json"),
		number("B068 above 2^53", `"qty":-5`, "9007199254740993", ""),
		number("B087 MinInt64", `"qty":-5`, "-9223372036854775808", ""),
		number("B087 MaxInt64", `"qty":-5`, "9223372036854775807", ""),
		number("B088 MaxInt64", `"revision":1`, "9223372036854775807", ""),
		number("B088 above", `"revision":1`, "9223372036854775808", "revision_out_of_range"),
		number("B088 zero", `"revision":1`, "0", "revision_out_of_range"),
		number("B088 minus zero", `"revision":1`, "-0", "revision_out_of_range"),
		number("B088 negative", `"revision":1`, "-1", "revision_out_of_range"),
		number("B088 fraction", `"revision":1`, "1.5", "wrong_type"),
		txn("B046 NUL", `a\u0000b`, "invalid_txn_id"),
		txn("B046 without NUL", `ab`, ""),
		txn("B045 empty", ``, "invalid_txn_id"),
		txn("B045 256 bytes", strings.Repeat("x", 256), ""),
		txn("B045 257 bytes", strings.Repeat("x", 257), "invalid_txn_id"),
		txn("B045 256 bytes of escapes", strings.Repeat(`\u00e9`, 128), ""),
		txn("B045 258 bytes of escapes", strings.Repeat(`\u00e9`, 129), "invalid_txn_id"),
		txn("R05 noncharacter", `\uffff\ufdd0`, ""),
		stock("B074 NFD", `e\u0301`, "unknown_stock_key"),
		stock("R05 empty item", ``, "unknown_stock_key"),
		stock("R05 long item", strings.Repeat("x", 129), "unknown_stock_key"),
		stock("B046 NUL in item", `wid\u0000get`, "unknown_stock_key"),
		stock("R05 trailing space", `widget `, "unknown_stock_key"),
		stock("escaped item", `\u0077idget`, ""),
		{"kind case", `"NEW"`, `"new"`, nil, "invalid_kind"},
		{"kind unknown", `"NEW"`, `"DELETE"`, nil, "invalid_kind"},
		{"kind empty", `"NEW"`, `""`, nil, "invalid_kind"},
		{"kind escaped", `"NEW"`, `"N\u0045W"`, nil, ""},
		{"B100 cancel with quantity", `"NEW"`, `"CANCEL"`, nil, "cancel_nonzero_qty"},
		{"B100 cancel", `"kind":"NEW"`, `"kind":"CANCEL"`, nil, "cancel_nonzero_qty"},
		{"origin", `"valid_time":"2026-01-01T00:00:00Z"`, `"valid_time":"1959-12-31T23:59:59.999999999Z"`, nil, "before_ledger_origin"},
		{"origin after the shift", `"valid_time":"2026-01-01T00:00:00Z"`, `"valid_time":"1960-01-01T00:00:00+00:01"`, nil, "before_ledger_origin"},
		{"origin does not bind source_time", `"source_time":"2026-01-01T00:00:00Z"`, `"source_time":"1677-09-21T00:12:43.145224192Z"`, nil, ""},
		{"origin bound", `"valid_time":"2026-01-01T00:00:00Z"`, `"valid_time":"1677-09-21T00:12:43.145224192Z"`, nil, "before_ledger_origin"},
		key("R05 empty key", []byte{}),
		key("R05 spaced key", []byte(`["widget", "berlin"]`)),
		key("R05 escaped key", []byte(`["widge\u0074","berlin"]`)),
		key("R05 other key", []byte(`["berlin","widget"]`)),
		{"B076 exact key", `{"item":"widget","location":"berlin"}`, odd,
			[]byte("[\"<b>&\u2028\\\"\\\\\\b\\t\\n\\f\\r\\u0001\\u001f\u007f\",\"é\"]"), ""},
		{"B076 HTML-escaped key", `{"item":"widget","location":"berlin"}`, odd,
			[]byte("[\"\\u003cb\\u003e\\u0026\\u2028\\\"\\\\\\b\\t\\n\\f\\r\\u0001\\u001f\u007f\",\"é\"]"), "key_mismatch"},
		{"B076 upper-case escapes", `{"item":"widget","location":"berlin"}`, odd,
			[]byte("[\"<b>&\u2028\\\"\\\\\\b\\t\\n\\f\\r\\u0001\\u001F\u007f\",\"é\"]"), "key_mismatch"},
	}
}
