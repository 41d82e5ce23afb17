package peers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/prometheus/tsdb"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/line"
)

// Settle waits until all that was written is on disk as it stays there. A peer is started anew for
// it.
func (p *Peer) Settle(ctx context.Context) error {
	if err := p.EndWhole(ctx); err != nil {
		return err
	}
	if err := p.start(ctx); err != nil || p.Name != "victoriametrics" {
		return err
	}
	return p.merge(ctx)
}

// Disk returns the bytes of samples and of indexes.
func (p *Peer) Disk() (data, index int64, err error) {
	dir := filepath.Join(p.dir, "data")
	if p.Name == "victoriametrics" {
		if data, err = bench.Bytes(filepath.Join(dir, "data")); err == nil {
			index, err = bench.Bytes(filepath.Join(dir, "indexdb"))
		}
		return data, index, err
	}
	blocks, err := filepath.Glob(filepath.Join(dir, "*", "meta.json"))
	for _, meta := range blocks {
		n, err := bench.Bytes(filepath.Join(filepath.Dir(meta), "chunks"))
		if err != nil {
			return 0, 0, err
		}
		i, err := bench.Bytes(filepath.Join(filepath.Dir(meta), "index"))
		if err != nil {
			return 0, 0, err
		}
		data, index = data+n, index+i
	}
	return data, index, err
}

// EndWhole ends a peer in good order: what it has in memory is on disk then. Of all that a
// Prometheus has in its log it makes one block: what that would have made of it some hours later.
func (p *Peer) EndWhole(ctx context.Context) (err error) {
	if err := p.process.Stop(ctx); err != nil || p.Name == "victoriametrics" {
		return err
	}
	options := tsdb.DefaultOptions()
	options.RetentionDuration = 0
	db, err := tsdb.Open(filepath.Join(p.dir, "data"), slog.New(slog.DiscardHandler), nil,
		options, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	head := db.Head()
	return db.CompactHead(tsdb.NewRangeHead(head, head.MinTime(), head.MaxTime()))
}

// merge lets a VictoriaMetrics merge all parts of a month to one.
func (p *Peer) merge(ctx context.Context) error {
	for _, path := range []string{"/internal/force_flush", "/internal/force_merge"} {
		if _, err := p.Get(ctx, path, nil); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	quiet := 0
	return line.Until(ctx, "VictoriaMetrics to merge", func(ctx context.Context) error {
		b, err := p.Get(ctx, "/metrics", nil)
		if err != nil {
			return err
		}
		for _, l := range strings.Split(string(b), "\n") {
			if busy := strings.HasPrefix(l, "vm_active_merges{") ||
				strings.HasPrefix(l, "vm_active_force_merges"); busy &&
				!strings.HasSuffix(l, " 0") {
				quiet = 0
				return fmt.Errorf("it merges: %s", l)
			}
		}
		if quiet++; quiet < 50 { // a merge that begins a moment later
			return fmt.Errorf("it may still begin to merge")
		}
		return nil
	})
}
