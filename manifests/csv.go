package manifests

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	slashpath "path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// keysFrom reads spec.stockKeysFrom and the CSV file it names. The file must have the digest that the manifest gives,
// or its content is not looked at.
func (w *walker) keysFrom(n *yaml.Node, path string) ([]locatedKey, string, bool) {
	m, ok := w.mapping(n, path, "file", "sha256")
	if !ok {
		return nil, "", false
	}
	file, okFile := w.text(m, "file", true, func(s string) string {
		if !fs.ValidPath(s) || s == "." {
			return fmt.Sprintf("want a path below the manifest's folder, with forward slashes and without .., got %s", quote(s))
		}
		return ""
	})
	want, okDigest := w.text(m, "sha256", true, checkSHA256)
	if !okFile || !okDigest {
		return nil, "", false
	}
	if w.readFile == nil {
		w.report(m.values["file"], path+".file", "a manifest read from here cannot name a file")
		return nil, "", false
	}
	data, err := w.readFile(file)
	if err != nil {
		w.report(m.values["file"], path+".file", "%v", err)
		return nil, "", false
	}
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); got != want {
		w.report(m.values["sha256"], path+".sha256", "%s has the digest %s: it is not the file this manifest was written for", file, got)
		return nil, "", false
	}
	shown := slashpath.Join(slashpath.Dir(w.problems.file), file)
	keys, ok := readKeys(w.problems, shown, data)
	return keys, shown, ok
}

// keyReader reads one stock-key file.
type keyReader struct {
	problems *collector
	file     string
	csv      *csv.Reader
}

// readKeys parses a stock-key file: RFC 4180, UTF-8, header item,location,openingBalance,reorderThreshold. Lines with
// a fault are left out; false means that there is nothing to go on with.
func readKeys(c *collector, file string, data []byte) ([]locatedKey, bool) {
	data = bytes.TrimPrefix(data, byteOrderMark)
	r := &keyReader{problems: c, file: file, csv: csv.NewReader(bytes.NewReader(data))}
	r.csv.ReuseRecord = true
	r.csv.FieldsPerRecord = len(keyFields)
	header, err := r.csv.Read()
	if errors.Is(err, io.EOF) {
		r.report(1, 1, "", "the file is empty")
		return nil, false
	}
	if err != nil && !errors.Is(err, csv.ErrFieldCount) {
		r.reportError(err)
		return nil, false
	}
	if !slices.Equal(header, keyFields) {
		r.report(1, 1, "", fmt.Sprintf("want the header %s, got %s", strings.Join(keyFields, ","), quote(strings.Join(header, ","))))
		return nil, false
	}
	keys := make([]locatedKey, 0, bytes.Count(data, []byte("\n")))
	for {
		record, err := r.csv.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			r.reportError(err)
			if errors.Is(err, csv.ErrFieldCount) {
				continue
			}
			return nil, false
		}
		if k, ok := r.key(record); ok {
			keys = append(keys, k)
		}
		if len(keys) > StockKeysMax {
			r.report(1, 1, "", fmt.Sprintf("more than %d stock keys", StockKeysMax))
			return nil, false
		}
	}
	if len(keys) == 0 && len(c.kept) == 0 {
		r.report(1, 1, "", "want at least one stock key")
	}
	return keys, true
}

// key reads one record; all its faults are reported.
func (r *keyReader) key(record []string) (locatedKey, bool) {
	ok := true
	fail := func(i int, message string) {
		if message == "" {
			return
		}
		ok = false
		line, column := r.csv.FieldPos(i)
		r.report(line, column, keyFields[i], message)
	}
	for i, part := range record[:2] {
		message := checkKeyPart(part)
		if message == "" && strings.ContainsAny(part, "\r\n") {
			message = "a line break is not possible in a stock-key file, got " + quote(part)
		}
		fail(i, message)
	}
	opening, message := parseInteger(record[2], math.MinInt64, math.MaxInt64)
	fail(2, message)
	threshold, message := parseInteger(record[3], math.MinInt64, math.MaxInt64)
	fail(3, message)
	line, column := r.csv.FieldPos(0)
	return locatedKey{
		StockKey: StockKey{Item: record[0], Location: record[1], OpeningBalance: opening, ReorderThreshold: threshold},
		line:     int32(line), column: int32(column)}, ok
}

func (r *keyReader) report(line, column int, field, message string) {
	r.problems.add(Problem{File: r.file, Line: line, Column: column, Path: field, Message: message})
}

// reportError reports a fault of the CSV syntax.
func (r *keyReader) reportError(err error) {
	var syntax *csv.ParseError
	if !errors.As(err, &syntax) {
		r.report(1, 1, "", "not valid CSV: "+err.Error())
		return
	}
	message := "not valid CSV: " + syntax.Err.Error()
	if errors.Is(err, csv.ErrFieldCount) {
		message = "want the fields " + strings.Join(keyFields, ",")
	}
	r.report(syntax.Line, syntax.Column, "", message)
}
