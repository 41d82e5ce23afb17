package reply

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
)

// TestJoined: whatever deflated and plain texts are joined, Go's gzip reader finds one member with
// exactly their text, and so does who takes no gzip.
func TestJoined(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	text := func(n int) []byte {
		var b bytes.Buffer
		for b.Len() < n {
			fmt.Fprintf(&b, `{"value":"%d","time":"2026-09-03T00:48:05.000Z"},`, random.IntN(50))
		}
		return b.Bytes()[:n]
	}
	sizes := []int{0, 1, 7, 100, 4_000, stored, stored + 1, 200_000}
	for range 200 {
		var want, packed, plain bytes.Buffer
		a, b := newJoiner(&packed, false), newJoiner(&plain, true)
		for range random.IntN(12) {
			part := text(sizes[random.IntN(len(sizes))])
			want.Write(part)
			if random.IntN(2) == 0 {
				p := Deflate(part)
				if a.add(&p) != nil || b.add(&p) != nil {
					t.Fatal("memory does not take it")
				}
				continue
			}
			for _, j := range []*joiner{a, b} {
				if n, err := j.Write(part); n != len(part) || err != nil {
					t.Fatal(n, err)
				}
			}
		}
		a.end()
		b.end()
		r, err := gzip.NewReader(&packed)
		if err != nil {
			t.Fatal(err)
		}
		r.Multistream(false)
		got, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(got, want.Bytes()) || packed.Len() != 0 {
			t.Fatalf("seed %d: %v: %d bytes for %d, %d left over", seed, err, len(got), want.Len(),
				packed.Len())
		}
		if !bytes.Equal(plain.Bytes(), want.Bytes()) {
			t.Fatalf("seed %d: plain: %d bytes for %d", seed, plain.Len(), want.Len())
		}
	}
}
