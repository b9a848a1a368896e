package pgview

// labels is a query of the trust that the view's readers are shown (R13) where it contradicts the key_status that the
// same snapshot holds: rows of item, location, status, reasons, revisions and the position 1, which is behind that of
// the key's own status. None where the SQL views are as they were created.
func labels(schema string) string {
	return shown(schema, "balances") + ` UNION ALL ` + shown(schema, "alerts") + ` UNION ALL ` +
		certified(schema, "balances", "close") + ` UNION ALL ` + certified(schema, "alerts", "close, threshold")
}

// shown selects the keys that an SQL view labels otherwise than key_status does.
func shown(schema, view string) string {
	return `SELECT f.item, f.location, '` + view + ` shows ' || coalesce(f.key_status, 'no status') ||
			CASE WHEN f.certified THEN ', certified' ELSE ', not certified' END, '{}'::text[], '{}'::bigint[], 1
		FROM (SELECT DISTINCT item, location, key_status, certified FROM ` + table(schema, view) + `) f
		LEFT JOIN ` + table(schema, "stock_key") + ` k USING (item, location) LEFT JOIN ` + table(schema, "key_status") + ` s USING (key_id)
		WHERE f.key_status IS DISTINCT FROM coalesce(s.status, 'READY')
			OR f.certified IS DISTINCT FROM (coalesce(s.status, 'READY') = 'READY')`
}

// certified selects the keys of which an SQL view and its certified form show different certified rows: other counts, or
// other sums over the rows' hashes, which one pass without a sort finds.
func certified(schema, view, columns string) string {
	rows := func(sign, from string) string { // halved, a hash can change its sign
		return `SELECT item, location, ` + sign + ` AS sign, hashtextextended(ROW(day, ` + columns + `)::text, 0) >> 1 AS hash FROM ` + from
	}
	return `SELECT item, location, '` + view + `_certified is not the certified part of ` + view + `', '{}'::text[], '{}'::bigint[], 1
		FROM (` + rows(`1`, table(schema, view)+` WHERE certified`) + ` UNION ALL ` + rows(`-1`, table(schema, view+"_certified")) + `) d
		GROUP BY item, location HAVING sum(sign) <> 0 OR sum(sign * hash) <> 0`
}
