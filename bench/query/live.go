package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/bench/peers"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query"
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
	silent int                  // the node that sends no more; -1: none
	told   int64                // when the peers heard of that last
}

// grace is how long after a window's end it is closed, in ms: the store's own.
const grace = 20_000

func newLive(p *player, r *ours, others []*peers.Peer) *live {
	l := &live{player: p, ours: r, others: others, keys: map[uuid.UUID][]byte{}, open: p.at, silent: -1}
	return l
}

// run goes on until ctx ends.
func (l *live) run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := l.tick(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return nil
}

// tick writes what is due.
func (l *live) tick(ctx context.Context) error {
	l.Lock()
	defer l.Unlock()
	now := time.Now().UnixMilli()
	for i := range l.nodes {
		for l.next[i] <= now && i != l.silent {
			if err := l.one(ctx, i); err != nil {
				return fmt.Errorf("a frame of node %d: %w", i, err)
			}
		}
	}
	if err := l.silence(ctx, now); err != nil {
		return err
	}
	for ; now >= l.open+frame.WindowMillis+grace; l.open += frame.WindowMillis {
		err := inParallel(ctx, len(l.nodes), func(ctx context.Context, i int) error { return l.ours.close(ctx, l.account, l.nodes[i].ID, l.open) })
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
		if err := p.Send(ctx, heard(w, []int64{h.At}, 1)...); err != nil {
			return err
		}
	}
	return nil
}

// silence tells the peers of the node that sends no more, as what scrapes Ringwatch would hear of it.
func (l *live) silence(ctx context.Context, now int64) error {
	if l.silent < 0 || l.newest[l.silent] == nil || now < l.told+l.every {
		return nil
	}
	l.told = now
	w := l.newest[l.silent]
	up := 1.0
	if query.StateOf(now-w.Times[len(w.Times)-1], l.every) == query.StateDown {
		up = 0
	}
	for _, p := range l.others {
		if err := p.Send(ctx, heard(w, []int64{now}, up)...); err != nil {
			return err
		}
	}
	return nil
}
