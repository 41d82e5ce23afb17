package fresh

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/store/rows"
)

// LastHeard returns when nodes were heard of by their newest frames, in ms, and those of which no
// window of the last 15 minutes has a frame. It asks for a window of many nodes in one request to a
// replica that has them. With an error it has the nodes that could be read.
func (s *Frames) LastHeard(ctx context.Context, w rows.Work, account string, nodes []uuid.UUID,
	now int64) (times map[uuid.UUID]int64, silent []uuid.UUID, err error) {
	times = make(map[uuid.UUID]int64, len(nodes))
	waiting := nodes
	for _, start := range presentWindows(now) {
		if len(waiting) == 0 {
			break
		}
		if err := s.heardIn(ctx, w, account, waiting, start, times); err != nil {
			return times, nil, err
		}
		// All that is in older windows was heard of before this one began.
		waiting = slices.DeleteFunc(slices.Clone(waiting), func(node uuid.UUID) bool {
			return times[node] >= start
		})
	}
	waiting = slices.DeleteFunc(slices.Clone(nodes), func(node uuid.UUID) bool {
		return times[node] >= now-silentMillis
	})
	for _, start := range aheadWindows(now) {
		if len(waiting) == 0 {
			break
		}
		if err := s.heardIn(ctx, w, account, waiting, start, times); err != nil {
			return times, nil, err
		}
	}
	silent = slices.DeleteFunc(waiting, func(node uuid.UUID) bool { return times[node] > 0 })
	return times, silent, nil
}

// heardIn takes into times what a window says of nodes.
func (s *Frames) heardIn(ctx context.Context, w rows.Work, account string, nodes []uuid.UUID,
	window int64, times map[uuid.UUID]int64) error {
	keys := make([][]any, len(nodes))
	for i, node := range nodes {
		keys[i] = []any{account, node, window}
	}
	var failed error
	var ahead []uuid.UUID // whose newest frame by its own time is not the newest
	query := rows.Query{Table: s.table, Columns: []string{"at", "received"}, Limit: 1}
	err := s.engine.ReadMany(ctx, w, query, keys, func(i int, scan func(...any) bool, err error) {
		var at, received int64
		if err != nil {
			failed = cmp.Or(failed, err)
		} else if scan(&at, &received) {
			if h := heardAt(at, received); h.ahead() {
				ahead = append(ahead, nodes[i])
			} else {
				times[nodes[i]] = max(times[nodes[i]], h.by)
			}
		}
	})
	for _, node := range ahead {
		if err != nil {
			break
		}
		var h heard
		if h, err = s.newestOf(ctx, w, account, node, window); err == nil {
			times[node] = max(times[node], h.by)
		}
	}
	if err = cmp.Or(err, failed); err != nil {
		return fmt.Errorf("store: read when nodes were seen: %w", err)
	}
	return nil
}
