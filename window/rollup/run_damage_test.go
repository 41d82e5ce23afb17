package rollup_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/rollup"
	"github.com/ringwatch/ringwatch/window/rollup/rolluptest"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// damagedRun is a run of an hour with some of everything.
func damagedRun(t testing.TB) (s *stored, start int64, list []*rollup.Rollup) {
	start = rollup.Hour.Start(begin)
	n := windowtest.NewNode(rand.New(rand.NewPCG(3, 13)).IntN)
	for at := start; at < start+rollup.Hour.Millis; at += 2 * frame.WindowMillis {
		var frames [][]byte
		for i := range int64(12) {
			frames = append(frames, n.Step(at+i*5000, false).Bytes)
		}
		w, _, err := building.Window(window.Node{}, frames)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, rollup.FromWindow(w))
	}
	s = newStored(rollup.FiveMinutes)
	s.put(list)
	if len(s.parts[start]) < 3 {
		t.Fatal("too few parts to begin with")
	}
	return s, start, list
}

// known reports whether an error is one that a reader tells from others.
func known(err error) bool {
	return errors.Is(err, rollup.ErrMalformed) || errors.Is(err, rollup.ErrVersion) ||
		errors.Is(err, blobs.ErrDictionary)
}

// TestDamagedParts: cut and with bits flipped, a part is left out and named, or it says something;
// the others are as they were.
func TestDamagedParts(t *testing.T) {
	s, start, list := damagedRun(t)
	h, err := rollup.DecodeRunHead(rollup.FiveMinutes, start, s.heads[start])
	if err != nil {
		t.Fatal(err)
	}
	whole := points(t, list...)
	named := 0
	read := func(i int, b []byte, must bool) {
		parts := slices.Clone(s.parts[start])
		d, _ := s.find("", h.Types[parts[i].Type].Hash)
		name := `__name__="` + d.Metrics[parts[i].Metric].Name + `"`
		parts[i].Blob = b
		got, damage := rollup.FromRun(h, nil, s.find, parts)
		if len(damage) > 1 || must && len(damage) == 0 || len(damage) == 1 && !known(damage[0]) {
			t.Fatal(damage)
		}
		named += len(damage)
		some := points(t, got...)
		for series, values := range whole {
			if !contains(series, name) && !reflect.DeepEqual(some[series], values) {
				t.Fatalf("with a damaged part of %s, %s is %v, it was %v", name, series,
					some[series], values)
			}
		}
		if len(damage) == 1 {
			for series := range some {
				if contains(series, name) {
					t.Fatalf("%s could not be read and is there", series)
				}
			}
		}
	}
	for i, p := range s.parts[start] {
		for n := range p.Blob {
			read(i, p.Blob[:n], true)
			for _, bit := range []int{n % 8, (n + 3) % 8, 7} {
				b := bytes.Clone(p.Blob)
				b[n] ^= 1 << bit
				read(i, b, false)
			}
		}
		read(i, append(bytes.Clone(p.Blob), 0), true)
	}
	if named == 0 {
		t.Fatal("no damage was found")
	}
}

// TestDamagedHeads: cut and with bits flipped, a head is refused, or what it leads to is right or
// named.
func TestDamagedHeads(t *testing.T) {
	s, start, _ := damagedRun(t)
	head := s.heads[start]
	read := func(b []byte, must bool) {
		h, err := rollup.DecodeRunHead(rollup.FiveMinutes, start, b)
		if err != nil {
			if !known(err) {
				t.Fatal(err)
			}
			return
		}
		if must {
			t.Fatalf("a head of %d bytes of %d is read", len(b), len(head))
		}
		got, damage := rollup.FromRun(h, nil, s.find, s.parts[start])
		for _, err := range damage {
			if !known(err) {
				t.Fatal(err)
			}
		}
		points(t, got...)
	}
	for n := range head {
		read(head[:n], true)
		for bit := range 8 {
			b := bytes.Clone(head)
			b[n] ^= 1 << bit
			read(b, false)
		}
	}
	read(append(bytes.Clone(head), 0), true)
	b := bytes.Clone(head)
	b[0]++
	if _, err := rollup.DecodeRunHead(rollup.FiveMinutes, start, b); !errors.Is(err,
		rollup.ErrVersion) {
		t.Fatal("of a newer version:", err)
	}
}

// TestPartsThatAreNot: what the head does not know is named and left out.
func TestPartsThatAreNot(t *testing.T) {
	s, start, list := damagedRun(t)
	h, err := rollup.DecodeRunHead(rollup.FiveMinutes, start, s.heads[start])
	if err != nil {
		t.Fatal(err)
	}
	want := points(t, list...)
	p := s.parts[start][1]
	for name, change := range map[string]func(p *blobs.StoredPart){
		"twice":          func(*blobs.StoredPart) {},
		"another piece":  func(p *blobs.StoredPart) { p.Piece = 1 },
		"no piece":       func(p *blobs.StoredPart) { p.Piece = -1 },
		"another facet":  func(p *blobs.StoredPart) { p.Facet = blobs.Buckets },
		"another metric": func(p *blobs.StoredPart) { p.Metric = 1000 },
		"no metric":      func(p *blobs.StoredPart) { p.Metric = -1 },
		"another type":   func(p *blobs.StoredPart) { p.Type = len(h.Types) },
		"no type":        func(p *blobs.StoredPart) { p.Type = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			other := p
			change(&other)
			got, damage := rollup.FromRun(h, nil, s.find,
				append(slices.Clone(s.parts[start]), other))
			if len(damage) != 1 || !errors.Is(damage[0], rollup.ErrMalformed) {
				t.Fatal(damage)
			}
			if d := rolluptest.Diff(points(t, got...), want); d != "" {
				t.Fatal(d)
			}
		})
	}
	lost := func(string, window.Hash) (*window.Dictionary, error) {
		return nil, blobs.ErrDictionary
	}
	got, damage := rollup.FromRun(h, nil, lost, s.parts[start])
	if len(damage) != len(h.Types) || !errors.Is(damage[0], blobs.ErrDictionary) ||
		len(points(t, got...)) > 0 {
		t.Fatal("without dictionaries:", damage)
	}
}

// most is memory that ends.
type most struct{ left int64 }

var errMost = errors.New("it is too much")

func (m *most) Take(bytes int64) error {
	if m.left -= bytes; m.left < 0 {
		return errMost
	}
	return nil
}

func (m *most) Give(bytes int64) { m.left += bytes }

// TestRunsWithin: reading a run asks for what it takes, and ends where it is refused.
func TestRunsWithin(t *testing.T) {
	var list []*rollup.Rollup
	for _, w := range large(t, 3000) {
		list = append(list, rollup.FromWindow(w))
	}
	start := rollup.Hour.Start(begin)
	s := newStored(rollup.FiveMinutes)
	s.put(list)
	h, err := rollup.DecodeRunHead(rollup.FiveMinutes, start, s.heads[start])
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := rollup.OpenRun(&most{1 << 20}, h, nil, s.find, s.parts[start]); !errors.Is(err,
		errMost) {
		t.Fatal("within 1 MiB:", err)
	}
	m := &most{64 << 20}
	run, damage, err := rollup.OpenRun(m, h, nil, s.find, s.parts[start])
	if err != nil || len(damage) > 0 {
		t.Fatal(err, damage)
	}
	if took := 64<<20 - m.left; took < 12*3000*50 {
		t.Fatalf("it says it took %d bytes", took)
	}
	if d := rolluptest.Diff(points(t, run.Rollups()...), points(t, list...)); d != "" {
		t.Fatal(d)
	}
}
