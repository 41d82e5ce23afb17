package window_test

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory/memorytest"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// stored is a window's blobs as a store would find them.
type stored struct {
	meta         []byte
	dictionaries map[window.Hash][]byte
	columns      map[string]window.StoredColumn // by key and metric
}

func (s *stored) put(e window.Encoded) {
	s.meta = e.Meta
	if s.dictionaries == nil {
		s.dictionaries, s.columns = map[window.Hash][]byte{}, map[string]window.StoredColumn{}
	}
	for _, d := range e.Dictionaries {
		s.dictionaries[d.Hash] = d.Blob
	}
	for _, c := range e.Columns {
		s.columns[c.Key+" "+c.Metric] = window.StoredColumn{Key: c.Key, Blob: c.Blob}
	}
}

func (s *stored) find(key string, h window.Hash) (*window.Dictionary, error) {
	b, found := s.dictionaries[h]
	if !found {
		return nil, fmt.Errorf("%w: %s", window.ErrDictionary, h)
	}
	if window.HashOf(b) != h {
		return nil, fmt.Errorf("hash of %s is wrong", key)
	}
	return window.DecodeDictionary(b)
}

func (s *stored) open(start int64, keep func(name string) bool) (*window.Window, []error, error) {
	meta, err := window.DecodeMeta(start, s.meta)
	if err != nil {
		return nil, nil, err
	}
	dictionaries := map[window.Hash]*window.Dictionary{}
	var columns []window.StoredColumn
	for name, c := range s.columns {
		if keep == nil || keep(name) {
			columns = append(columns, c)
		}
	}
	w, damage := window.FromColumns("acme", meta, func(key string, h window.Hash) (*window.Dictionary, error) {
		if d := dictionaries[h]; d != nil {
			return d, nil
		}
		d, err := s.find(key, h)
		dictionaries[h] = d
		return d, err
	}, columns)
	return w, damage, nil
}

func TestColumnsGiveTheWindowBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := picker(t)
		n, sent := history(pick)
		var frames [][]byte
		want := windowtest.Samples{}
		for _, s := range sent {
			frames = append(frames, s.Bytes)
			want.Add(s.Samples)
		}
		w, rep, err := window.Build(window.Node{Account: "acme"}, frames)
		if err != nil {
			t.Fatal(err)
		}
		enc := w.Columns(rep)
		var s stored
		s.put(enc)
		got, damage, err := s.open(w.Start, nil)
		if err != nil || len(damage) > 0 {
			t.Fatal(err, damage)
		}
		check(t, "from columns", all(got), want)
		check(t, "latest from columns", got.Latest(), sent[len(sent)-1].Samples)
		if got.Node.ID != n.ID && len(got.Types) > 0 || got.Node.Cluster != n.Cluster || got.Node.Rack != n.Rack || got.Node.Interval != n.Interval {
			t.Fatalf("node %+v", got.Node)
		}
		again := got.Columns(rep)
		if !reflect.DeepEqual(again, enc) {
			t.Fatal("the window read back encodes otherwise")
		}
		// A column that is not read is not there; all others are.
		if len(enc.Columns) > 0 {
			c := enc.Columns[pick(len(enc.Columns))]
			got, damage, err := s.open(w.Start, func(name string) bool { return name != c.Key+" "+c.Metric })
			if err != nil || len(damage) > 0 {
				t.Fatal(err, damage)
			}
			some, err := windowtest.Of(all(got))
			if err != nil {
				t.Fatal(err)
			}
			whole, _ := windowtest.Of(all(w))
			for series, values := range some {
				for at, v := range values {
					if whole[series][at] != v {
						t.Fatalf("without %v: %s at %d = %q", c, series, at, v)
					}
				}
			}
		}
	})
}

func TestMergeIsTheUnion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := picker(t)
		_, sent := history(pick)
		keys := map[int64][]byte{}
		want := windowtest.Samples{}
		for _, s := range sent {
			if s.Key {
				keys[s.At] = s.Bytes
			}
			want.Add(s.Samples)
		}
		// Each part has some of the frames with their key frames, so that they overlap.
		var parts [2][][]byte
		for i, s := range sent {
			to := pick(3)
			if i == 0 {
				to = 2
			}
			for side := range parts {
				if to == 2 || to == side {
					parts[side] = append(parts[side], s.Bytes, keys[s.KeyAt])
				}
			}
		}
		a, repA, errA := window.Build(window.Node{Account: "acme"}, parts[0])
		b, _, errB := window.Build(window.Node{Account: "acme"}, parts[1])
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		check(t, "merged", all(window.Merge(a, b)), want)
		check(t, "merged the other way", all(window.Merge(b, a)), want)
		check(t, "latest", window.Merge(a, b).Latest(), sent[len(sent)-1].Samples)

		// Storing it again is not atomic: with any mixture of old and new columns and the old meta, what is answered is true, and the columns that meta names
		// and that are there have all their instants.
		var s stored
		s.put(a.Columns(repA))
		old := s.meta
		merged := window.Merge(b, a).Columns(repA)
		for _, c := range merged.Columns {
			if pick(2) == 0 {
				s.columns[c.Key+" "+c.Metric] = window.StoredColumn{Key: c.Key, Blob: c.Blob}
			}
		}
		for _, d := range merged.Dictionaries {
			s.dictionaries[d.Hash] = d.Blob
		}
		s.meta = old
		got, damage, err := s.open(a.Start, nil)
		if err != nil || len(damage) > 0 {
			t.Fatal(err, damage)
		}
		samples, err := windowtest.Of(all(got))
		if err != nil {
			t.Fatal(err)
		}
		before, _ := windowtest.Of(all(a))
		for series, values := range before {
			for at := range values {
				if _, found := samples[series][at]; !found {
					t.Fatalf("while it is stored again %s at %d is gone", series, at)
				}
			}
		}
		for series, values := range samples {
			for at, v := range values {
				if w, found := want[series][at]; !found || w != v {
					t.Fatalf("while it is stored again %s at %d = %s, want %s", series, at, v, w)
				}
			}
		}
		s.put(merged)
		got, damage, err = s.open(a.Start, nil)
		if err != nil || len(damage) > 0 {
			t.Fatal(err, damage)
		}
		check(t, "stored again", all(got), want)
	})
}

func TestFramesInAnyOrderGiveEqualBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := picker(t)
		_, sent := history(pick)
		var frames [][]byte
		for _, s := range sent {
			frames = append(frames, s.Bytes)
		}
		w, rep, err := window.Build(window.Node{Account: "acme"}, frames)
		if err != nil {
			t.Fatal(err)
		}
		for i := len(frames) - 1; i > 0; i-- {
			j := pick(i + 1)
			frames[i], frames[j] = frames[j], frames[i]
		}
		again, _, err := window.Build(window.Node{Account: "acme"}, append(frames, frames[0]))
		if err != nil {
			t.Fatal(err)
		}
		if a, b := w.Columns(rep), again.Columns(rep); !reflect.DeepEqual(a, b) {
			t.Fatal("another order of frames gives other bytes")
		}
	})
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
	rapid.Check(t, func(t *rapid.T) {
		pick := picker(t)
		_, sent := history(pick)
		var frames [][]byte
		for _, s := range sent {
			frames = append(frames, s.Bytes)
		}
		w, rep, err := window.Build(window.Node{Account: "acme"}, frames)
		if err != nil {
			t.Fatal(err)
		}
		var s stored
		s.put(w.Columns(rep))
		for name, c := range s.columns {
			if pick(2) == 0 {
				s.columns[name] = window.StoredColumn{Key: c.Key, Blob: mutate(pick, c.Blob)}
			}
		}
		if pick(3) == 0 {
			s.meta = mutate(pick, s.meta)
		}
		got, _, err := s.open(w.Start, nil)
		if err != nil {
			return
		}
		if _, err := windowtest.Of(all(got)); err != nil {
			t.Fatal(err)
		}
		got.Columns(rep)
	})
}

// blobBound is what reading a blob may take: a dictionary's row of two bytes takes some 60 with its
// label, and what stands in a column of bits 16 each. The base is for a column of other instants than
// the window's: on a grid MaxInstants of them take no bytes, and merging takes 150 for each.
var blobBound = memorytest.Bound{Base: 8 << 20, Factor: 192, Time: time.Minute}

// FuzzBlobs reads hostile bytes as each kind of blob.
func FuzzBlobs(f *testing.F) {
	n := windowtest.NewNode(func(n int) int { return n / 2 })
	base := frame.WindowOf(start)
	var frames [][]byte
	for i := range int64(5) {
		frames = append(frames, n.Step(base+i*5000, false).Bytes)
	}
	w, rep, err := window.Build(window.Node{}, frames)
	if err != nil {
		f.Fatal(err)
	}
	enc := w.Columns(rep)
	dictionary, err := window.DecodeDictionary(enc.Dictionaries[0].Blob)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(byte(0), enc.Meta)
	for _, d := range enc.Dictionaries {
		f.Add(byte(1), d.Blob)
	}
	for _, c := range enc.Columns {
		f.Add(byte(2), c.Blob)
	}
	meta, err := window.DecodeMeta(base, enc.Meta)
	if err != nil {
		f.Fatal(err)
	}
	find := func(string, window.Hash) (*window.Dictionary, error) { return dictionary, nil }
	f.Fuzz(func(t *testing.T, what byte, b []byte) {
		blobBound.Within(t, len(b), func() {
			switch what % 3 {
			case 0:
				if m, err := window.DecodeMeta(base, b); err == nil {
					window.FromColumns("", m, find, nil)
				}
			case 1:
				window.DecodeDictionary(b)
			case 2:
				window.FromColumns("", meta, find, []window.StoredColumn{{Blob: b}})
			}
		})
		switch what % 3 {
		case 0:
			if m, err := window.DecodeMeta(base, b); err == nil {
				w, _ := window.FromColumns("", m, find, nil)
				all(w)
			}
		case 1:
			if d, err := window.DecodeDictionary(b); err == nil {
				again, err := window.DecodeDictionary(d.Append(nil))
				if err != nil || !reflect.DeepEqual(again, d) {
					t.Fatalf("%v: %+v became %+v", err, d, again)
				}
			}
		case 2:
			w, _ := window.FromColumns("", meta, find, []window.StoredColumn{{Blob: b}})
			before, err := windowtest.Of(all(w))
			if err != nil {
				t.Fatal(err)
			}
			var s stored
			s.put(w.Columns(rep))
			got, damage, err := s.open(base, nil)
			if err != nil || len(damage) > 0 {
				t.Fatal(err, damage)
			}
			after, err := windowtest.Of(all(got))
			if d := windowtest.Diff(after, before); err != nil || d != "" {
				t.Fatal(err, d)
			}
		}
	})
}
