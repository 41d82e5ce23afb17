package hours

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/layout"
	"github.com/ringwatch/ringwatch/store/rollups"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// MakeDay makes the rollups of a node's day that begins at start (ms), by the hour and of the whole
// day, from those of five minutes. It may be repeated at any time and run in two processes at once.
func (s *Maker) MakeDay(ctx context.Context, task spans.Task, account string, node uuid.UUID,
	start int64) error {
	m := dayMaker{maker: s, task: task, runs: s.Rollups.At(task), account: account, node: node,
		start: start, stamp: s.Clock.Stamp()}
	if calendar.Expired(start+rollup.FiveMinutes.Millis, m.stamp, s.Limits.FiveMinutesTTL) {
		return nil // its parts have begun to expire
	}
	result, err := m.make(ctx)
	if err != nil {
		return fmt.Errorf("store: make day %s of node %s: %w", calendar.Text(start), node, err)
	}
	s.Metrics.Days.WithLabelValues(result).Inc()
	return nil
}

type dayMaker struct {
	maker   *Maker
	task    spans.Task
	runs    rollups.Runs
	account string
	node    uuid.UUID
	start   int64
	stamp   int64
}

func (m *dayMaker) make(ctx context.Context) (string, error) {
	end := m.start + rollup.Day.Millis
	fine, err := m.runs.Heads(ctx, m.account, m.node, rollup.FiveMinutes, m.start, end-1)
	if err != nil {
		return "", err
	}
	there, err := m.runs.Heads(ctx, m.account, m.node, rollup.Hour, m.start, m.start)
	if err != nil {
		return "", err
	}
	days, err := m.runs.Heads(ctx, m.account, m.node, rollup.Day, m.start, m.start)
	if err != nil {
		return "", err
	}
	var damage []error
	parts := map[int64][]rollup.Part{} // by hour
	for _, hour := range slices.Sorted(maps.Keys(fine)) {
		h := fine[hour]
		if h.Run == nil {
			damage = append(damage, h.Damage)
			continue
		}
		for _, p := range h.Run.Periods {
			parts[rollup.Hour.Start(p.Start)] = append(parts[rollup.Hour.Start(p.Start)],
				rollup.Part{Start: p.Start, Instants: p.Instants})
		}
	}
	for _, h := range []*rollups.Head{there[m.start], days[m.start]} {
		if h != nil && h.Damage != nil {
			damage = append(damage, h.Damage)
		}
	}
	for _, err := range damage {
		m.maker.Metrics.Damaged.Inc()
		if errors.Is(err, rollup.ErrVersion) || errors.Is(err, layout.ErrVersion) {
			m.maker.Log.Warn("store: left rollups of a day to the newer program that wrote them",
				"node", m.node, "day", calendar.Text(m.start), "error", err)
			return "unchanged", nil
		}
	}
	if len(parts) == 0 {
		return "empty", nil
	}
	stored := there[m.start]
	if len(damage) == 0 && stored != nil && days[m.start] != nil && m.same(stored.Run, parts) {
		return "unchanged", nil
	}
	// What is written was made when all could be read.
	kept := stored != nil && stored.Run != nil && days[m.start] != nil
	if kept && len(damage) > 0 {
		return m.leave(damage), nil
	}
	passes, err := m.passes(ctx, fine)
	if err != nil {
		return "", err
	}
	byHour := m.runs.Writer(rollup.Hour, m.account, m.node, m.start, m.stamp)
	whole := m.runs.Writer(rollup.Day, m.account, m.node, m.start, m.stamp)
	for _, pass := range passes {
		hours, more, err := m.hours(ctx, end, pass)
		if err != nil {
			return "", err
		}
		if damage = append(damage, more...); kept && len(damage) > 0 {
			return m.leave(damage), nil // no head names what was written of it
		}
		if err := byHour.Add(ctx, hours, pass.names...); err != nil {
			return "", err
		}
		if err := whole.Add(ctx,
			[]*rollup.Rollup{rollup.Merge(rollup.Day, m.start, hours)}, pass.names...); err != nil {
			return "", err
		}
	}
	if err := byHour.Finish(ctx); err != nil {
		return "", err
	}
	return "written", whole.Finish(ctx)
}

// dayPass is what is asked for at once: of one type of entities, some metrics; empty: everything.
type dayPass struct {
	base     string
	names    []string
	matchers []*labels.Matcher
}

// dayBytes is up to how many stored bytes a day is made in one pass.
const dayBytes = 4 << 20

// passes returns what is asked for in each pass over the day: everything, or, of a large node, some
// metrics of one type after the other.
func (m *dayMaker) passes(ctx context.Context, fine map[int64]*rollups.Head) ([]dayPass, error) {
	var bytes int64
	names := map[string][]string{} // by type
	for _, h := range fine {
		if h.Run == nil {
			continue
		}
		bytes += h.Row.Bytes
		f := m.runs.Finder(ctx, &h.Place)
		for i := range h.Run.Types {
			d, err := f.Find(h.Run.Types[i].Key, h.Run.Types[i].Hash)
			if f.Err != nil {
				return nil, f.Err
			}
			if err != nil {
				continue // the reading will say so
			}
			base := baseType(d.Key)
			for j := range d.Metrics {
				if name := d.Metrics[j].Name; !slices.Contains(names[base], name) {
					names[base] = append(names[base], name)
				}
			}
		}
	}
	if bytes <= dayBytes {
		return []dayPass{{}}, nil
	}
	total := 0
	for _, list := range names {
		total += len(list)
	}
	each := max(1, int(int64(total)*dayBytes/bytes))
	var passes []dayPass
	for _, base := range slices.Sorted(maps.Keys(names)) {
		for some := range slices.Chunk(names[base], each) {
			quoted := make([]string, len(some))
			for i, name := range some {
				quoted[i] = regexp.QuoteMeta(name)
			}
			one, err := labels.NewMatcher(labels.MatchRegexp, labels.MetricName,
				strings.Join(quoted, "|"))
			if err != nil {
				return nil, err
			}
			passes = append(passes, dayPass{base, some, []*labels.Matcher{one}})
		}
	}
	return passes, nil
}

// leave says in the log why the day's rollups stay as they are.
func (m *dayMaker) leave(damage []error) string {
	m.maker.Log.Warn(
		"store: left rollups of a day as they are, because what they are made of cannot "+
			"be read any more", "node", m.node, "day", calendar.Text(m.start),
		"error", errors.Join(damage...))
	return "damaged"
}

// same reports whether a stored run of hours is made of just these periods.
func (m *dayMaker) same(run *rollup.RunHead, parts map[int64][]rollup.Part) bool {
	if len(run.Periods) != len(parts) {
		return false
	}
	for _, p := range run.Periods {
		if !slices.Equal(p.Parts, parts[p.Start]) {
			return false
		}
	}
	return true
}

// hours computes the day's rollups by the hour, reading one hour after the other.
func (m *dayMaker) hours(ctx context.Context, end int64,
	pass dayPass) (hours []*rollup.Rollup, damage []error, err error) {
	for hour := m.start; hour < end; hour += rollup.Hour.Millis {
		mark := m.task.Lease.Taken()
		found, _, bad, err := m.runs.Read(ctx, rollup.FiveMinutes,
			&spans.Query{Account: m.account, Node: m.node, From: hour,
				To:       hour + window.HourMillis - 1,
				Matchers: pass.matchers}, nil)
		if err != nil {
			return nil, nil, err
		}
		m.maker.Metrics.Damaged.Add(float64(len(bad)))
		damage = append(damage, bad...)
		for _, r := range found {
			r.Types = slices.DeleteFunc(r.Types, func(t *rollup.Type) bool {
				return pass.base != "" && baseType(t.Key) != pass.base
			})
		}
		if len(found) > 0 {
			began := time.Now()
			hours = append(hours,
				rollup.Merge(rollup.Hour, hour, slices.Collect(maps.Values(found))))
			m.maker.Metrics.RollupSeconds.WithLabelValues(rollup.Hour.Name).Observe(
				time.Since(began).Seconds())
		}
		// what is merged is a twelfth of what it is made of
		m.task.Lease.Return((m.task.Lease.Taken() - mark) * 11 / 12)
	}
	return hours, damage, nil
}
