package peers

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/prometheus/prompb"

	"github.com/ringwatch/ringwatch/bench/line"
)

// marker is a series that only moves Prometheus's clock.
func (p *Peer) marker(ctx context.Context, at int64) error {
	p.pending = append(p.pending,
		prompb.TimeSeries{Labels: []prompb.Label{{Name: "__name__", Value: "marker"}},
			Samples: []prompb.Sample{{Value: 1, Timestamp: at}}})
	return p.send(ctx)
}

// flushPrometheus makes blocks of all data: the head is cut when something comes that is three
// hours newer, and blocks of two hours become one of six when there are two later ones. It polls
// until neither head nor small blocks hold data.
func flushPrometheus(ctx context.Context, p *Peer, from, to int64) error {
	for _, hours := range []int64{4, 6, 8, 11} {
		if err := p.marker(ctx, to+hours*3600_000+1800_000); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	return line.Until(ctx, "Prometheus to compact", func(ctx context.Context) error {
		b, err := p.Get(ctx, "/api/v1/status/tsdb", nil)
		if err != nil {
			return err
		}
		var s struct {
			Data struct{ HeadStats struct{ MinTime int64 } }
		}
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		if s.Data.HeadStats.MinTime < to {
			return fmt.Errorf("its head still begins at %d", s.Data.HeadStats.MinTime)
		}
		blocks, err := readBlocks(filepath.Join(p.dir, "data"))
		if err != nil {
			return err
		}
		small := 0
		for _, m := range blocks {
			if m.MinTime < to && m.MaxTime-m.MinTime < 6*3600_000 {
				small++
			}
		}
		if small > 1 && to-from > 2*3600_000 {
			return fmt.Errorf("%d small blocks are left", small)
		}
		return nil
	})
}

type block struct {
	MinTime, MaxTime int64
	dir              string
}

func readBlocks(dir string) ([]block, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "meta.json"))
	var list []block
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // being replaced
		}
		m := block{dir: filepath.Dir(f)}
		if json.Unmarshal(b, &m) == nil {
			list = append(list, m)
		}
	}
	return list, err
}

func blockBytes(dir string) (data, index int64, err error) {
	blocks, err := readBlocks(dir)
	for _, b := range blocks {
		n, err := dirBytes(filepath.Join(b.dir, "chunks"))
		if err != nil {
			return 0, 0, err
		}
		i, err := os.Stat(filepath.Join(b.dir, "index"))
		if err != nil {
			return 0, 0, err
		}
		data, index = data+n, index+i.Size()
	}
	return data, index, err
}

// flushVictoria merges all parts of a month to one. What is in memory it writes when it ends, so
// it is started anew.
func flushVictoria(ctx context.Context, p *Peer, from, to int64) error {
	if err := p.process.Stop(ctx); err != nil {
		return err
	}
	if err := p.start(ctx); err != nil {
		return err
	}
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

func victoriaBytes(dir string) (data, index int64, err error) {
	if data, err = dirBytes(filepath.Join(dir, "data")); err != nil {
		return 0, 0, err
	}
	index, err = dirBytes(filepath.Join(dir, "indexdb"))
	return data, index, err
}

func dirBytes(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		i, err := e.Info()
		if err == nil {
			n += i.Size()
		}
		return err
	})
	return n, err
}
