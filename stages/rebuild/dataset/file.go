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

// readRows is how many rows are decoded at once.
const readRows = 1 << 10

// rowsOf yields the rows of one file after proving that it is the file that derived.json describes. A yielded row is valid
// until the next one.
func rowsOf[T any](ctx context.Context, s *Set, table string, partition int32) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		f := s.describe(table, partition)
		if err := s.each(ctx, f, func(file *os.File) error { return stream(ctx, file, f, yield) }); err != nil && !errors.Is(err, errEnough) {
			yield(nil, err)
		}
	}
}

// errEnough ends a stream whose consumer wants no more.
var errEnough = errors.New("enough")

// each opens a file, verifies its digest where that was not done before, and runs read. The Parquet library may panic on
// damaged bytes, which must not end the process (B103).
func (s *Set) each(ctx context.Context, f *description, read func(*os.File) error) (err error) {
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
func (s *Set) verify(ctx context.Context, f *description, file *os.File) error {
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
func stream[T any](ctx context.Context, file *os.File, f *description, yield func(*T, error) bool) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	p, err := parquet.OpenFile(file, info.Size())
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
	reader := parquet.NewGenericReader[T](p)
	defer func() { _ = reader.Close() }() // read only
	return drain(ctx, reader, f.Rows, yield)
}

// drain yields every row of a reader.
func drain[T any](ctx context.Context, reader *parquet.GenericReader[T], want int64, yield func(*T, error) bool) error {
	rows, read := make([]T, readRows), int64(0)
	for {
		n, err := reader.Read(rows)
		read += int64(n)
		for i := range rows[:n] {
			if !yield(&rows[i], nil) {
				return errEnough
			}
		}
		switch {
		case errors.Is(err, io.EOF) && read == want:
			return ctx.Err()
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%d of %d rows could be read", read, want)
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
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
			if codec := metadata.RowGroups[i].Columns[j].MetaData.Codec; codec != format.Zstd {
				return fmt.Errorf("row group %d, column %d is compressed with %v, not zstd", i, j, codec)
			}
		}
	}
	return nil
}
