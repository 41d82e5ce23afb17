package peers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/ringwatch/ringwatch/window"
)

// blockMillis is what a block of Prometheus's spans at first.
const blockMillis = 2 * 3600_000

// Blocks writes series into the folder of a Prometheus that does not run, as the blocks that it
// would have made of them itself. That takes a fraction of what remote write takes, and nothing
// of it stands in a log that Prometheus would read again at each start.
type Blocks struct {
	Samples int64 // that were written

	form   Peer // says how histograms are kept
	dir    string
	start  int64 // of the open block, ms
	writer *tsdb.BlockWriter
}

// NewBlocks writes for the Prometheus that Start will start with the same dir.
func NewBlocks(dir string, form Form) *Blocks {
	return &Blocks{form: Peer{Name: "prometheus", Form: form},
		dir: filepath.Join(dir, "prometheus", "data")}
}

// Write is Peer's. All series of one block must have come before the first of the next one.
func (b *Blocks) Write(ctx context.Context, list []window.Series, instants []int64) error {
	for i := range list {
		if err := b.Send(ctx, b.form.seriesOf(&list[i], instants)...); err != nil {
			return err
		}
	}
	return nil
}

// Send writes what is no series of a window.
func (b *Blocks) Send(ctx context.Context, list ...prompb.TimeSeries) error {
	var appender storage.Appender
	builder := labels.NewScratchBuilder(8)
	for _, ts := range list {
		if len(ts.Histograms) > 0 {
			return errors.New("blocks have no native histograms")
		}
		if len(ts.Samples) == 0 {
			continue
		}
		if last := ts.Samples[len(ts.Samples)-1].Timestamp; b.writer == nil ||
			last >= b.start+blockMillis {
			if appender != nil {
				return fmt.Errorf("series of two blocks came at once")
			}
			if err := b.next(ctx, last); err != nil {
				return err
			}
		}
		if appender == nil {
			appender = b.writer.Appender(ctx)
		}
		builder.Reset()
		for _, l := range ts.Labels {
			builder.Add(l.Name, l.Value)
		}
		builder.Sort()
		set, ref := builder.Labels(), storage.SeriesRef(0)
		for _, s := range ts.Samples {
			if s.Timestamp < b.start {
				continue // the block before has it
			}
			var err error
			if ref, err = appender.Append(ref, set, s.Timestamp, s.Value); err != nil {
				return errors.Join(fmt.Errorf("%s at %d: %w", set, s.Timestamp, err),
					appender.Rollback())
			}
			b.Samples++
		}
	}
	if appender == nil {
		return nil
	}
	return appender.Commit()
}

// next ends the open block and begins the one that an instant is in.
func (b *Blocks) next(ctx context.Context, at int64) error {
	if err := b.Close(ctx); err != nil {
		return err
	}
	b.start = at / blockMillis * blockMillis
	var err error
	// The head takes what is up to half its range older than the newest: two hours, as nodes come
	// one after another.
	b.writer, err = tsdb.NewBlockWriter(slog.New(slog.DiscardHandler), b.dir, 2*blockMillis)
	return err
}

// Close writes the open block.
func (b *Blocks) Close(ctx context.Context) error {
	if b.writer == nil {
		return nil
	}
	_, err := b.writer.Flush(ctx)
	err = errors.Join(err, b.writer.Close())
	b.writer = nil
	return err
}

// EndInOneBlock ends a Prometheus and makes one block of all that it has in its log: what it would
// have made of that some hours later.
func (p *Peer) EndInOneBlock(ctx context.Context) (err error) {
	if err := p.End(ctx); err != nil {
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
