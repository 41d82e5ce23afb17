package hours

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/columns"
	"github.com/ringwatch/ringwatch/store/layout"
	"github.com/ringwatch/ringwatch/store/rollups"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/rollup"
	"github.com/ringwatch/ringwatch/window/uniting"
)

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
			mark := m.task.Lease.Taken()
			raw := m.windows(g, m.raw, names)
			size := 0
			for name := range names {
				size += g.bytes[name]
			}
			// decoded, united and encoded
			if err := m.task.Lease.Take(3 * columns.Cost * int64(size)); err != nil {
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
			m.task.Lease.Return(m.task.Lease.Taken() - mark)
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
		return m.runs.Write(ctx, rollup.FiveMinutes, m.account, m.node, m.start,
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
		r, err := rollup.FromWindowWithin(m.task.Lease, w)
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
		run = m.runs.Writer(rollup.FiveMinutes, m.account, m.node, m.start, m.stamp)
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
	bucket, err := m.maker.Generations.V3.At(m.task).BucketFor(ctx, m.account, m.node, m.start,
		int(bytes))
	if err != nil {
		return nil, fmt.Errorf("find its bucket: %w", err)
	}
	h.encoder = blobs.NewEncoder(node, m.start, window.HourMillis, times, h.report)
	h.Writer = spans.Writer{Task: m.task, Place: spans.NewPartition(m.maker.Generations.V3.Hours,
		m.account, m.node, bucket), Start: m.start, Edition: spans.DrawEdition(window.HourMillis),
		Stamp: m.stamp,
		TTL:   calendar.TimeLeft(m.start+window.HourMillis, m.stamp, m.maker.Limits.RawTTL)}
	return h, nil
}

func (m *hourMaker) finishHour(ctx context.Context, h *hourWriter) error {
	if err := h.encoder.Err(); err != nil {
		return err
	}
	enc := h.encoder.Finish()
	if err := m.maker.Dictionaries.Write(ctx, m.task.Work,
		window.Node{Account: m.account, ID: m.node}, m.start, enc.Dictionaries); err != nil {
		return err
	}
	if err := h.Finish(ctx, layout.Head{Stamps: h.stamps, Blob: enc.Head}); err != nil {
		return fmt.Errorf("write the hour: %w", err)
	}
	m.maker.Metrics.Bytes.Add(float64(h.Bytes))
	return nil
}
