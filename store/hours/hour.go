package hours

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/columns"
	"github.com/ringwatch/ringwatch/store/generations"
	"github.com/ringwatch/ringwatch/store/layout"
	"github.com/ringwatch/ringwatch/store/rollups"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// An hour is made of what is stored of it: its closed windows, and the hour as it was made before,
// if there is one. So it may be made at any time, by anybody, again and again: what is written is
// what the later reading found. It is made a few metrics at a time, because the hour of a large
// node decoded is hundreds of MB.

// chunkBytes is how many bytes of stored parts are decoded at once.
const chunkBytes = 1 << 20

// windowsInHour is how many windows an hour has.
const windowsInHour = int(window.HourMillis / calendar.WindowMillis)

// hourSource is something that is stored of an hour.
type hourSource struct {
	start, length int64
	stamps        []int64 // by window of the hour: when its frames were read, µs; 0: it is not here
	times         []int64
	node          window.Node
	report        window.Report
	bytes         int64

	whole *window.Window // of generations that keep samples; else head, find and parts
	head  *blobs.Head
	find  window.Dictionaries
	parts map[blobs.PartID][]byte
}

// hourMaker makes one hour.
type hourMaker struct {
	maker   *Maker
	task    spans.Task
	runs    rollups.Runs
	account string
	node    uuid.UUID
	start   int64
	stamp   int64

	raw    []*hourSource     // v3's: windows that the stored hour lacks, and that hour
	others []*hourSource     // windows of other generations
	whole  bool              // all that is stored could be read
	hour   *columns.HourHead // nil: there is none
	keep   map[int64]*rollup.Rollup
}

// MakeHour makes a node's hour that begins at start (ms) from its closed windows, and its 5-minute
// rollups. It may be repeated at any time and run in two processes at once.
func (s *Maker) MakeHour(ctx context.Context, task spans.Task, account string, node uuid.UUID,
	start int64) error {
	began := time.Now()
	m := hourMaker{maker: s, task: task, runs: s.Rollups.At(task), account: account, node: node,
		start: start, stamp: s.Clock.Stamp(),
		whole: true}
	result, err := m.make(ctx)
	if err != nil {
		return fmt.Errorf("store: make hour %s of node %s: %w", calendar.Text(start), node, err)
	}
	s.Metrics.Hours.WithLabelValues(result).Inc()
	s.Metrics.Seconds.Observe(time.Since(began).Seconds())
	return nil
}

func (m *hourMaker) make(ctx context.Context) (string, error) {
	if err := m.find(ctx); err != nil {
		if errors.Is(err, blobs.ErrVersion) || errors.Is(err, layout.ErrVersion) ||
			errors.Is(err, rollup.ErrVersion) {
			m.maker.Log.Warn("store: left an hour to the newer program that wrote it",
				"node", m.node, "hour", calendar.Text(m.start), "error", err)
			return "unchanged", nil
		}
		return "", err
	}
	if len(m.raw)+len(m.others) == 0 {
		return "empty", nil
	}
	needRaw := slices.ContainsFunc(m.raw, func(s *hourSource) bool {
		return s.length == calendar.WindowMillis
	}) && !calendar.Expired(m.start+window.HourMillis, m.stamp, m.maker.Limits.RawTTL)
	needRun, err := m.compareRun(ctx)
	if err != nil || !needRaw && !needRun {
		return "unchanged", err
	}
	if err := m.load(ctx); err != nil {
		return "", err
	}
	return "written", m.write(ctx, needRaw, needRun)
}

// find reads the heads of what is stored.
func (m *hourMaker) find(ctx context.Context) error {
	// what serves later windows need not be known yet
	last := min(m.start+window.HourMillis-calendar.WindowMillis,
		frame.WindowOf(m.maker.Clock.Millis()+calendar.AheadMillis))
	if last < m.start {
		return nil
	}
	list, err := m.maker.Generations.Routes(ctx, m.task, m.start, last)
	if err != nil {
		return err
	}
	for _, span := range list {
		g, is := span.Generation.(columns.Generation)
		if !is {
			if err := m.findWindows(ctx, span); err != nil {
				return err
			}
			continue
		}
		if err := m.findSpans(ctx, g, span.From, span.To); err != nil {
			return err
		}
	}
	if m.hour != nil && m.hour.Hour != nil { // windows win over it where both know an instant
		h := m.hour
		m.raw = append(m.raw, &hourSource{start: m.start, length: window.HourMillis,
			stamps: h.Row.Stamps, times: h.Hour.Times, node: h.Hour.Node, report: h.Hour.Report,
			bytes: h.Row.Bytes, head: h.Hour,
			find: m.maker.Dictionaries.Finder(ctx, m.task.Work, m.account, m.node,
				calendar.Day(m.start)).Find})
	}
	return nil
}

// findWindows reads windows of a generation that keeps samples.
func (m *hourMaker) findWindows(ctx context.Context, span generations.Route) error {
	var list []spans.Span
	err := span.Generation.Read(ctx, spans.Query{Account: m.account, Node: m.node, From: span.From,
		To: span.To},
		spans.Collect(&list))
	for _, k := range list {
		for _, err := range k.Damage {
			m.damaged(err)
		}
		if k.Window != nil {
			m.others = append(m.others, &hourSource{start: k.Start, length: calendar.WindowMillis,
				times: k.Window.Times, node: k.Window.Node, whole: k.Window})
		}
	}
	return err
}

func (m *hourMaker) damaged(err error) {
	m.maker.Metrics.Damaged.Inc()
	m.whole = false
	m.maker.Log.Warn("store: something of an hour cannot be read", "node", m.node,
		"hour", calendar.Text(m.start), "error", err)
}

// findSpans reads the heads of windows from … to and of the hour.
func (m *hourMaker) findSpans(ctx context.Context, g columns.Generation, from, to int64) error {
	if m.hour == nil {
		hours, err := g.HourHeads(ctx, m.account, m.node, m.start, m.start)
		if err != nil {
			return err
		}
		if m.hour = hours[m.start]; m.hour != nil && m.hour.Damage != nil {
			if errors.Is(m.hour.Damage, blobs.ErrVersion) ||
				errors.Is(m.hour.Damage, layout.ErrVersion) {
				return m.hour.Damage
			}
			m.damaged(m.hour.Damage)
		}
	}
	heads, err := g.WindowHeads(ctx, m.account, m.node, m.start, from, to)
	if err != nil {
		return err
	}
	for _, start := range slices.Sorted(maps.Keys(heads)) {
		h := heads[start]
		if errors.Is(h.Damage, blobs.ErrVersion) || errors.Is(h.Damage, layout.ErrVersion) {
			return h.Damage
		}
		if h.Damage != nil {
			m.damaged(h.Damage)
			continue
		}
		stamps := make([]int64, windowsInHour)
		i := int((start - m.start) / calendar.WindowMillis)
		stamps[i] = h.Stamp
		if m.hour != nil && m.hour.Hour != nil && i < len(m.hour.Row.Stamps) &&
			m.hour.Row.Stamps[i] >= h.Stamp {
			continue // it is in the hour as it is
		}
		m.raw = append(m.raw, &hourSource{start: start, length: calendar.WindowMillis,
			stamps: stamps, times: h.Window.Times, node: h.Window.Node,
			report: h.Window.Report, bytes: h.Row.Bytes, head: h.Window,
			find: m.maker.Dictionaries.Finder(ctx, m.task.Work, m.account, m.node,
				calendar.Day(start)).Find,
			parts: map[blobs.PartID][]byte{}})
	}
	return nil
}
