package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/peers"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// live writes each frame into all sides when it is due. Whoever holds the lock knows that all
// sides have the same.
type live struct {
	sync.Mutex
	*player
	ours   *ours
	others []*peers.Peer
	keys   map[uuid.UUID][]byte // of each node's window
	open   int64                // the earliest window that is not closed
	// has each frame; a later run gives the newest to its Redis, which keeps nothing
	file *os.File
}

// grace is how long after a window's end it is closed, in ms: the store's own.
const grace = 20_000

// liveBefore is how long before the present the frames begin that go to Redis as well: longer
// than it holds them, by a window.
const liveBefore = 20 * time.Minute

// startLive plays the last minutes up to now into all sides. What an earlier run with this folder
// has played of them stays: its frames go to Redis alone, and the nodes go on from there, as
// after a restart.
func startLive(ctx context.Context, s *set, o *options, r *ours, others []*peers.Peer,
	dir string) (*live, error) {
	idle, busy, err := s.shapes(o.recordings)
	if err != nil {
		return nil, err
	}
	l := &live{ours: r, others: others, keys: map[uuid.UUID][]byte{}}
	from := time.Now().Add(-liveBefore).UnixMilli()
	before, err := readFrames(filepath.Join(dir, "live.rwf"), from)
	if err != nil {
		return nil, err
	}
	if l.file, err = os.Create(filepath.Join(dir, "live.rwf")); err != nil {
		return nil, err
	}
	l.Lock()
	defer l.Unlock()
	if len(before) == 0 {
		l.player = newPlayer(s, idle, busy, frame.WindowOf(from))
		err := l.load(ctx, frame.WindowMillis, func() int64 { return time.Now().UnixMilli() },
			l.batchToOurs, sinksOf(others))
		if err != nil {
			return nil, err
		}
		l.open = l.at
		return l, l.tick(ctx)
	}
	last := before[0].at
	for _, f := range before {
		if err := l.toRedis(ctx, f.cluster, f.at, f.bytes); err != nil {
			return nil, err
		}
		last = max(last, f.at)
	}
	l.player = newPlayer(s, idle, busy, last+1)
	l.open = frame.WindowOf(last)
	bench.Progress("%s: %d frames of the run before are in Redis; going on %s later", s.Account,
		len(before), time.Since(time.UnixMilli(last)).Round(time.Second))
	return l, l.tick(ctx)
}

func sinksOf(others []*peers.Peer) (list []sink) {
	for _, p := range others {
		list = append(list, p)
	}
	return list
}

// played is a frame of an earlier run.
type played struct {
	at      int64
	cluster string
	bytes   []byte
}

// readFrames returns a file's frames that were made since, in ms; none if there is no file.
func readFrames(file string, since int64) (list []played, err error) {
	if _, err := os.Stat(file); os.IsNotExist(err) {
		return nil, nil
	}
	frames, err := bench.Recording(file)
	if err != nil {
		return nil, err
	}
	for _, b := range frames {
		h, _, err := frame.Parse(b)
		if err != nil {
			return nil, err
		}
		if h.At >= since {
			list = append(list, played{h.At, h.Cluster, b})
		}
	}
	// A frame refers to the key frame of its window, so the oldest window that is not whole is
	// useless.
	return slices.DeleteFunc(list, func(f played) bool {
		return f.at < frame.WindowOf(since)+frame.WindowMillis
	}), nil
}

// batchToOurs writes windows that are over, and their frames into Redis.
func (l *live) batchToOurs(ctx context.Context, b *batch) error {
	if err := l.ours.write(ctx, l.account, b); err != nil {
		return err
	}
	for i := range b.nodes {
		n := &b.nodes[i]
		for w := range n.frames {
			for j, f := range n.frames[w] {
				if err := l.toRedis(ctx, n.node.Cluster, n.windows[w].Times[j], f); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// toRedis gives a frame to Redis as if it came when it was made.
func (l *live) toRedis(ctx context.Context, cluster string, at int64, b []byte) error {
	if _, err := l.file.Write(b); err != nil {
		return err
	}
	l.ours.now.Store(at)
	defer l.ours.now.Store(0)
	return l.ours.handle(ctx, shortAccount, cluster, b)
}

// run goes on until ctx ends.
func (l *live) run(ctx context.Context) error {
	for ctx.Err() == nil {
		l.Lock()
		err := l.tick(ctx)
		l.Unlock()
		if err != nil && ctx.Err() == nil {
			return err
		}
		_ = bench.Pass(ctx, time.Second)
	}
	return nil
}

// tick writes what is due; the caller holds the lock.
func (l *live) tick(ctx context.Context) error {
	now := time.Now().UnixMilli()
	for i := range l.nodes {
		for l.next[i] <= now {
			if err := l.one(ctx, i); err != nil {
				return fmt.Errorf("a frame of node %d: %w", i, err)
			}
		}
	}
	for ; now >= l.open+frame.WindowMillis+grace; l.open += frame.WindowMillis {
		err := bench.AtOnce(ctx, len(l.nodes), nodesAtOnce, func(ctx context.Context, i int) error {
			return l.ours.close(ctx, l.account, l.nodes[i].ID, l.open)
		})
		if err != nil {
			return fmt.Errorf("closing: %w", err)
		}
	}
	return nil
}

func (l *live) one(ctx context.Context, i int) error {
	n := l.nodes[i]
	f, err := l.frame(i)
	if err != nil {
		return err
	}
	h, _, err := frame.Parse(f)
	if err != nil {
		return err
	}
	frames := [][]byte{f}
	if h.IsKey() {
		l.keys[n.ID] = f
	} else {
		frames = [][]byte{l.keys[n.ID], f}
	}
	l.ours.now.Store(h.At)
	err = patient(ctx, func() error { return l.ours.writer.WriteFrame(ctx, l.account, f) })
	l.ours.now.Store(0)
	if err == nil {
		err = l.toRedis(ctx, n.Cluster, h.At, f)
	}
	if err != nil {
		return err
	}
	w, _, err := building.Window(window.Node{Account: l.account, ID: n.ID}, frames)
	if err != nil {
		return err
	}
	// Of this instant alone: what was a moment before may be gone.
	list := selecting.Latest(w)
	one := &window.Window{Node: w.Node, Start: w.Start, Times: []int64{h.At}}
	g := l.goes(i, one, list)
	l.newest[i] = w
	for _, p := range l.others {
		if err := p.Write(ctx, g.series, g.at); err != nil {
			return err
		}
		if err := p.Write(ctx, list, nil); err != nil {
			return err
		}
		if err := p.Send(ctx, heard(w, []int64{h.At})...); err != nil {
			return err
		}
	}
	return nil
}
