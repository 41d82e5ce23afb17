package fleet

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// TestFleetIsLikeItsRecording: frames decode, counters never fall, nodes differ, and the same
// number gives the same frames.
func TestFleetIsLikeItsRecording(t *testing.T) {
	for _, name := range []string{"idle", "busy"} {
		s, err := Read("../recordings/"+name+".rwf", name, 5, 20_000)
		if err != nil {
			t.Fatal(err)
		}
		if s.Series < 1000 || s.ticks < 10 {
			t.Fatalf("%s: %d series, %d ticks", name, s.Series, s.ticks)
		}
		a, again, b := NewNode(s, 1, 0), NewNode(s, 1, 0), NewNode(s, 1, 1)
		start := frame.WindowOf(1_800_000_000_000)
		var frames [][]byte
		falls, moved, ticks := 0, 0, 40
		for i := range ticks {
			at := start + int64(i)*20_000
			fa, err := a.Frame(at)
			if err != nil {
				t.Fatal(err)
			}
			fagain, _ := again.Frame(at)
			fb, _ := b.Frame(at)
			if !bytes.Equal(fa, fagain) || bytes.Equal(fa, fb) {
				t.Fatalf("%s: tick %d does not follow from its number alone", name, i)
			}
			frames = append(frames, fa)
			a.Step()
			again.Step()
			b.Step()
		}
		var parts [][]window.Series
		first := int(frame.WindowMillis / 20_000)
		for _, part := range [][][]byte{frames[:first], frames[first : 2*first],
			frames[2*first:]} {
			w, rep, err := building.Window(window.Node{Account: "a"}, part)
			if err != nil || rep.Corrupt+rep.MissingKey+rep.Duplicates > 0 {
				t.Fatalf("%s: %v %+v", name, err, rep)
			}
			parts = append(parts, selecting.Select(w, 0, math.MaxInt64))
		}
		all := selecting.Join(parts...)
		for _, x := range all {
			if x.Metric.Kind != frame.Counter {
				continue
			}
			for i := 1; i < len(x.Ints); i++ {
				if x.Ints[i] < x.Ints[i-1] {
					falls++
				}
				if x.Ints[i] != x.Ints[i-1] {
					moved++
				}
			}
		}
		if falls > 0 || moved == 0 || len(all) != s.Series {
			t.Errorf("%s: %d falls, %d moves, %d series of %d", name, falls, moved, len(all),
				s.Series)
		}
	}
}

// TestCopiesAreNodesOfTheirOwn: what another node says as a copy reads back as its original, later.
func TestCopiesAreNodesOfTheirOwn(t *testing.T) {
	s, err := Read("../recordings/idle.rwf", "idle", 2, 20_000)
	if err != nil {
		t.Fatal(err)
	}
	start := frame.WindowOf(1_800_000_000_000)
	c, err := NewCopies(s, 1, 2, start, 2)
	if err != nil {
		t.Fatal(err)
	}
	values := func(i int, later int64) []window.Series {
		var frames [][]byte
		for tick := range c.Ticks {
			b, err := c.Frame(i, c.Ticks+tick, later)
			if err != nil {
				t.Fatal(err)
			}
			frames = append(frames, b)
		}
		h, _, err := frame.Parse(frames[3])
		if err != nil || h.Node != IDOf(1, i) || h.At != start+frame.WindowMillis+3*20_000+later {
			t.Fatalf("node %d says it is %v at %d: %v", i, h.Node, h.At, err)
		}
		w, rep, err := building.Window(window.Node{Account: "a", ID: h.Node}, frames)
		if err != nil || rep.Lost() > 0 || len(w.Times) != c.Ticks {
			t.Fatalf("node %d has %d instants: %v %+v", i, len(w.Times), err, rep)
		}
		return selecting.Select(w, 0, math.MaxInt64)
	}
	original, copied := values(1, 0), values(5, 700)
	if len(original) == 0 || len(original) != len(copied) {
		t.Fatalf("%d series became %d", len(original), len(copied))
	}
	byKey := map[string]*window.Series{} // node labels differ, so the order may, too
	for i := range original {
		byKey[seriesKey(&original[i])] = &original[i]
	}
	for i := range copied {
		a, b := byKey[seriesKey(&copied[i])], &copied[i]
		if a == nil || !slices.Equal(a.Ints, b.Ints) || !slices.Equal(a.Doubles, b.Doubles) ||
			b.At[0]-a.At[0] != 700 {
			t.Fatalf("%s is another in the copy", seriesKey(b))
		}
	}
	if _, err := c.Frame(0, c.Ticks-1, 20_000); err == nil {
		t.Error("a frame is made later than its window")
	}
	c.Clusters = true
	b, err := c.Frame(155, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	if h, _, err := frame.Parse(b); err != nil || h.Cluster != "fleet0003" ||
		h.Node != IDOf(1, 155) {
		t.Errorf("node 155 is %v of %q: %v", h.Node, h.Cluster, err)
	}
	if _, _, err := As(b, IDOf(1, 155), "another", 0, 0); err == nil {
		t.Error("a cluster's name of another length was taken")
	}
}

// TestMoreTablesThanWereRecorded: a node may have any number of tables, each of its own name.
func TestMoreTablesThanWereRecorded(t *testing.T) {
	s, err := Read("../recordings/idle.rwf", "idle", 400, 20_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range s.types {
		if typ.Type != "table" {
			continue
		}
		names := map[string]bool{}
		for _, row := range typ.rows {
			names[strings.Join(row, "/")] = true
		}
		if len(typ.rows) != 400 || len(names) != 400 || len(typ.cells[0]) != 400 {
			t.Errorf("%d rows of %d names, %d cells", len(typ.rows), len(names), len(typ.cells[0]))
		}
		return
	}
	t.Error("there are no tables")
}
