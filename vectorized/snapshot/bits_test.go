package snapshot

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// padded has slack behind the bytes, with something in it.
func padded(b []byte) []byte {
	return append(slices.Clone(b), 0xA5, 0x5A, 0xFF, 1, 2, 3, 0x80, 0x7F)[:len(b)]
}

// bit is one bit of packed numbers, the lowest first.
func bit(data []byte, n int) uint64 { return uint64(data[n/8]) >> (n % 8) & 1 }

// naiveUnpack unpacks numbers bit by bit.
func naiveUnpack(data []byte, width, n int) []uint64 {
	all := make([]uint64, n)
	for i := range all {
		for b := range width {
			all[i] |= bit(data, i*width+b) << b
		}
	}
	return all
}

// noise are random bytes.
func noise(random *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

// TestUnpackTwins compares the unpacking kernels with bit by bit twins, in all widths and lengths.
func TestUnpackTwins(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for width := range 65 {
		for n := range 70 {
			data := noise(random, (n*width+7)/8)
			want := naiveUnpack(data, width, n)
			if width <= 32 {
				codes, highest := make([]int32, n), uint64(0)
				got := unpackCodes(codes, beyond(padded(data)), uint(width))
				for i, v := range want {
					highest = max(highest, v)
					if uint32(codes[i]) != uint32(v) {
						t.Fatalf("width %d, code %d of %d: %d, want %d", width, i, n, codes[i], v)
					}
				}
				if uint64(got) != highest {
					t.Fatalf("width %d: highest %d, want %d", width, got, highest)
				}
				compareDeltas[int32](t, data, width, want, int32(random.Uint32()), int32(random.Uint32()))
			}
			compareDeltas[int64](t, data, width, want, int64(random.Uint64()), int64(random.Uint64()))
		}
	}
}

// compareDeltas compares unpackDeltas with sums of what was unpacked bit by bit.
func compareDeltas[T int32 | int64](t *testing.T, data []byte, width int, packed []uint64, low, last T) {
	t.Helper()
	got := make([]T, len(packed))
	end := unpackDeltas(got, beyond(padded(data)), uint(width), low, last)
	for i, v := range packed {
		last += low + T(v)
		if got[i] != last {
			t.Fatalf("width %d, value %d of %d: %d, want %d", width, i, len(packed), got[i], last)
		}
	}
	if end != last {
		t.Fatalf("width %d: the last is %d, want %d", width, end, last)
	}
}

// TestEncodingTwins decodes what the Parquet library encodes, in steps of all sizes.
func TestEncodingTwins(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	for shift := range 64 {
		for _, n := range []int{0, 1, 2, 31, 32, 33, 127, 128, 129, 130, 1000} {
			wide, small := make([]int64, n), make([]int32, n)
			for i := range wide {
				wide[i], small[i] = int64(random.Uint64()>>shift), int32(random.Uint32()>>(shift/2))
			}
			data, err := parquet.DeltaBinaryPacked.EncodeInt64(nil, wide)
			if err != nil {
				t.Fatal(err)
			}
			got, rest, err := appendDeltas([]int64{7}, padded(data), n)
			if err != nil || len(rest) != 0 || got[0] != 7 || !slices.Equal(got[1:], wide) {
				t.Fatalf("%d of shift %d: %v, %d bytes left", n, shift, err, len(rest))
			}
			if data, err = parquet.DeltaBinaryPacked.EncodeInt32(nil, small); err != nil {
				t.Fatal(err)
			}
			narrow, rest, err := appendDeltas([]int32(nil), padded(data), n)
			if err != nil || len(rest) != 0 || !slices.Equal(narrow, small) {
				t.Fatalf("%d int32 of shift %d: %v, %d bytes left", n, shift/2, err, len(rest))
			}
			codes := make([]int32, n)
			width := shift%32 + 1
			for i := range codes { // runs and changes
				if codes[i] = int32(uint32(wide[i]) & (1<<width - 1)); i%100 > 40 {
					codes[i] = codes[i-1]
				}
				codes[i] &= 0x7FFFFFFF
			}
			if data, err = parquet.RLEDictionary.EncodeInt32(nil, codes); err != nil {
				t.Fatal(err)
			}
			back, err := appendCodes(nil, padded(data), n, 1<<31)
			if err != nil || !slices.Equal(back, codes) {
				t.Fatalf("%d codes of %d bits: %v", n, width, err)
			}
			if n > 0 {
				if _, err := appendCodes(nil, padded(data), n, int(slices.Max(codes))); err == nil {
					t.Fatalf("%d codes of %d bits: one outside its dictionary was taken", n, width)
				}
			}
		}
	}
}

// TestLevelTwins decodes levels that are runs, packed, and both.
func TestLevelTwins(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for n := range 400 {
		var data, want []byte
		for len(want) < n {
			if count := 1 + random.IntN(60); random.IntN(2) == 0 {
				level := byte(random.IntN(2))
				data = append(data, byte(count<<1), level)
				want = append(want, slices.Repeat([]byte{level}, count)...)
			} else {
				groups := noise(random, 1+random.IntN(5))
				data = append(append(data, byte(len(groups)<<1|1)), groups...)
				for i := range 8 * len(groups) {
					want = append(want, byte(bit(groups, i)))
				}
			}
		}
		got, present, err := appendLevels([]byte{1}, padded(data), n)
		ones := 0
		for _, level := range want[:n] {
			ones += int(level)
		}
		if err != nil || present != ones || !slices.Equal(got[1:], want[:n]) {
			t.Fatalf("%d levels: %v, %d present, want %d", n, err, present, ones)
		}
		if all := allPresent(padded(data), n); all && ones < n {
			t.Fatalf("%d levels: %d ones are said to be all", n, ones)
		}
	}
}

// TestTextTwins decodes texts of all lengths in each encoding; the Parquet library encodes them.
func TestTextTwins(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 12))
	for _, longest := range []int{0, 1, 7, 8, 9, 15, 16, 17, 24, 40, 300} {
		for _, n := range []int{0, 1, 2, 130, 1000} {
			var data []byte
			offsets, last := []uint32{0}, []byte(nil)
			for range n { // with what some have in common with the one before
				text := append(slices.Clone(last[:random.IntN(len(last)+1)]), noise(random, random.IntN(longest+1))...)
				last = text[:min(len(text), longest)]
				data = append(data, last...)
				offsets = append(offsets, uint32(len(data)))
			}
			for name, e := range map[string]struct {
				encode func([]byte, []byte, []uint32) ([]byte, error)
				decode func(c *columnReader, data []byte, n int) error
			}{
				"plain":  {parquet.Plain.EncodeByteArray, (*columnReader).plainText},
				"length": {parquet.DeltaLengthByteArray.EncodeByteArray, (*columnReader).lengthText},
				"prefix": {parquet.DeltaByteArray.EncodeByteArray, (*columnReader).prefixText},
			} {
				encoded, err := e.encode(nil, data, offsets)
				if err != nil {
					t.Fatal(err)
				}
				var c columnReader
				c.reset()
				for again := range uint32(2) { // a second page behind the first
					if err := e.decode(&c, padded(encoded), n); err != nil {
						t.Fatalf("%s, %d texts of up to %d bytes: %v", name, n, longest, err)
					}
					for i := range n {
						at := int(again)*n + i
						if got, want := string(c.data[c.offsets[at]:c.offsets[at+1]]), string(data[offsets[i]:offsets[i+1]]); got != want {
							t.Fatalf("%s, text %d of %d of up to %d bytes: %q, want %q", name, at, n, longest, got, want)
						}
					}
				}
			}
		}
	}
}

// BenchmarkUnpack unpacks a row group of numbers.
func BenchmarkUnpack(b *testing.B) {
	const n = 1 << 15
	data := padded(noise(rand.New(rand.NewPCG(1, 2)), n*8))
	codes, deltas := make([]int32, n), make([]int64, n)
	for _, width := range []uint{2, 6, 13} {
		b.Run(fmt.Sprintf("codes/%d", width), func(b *testing.B) {
			b.SetBytes(4 * n)
			for b.Loop() {
				unpackCodes(codes, data, width)
			}
		})
	}
	for _, width := range []uint{0, 3, 8, 56, 60} {
		b.Run(fmt.Sprintf("deltas/%d", width), func(b *testing.B) {
			b.SetBytes(8 * n)
			for b.Loop() {
				unpackDeltas(deltas, data, width, -3, 0)
			}
		})
	}
}

// BenchmarkText decodes a row group of transaction IDs, some of which come again.
func BenchmarkText(b *testing.B) {
	const n = 1 << 15
	random := rand.New(rand.NewPCG(1, 2))
	var data []byte
	offsets := []uint32{0}
	for i := range n {
		number := 8 * i
		if random.IntN(4) == 0 {
			number = 8 * random.IntN(i+1)
		}
		data = fmt.Appendf(data, "TX-%010d", number)
		offsets = append(offsets, uint32(len(data)))
	}
	lengths, _ := parquet.DeltaLengthByteArray.EncodeByteArray(nil, data, offsets)
	prefixes, _ := parquet.DeltaByteArray.EncodeByteArray(nil, data, offsets)
	plain, _ := parquet.Plain.EncodeByteArray(nil, data, offsets)
	for name, decode := range map[string]func(c *columnReader) error{
		"plain":  func(c *columnReader) error { return c.plainText(plain, n) },
		"length": func(c *columnReader) error { return c.lengthText(padded(lengths), n) },
		"prefix": func(c *columnReader) error { return c.prefixText(padded(prefixes), n) },
	} {
		b.Run(name, func(b *testing.B) {
			var c columnReader
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				c.reset()
				if err := decode(&c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
