package layout

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ringwatch/ringwatch/window/blobs"
)

// someParts are parts of several types as an encoder gives them, a third of them small.
func someParts(r *rand.Rand, n int) []blobs.Part {
	var list []blobs.Part
	id := blobs.PartID{}
	for range n {
		switch r.IntN(6) {
		case 0:
			id = blobs.PartID{Type: id.Type + 1}
		case 1:
			if id.Facet == blobs.Values {
				id.Facet = blobs.Buckets
				break
			}
			fallthrough
		default:
			id = blobs.PartID{Type: id.Type, Metric: id.Metric + 1 + r.IntN(3)}
		}
		b := make([]byte, r.IntN(3000))
		small := id.Facet == blobs.Values && r.IntN(3) == 0
		if small {
			b = b[:r.IntN(min(len(b)+1, 60))]
		}
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		list = append(list, blobs.Part{PartID: id, Key: fmt.Sprint("type", id.Type),
			Metric: fmt.Sprint("metric", id.Metric), Small: small, Blob: b})
	}
	return list
}

func TestWindowRows(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		parts := someParts(r, r.IntN(200))
		want := map[blobs.PartID][]byte{}
		for _, p := range parts {
			want[p.PartID] = p.Blob
		}
		rows, first := WindowRows(slices.Clone(parts))
		if len(rows) != len(first) || len(rows) > MaxRows {
			t.Fatalf("%d rows, %d named", len(rows), len(first))
		}
		head := Head{Edition: int64(r.IntN(300_000)), Bytes: 77, First: first,
			Blob: []byte("the head")}
		back, err := ReadHead(head.Append(nil))
		if err != nil || back.Edition != head.Edition || back.Bytes != 77 ||
			!slices.Equal(back.First, first) || string(back.Blob) != "the head" {
			t.Fatalf("%+v, %v", back, err)
		}
		for id, b := range want {
			row := back.RowOf(id)
			if row < 0 {
				t.Fatalf("%+v is in no row", id)
			}
			var found []blobs.StoredPart
			for p, err := range Parts(rows[row]) {
				if err != nil {
					t.Fatal(err)
				}
				if p.PartID == id {
					found = append(found, p)
				}
			}
			if len(found) != 1 || !bytes.Equal(found[0].Blob, b) {
				t.Fatalf("%+v: %d parts in row %d", id, len(found), row)
			}
		}
	}
}

func TestHourRows(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		parts := someParts(r, 1+r.IntN(200))
		var p Packer
		var rows []Row
		for rest := parts; len(rest) > 0; { // a few at a time
			n := 1 + r.IntN(len(rest))
			rows = append(rows, p.Add(rest[:n])...)
			rest = rest[n:]
		}
		rows = append(rows, p.Flush()...)
		names := map[string]bool{}
		for _, row := range rows {
			if name := row.Type + " " + row.Part; names[name] {
				t.Fatalf("%s is there twice", name)
			} else {
				names[name] = true
			}
		}
		const at = 12345
		var want Wanted
		asked := map[blobs.PartID][]byte{}
		for _, part := range parts {
			if r.IntN(2) == 0 {
				want.Add(at, part.Key, part.Metric, part.Small, part.PartID)
				asked[part.PartID] = part.Blob
			}
		}
		named := want.Rows()
		for _, row := range rows {
			before := len(asked)
			for p, err := range want.Take(row.Type, row.Part, at, row.Blob) {
				if err != nil {
					t.Fatal(err)
				}
				if b, is := asked[p.PartID]; !is || !bytes.Equal(b, p.Blob) {
					t.Fatalf("%+v was not asked for, or is other", p.PartID)
				}
				delete(asked, p.PartID)
			}
			if (len(asked) < before) != slices.Contains(named[row.Type], row.Part) {
				t.Fatalf("row %s of %s is named wrongly", row.Part, row.Type)
			}
			for _, err := range want.Take(row.Type, row.Part, at+1, row.Blob) {
				t.Fatal("of another edition", err)
			}
		}
		want.Missing(func(typ, part string, _ int64) {
			t.Fatalf("%s of %s was not found", part, typ)
		})
		if len(asked) > 0 {
			t.Fatalf("%d parts were not found", len(asked))
		}
	}
}

func TestStampsOfAnHour(t *testing.T) {
	h := Head{Edition: 1, Stamps: []int64{1_700_000_000_000_000, 0, 1_700_000_300_000_123, 0, 0, 0,
		0, 0, 0, 0, 0, 1_700_000_000_000_001}}
	back, err := ReadHead(h.Append(nil))
	if err != nil || !slices.Equal(back.Stamps, h.Stamps) {
		t.Fatalf("%v, %v", back.Stamps, err)
	}
}

// hostile calls f with a blob whose bytes are cut and flipped one by one.
func hostile(b []byte, f func(b []byte)) {
	for i := range b {
		f(b[:i])
		for bit := range 8 {
			c := slices.Clone(b)
			c[i] ^= 1 << bit
			f(c)
		}
	}
	f(append(slices.Clone(b), 0))
}

func TestHostileRows(t *testing.T) {
	parts := someParts(rand.New(rand.NewPCG(3, 3)), 12)
	for i := range parts {
		parts[i].Blob = parts[i].Blob[:min(len(parts[i].Blob), 20)]
	}
	rows, first := WindowRows(parts)
	head := Head{Edition: 7, First: first, Stamps: make([]int64, 12), Blob: []byte("head")}
	hostile(head.Append(nil), func(b []byte) { checkHead(t, b) })
	for _, row := range rows {
		hostile(row, func(b []byte) { checkParts(t, b) })
	}
	if _, err := ReadHead([]byte{headVersion + 1}); !errors.Is(err, ErrVersion) {
		t.Error(err)
	}
	for _, err := range Parts([]byte{partsVersion + 1}) {
		if !errors.Is(err, ErrVersion) {
			t.Error(err)
		}
	}
}

func checkHead(t *testing.T, b []byte) {
	h, err := ReadHead(b)
	if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrVersion) {
		t.Fatal(err)
	}
	if len(h.First) > MaxRows || len(h.Stamps) > maxStamps || len(h.Blob) > len(b) {
		t.Fatalf("more than there is: %+v", h)
	}
}

func checkParts(t *testing.T, b []byte) {
	total := 0
	for p, err := range Parts(b) {
		if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrVersion) {
			t.Fatal(err)
		}
		total += len(p.Blob)
	}
	if total > len(b) {
		t.Fatalf("%d bytes of %d", total, len(b))
	}
}

func FuzzRows(f *testing.F) {
	rows, first := WindowRows(someParts(rand.New(rand.NewPCG(4, 4)), 5))
	f.Add((&Head{Edition: 7, First: first, Stamps: make([]int64, 3)}).Append(nil))
	for _, row := range rows {
		f.Add(row)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		checkHead(t, b)
		checkParts(t, b)
	})
}
