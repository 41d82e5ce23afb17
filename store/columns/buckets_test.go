package columns

import (
	"math/bits"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/layout"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/files"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
)

func TestHoursFor(t *testing.T) {
	for bytes := 1; bytes < 64<<20; bytes += 1 + bytes/7 {
		n := hoursFor(bytes)
		if bits.OnesCount(uint(n)) != 1 || n > maxBucket {
			t.Fatalf("%d bytes: %d hours", bytes, n)
		}
		if size := n * bytes; n > 1 && size > targetBytes || n < maxBucket && size < targetBytes/2 {
			t.Fatalf("%d bytes: %d hours are %d bytes", bytes, n, size)
		}
	}
}

// TestPartitionsStayInBounds lets nodes of several weights live, and outgrow their buckets.
func TestPartitionsStayInBounds(t *testing.T) {
	engine, err := files.New(t.TempDir(), files.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	const begin = 1_700_000_000_000
	limits := &calendar.Limits{RawTTL: 14 * 24 * time.Hour}
	clock := calendar.NewClock(func() time.Time { return time.UnixMilli(begin) })
	g := New(nil, limits, clock, nil, Metrics{}).At(spans.Task{Engine: engine})
	if err := engine.Create(t.Context(), g.Tables()...); err != nil {
		t.Fatal(err)
	}
	for _, phases := range [][][2]int{ // hours, bytes
		{{150, 400_000}, {20, 4_000_000}, {60, 600_000}},
		{{200, 20_000}, {50, 2_000_000}}, // a hundred times heavier overnight
		{{8, 30_000_000}},
	} {
		id := uuid.New()
		var starts []int64
		partitions := map[int64]int{}
		at := calendar.Floor(begin, maxBucket*window.HourMillis)
		for _, phase := range phases {
			for range phase[0] {
				start, err := g.BucketFor(t.Context(), "acme", id, at, phase[1])
				if err != nil {
					t.Fatal(err)
				}
				if start > at {
					t.Fatalf("hour %d in bucket %d", at, start)
				}
				if again, err := g.BucketFor(t.Context(), "acme", id, at, phase[1]); err != nil ||
					again != start {
					t.Fatalf("an hour moves from bucket %d to %d, %v", start, again, err)
				}
				head := layout.Head{Bytes: int64(phase[1])}
				if err := engine.Put(t.Context(), rows.Work{}, g.tables.Hours, rows.Row{
					Key:    []any{"acme", id, start, "", "", at},
					Values: []any{head.Append(nil)}}); err != nil {
					t.Fatal(err)
				}
				if partitions[start] == 0 {
					starts = append(starts, start)
				}
				partitions[start] += phase[1]
				at += window.HourMillis
			}
		}
		var sizes []float64
		small := 0
		for i, start := range starts {
			size := partitions[start]
			sizes = append(sizes, float64(size*10>>20)/10)
			if size > largestBytes {
				t.Errorf("%v: a partition of %d bytes", phases, size)
			}
			if size < 8<<20 && i+1 < len(starts) { // the last one is not full yet
				small++
			}
		}
		// Small ones are only there where a node is new or has changed: at most three for each such
		// time.
		if small > 3*len(phases) {
			t.Errorf("%v: %d small partitions", phases, small)
		}
		t.Logf("%v: MiB %v", phases, sizes)
		known, err := g.buckets(t.Context(), "acme", id, 0, at)
		if err != nil || len(partitionsOf(known)) != len(starts) && len(known) < len(starts) {
			t.Errorf("%d buckets for %d partitions, %v", len(known), len(starts), err)
		}
	}
}
