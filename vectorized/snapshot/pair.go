package snapshot

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"path/filepath"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/lz4"
)

// limits bound row groups and files. A row group is held in memory by its writer, one per partition, and by its reader.
type limits struct {
	// groupRows and groupBytes, the latter of keys and values, end a row group; fileGroups row groups end a file.
	groupRows, groupBytes, fileGroups int
}

// standard are the limits of real exports: files of up to 2 million records or 256 MiB.
var standard = limits{groupRows: 1 << 17, groupBytes: 16 << 20, fileGroups: 16}

// pageBytes ends a page: one of integers or short texts holds a row group.
const pageBytes = 4 << 20

// fast is the codec of typed columns that are worth compressing and are read on each run.
var fast = &lz4.Codec{Level: lz4.Fastest}

// parquetFile is one Parquet file being written.
type parquetFile struct {
	path   string
	file   file
	digest hash.Hash
	buffer *bufio.Writer
	rows   *parquet.GenericWriter[any]
}

// createParquet begins a file; the codec is that of columns whose tag names none.
func createParquet(s storage, path string, schema *parquet.Schema, codec compress.Codec) (*parquetFile, error) {
	f, err := s.create(path)
	if err != nil {
		return nil, err
	}
	p := &parquetFile{path: path, file: f, digest: sha256.New(), buffer: bufio.NewWriterSize(f, 1<<18)}
	p.rows = parquet.NewGenericWriter[any](p, schema, parquet.Compression(codec), parquet.PageBufferSize(pageBytes), parquet.DataPageStatistics(false),
		parquet.SkipPageBounds("item"), parquet.SkipPageBounds("location"), parquet.SkipPageBounds("txn_id"), parquet.SkipPageBounds("kind"),
		parquet.SkipPageBounds("reject_reason"), parquet.SkipPageBounds("key"), parquet.SkipPageBounds("value"))
	return p, nil
}

// Write digests and buffers what the Parquet writer puts out.
func (p *parquetFile) Write(data []byte) (int, error) {
	n, err := p.buffer.Write(data)
	_, _ = p.digest.Write(data[:n]) // a hash never fails
	return n, err
}

// finish completes the file and makes it durable.
func (p *parquetFile) finish() error {
	err := p.rows.Close()
	if err == nil {
		err = p.buffer.Flush()
	}
	if err == nil {
		err = p.file.Sync()
	}
	return errors.Join(err, p.file.Close())
}

// sum is the digest of a complete file.
func (p *parquetFile) sum() string { return hex.EncodeToString(p.digest.Sum(nil)) }

// pair is the typed and the raw file of one range of a partition, being written; raw is nil in a set without raw files.
type pair struct {
	limits            limits
	part, raw         *parquetFile
	partition         int32
	first, last, rows int64
	groups            int // that are complete
}

// newPair begins the n-th files of a partition.
func newPair(w *Writer, partition int32, n int) (*pair, error) {
	p := &pair{limits: w.limits, partition: partition}
	var err error
	if p.part, err = createParquet(w.storage, filepath.Join(w.folder, fileName(KindTyped, partition, n)), partSchema, fast); err != nil {
		return nil, err
	}
	if !w.index.Raw {
		return p, nil
	}
	if p.raw, err = createParquet(w.storage, filepath.Join(w.folder, fileName(KindRaw, partition, n)), rawSchema, &parquet.Zstd); err != nil {
		return nil, errors.Join(err, p.part.file.Close(), w.storage.remove(p.part.path))
	}
	return p, nil
}

// endGroup ends a row group.
func (p *pair) endGroup() error {
	p.groups++
	err := p.part.rows.Flush()
	if err == nil && p.raw != nil {
		err = p.raw.rows.Flush()
	}
	return err
}

// full reports whether the next record belongs into new files.
func (p *pair) full() bool { return p.groups >= p.limits.fileGroups }

// finish completes both files, makes them durable and describes them.
func (p *pair) finish() ([]File, error) {
	err := p.part.finish()
	if p.raw != nil {
		err = errors.Join(err, p.raw.finish())
	}
	if err != nil {
		return nil, err
	}
	describe := func(f *parquetFile) File {
		return File{
			Name: filepath.Base(f.path), Partition: p.partition, FirstOffset: p.first, LastOffset: p.last, Rows: p.rows,
			SHA256: f.sum(),
		}
	}
	if p.raw == nil {
		return []File{describe(p.part)}, nil
	}
	return []File{describe(p.part), describe(p.raw)}, nil
}

// discard removes the files, complete or not.
func (p *pair) discard(s storage) error {
	var errs []error
	for _, f := range []*parquetFile{p.part, p.raw} {
		if f != nil {
			_ = f.file.Close() // it may be closed already
			errs = append(errs, s.remove(f.path))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove incomplete files: %w", err)
	}
	return nil
}
