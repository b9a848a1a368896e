package dataset

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"amends.dev/amends/stages/rebuild"
)

// readRows is how many rows are yielded between two looks at the context.
const readRows = 1 << 12

// rowsOf yields the rows of one file after proving that it is the file that derived.json describes; view fills in a row. A
// yielded row is valid until the next one.
func rowsOf[T any](ctx context.Context, s *Set, table string, partition int32, view func(group, int, *T)) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		f := s.describe(table, partition)
		if err := s.each(ctx, f, func(file *os.File) error { return stream(ctx, file, f, view, yield) }); err != nil && !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}
}

// errEnough ends a stream whose consumer wants no more.
var errEnough = errors.New("enough")

// each opens a file, verifies its digest where that was not done before, and runs read. The Parquet library may panic on
// damaged bytes, which must not end the process (B103).
func (s *Set) each(ctx context.Context, f *File, read func(*os.File) error) (err error) {
	path := filepath.Join(s.dir, f.Name)
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %s: the Parquet reader panicked: %v", rebuild.ErrDataset, path, cause)
		}
	}()
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("%w: %w", rebuild.ErrDataset, err)
	}
	defer func() { _ = file.Close() }() // read only
	if err := s.verify(ctx, f, file); err != nil {
		return fmt.Errorf("%w: %s: %w", rebuild.ErrDataset, path, err)
	}
	err = read(file)
	if err != nil && !errors.Is(err, errEnough) && ctx.Err() == nil {
		return fmt.Errorf("%w: %s: %w", rebuild.ErrDataset, path, err)
	}
	return err
}

// verify compares the SHA-256 of a whole file, once.
func (s *Set) verify(ctx context.Context, f *File, file *os.File) error {
	s.mu.Lock()
	known := s.verified[f.Name]
	s.mu.Unlock()
	if known {
		return nil
	}
	digest := sha256.New()
	if _, err := io.Copy(digest, file); err != nil {
		return err
	}
	if got := hex.EncodeToString(digest.Sum(nil)); got != f.SHA256 {
		return fmt.Errorf("the file was changed: its SHA-256 is %s, %s says %s", got, indexName, f.SHA256)
	}
	s.mu.Lock()
	s.verified[f.Name] = true
	s.mu.Unlock()
	return ctx.Err()
}

// stream decodes a file.
func stream[T any](ctx context.Context, file *os.File, f *File, view func(group, int, *T), yield func(*T, error) bool) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	p, err := parquet.OpenFile(file, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	if want := parquet.SchemaOf(*new(T)).Fields(); !sameFields(p.Schema().Fields(), want) {
		return errors.New("its columns are not those of its table")
	}
	if p.NumRows() != f.Rows {
		return fmt.Errorf("it has %d rows, %s says %d", p.NumRows(), indexName, f.Rows)
	}
	if err := checkCodecs(p.Metadata()); err != nil {
		return err
	}
	return drain(ctx, p, view, yield)
}

// drain yields every row of a file.
func drain[T any](ctx context.Context, p *parquet.File, view func(group, int, *T), yield func(*T, error) bool) error {
	var row T
	columns := make(group, len(p.Schema().Fields()))
	defer func() { columns.close() }()
	for _, rows := range p.RowGroups() {
		columns.close()
		columns.open(rows)
		for left := rows.NumRows(); left > 0; {
			n, err := columns.batch(min(left, readRows))
			if err != nil {
				return err
			}
			for i := range n {
				if view(columns, i, &row); !yield(&row, nil) {
					return errEnough
				}
			}
			columns.advance(n)
			if left -= int64(n); ctx.Err() != nil {
				return ctx.Err()
			}
		}
		if err := columns.finish(); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// sameFields compares columns by name, type and order.
func sameFields(got, want []parquet.Field) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range want {
		if got[i].Name() != want[i].Name() || !got[i].Required() || got[i].Type().Kind() != want[i].Type().Kind() || got[i].Type().String() != want[i].Type().String() {
			return false
		}
	}
	return true
}

// checkCodecs refuses compressions whose decoders allocate without bound on hostile bytes.
func checkCodecs(metadata *format.FileMetaData) error {
	for i := range metadata.RowGroups {
		for j := range metadata.RowGroups[i].Columns {
			if codec := metadata.RowGroups[i].Columns[j].MetaData.Codec; codec != format.Zstd && codec != format.Uncompressed {
				return fmt.Errorf("row group %d, column %d is compressed with %v, not zstd", i, j, codec)
			}
		}
	}
	return nil
}
