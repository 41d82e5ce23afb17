package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/data"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/disk/durable/durabletest"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store"
)

// TestKilledInOneDirectory takes the power from ringwatch all without engines at random moments
// while frames arrive: it is killed, and all that was not synced is lost. Every frame that was
// answered 2xx is there then, once, with its values. TestChaos kills it and leaves the power on.
func TestKilledInOneDirectory(t *testing.T) {
	engines.Needed(t, "a quarter of a minute")
	kills := 12
	if os.Getenv("RINGWATCH_TEST_FULL") != "" {
		kills = 500
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	d := newDirectory(t)
	d.begin(t)
	l := &line.Line{Ingest: d.ingest, Key: d.key(t, "all", account.Read, account.Write),
		Account: "alone"}
	if err := d.Kill(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	first := frame.WindowOf(time.Now().Add(-time.Hour - 3*time.Minute*time.Duration(kills)).
		UnixMilli())
	var nodes []*frametest.Node
	var senders sync.WaitGroup
	results := make([][]sent, 3)
	var accepted atomic.Int64
	for i := range results {
		nodes = append(nodes, frametest.New("killed", uint64(9000+i), 2))
		senders.Go(func() {
			results[i] = sendAll(ctx, l, nodes[i], first, rand.New(rand.NewPCG(seed, uint64(i))),
				&accepted)
		})
	}
	random, lost := rand.New(rand.NewPCG(seed, 99)), durabletest.Lost{}
	little := func() bool { return lost.Bytes == 0 || lost.Given == 0 }
	done := 0
	for ; done < kills || little() && done < 5*kills; done++ {
		// On a crowded machine a process may end before it has taken a frame. Each second one
		// takes some.
		most := accepted.Load() + int64(10*(done%2))
		d.life(t, random, &lost, func() bool { return accepted.Load() >= most })
	}
	stop()
	senders.Wait()
	t.Logf("%d frames were accepted under %d kills; lost were %s", accepted.Load(), done, lost)
	if accepted.Load() < int64(5*kills) || little() {
		t.Error("too little happened")
	}
	d.whole(t, nodes, results)
	if b, err := os.ReadFile(d.log); err != nil || strings.Contains(string(b), "level=ERROR") {
		t.Errorf("the log has errors, or cannot be read: %v", err)
	}
}

// life starts the process, and kills it and takes the power from it some time after enough has
// happened.
func (d *directory) life(t *testing.T, random *rand.Rand, lost *durabletest.Lost,
	enough func() bool) {
	t.Helper()
	notes := filepath.Join(filepath.Dir(d.data), "notes")
	d.launch(t, littleRows, recordDir+"="+d.data, recordNotes+"="+notes)
	const byItself = "the process has ended by itself"
	eventually(t, "frames that are taken", func(context.Context) error {
		if enough() {
			return nil
		}
		select {
		case <-d.Done():
			t.Fatal(byItself)
		default:
		}
		return errors.New("there are too few")
	})
	select {
	case <-d.Done():
		t.Fatal(byItself)
	case <-time.After(time.Duration(random.IntN(2000)) * time.Millisecond):
	}
	if random.IntN(2) == 0 && durabletest.End(notes) == nil { // else it has not begun to record
		select {
		case <-d.Done():
		case <-time.After(time.Second): // nothing was to be synced
		}
	}
	if err := d.Kill(); err != nil {
		t.Fatal(err)
	}
	l, err := durabletest.Lose(random, d.data, notes)
	if err != nil {
		t.Fatal(err)
	}
	lost.Add(l)
}

// sendAll posts a node's frames in order, each until it is accepted.
func sendAll(
	ctx context.Context, l *line.Line, node *frametest.Node, first int64, random *rand.Rand,
	accepted *atomic.Int64,
) (all []sent) {
	for at := first + 1234; ctx.Err() == nil && at < time.Now().UnixMilli(); at += 5000 {
		node.Step()
		b, s := node.Frame(at), sent{at: at, entities: copyEntities(node.Entities)}
		for {
			if s.accepted = post(ctx, l, b); s.accepted || ctx.Err() != nil {
				break
			}
			time.Sleep(20 * time.Millisecond) // a sender's pause between tries
		}
		if s.accepted {
			accepted.Add(1)
		}
		all = append(all, s)
		// so that kills come at any place
		time.Sleep(time.Duration(random.IntN(150)) * time.Millisecond)
	}
	return all
}

// whole opens the directory as ringwatch all does, lets the store take what the stream has, and
// finds all frames. No file is damaged then.
func (d *directory) whole(t *testing.T, nodes []*frametest.Node, results [][]sent) {
	t.Helper()
	p, err := wire.PrepareOnData(
		(&settings.DataFlags{RoleFlags: settings.RoleFlags{Config: d.config}, Data: d.data}), "all")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	parts, err := wire.Store(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx, parts...) }()
	for i, node := range nodes {
		for from := 0; from < len(results[i]); {
			hour := results[i][from].at / 3_600_000
			to := from
			byAt := map[int64]*sent{}
			for ; to < len(results[i]) && results[i][to].at/3_600_000 == hour; to++ {
				byAt[results[i][to].at] = &results[i][to]
			}
			eventually(t, "all frames of an hour", func(ctx context.Context) error {
				all, _, err := p.Database.Load().Reader(store.Dashboard("alone"),
					memory.Unbounded()).
					Read(ctx, "alone", node.ID, results[i][from].at, results[i][to-1].at)
				if err != nil {
					return err
				}
				return compare(all, node, byAt)
			})
			from = to
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	check := data.DataCheckCmd{Dir: d.data}
	if err := check.RunTo(io.Discard); err != nil {
		t.Error(fmt.Errorf("ringwatch data check: %w", err))
	}
}
