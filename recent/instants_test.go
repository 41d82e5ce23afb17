package recent

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/stream"
)

// TestInstants asks of nodes that lose frames and start anew when they sent: what is said to be all
// is all, and what Frames knows to be all of an agent's one run is known here, too.
func TestInstants(t *testing.T) {
	f := newFixture(t, inMemory)
	ctx, r := t.Context(), rand.New(rand.NewPCG(28, 4))
	const interval = 5000
	account := "instants-" + uuid.NewString()[:8]
	sent := map[uuid.UUID][]int64{}
	var nodes []uuid.UUID
	var records []stream.Record
	for i := range 12 {
		n := frametest.New("one", uint64(100+i), 1)
		nodes = append(nodes, n.ID)
		for at := int64(start) +
			int64(i); at <= start+12*time.Minute.Milliseconds(); at += interval {
			n.Step()
			switch b := n.Frame(at); {
			case i > 3 && r.IntN(100) == 0: // lost: it is in the log, and not here
				sent[n.ID] = append(sent[n.ID], at)
			case i > 7 && r.IntN(100) == 0:
				n.Restart(at)
				fallthrough
			default:
				sent[n.ID] = append(sent[n.ID], at)
				records = append(records, stream.Record{Account: account, Value: b})
			}
		}
	}
	nodes = append(nodes, uuid.New()) // that nobody knows
	now := int64(start) + 12*time.Minute.Milliseconds() + 12
	f.clock.millis.Store(now)
	if err := f.writer.Handle(ctx, records); err != nil {
		t.Fatal(err)
	}
	proved := 0
	for range 60 {
		to := now - int64(r.IntN(2)*r.IntN(600_000))
		from := to - int64(r.IntN(700_000))
		instants, whole, err := f.reader.Instants(ctx, account, nodes, from, to)
		if err != nil || len(instants) != len(nodes) || len(whole) != len(nodes) {
			t.Fatal(len(instants), len(whole), err)
		}
		for i, id := range nodes {
			var want []int64
			for _, at := range sent[id] {
				if at >= from && at <= to {
					want = append(want, at)
				}
			}
			_, complete, err := f.reader.Frames(ctx, account, id, from, to)
			if err != nil && i < 12 && complete {
				t.Fatal(err)
			}
			switch {
			case whole[i] && !slices.Equal(instants[i], want):
				t.Errorf("node %d from %d to %d: %v, not %v", i, from, to, instants[i], want)
			case i < 4 && complete != whole[i]:
				t.Errorf("node %d from %d to %d: Frames knows all: %v, Instants: %v", i, from, to,
					complete, whole[i])
			case whole[i]:
				proved++
			}
		}
	}
	if proved < 200 {
		t.Error("only", proved, "were known whole")
	}
	if _, whole, err := f.reader.Instants(ctx, "another", nodes, now-60_000, now); err != nil ||
		slices.Contains(whole, true) {
		t.Error("another account's nodes are known", err)
	}
	if list, _, err := f.reader.Instants(ctx, account, nil, now-60_000, now); err != nil ||
		len(list) != 0 {
		t.Error(list, err)
	}
}
