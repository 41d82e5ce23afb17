package rules

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// TestTimeline: series of one node, whose values come in time, late, twice and not at all, and
// that are trimmed, each have what a list of its own would have. Most share their instants.
func TestTimeline(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	shared, all := 0, 0
	for range 40 {
		n := node{}
		var cells []*memSeries
		var models []map[int64]int64
		for range 1 + r.IntN(6) {
			c := &memSeries{Series: window.Series{Metric: &window.Metric{Kind: frame.Gauge}},
				line: &n.line, keep: int64(5+r.IntN(60)) * 20_000}
			n.line.keep = max(n.line.keep, c.keep)
			cells, models = append(cells, c), append(models, map[int64]int64{})
		}
		steady := r.IntN(3) > 0 // a node without trouble
		at, from := int64(1_000_000), int64(0)
		for range 200 {
			at += 20_000
			now := at
			if !steady && r.IntN(10) == 0 {
				now -= int64(r.IntN(15)) * 20_000 // late, or again
			}
			if r.IntN(4) > 0 {
				from = max(from, at-int64(r.IntN(60_000)))
			}
			for i, c := range cells {
				if !steady && r.IntN(20) == 0 {
					continue
				}
				v := r.Int64()
				if _, there := models[i][now]; !there && now >= from-c.keep {
					models[i][now] = v
					c.add(now, sampleValue{number: v}, from)
				}
			}
			for i, c := range cells {
				var wantAt, wantInts []int64
				for at := range models[i] {
					if len(c.At) > 0 && at >= c.At[0] {
						wantAt = append(wantAt, at)
					} else if at >= from-c.keep {
						t.Fatalf("%d of cell %d is forgotten, and what is kept begins at %d", at, i,
							from-c.keep)
					}
				}
				slices.Sort(wantAt)
				for _, at := range wantAt {
					wantInts = append(wantInts, models[i][at])
				}
				if !slices.Equal(c.At, wantAt) || !slices.Equal(c.Ints, wantInts) {
					t.Fatalf("cell %d has\n%v %v, want\n%v %v", i, c.At, c.Ints, wantAt, wantInts)
				}
				all++
				if c.first != ownTimes {
					shared++
				}
				if steady && c.first == ownTimes {
					t.Fatalf("cell %d has its own instants, and it has all of the node's", i)
				}
			}
			if len(n.line.at) > 400 {
				t.Fatalf("%d instants are kept", len(n.line.at))
			}
		}
	}
	if shared < all/2 {
		t.Errorf("%d of %d times a cell shared its instants", shared, all)
	}
}

// TestTimelineIsSharedAgain: after a late value that one series lacks, they share once it is
// forgotten.
func TestTimelineIsSharedAgain(t *testing.T) {
	n := node{}
	n.line.keep = 100_000
	a := &memSeries{Series: window.Series{Metric: &window.Metric{}}, line: &n.line, keep: 100_000}
	b := &memSeries{Series: window.Series{Metric: &window.Metric{}}, line: &n.line, keep: 100_000}
	for at := int64(20_000); at < 2_000_000; at += 20_000 {
		a.add(at, sampleValue{}, at)
		if at != 200_000 {
			b.add(at, sampleValue{}, at)
		}
		if own := b.first == ownTimes; at == 220_000 && !own || at > 500_000 && own ||
			a.first == ownTimes {
			t.Fatalf("at %d: a begins at %d, b at %d of the node's", at, a.first, b.first)
		}
	}
	if &a.At[len(a.At)-1] != &b.At[len(b.At)-1] {
		t.Error("they share nothing")
	}
}
