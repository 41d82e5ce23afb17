package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringwatch/ringwatch/engines"
)

// TestWalk reads parts of a partition again, whose records are of three clusters by turns, a second apart.
func TestWalk(t *testing.T) {
	c := testConfig(t, engines.SharedKafka(t))
	mustTopic(t, c)
	const records = 700
	began := time.Now().Add(-records * time.Second).Truncate(time.Second)
	client := mustClient(t, c)
	for i := range records {
		r := &kgo.Record{Partition: 2, Key: fmt.Appendf(nil, "acme/c%d", i%3), Value: fmt.Appendf(nil, "value %d", i), Timestamp: began.Add(time.Duration(i) * time.Second)}
		if i%100 == 99 {
			r.Key = []byte("no cluster")
		}
		client.Produce(t.Context(), r, nil)
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct {
		name     string
		offset   int64
		since    time.Time
		until    int64
		clusters []string
		first    int // the range that is wanted
	}{
		{"by offset", 5, time.Time{}, 30, []string{"c0", "c2"}, 5},
		{"by time", -1, began.Add(100 * time.Second), records, []string{"c1"}, 100},
		{"between two", -1, began.Add(100*time.Second + time.Millisecond), 600, []string{"c1", "c2"}, 101},
		{"all there is", 0, time.Time{}, records, []string{"c0", "c1", "c2"}, 0},
		{"up to less than all, of one", 0, time.Time{}, 1, []string{"c0"}, 0},
		{"younger than all", -1, began.Add(time.Hour), records, []string{"c0"}, records},
		{"beyond its end", 30, time.Time{}, 30, []string{"c0"}, 30},
		{"nobody", 0, time.Time{}, records, nil, 0},
	} {
		t.Run(w.name, func(t *testing.T) {
			var want, got []string
			for i := w.first; i < int(w.until); i++ {
				if i%100 != 99 && slices.Contains(w.clusters, fmt.Sprint("c", i%3)) {
					want = append(want, fmt.Sprintf("%d acme c%d value %d", i, i%3, i))
				}
			}
			walk := Walk{Partition: 2, Offset: w.offset, Since: w.since, Until: w.until, Wanted: func(account, cluster string) bool { return account == "acme" && slices.Contains(w.clusters, cluster) }}
			err := c.Walk(t.Context(), quiet, walk, func(batch []Record) error {
				if len(batch) == 0 || len(batch) > walkBatch {
					t.Errorf("a batch of %d", len(batch))
				}
				for _, r := range batch {
					got = append(got, fmt.Sprintf("%d %s %s %s", r.Offset, r.Account, r.Cluster, r.Value))
					if r.Partition != 2 || !r.Received.Equal(began.Add(time.Duration(r.Offset)*time.Second)) {
						t.Errorf("%v", r)
					}
				}
				return nil
			})
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%v: %d records, want %d\n%.200q\n%.200q", err, len(got), len(want), got, want)
			}
		})
	}
	all := Walk{Partition: 2, Until: records, Wanted: func(string, string) bool { return true }}
	enough := errors.New("enough")
	if err := c.Walk(t.Context(), quiet, all, func([]Record) error { return enough }); !errors.Is(err, enough) {
		t.Error("the error of who takes them is lost:", err)
	}
	if err := c.Walk(t.Context(), quiet, Walk{Partition: 99, Until: 1, Wanted: all.Wanted}, nil); err == nil {
		t.Error("a partition that there is not is walked")
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := c.Walk(ctx, quiet, all, func([]Record) error { cancel(); return ctx.Err() }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
