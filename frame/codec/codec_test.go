package codec

import (
	"errors"
	"math"
	"testing"
)

var (
	errVersion   = errors.New("another version")
	errMalformed = errors.New("malformed")
	format       = Errors{Version: errVersion, Malformed: errMalformed}
)

// written has one of everything, and what reads it back.
func written() (b []byte, read func(*Reader) bool) {
	b = append(b, 7)
	b = AppendUvarint(b, math.MaxUint64)
	b = AppendSvarint(b, math.MinInt64)
	b = AppendDouble(b, int64(math.Float64bits(-0.1)))
	b = AppendText(b, "grün")
	b = AppendGap(b, 3, 8)
	b = AppendUvarint(b, 2)
	b = append(b, 1, 2)
	return b, func(r *Reader) bool {
		r.Version(7)
		ok := r.Uvarint() == math.MaxUint64
		ok = r.Svarint() == math.MinInt64 && ok
		ok = r.Double() == int64(math.Float64bits(-0.1)) && ok
		ok = r.Text("a text") == "grün" && ok
		ok = r.Gap("a row", 3, 9) == 8 && ok
		n := r.Count("bytes", 2)
		return len(r.Take(n)) == 2 && ok
	}
}

func TestReadsWhatWasWritten(t *testing.T) {
	b, read := written()
	r := New(b, &format)
	if !read(&r) || r.Done() != nil {
		t.Fatal(r.Err)
	}
	for n := range len(b) {
		r := New(b[:n], &format)
		if read(&r); !errors.Is(r.Done(), errMalformed) {
			t.Errorf("the first %d bytes: %v", n, r.Err)
		}
	}
	r = New(append(b, 0), &format)
	if read(&r); !errors.Is(r.Done(), errMalformed) {
		t.Errorf("a byte more: %v", r.Err)
	}
	b[0]++
	r = New(b, &format)
	if read(&r); !errors.Is(r.Done(), errVersion) {
		t.Errorf("another version: %v", r.Err)
	}
}

// TestUvarintAt: without a Reader the same numbers are read, and a place beyond the bytes says that
// one is missing.
func TestUvarintAt(t *testing.T) {
	numbers := []uint64{0, 1, 127, 128, 300, 1 << 40, math.MaxUint64, 5}
	var b []byte
	for _, n := range numbers {
		b = AppendUvarint(b, n)
	}
	for end := range len(b) + 1 {
		r := New(b[:end], &format)
		at := 0
		for i := 0; ; i++ {
			want := r.Uvarint()
			got, next := UvarintAt(b[:end], at)
			if r.Err != nil {
				if got != 0 || next <= end {
					t.Fatalf("number %d of %d bytes: %d, next at %d", i, end, got, next)
				}
				if got, next = UvarintAt(b[:end], next); got != 0 || next <= end {
					t.Fatalf("after the end of %d bytes: %d, next at %d", end, got, next)
				}
				break
			}
			if got != want || got != numbers[i] || next != end-len(r.Rest) {
				t.Fatalf("number %d of %d bytes: %d, want %d", i, end, got, want)
			}
			at = next
		}
	}
	if got, next := UvarintAt([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 2},
		0); got != 0 || next != 11 {
		t.Errorf("a varint of 65 bits: %d, next at %d", got, next)
	}
}

func TestHostile(t *testing.T) {
	for name, read := range map[string]func(*Reader){
		"a count beyond its limit":      func(r *Reader) { r.Count("rows", 2) },
		"a count beyond what is there":  func(r *Reader) { r.Count("rows", 1000) },
		"a number beyond its limit":     func(r *Reader) { r.Number("a row", 3) },
		"a gap beyond its limit":        func(r *Reader) { r.Gap("a row", 5, 9) },
		"more bytes than there are":     func(r *Reader) { r.Take(4) },
		"a text longer than what is in": func(r *Reader) { r.Text("a text") },
	} {
		r := New([]byte{3, 'x', 0xff}, &format)
		if read(&r); !errors.Is(r.Err, errMalformed) || r.Rest != nil {
			t.Errorf("%s: %v", name, r.Err)
		}
		if r.Uvarint() != 0 || r.Byte() != 0 || r.Text("a text") != "" {
			t.Errorf("%s: it reads on", name)
		}
	}
	for name, b := range map[string][]byte{"no UTF-8": {1, 0xff},
		"a varint without end": {0xff, 0xff}, "a varint of 65 bits": {255, 255, 255, 255, 255, 255,
			255, 255, 255, 2}} {
		r := New(b, &format)
		if r.Text("a text"); !errors.Is(r.Err, errMalformed) {
			t.Errorf("%s: %v", name, r.Err)
		}
	}
}
