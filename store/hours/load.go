package hours

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/layout"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// load reads the parts.
func (m *hourMaker) load(ctx context.Context) error {
	byAt := map[int64]*hourSource{}
	if len(m.raw) == 0 {
		return nil
	}
	for _, s := range m.raw {
		if s.length == window.HourMillis {
			if err := m.loadHour(ctx, s); err != nil {
				return err
			}
		}
	}
	g := m.maker.Generations.V3.At(m.task)
	heads, err := g.WindowHeads(ctx, m.account, m.node, m.start, m.start,
		m.start+window.HourMillis-1)
	if err != nil {
		return err
	}
	for _, s := range m.raw {
		if h := heads[s.start]; s.length == calendar.WindowMillis && h != nil {
			if h.Stamp != s.stamps[(s.start-m.start)/calendar.WindowMillis] {
				return fmt.Errorf("%w: window %d was written again", errRewritten, s.start)
			}
			byAt[h.At()] = s
		}
	}
	if len(byAt) == 0 {
		return nil
	}
	var full error
	query := rows.Query{Table: m.maker.Generations.V3.Windows,
		Key:  []any{m.account, m.node, m.start},
		From: 1, Columns: []string{"part", "at", "blob"}}
	err = m.task.Engine.Read(ctx, m.task.Work, query, func(scan func(...any) bool) bool {
		var number int
		var at int64
		var b []byte
		if !scan(&number, &at, &b) {
			return false
		}
		s := byAt[at]
		if s == nil {
			return true
		}
		if full = m.task.Lease.Take(int64(len(b))); full != nil {
			return false
		}
		for p, err := range layout.Parts(b) {
			if err != nil {
				m.damaged(fmt.Errorf("row %d of window %d: %w", number, s.start, err))
				break
			}
			s.parts[p.PartID] = p.Blob
		}
		return true
	})
	return cmp.Or(err, full)
}

// errRewritten says that something was written while it was read; the next try will find it.
var errRewritten error = &rows.Error{Err: errors.New("it was being written"), Retryable: true}

// loadHour reads the parts of the stored hour.
func (m *hourMaker) loadHour(ctx context.Context, s *hourSource) error {
	s.parts = map[blobs.PartID][]byte{}
	var want layout.Wanted
	spans.Choose(spans.HeadTypes(s.head), s.find, spans.NewMatches(ctx, nil), nil,
		func(key, metric string, small bool, ids []blobs.PartID) {
			want.Add(m.hour.At(), key, metric, small, ids...)
		})
	return m.task.Parts(ctx, m.hour.Place, m.start, m.start, &want, 1,
		func(_ int64, p blobs.StoredPart) { s.parts[p.PartID] = p.Blob },
		func(_ int64, err error) { m.damaged(err) })
}
