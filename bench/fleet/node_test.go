package fleet

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// TestFleetIsLikeItsRecording: frames decode, counters never fall, nodes differ, and the same number gives the same frames.
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
		for _, part := range ByWindow(frames) {
			w, rep, err := window.Build(window.Node{Account: "a"}, part)
			if err != nil || rep.Corrupt+rep.MissingKey+rep.Duplicates > 0 {
				t.Fatalf("%s: %v %+v", name, err, rep)
			}
			parts = append(parts, w.Select(0, math.MaxInt64))
		}
		all := window.Join(parts...)
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
			t.Errorf("%s: %d falls, %d moves, %d series of %d", name, falls, moved, len(all), s.Series)
		}
	}
}

// TestNodesCanDiffer: a node may be busier and slower than its recording, and its gauges may be
// set.
func TestNodesCanDiffer(t *testing.T) {
	s, err := Read("../recordings/busy.rwf", "busy", 5, 20_000)
	if err != nil {
		t.Fatal(err)
	}
	s.Rename("table", func(row []string) { row[0] = "shop" })
	plain, other := NewNode(s, 1, 0), NewNode(s, 1, 0)
	other.Times = func(metric string, _ []string) float64 {
		if strings.HasPrefix(metric, "cassandra_client_request_latency") {
			return 10
		}
		return 1
	}
	other.Later = 10
	start := frame.WindowOf(1_800_000_000_000)
	// latency returns how many requests a node counted in ten minutes, and how long one took, in µs.
	latency := func(n *Node) (count, mean float64) {
		var frames [][]byte
		for i := range 14 {
			n.Set("cassandra_compaction_pending_tasks", 180)
			b, err := n.Frame(start + int64(i)*20_000)
			if err != nil {
				t.Fatal(err)
			}
			frames = append(frames, slices.Clone(b))
			n.Step()
		}
		w, _, err := window.Build(window.Node{Account: "a"}, frames)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for _, x := range w.Select(0, math.MaxInt64) {
			switch x.Metric.Name {
			case "cassandra_client_request_latency_seconds":
				first, last := x.Histograms[0], x.Histograms[len(x.Histograms)-1]
				for i, n := range last.Dense(nil) {
					count += float64(n - first.Dense(nil)[i])
				}
				sum += float64(last.Sum - first.Sum)
			case "cassandra_compaction_pending_tasks":
				if x.Ints[len(x.Ints)-1] != 180 {
					t.Errorf("%v compactions are pending", x.Ints)
				}
			}
		}
		return count, sum / count
	}
	count, mean := latency(plain)
	more, slower := latency(other)
	if more < 8*count || more > 12*count || slower < 5*mean || slower > 8*mean {
		t.Errorf("%.0f requests of %.0f µs became %.0f of %.0f", count, mean, more, slower)
	}
	for _, row := range s.Rows("table") {
		if row["keyspace"] != "shop" {
			t.Errorf("a table is in keyspace %s", row["keyspace"])
		}
	}
}
