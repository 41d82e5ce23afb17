package window_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringwatch/ringwatch/memory/memorytest"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// eachDamage calls f with a blob that ends early at every byte, and has every byte changed.
func eachDamage(b []byte, f func(what string, b []byte)) {
	for i := range b {
		f(fmt.Sprintf("cut to %d bytes", i), b[:i:i])
		for _, x := range []byte{0x01, 0x80, 0xff} {
			c := bytes.Clone(b)
			c[i] ^= x
			f(fmt.Sprintf("byte %d is %#x", i, c[i]), c)
		}
	}
	f("with a byte more", append(bytes.Clone(b), 0))
}

// damagedWindow is a window of some types, metrics and instants.
func damagedWindow(t tester, seed uint64) (*window.Window, *kept) {
	pick := windowtest.Pick(rand.New(rand.NewPCG(seed, 1)).IntN)
	w, rep, _ := span(t, pick, seed%2 == 0)
	return w, keep(blobs.Encode(w, rep))
}

// TestDamagedHead: a head with any byte changed is an error, or a window.
func TestDamagedHead(t *testing.T) {
	for seed := range uint64(4) {
		w, k := damagedWindow(t, seed)
		eachDamage(k.Head, func(what string, b []byte) {
			blobBound.Within(t, len(b)+len(k.Parts)*256, func() {
				h, err := blobs.DecodeHead(w.Start, b)
				if err != nil {
					if !errors.Is(err, blobs.ErrMalformed) && !errors.Is(err, blobs.ErrVersion) {
						t.Errorf("%s: %v", what, err)
					}
					return
				}
				got, _ := blobs.FromParts("acme", h, nil, k.find, k.parts(nil))
				if _, err := windowtest.Of(all(got)); err != nil {
					t.Errorf("%s: %v", what, err)
				}
				for i, typ := range got.Types {
					for m := range typ.Metrics {
						h.PartsOf(min(i, len(h.Types)-1), typ.Dictionary, m,
							[]int32{0, int32(len(typ.Rows) - 1)})
					}
				}
			})
		})
		b := bytes.Clone(k.Head)
		b[0]++
		if _, err := blobs.DecodeHead(w.Start, b); !errors.Is(err, blobs.ErrVersion) {
			t.Errorf("of another version: %v", err)
		}
	}
}

// TestDamagedParts: a part with any byte changed is left out and told, or says something else; all
// other metrics are as they were.
func TestDamagedParts(t *testing.T) {
	for seed := range uint64(6) {
		w, k := damagedWindow(t, seed)
		h := k.head(t, w.Start)
		for _, hurt := range k.Parts {
			d := k.dictionaries[h.Types[hurt.Type].Hash]
			name := d.Metrics[hurt.PartID.Metric].Name
			rest := k.openSome(t, w.Start, func(p *blobs.Part) bool {
				return p.Type != hurt.Type || p.PartID.Metric != hurt.PartID.Metric
			})
			want, err := windowtest.Of(all(rest))
			if err != nil {
				t.Fatal(err)
			}
			eachDamage(hurt.Blob, func(what string, b []byte) {
				parts := k.parts(nil)
				i := slices.IndexFunc(parts, func(p blobs.StoredPart) bool {
					return p.PartID == hurt.PartID
				})
				parts[i].Blob = b
				got, damage := blobs.FromParts("acme", h, nil, k.find, parts)
				if len(damage) > 1 ||
					len(damage) == 1 && !errors.Is(damage[0], blobs.ErrMalformed) {
					t.Fatalf("%+v %s: %v", hurt.PartID, what, damage)
				}
				var others []window.Series
				for _, s := range all(got) {
					if s.Metric.Name != name || len(damage) > 0 {
						others = append(others, s)
					}
				}
				if len(damage) == 0 {
					if _, err := windowtest.Of(all(got)); err != nil {
						t.Fatalf("%+v %s: %v", hurt.PartID, what, err)
					}
					return
				}
				have, err := windowtest.Of(others)
				if d := windowtest.Diff(have, want); err != nil || d != "" {
					t.Fatalf("%+v %s: %v %s", hurt.PartID, what, err, d)
				}
			})
		}
	}
}

// TestWrongParts: parts that are missing, there twice or of nothing are told, and others are read.
func TestWrongParts(t *testing.T) {
	w, k := damagedWindow(t, 3)
	h := k.head(t, w.Start)
	i := slices.IndexFunc(k.Parts, func(p blobs.Part) bool { return p.Facet == blobs.Buckets })
	if i < 0 {
		t.Fatal("the window has no histogram")
	}
	buckets := k.Parts[i].PartID
	values := buckets
	values.Facet = blobs.Values
	of := k.named([]blobs.PartID{values, buckets})
	edit := func(p blobs.StoredPart, f func(*blobs.PartID)) blobs.StoredPart {
		f(&p.PartID)
		return p
	}
	for name, list := range map[string][]blobs.StoredPart{
		"buckets alone":        {of[1]},
		"values twice":         {of[0], of[0], of[1]},
		"an unknown type":      {edit(of[0], func(p *blobs.PartID) { p.Type = len(h.Types) })},
		"a negative type":      {edit(of[0], func(p *blobs.PartID) { p.Type = -1 })},
		"an unknown metric":    {edit(of[0], func(p *blobs.PartID) { p.Metric = 1000 })},
		"an unknown piece":     {edit(of[0], func(p *blobs.PartID) { p.Piece = 1 })},
		"a negative piece":     {edit(of[0], func(p *blobs.PartID) { p.Piece = -1 })},
		"an unknown facet":     {of[0], edit(of[1], func(p *blobs.PartID) { p.Facet = 7 })},
		"buckets of no values": {of[0], of[1], edit(of[1], func(p *blobs.PartID) { p.Piece = 1 })},
	} {
		got, damage := blobs.FromParts("acme", h, nil, k.find, list)
		if len(damage) != 1 || !errors.Is(damage[0], blobs.ErrMalformed) {
			t.Errorf("%s: %v", name, damage)
		}
		if _, err := windowtest.Of(all(got)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	none := func(string, window.Hash) (*window.Dictionary, error) {
		return nil, blobs.ErrDictionary
	}
	if got, damage := blobs.FromParts("acme", h, nil, none,
		k.parts(nil)); len(damage) != len(h.Types) || len(got.Types) > 0 {
		t.Errorf("without dictionaries: %v", damage)
	}
}

// TestPartsWithoutInstants: a head without instants has no values, however many a part says it has.
func TestPartsWithoutInstants(t *testing.T) {
	w, rep := mustBuild(t, manyTables(t, 3, 2))
	k := keep(blobs.Encode(w, rep))
	h := k.head(t, w.Start)
	h.Times = nil
	id := h.PartsOf(0, w.Types[0].Dictionary, 0, nil)[0]
	// Presence as the head says, units of 1, three rows of zero; one row changes, at 2^40 instants.
	b := []byte{0, 1, 3, 0, 1, 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 0, 2}
	got, damage := blobs.FromParts("acme", h, nil, k.find,
		[]blobs.StoredPart{{PartID: id, Blob: b}})
	if len(damage) != 1 || !errors.Is(damage[0], blobs.ErrMalformed) || len(all(got)) > 0 {
		t.Error(damage)
	}
}

// mutate returns a blob with a few bytes changed, cut or grown.
func mutate(pick windowtest.Pick, b []byte) []byte {
	b = bytes.Clone(b)
	for range 1 + pick(3) {
		if len(b) == 0 {
			break
		}
		switch i := pick(len(b)); pick(4) {
		case 0:
			b[i] ^= 1 << pick(8)
		case 1:
			b[i] = byte(pick(256))
		case 2:
			b = b[:i]
		default:
			b = append(b[:i], append([]byte{255, 255, 255, 255, 7}, b[i:]...)...)
		}
	}
	return b
}

func TestBrokenBlobsAreErrorsOrWindows(t *testing.T) {
	eachSpan(t, func(t *rapid.T, pick windowtest.Pick, w *window.Window, rep window.Report,
		_ windowtest.Samples) {
		k := keep(blobs.Encode(w, rep))
		if pick(3) == 0 {
			k.Head = mutate(pick, k.Head)
		}
		h, err := blobs.DecodeHead(w.Start, k.Head)
		if err != nil {
			return
		}
		parts := k.parts(nil)
		for i := range parts {
			if pick(2) == 0 {
				parts[i].Blob = mutate(pick, parts[i].Blob)
			}
		}
		got, _ := blobs.FromParts("acme", h, nil, k.find, parts)
		if _, err := windowtest.Of(all(got)); err != nil {
			t.Fatal(err)
		}
		again := keep(blobs.Encode(got, rep)).open(t, w.Start)
		before, _ := windowtest.Of(all(got))
		check(t, "written again", all(again), before)
	})
}

// blobBound is what reading a blob may take: a dictionary's row of two bytes takes some 60 with
// its label, and what stands in a column of bits 16 each. The base is for a pattern of presence
// that all entities share, and for instants on a grid, which take no bytes.
var blobBound = memorytest.Bound{Base: 8 << 20, Factor: 192, Time: time.Minute}

// FuzzBlobs reads hostile bytes as each kind of blob.
func FuzzBlobs(f *testing.F) {
	w, k := damagedWindow(f, 4)
	h := k.head(f, w.Start)
	f.Add(byte(0), k.Head)
	for _, d := range k.Dictionaries {
		f.Add(byte(1), d.Blob)
	}
	metrics := map[byte]blobs.PartID{}
	number := func(p blobs.PartID) byte {
		for n, known := range metrics {
			if known.Type == p.Type && known.Metric == p.Metric {
				return n
			}
		}
		n := byte(len(metrics))
		metrics[n] = p
		return n
	}
	for i, p := range k.Parts {
		what := 2 + 3*number(p.PartID)
		switch {
		case p.Facet == blobs.Buckets:
			f.Add(what, both(k.Parts[i-1].Blob, p.Blob))
		default:
			f.Add(what, both(p.Blob, nil))
		}
	}
	f.Fuzz(func(t *testing.T, what byte, b []byte) {
		var got *window.Window
		var damage []error
		blobBound.Within(t, len(b), func() {
			switch what % 3 {
			case 0:
				if h, err := blobs.DecodeHead(w.Start, b); err == nil {
					got, damage = blobs.FromParts("", h, nil, k.find, k.parts(nil))
				}
			case 1:
				blobs.DecodeDictionary(b)
			case 2:
				id := metrics[what/3%byte(len(metrics))]
				id.Facet, id.Piece = blobs.Values, 0
				values, buckets := apart(b)
				parts := []blobs.StoredPart{{PartID: id, Blob: values}}
				if buckets != nil {
					id.Facet = blobs.Buckets
					parts = append(parts, blobs.StoredPart{PartID: id, Blob: buckets})
				}
				got, damage = blobs.FromParts("", h, nil, k.find, parts)
			}
		})
		if what%3 == 1 {
			if d, err := blobs.DecodeDictionary(b); err == nil {
				again, err := blobs.DecodeDictionary(blobs.AppendDictionary(nil, d))
				if err != nil || !reflect.DeepEqual(again, d) {
					t.Fatalf("%v: %+v became %+v", err, d, again)
				}
			}
		}
		if got == nil || len(damage) > 0 {
			return
		}
		before, err := windowtest.Of(all(got))
		if err != nil {
			t.Fatal(err)
		}
		// What is read can be written, and is the same then; histograms without buckets are not
		// written.
		if what%3 == 2 {
			if _, buckets := apart(b); buckets == nil {
				return
			}
		}
		after, err := windowtest.Of(all(keep(blobs.Encode(got, window.Report{})).open(t, w.Start)))
		if d := windowtest.Diff(after, before); err != nil || d != "" {
			t.Fatal(err, d)
		}
	})
}

// both makes one input of a metric's two parts; without buckets there are none.
func both(values, buckets []byte) []byte {
	b := append([]byte{byte(len(values)), byte(len(values) >> 8)}, values...)
	return append(b, buckets...)
}

func apart(b []byte) (values, buckets []byte) {
	if len(b) < 2 {
		return nil, nil
	}
	n := min(int(b[0])|int(b[1])<<8, len(b)-2)
	values, buckets = b[2:2+n], b[2+n:]
	if len(buckets) == 0 {
		return values, nil
	}
	return values, buckets
}
