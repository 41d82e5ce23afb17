package store

import (
	"math/bits"
	"testing"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/layout"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/windowtest"
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
	s := mustCassandra(t, newClock(base))
	g := v3{unbounded(s)}
	for _, phases := range [][][2]int{ // hours, bytes
		{{150, 400_000}, {20, 4_000_000}, {60, 600_000}},
		{{200, 20_000}, {50, 2_000_000}}, // a hundred times heavier overnight
		{{8, 30_000_000}},
	} {
		id := uuid.New()
		var starts []int64
		partitions := map[int64]int{}
		at := calendar.Floor(base, maxBucket*window.HourMillis)
		for _, phase := range phases {
			for range phase[0] {
				start, err := g.bucketFor(t.Context(), "acme", id, at, phase[1])
				if err != nil {
					t.Fatal(err)
				}
				if start > at {
					t.Fatalf("hour %d in bucket %d", at, start)
				}
				if again, err := g.bucketFor(t.Context(), "acme", id, at, phase[1]); err != nil ||
					again != start {
					t.Fatalf("an hour moves from bucket %d to %d, %v", start, again, err)
				}
				head := layout.Head{Bytes: int64(phase[1])}
				if err := s.exec(t.Context(),
					"INSERT INTO "+s.table(hoursTable)+
						" (account, node, bucket, entity_type, part, at, blob) VALUES ('acme', "+
						"?, ?, '', '', ?, ?)",
					gocql.UUID(id), start, at, head.Append(nil)); err != nil {
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

// TestBucketsWithinBuckets: while a bucket is divided processes write to both; who reads finds each
// hour once, in its newest form.
func TestBucketsWithinBuckets(t *testing.T) {
	c := newClock(base)
	s := mustCassandra(t, c)
	n := windowtest.NewNode(seeded(t, 600))
	// of the bucket that a new node gets
	first := calendar.Floor(base, newNodeBucket*window.HourMillis) - newNodeBucket*window.HourMillis
	c.millis.Store(first + 24*60*60_000)
	var late [][]byte
	want := windowtest.Samples{}
	for h := range int64(newNodeBucket) {
		for i := range int64(5) {
			sent := n.Step(first+h*window.HourMillis+i*50_000, i == 0)
			want.Add(sent.Samples)
			if i == 2 {
				late = append(late, sent.Bytes)
			} else {
				write(t, s, sent)
			}
		}
	}
	makeAll := func(from, to int64) {
		t.Helper()
		for h := from; h < to; h++ {
			if err := writing(s).CloseWindow(t.Context(), memory.Unbounded(), "acme", n.ID,
				first+h*window.HourMillis); err != nil {
				t.Fatal(err)
			}
			if err := writing(s).MakeHour(t.Context(), memory.Unbounded(), "acme", n.ID,
				first+h*window.HourMillis); err != nil {
				t.Fatal(err)
			}
		}
	}
	makeAll(0, 6)
	// Another process divides the bucket, then late frames come for hours on both sides, and hours
	// that were never made.
	shorter := bucketAt(first+4*window.HourMillis, 4)
	if err := s.exec(t.Context(),
		"INSERT INTO "+s.table(bucketTable)+
			" (account, node, start, length) VALUES ('acme', ?, ?, ?)", n.ID.String(),
		shorter.start, shorter.length); err != nil {
		t.Fatal(err)
	}
	for _, b := range late {
		if err := writing(s).WriteFrame(t.Context(), "acme", b); err != nil {
			t.Fatal(err)
		}
	}
	makeAll(2, newNodeBucket)
	got, report := read(t, s, n.ID, 0, 1<<50)
	// Hours 0 and 1 have not been made again: their late frames are read from fresh.
	if d := windowtest.Diff(got, want); d != "" || report.Fresh != 2 || report.Damaged > 0 {
		t.Fatalf("%+v\n%s", report, d)
	}
	rows := map[int64]int{}
	if err := s.each(t.Context(), func(scan func(...any) bool) bool {
		var bucket int64
		var typ string
		more := scan(&bucket, &typ)
		if more && typ == "" {
			rows[bucket]++
		}
		return more
	}, "SELECT bucket, entity_type FROM "+s.table(hoursTable)+
		" WHERE account = 'acme' AND node = ? ALLOW FILTERING", n.ID.String()); err != nil {
		t.Fatal(err)
	}
	if rows[first] != 6 || rows[shorter.start] != 4 {
		t.Errorf("hours by partition: %v", rows)
	}
}
