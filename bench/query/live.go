package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/bench/peers"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// live writes each frame into all sides when it is due. Whoever holds the lock knows that all sides have the same.
type live struct {
	sync.Mutex
	*player
	ours   *ours
	others []*peers.Peer
	keys   map[uuid.UUID][]byte // of each node's window
	open   int64                // the earliest window that is not closed
}

// grace is how long after a window's end it is closed, in ms: the store's own.
const grace = 20_000

// liveBefore is how long before the present the frames begin that go to Redis as well: longer than it holds them, by a window.
const liveBefore = 20 * time.Minute

// startLive plays the last minutes up to now into all sides.
func startLive(ctx context.Context, s *set, o *options, r *ours, others []*peers.Peer) (*live, error) {
	idle, busy, err := s.shapes(o.recordings)
	if err != nil {
		return nil, err
	}
	p := newPlayer(s, idle, busy, frame.WindowOf(time.Now().Add(-liveBefore).UnixMilli()))
	var sinks []sink
	for _, other := range others {
		sinks = append(sinks, other)
	}
	ours := func(ctx context.Context, b *batch) error {
		if err := r.write(ctx, s.Account, b); err != nil {
			return err
		}
		defer r.now.Store(0)
		for i := range b.nodes {
			n := &b.nodes[i]
			for w := range n.frames {
				for j, f := range n.frames[w] {
					r.now.Store(n.windows[w].Times[j]) // each comes when it was made
					if err := r.handle(ctx, s.Account, n.node.Cluster, f); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}
	if err := p.load(ctx, frame.WindowMillis, func() int64 { return time.Now().UnixMilli() }, ours, sinks); err != nil {
		return nil, err
	}
	l := &live{player: p, ours: r, others: others, keys: map[uuid.UUID][]byte{}, open: p.at}
	l.Lock()
	defer l.Unlock()
	return l, l.tick(ctx)
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
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
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
		err := inParallel(ctx, len(l.nodes), nodesAtOnce, func(ctx context.Context, i int) error { return l.ours.close(ctx, l.account, l.nodes[i].ID, l.open) })
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
	err = patient(ctx, func() error { return l.ours.store.WriteFrame(ctx, l.account, f) })
	if err == nil {
		err = l.ours.handle(ctx, l.account, n.Cluster, f)
	}
	l.ours.now.Store(0)
	if err != nil {
		return err
	}
	w, _, err := window.Build(window.Node{Account: l.account, ID: n.ID}, frames)
	if err != nil {
		return err
	}
	// Of this instant alone: what was a moment before may be gone.
	list := w.Latest()
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
