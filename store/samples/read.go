package samples

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// Read reads the head rows, then the samples of the series that the windows' dictionaries say can
// match.
func (g Generation) Read(ctx context.Context, q spans.Query, take func(spans.Span)) error {
	metas, err := g.metas(ctx, q)
	if err != nil {
		return err
	}
	eg, gctx := errgroup.WithContext(ctx)
	eg.SetLimit(spans.ReadsInFlight)
	for _, k := range metas {
		if q.HeadsOnly || k.Head == nil {
			take(k)
			continue
		}
		eg.Go(func() error {
			err := g.readWindow(gctx, q, &k)
			if err == nil {
				take(k)
			}
			return err
		})
	}
	return eg.Wait()
}

// samplesInPage is how many rows come at once: they are some 100 bytes each.
const samplesInPage = 5000

func (g Generation) metas(ctx context.Context, q spans.Query) ([]spans.Span, error) {
	var list []spans.Span
	query := rows.Query{Table: g.tables.Windows, Key: []any{q.Account, q.Node}, From: q.From,
		To: q.To, Columns: []string{"bucket_time", "meta"}}
	err := g.task.Engine.Read(ctx, g.task.Work, query, func(scan func(...any) bool) bool {
		k := spans.Span{Length: calendar.WindowMillis}
		var b []byte
		if !scan(&k.Start, &b) {
			return false
		}
		var err error
		if k.Head, err = blobs.DecodeHead(k.Start, b); err != nil {
			k.Damage = []error{fmt.Errorf("head of window %d: %w", k.Start, err)}
		}
		list = append(list, k)
		return true
	})
	return list, err
}

// readWindow fills in a window.
func (g Generation) readWindow(ctx context.Context, q spans.Query, k *spans.Span) error {
	f := g.tables.series.Finder(ctx, g.task.Work, q.Account, q.Node, calendar.Day(k.Start))
	services := map[string]*window.Series{}
	metrics := map[*window.Dictionary]map[int][]*window.Series{} // by metric that can match and row
	var names []string
	for i := range k.Head.Types {
		t := &k.Head.Types[i]
		d, err := f.Find(t.Key, t.Hash)
		if f.Err != nil {
			return f.Err
		}
		if err != nil {
			continue // FromSamples will say so
		}
		matching := d.MatchMetrics(ctx, q.Matchers...)
		if len(matching) == 0 {
			continue
		}
		metrics[d] = map[int][]*window.Series{}
		found := d.MatchRows(ctx, q.Matchers...)
		for _, m := range matching {
			prefix := prefixOf(d.MetricKey(m))
			names = append(names, prefix)
			rows := make([]*window.Series, len(d.Rows))
			for _, row := range found {
				rows[row] = &window.Series{Metric: &d.Metrics[m]}
				services[service(d, prefix, int(row))] = rows[row]
			}
			metrics[d][m] = rows
		}
	}
	if err := ctx.Err(); err != nil {
		return err // not all were matched
	}
	if len(services) > 0 {
		var mu sync.Mutex
		err := g.tables.layout.read(ctx, g, q, k.Start, services, names,
			func(service string, r *sampleRow) {
				if s := services[service]; s != nil {
					mu.Lock()
					defer mu.Unlock()
					if err := r.appendTo(s); err != nil {
						k.Damage = append(k.Damage, fmt.Errorf("%s at %d: %w", service, r.at, err))
					}
				}
			})
		if err != nil {
			return err
		}
	}
	w, damage := blobs.FromSamples(q.Account, k.Head, f.Find,
		func(d *window.Dictionary, m int) bool { return metrics[d][m] != nil },
		func(d *window.Dictionary, m, row int) *window.Series { return metrics[d][m][row] })
	w.Node.ID = q.Node
	k.Window, k.Damage = w, append(k.Damage, damage...)
	return f.Err
}
