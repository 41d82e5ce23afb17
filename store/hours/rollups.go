package hours

import (
	"context"
	"errors"
	"slices"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/layout"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/rollup"
)

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
	t := m.maker.Rollups.Of(rollup.FiveMinutes)
	if calendar.Expired(m.start+window.HourMillis, m.stamp, t.TTL) {
		return false, nil
	}
	heads, err := m.runs.Heads(ctx, m.account, m.node, rollup.FiveMinutes, m.start, m.start)
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
		found, _, damage, err := m.runs.Read(ctx, rollup.FiveMinutes,
			&spans.Query{Account: m.account, Node: m.node, From: m.start,
				To: m.start + window.HourMillis - 1}, nil)
		if err != nil {
			return false, err
		}
		if len(damage) > 0 { // what is there was made when all could be read
			m.maker.Log.Warn(
				"store: left the rollups of an hour as they are, because they cannot be "+
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
