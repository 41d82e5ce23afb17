package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/peers"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/store/rows/files"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// disk is what both sides keep, in MB: at rest, and all that was in the directories before.
type disk struct {
	Ours, Theirs       float64
	OursAll, TheirsAll float64
	Stream             float64 // of OursAll
}

// How long after the run's end the rows are looked at: no frame is left of it, nor a window's
// rows, and nothing comes any more to where its hours and rollups are, so they are merged.
const atRest = 4 * 24 * time.Hour

// disk ends the load and measures what is kept of it.
func (r *report) disk(
	ctx context.Context, n *nodes, us *ours, them *peers.Peer, from time.Time,
) (err error) {
	if err := n.end(); err != nil {
		return err
	}
	us.End()
	d := &disk{}
	r.Disk = d
	if d.OursAll, err = sizeOf(us.data()); err != nil {
		return err
	}
	if d.Stream, err = sizeOf(filepath.Join(us.data(), "stream")); err != nil {
		return err
	}
	data := filepath.Join(filepath.Dir(us.dir), "prometheus", "prometheus", "data")
	if d.TheirsAll, err = sizeOf(data); err != nil {
		return err
	}
	to := time.Now()
	bench.Progress("letting Prometheus make blocks of its log")
	if err := them.EndWhole(ctx); err != nil {
		return err
	}
	chunks, index, err := them.Disk()
	if err != nil {
		return err
	}
	d.Theirs = float64(chunks+index) / 1e6
	rest := filepath.Join(us.dir, "rest")
	if err := files.Copy(us.rows(), rest); err != nil {
		return err
	}
	if err := settle(ctx, rest, from, to); err != nil {
		return err
	}
	if d.Ours, err = sizeOf(filepath.Join(rest, "rows")); err != nil {
		return err
	}
	bench.Progress("at rest %.1f MB, Prometheus %.1f MB; all there was: %.1f MB, %.1f of it the "+
		"stream, and %.1f MB", d.Ours, d.Theirs, d.OursAll, d.Stream, d.TheirsAll)
	if r.does("start") {
		return r.start(ctx, n, us)
	}
	return nil
}

// settle does to a directory of rows what time would: all windows are closed, hours and days are
// made, what has expired by then is removed, and what is kept is merged.
func settle(ctx context.Context, dir string, from, to time.Time) error {
	now := atomic.Int64{}
	now.Store(to.Add(10 * time.Minute).UnixMilli())
	clock := func() time.Time { return time.UnixMilli(now.Load()) }
	c := store.DefaultConfig()
	c.Dir, c.Now, c.Log = dir, clock, slog.New(slog.DiscardHandler)
	db, err := store.New(c, nil)
	if err != nil {
		return err
	}
	if err := db.Connect(ctx); err != nil {
		return err
	}
	err = closeAll(ctx, db, &now, from.UnixMilli(), to.UnixMilli())
	db.Close()
	if err != nil {
		return err
	}
	now.Store(to.Add(atRest).UnixMilli())
	e, err := files.Open(dir, files.Config{Now: clock, Log: c.Log})
	if err != nil {
		return err
	}
	defer e.Close()
	return quiet(ctx, e, dir)
}

// closeAll makes columns, hours and days of all that came from … to, in ms.
func closeAll(ctx context.Context, db *store.Store, now *atomic.Int64, from, to int64) error {
	w := store.NewWriter(db)
	ids, err := db.Reader(store.Dashboard(accountName), memory.Unbounded()).NodeIDs(ctx,
		accountName)
	if err != nil {
		return err
	}
	bench.Progress("closing windows and making hours and days of %d nodes, recorders of "+
		"rules among them",
		len(ids))
	err = bench.AtOnce(ctx, len(ids), 2, func(ctx context.Context, i int) error {
		for at := frame.WindowOf(from); at <= to; at += frame.WindowMillis {
			if err := w.CloseWindow(ctx, memory.Unbounded(), accountName, ids[i], at); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, level := range []rollup.Level{rollup.Hour, rollup.Day} {
		make := w.MakeHour
		if level == rollup.Day {
			make = w.MakeDay
		}
		for at := level.Start(from); at <= to; at += level.Millis {
			now.Store(max(now.Load(), at+level.Millis+time.Hour.Milliseconds()/2))
			for _, id := range ids {
				if err := make(ctx, memory.Unbounded(), accountName, id, at); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// quiet waits until an engine has nothing to write, remove or merge: until the files have been the
// same for longer than it takes to look at them.
func quiet(ctx context.Context, e *files.Engine, dir string) error {
	if err := e.Flush(ctx); err != nil {
		return err
	}
	last, since := int64(-1), time.Now()
	for time.Since(since) < 25*time.Second {
		if now := e.Bytes(); now != last {
			last, since = now, time.Now()
		}
		if err := bench.Pass(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}

// sizeOf returns the MB of a directory's files.
func sizeOf(dir string) (mb float64, err error) {
	n, err := bench.Bytes(dir)
	return float64(n) / 1e6, err
}
