package peers

import (
	"context"
	"log/slog"
	"math"
	"path/filepath"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// TestBlocks: a database reads from the blocks what was written, once, over the end of a block
// and with what ended there.
func TestBlocks(t *testing.T) {
	dir, ctx := t.TempDir(), context.Background()
	b := NewBlocks(dir, Classic)
	const first = 900_000 * blockMillis
	write := func(name string, at ...int64) {
		ts := prompb.TimeSeries{Labels: []prompb.Label{{Name: "__name__", Value: name}}}
		for _, at := range at {
			v := float64(at)
			if at < 0 {
				at, v = -at, math.Float64frombits(value.StaleNaN)
			}
			ts.Samples = append(ts.Samples, prompb.Sample{Timestamp: at, Value: v})
		}
		if err := b.Send(ctx, ts); err != nil {
			t.Fatal(err)
		}
	}
	const end = first + blockMillis
	write("a", first, first+1000, end-1000)
	write("b", first+500, end-500) // a node after another one goes back in time
	// gone: its last sample again, in the block before, and its end
	write("b", end-500, -(end + 500))
	write("a", end, end+1000)
	if err := b.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(ctx); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	options := tsdb.DefaultOptions()
	options.RetentionDuration = 0
	db, err := tsdb.Open(filepath.Join(dir, "prometheus", "data"), slog.New(slog.DiscardHandler),
		nil, options, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if n := len(db.Blocks()); n != 2 {
		t.Errorf("%d blocks, want 2", n)
	}
	q, err := db.Querier(0, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	for name, want := range map[string]int{"a": 5, "b": 3} {
		set := q.Select(ctx, true, nil, labels.MustNewMatcher(labels.MatchEqual, "__name__", name))
		if !set.Next() {
			t.Fatalf("%s is not there: %v", name, set.Err())
		}
		got, stale := 0, 0
		for it := set.At().Iterator(nil); it.Next() == chunkenc.ValFloat; got++ {
			if at, v := it.At(); value.IsStaleNaN(v) {
				stale++
			} else if v != float64(at) {
				t.Errorf("%s has %v at %d", name, v, at)
			}
		}
		if got != want || stale != map[string]int{"a": 0, "b": 1}[name] {
			t.Errorf("%s has %d samples, %d of them ends", name, got, stale)
		}
	}
}
