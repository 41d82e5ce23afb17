package streamtest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/stream"
)

// testWalk reads parts of a partition again, whose records are of three clusters by turns, a
// second apart.
func testWalk(t *testing.T, e stream.Engine) {
	c := Config(t)
	MustTopic(t, e, c)
	const records = 700
	began := time.Now().Add(-records * time.Second).Truncate(time.Second)
	var list []stream.Message
	for i := range records {
		m := stream.Message{Partition: 2, Key: fmt.Appendf(nil, "acme/c%d", i%3),
			Value: fmt.Appendf(nil, "value %d", i), Time: began.Add(time.Duration(i) * time.Second)}
		if i%100 == 99 {
			m.Key = []byte("no cluster")
		}
		list = append(list, m)
	}
	Foreign(t, e, c, list...)
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
		{"between two", -1, began.Add(100*time.Second + time.Millisecond), 600,
			[]string{"c1", "c2"}, 101},
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
			walk := stream.Walk{Partition: 2, Offset: w.offset, Since: w.since, Until: w.until,
				Wanted: func(account, cluster string) bool {
					return account == "acme" && slices.Contains(w.clusters, cluster)
				}}
			err := stream.Again(t.Context(), e, c.Topic, walk, func(batch []stream.Record) error {
				if len(batch) == 0 || len(batch) > 256 {
					t.Errorf("a batch of %d", len(batch))
				}
				for _, r := range batch {
					got = append(got, fmt.Sprintf("%d %s %s %s", r.Offset, r.Account, r.Cluster,
						r.Value))
					if r.Partition != 2 ||
						!r.Received.Equal(began.Add(time.Duration(r.Offset)*time.Second)) {
						t.Errorf("%v", r)
					}
				}
				return nil
			})
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("%v: %d records, want %d\n%.200q\n%.200q", err, len(got), len(want),
					got, want)
			}
		})
	}
	all := stream.Walk{Partition: 2, Until: records, Wanted: func(string, string) bool {
		return true
	}}
	enough := errors.New("enough")
	if err := stream.Again(t.Context(), e, c.Topic, all, func([]stream.Record) error {
		return enough
	}); !errors.Is(err, enough) {
		t.Error("the error of who takes them is lost:", err)
	}
	if err := stream.Again(t.Context(), e, c.Topic,
		stream.Walk{Partition: 99, Until: 1, Wanted: all.Wanted}, nil); err == nil {
		t.Error("a partition that there is not is walked")
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := stream.Again(ctx, e, c.Topic, all, func([]stream.Record) error {
		cancel()
		return ctx.Err()
	}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// testFollow: a reader beside all groups has what came since a time, and then what comes.
func testFollow(t *testing.T, e stream.Engine) {
	c := Config(t)
	if err := stream.Follow(t.Context(), e, c.Topic, time.Now(), nil, nil); !errors.Is(err,
		stream.ErrNoTopic) {
		t.Errorf("of no topic: %v", err)
	}
	MustTopic(t, e, c)
	now := time.Now()
	Foreign(t, e, c,
		stream.Message{Key: []byte("acme/c1"), Value: []byte("old"), Time: now.Add(-time.Minute)},
		stream.Message{Key: []byte("acme/c1"), Value: []byte("new"), Time: now},
		stream.Message{Key: []byte("acme/c2"), Value: []byte("unwanted"), Time: now, Partition: 1},
		stream.Message{Key: []byte("no cluster"), Time: now, Partition: 2})
	p, _ := MustProducer(t, e, c)
	var got []string
	ctx, cancel := context.WithCancel(t.Context())
	err := stream.Follow(ctx, e, c.Topic, now.Add(-time.Second),
		func(_, cluster string) bool { return cluster == "c1" },
		func(r stream.Record) error {
			got = append(got, string(r.Value))
			switch len(got) {
			case 1:
				MustPublish(t, p, "c1", 1)
			case 2:
				cancel()
			}
			return nil
		})
	if !errors.Is(err, context.Canceled) || !slices.Equal(got, []string{"new", "c1 0"}) {
		t.Errorf("%v: %q", err, got)
	}
}
