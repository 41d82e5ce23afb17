package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/columns"
	"github.com/ringwatch/ringwatch/store/generations"
	"github.com/ringwatch/ringwatch/store/layout"
	"github.com/ringwatch/ringwatch/store/rollups"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/rollup"
	"github.com/ringwatch/ringwatch/window/uniting"
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
	task
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

// makeHour is Writer.MakeHour.
func (s task) makeHour(ctx context.Context, account string, node uuid.UUID, start int64) error {
	began := time.Now()
	m := hourMaker{task: s, account: account, node: node, start: start, stamp: s.clock.Stamp(),
		whole: true}
	result, err := m.make(ctx)
	if err != nil {
		return fmt.Errorf("store: make hour %s of node %s: %w", calendar.Text(start), node, err)
	}
	s.metrics.Hours.WithLabelValues(result).Inc()
	s.metrics.HourSeconds.Observe(time.Since(began).Seconds())
	return nil
}

func (m *hourMaker) make(ctx context.Context) (string, error) {
	if err := m.find(ctx); err != nil {
		if errors.Is(err, blobs.ErrVersion) || errors.Is(err, layout.ErrVersion) ||
			errors.Is(err, rollup.ErrVersion) {
			m.log.Warn("store: left an hour to the newer program that wrote it", "node", m.node,
				"hour", calendar.Text(m.start), "error", err)
			return "unchanged", nil
		}
		return "", err
	}
	if len(m.raw)+len(m.others) == 0 {
		return "empty", nil
	}
	needRaw := slices.ContainsFunc(m.raw, func(s *hourSource) bool {
		return s.length == calendar.WindowMillis
	}) && !calendar.Expired(m.start+window.HourMillis, m.stamp, m.config.RawTTL)
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
		frame.WindowOf(m.clock.Millis()+calendar.AheadMillis))
	if last < m.start {
		return nil
	}
	list, err := m.generations.Routes(ctx, m.spanTask(), m.start, last)
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
			find: m.series.Finder(ctx, m.work, m.account, m.node, calendar.Day(m.start)).Find})
	}
	return nil
}

// findWindows reads windows of a generation that keeps samples.
func (m *hourMaker) findWindows(ctx context.Context, span generations.Route) error {
	var list []spans.Span
	err := span.Generation.Read(ctx, spans.Query{Account: m.account, Node: m.node, From: span.From, To: span.To},
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
	m.metrics.Damaged.Inc()
	m.whole = false
	m.log.Warn("store: something of an hour cannot be read", "node", m.node,
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
			find:  m.series.Finder(ctx, m.work, m.account, m.node, calendar.Day(start)).Find,
			parts: map[blobs.PartID][]byte{}})
	}
	return nil
}

// instants returns how many instants each window of the hour has.
func (m *hourMaker) instants() map[int64]int {
	seen := map[int64]bool{}
	number := map[int64]int{}
	for _, s := range slices.Concat(m.raw, m.others) {
		for _, at := range s.times {
			if !seen[at] {
				seen[at] = true
				number[calendar.Floor(at, calendar.WindowMillis)]++
			}
		}
	}
	return number
}

// compareRun reports whether the hour's 5-minute rollups are to be written. Periods that the stored
// ones know more of stay: their samples have expired, or cannot be read.
func (m *hourMaker) compareRun(ctx context.Context) (bool, error) {
	t := m.rollups.Of(rollup.FiveMinutes)
	if calendar.Expired(m.start+window.HourMillis, m.stamp, t.TTL) {
		return false, nil
	}
	heads, err := m.runs().Heads(ctx, m.account, m.node, rollup.FiveMinutes, m.start, m.start)
	if err != nil {
		return false, err
	}
	stored := map[int64]int{}
	head := heads[m.start]
	if head != nil && head.Damage != nil {
		if errors.Is(head.Damage, rollup.ErrVersion) || errors.Is(head.Damage, layout.ErrVersion) {
			return false, head.Damage
		}
		m.damaged(head.Damage)
		head = nil
	}
	if head != nil {
		for _, p := range head.Run.Periods {
			stored[p.Start] = p.Instants
		}
	}
	need, kept := false, false
	instants := m.instants()
	for start, n := range instants {
		need = need || n > stored[start]
	}
	for start, n := range stored {
		kept = kept || n > instants[start] || n == instants[start] && !m.whole
	}
	if need && kept {
		found, _, damage, err := m.runs().Read(ctx, rollup.FiveMinutes,
			&spans.Query{Account: m.account, Node: m.node, From: m.start,
				To: m.start + window.HourMillis - 1}, nil)
		if err != nil {
			return false, err
		}
		if len(damage) > 0 { // what is there was made when all could be read
			m.log.Warn("store: left the rollups of an hour as they are, because they cannot be "+
				"read whole", "node", m.node, "hour", calendar.Text(m.start),
				"error", errors.Join(damage...))
			return false, nil
		}
		m.keep = map[int64]*rollup.Rollup{}
		for start, r := range found {
			if r.Instants > instants[start] || r.Instants == instants[start] && !m.whole {
				m.keep[start] = r
			}
		}
	}
	return need, nil
}

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
	g := m.generations.V3.At(m.spanTask())
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
	query := rows.Query{Table: m.generations.V3.Windows, Key: []any{m.account, m.node, m.start},
		From: 1, Columns: []string{"part", "at", "blob"}}
	err = m.session.Read(ctx, m.work, query, func(scan func(...any) bool) bool {
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
		if full = m.lease.Take(int64(len(b))); full != nil {
			return false
		}
		if err := layout.ReadParts(b, nil, func(p blobs.StoredPart) {
			s.parts[p.PartID] = p.Blob
		}); err != nil {
			m.damaged(fmt.Errorf("row %d of window %d: %w", number, s.start, err))
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
	return m.spanTask().Parts(ctx, m.hour.Place, m.start, m.start, &want, 1,
		func(_ int64, p blobs.StoredPart) { s.parts[p.PartID] = p.Blob },
		func(_ int64, err error) { m.damaged(err) })
}

// write writes the hour and its 5-minute rollups.
func (m *hourMaker) write(ctx context.Context, needRaw, needRun bool) error {
	hour, run, err := m.writers(ctx, needRaw, needRun)
	if err != nil {
		return err
	}
	limit := chunkBytes
	periods := map[int64]*rollup.Rollup{} // all of them, where some are kept
	if m.keep != nil {
		limit = math.MaxInt / 2
	}
	for _, g := range m.groups() {
		for _, names := range g.chunks(limit) {
			if err := ctx.Err(); err != nil {
				return err
			}
			mark := m.lease.Taken()
			raw := m.windows(g, m.raw, names)
			size := 0
			for name := range names {
				size += g.bytes[name]
			}
			// decoded, united and encoded
			if err := m.lease.Take(3 * columns.Cost * int64(size)); err != nil {
				return err
			}
			var united *window.Window
			if len(raw) > 0 {
				united = uniting.Wanted(m.start, window.HourMillis, raw,
					func(d *window.Dictionary, i int) bool { return names[d.Metrics[i].Name] })
			}
			if hour != nil {
				if err := hour.Add(ctx, hour.encoder.Add(united)); err != nil {
					return err
				}
			}
			if run != nil {
				list, err := m.fiveMinutes(united, m.windows(g, m.others, names))
				if err != nil {
					return err
				}
				if m.keep == nil {
					if err := run.Add(ctx, list); err != nil {
						return err
					}
				}
				for _, r := range list {
					if p := periods[r.Start]; m.keep != nil && p != nil {
						p.Types = append(p.Types, r.Types...)
					} else if m.keep != nil {
						periods[r.Start] = r
					}
				}
			}
			m.lease.Return(m.lease.Taken() - mark)
		}
	}
	if hour != nil {
		if err := m.finishHour(ctx, hour); err != nil {
			return err
		}
	}
	if run == nil {
		return nil
	}
	if m.keep != nil {
		maps.Copy(periods, m.keep)
		return m.runs().Write(ctx, rollup.FiveMinutes, m.account, m.node, m.start,
			slices.Collect(maps.Values(periods)), m.stamp)
	}
	return run.Finish(ctx)
}

// fiveMinutes returns the 5-minute rollups of what was united and of other windows.
func (m *hourMaker) fiveMinutes(united *window.Window,
	others []*window.Window) ([]*rollup.Rollup, error) {
	windows := others
	if united != nil {
		for i := range windowsInHour {
			start := m.start + int64(i)*calendar.WindowMillis
			if w := uniting.Slice(united, start, calendar.WindowMillis); len(w.Times) > 0 {
				windows = append(windows, w)
			}
		}
	}
	slices.SortFunc(windows, func(a, b *window.Window) int { return cmp.Compare(a.Start, b.Start) })
	var list []*rollup.Rollup
	for _, w := range windows {
		r, err := rollup.FromWindowWithin(m.lease, w)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// hourWriter writes an hour as it is encoded.
type hourWriter struct {
	spans.Writer
	encoder *blobs.Encoder
	report  window.Report
	stamps  []int64
}

// writers begins what is to be written.
func (m *hourMaker) writers(ctx context.Context,
	needRaw, needRun bool) (*hourWriter, *rollups.Writer, error) {
	var hour *hourWriter
	var run *rollups.Writer
	var err error
	if needRaw {
		hour, err = m.hourWriter(ctx)
	}
	if err == nil && needRun {
		run = m.runs().Writer(rollup.FiveMinutes, m.account, m.node, m.start, m.stamp)
	}
	return hour, run, err
}

func (m *hourMaker) hourWriter(ctx context.Context) (*hourWriter, error) {
	h := &hourWriter{stamps: make([]int64, windowsInHour)}
	var times []int64
	var node window.Node
	bytes, newest := int64(0), int64(math.MinInt64)
	if m.hour != nil && m.hour.Hour != nil {
		copy(h.stamps, m.hour.Row.Stamps)
	}
	for _, s := range m.raw {
		times = append(times, s.times...)
		if n := len(s.times); n > 0 && s.times[n-1] > newest {
			newest, node = s.times[n-1], s.node
		}
		// windows say once more where values stand
		bytes += s.bytes * s.length / window.HourMillis * int64(windowsInHour) / 2
		again := s.length == calendar.WindowMillis &&
			h.stamps[(s.start-m.start)/calendar.WindowMillis] > 0
		for i, stamp := range s.stamps {
			if s.length == calendar.WindowMillis && stamp > 0 {
				h.stamps[i] = stamp
			}
		}
		// of a window that is there already, too, nobody knows which frames were lost twice
		if !again {
			h.report.Frames += s.report.Frames
			h.report.Duplicates += s.report.Duplicates
			h.report.Corrupt += s.report.Corrupt
			h.report.MissingKey += s.report.MissingKey
			h.report.Excess += s.report.Excess
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	node.Account, node.ID = m.account, m.node
	bucket, err := m.generations.V3.At(m.spanTask()).BucketFor(ctx, m.account, m.node, m.start, int(bytes))
	if err != nil {
		return nil, fmt.Errorf("find its bucket: %w", err)
	}
	h.encoder = blobs.NewEncoder(node, m.start, window.HourMillis, times, h.report)
	h.Writer = spans.Writer{Task: m.spanTask(), Place: spans.NewPartition(m.generations.V3.Hours,
		m.account, m.node, bucket), Start: m.start, Edition: spans.DrawEdition(window.HourMillis), Stamp: m.stamp,
		TTL: calendar.TimeLeft(m.start+window.HourMillis, m.stamp, m.config.RawTTL)}
	return h, nil
}

func (m *hourMaker) finishHour(ctx context.Context, h *hourWriter) error {
	if err := h.encoder.Err(); err != nil {
		return err
	}
	enc := h.encoder.Finish()
	if err := m.series.Write(ctx, m.work, window.Node{Account: m.account, ID: m.node}, m.start,
		enc.Dictionaries); err != nil {
		return err
	}
	if err := h.Finish(ctx, layout.Head{Stamps: h.stamps, Blob: enc.Head}); err != nil {
		return fmt.Errorf("write the hour: %w", err)
	}
	m.metrics.HourBytes.Add(float64(h.Bytes))
	return nil
}
