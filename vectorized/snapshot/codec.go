package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

// slack is the number of bytes behind the values of a page that kernels may read beyond them.
const slack = 8

// maxPage bounds the bytes of a page. Writers make pages of a megabyte.
const maxPage = 1 << 28

// expansion is how many bytes one compressed byte can stand for at most: a page that declares more is damaged, and no
// memory is taken for it.
var expansion = map[format.CompressionCodec]int{
	format.Uncompressed: 1,
	format.Snappy:       32,      // a copy of 64 bytes takes two or three
	format.Lz4Raw:       256,     // 255 more of a length take one
	format.Gzip:         1_100,   // a match of 258 bytes takes two bits
	format.Zstd:         1 << 15, // a block of up to 128 KiB takes at least four
}

// checkCodec refuses a compression that is not read.
func checkCodec(codec format.CompressionCodec) error {
	if _, ok := expansion[codec]; !ok {
		return fmt.Errorf("it is compressed with %v, not zstd, lz4_raw, snappy, gzip or nothing", codec)
	}
	return nil
}

// errSize says that a page holds another number of bytes than its header says.
var errSize = errors.New("a page does not hold as many bytes as its header says")

// zstdDecoder decodes whole pages, many at a time. It has no goroutines of its own.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true), zstd.WithDecoderMaxMemory(maxPage+1<<20))
})

// decompressor decompresses pages. Its memory is reused; it is for one goroutine.
type decompressor struct {
	buffer []byte
	gzip   gzip.Reader
}

// page decompresses a page of n bytes. The result has slack bytes of capacity behind it and is valid until the next call.
func (d *decompressor) page(codec format.CompressionCodec, data []byte, n int) ([]byte, error) {
	if n > maxPage || n > expansion[codec]*(len(data)+1) {
		return nil, fmt.Errorf("a page of %d bytes cannot hold %d", len(data), n)
	}
	if cap(d.buffer) < n+2*slack {
		d.buffer = make([]byte, n+n/4+2*slack)
	}
	return decompress(d.buffer, codec, data, n, &d.gzip)
}

// decompress decompresses n bytes into a buffer that is longer than that by at least two slacks.
func decompress(to []byte, codec format.CompressionCodec, data []byte, n int, unzip *gzip.Reader) ([]byte, error) {
	to = to[: n+slack : n+2*slack]
	var got int
	switch codec {
	case format.Zstd:
		decoder, err := zstdDecoder()
		if err != nil {
			return nil, err
		}
		out, err := decoder.DecodeAll(data, to[:0])
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		got = len(out)
	case format.Snappy:
		if size, err := snappy.DecodedLen(data); err != nil || size != n {
			return nil, errors.Join(errSize, err)
		}
		if _, err := snappy.Decode(to, data); err != nil {
			return nil, err
		}
		got = n
	case format.Lz4Raw:
		var err error
		if got, err = lz4.UncompressBlock(data, to[:n]); err != nil {
			return nil, fmt.Errorf("lz4: %w", err)
		}
	case format.Gzip:
		if err := unzip.Reset(bytes.NewReader(data)); err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		var err error
		if got, err = io.ReadFull(unzip, to[:n+1]); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("gzip: %w", err)
		}
	default:
		got = copy(to, data)
	}
	if got != n {
		return nil, errSize
	}
	return to[:n], nil
}
