package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ringwatch/ringwatch/bench/crowd"
	"github.com/ringwatch/ringwatch/bench/fleet"
	"github.com/ringwatch/ringwatch/bench/line"
)

const readEvery = 200 * time.Millisecond // of each side

// questions are those of a reader: of five, three panels, newest values and a list.
func questions(o *options, n *nodes) ([]crowd.Question, error) {
	_, table := fleet.UserTable(n.busy)
	panels, err := crowd.Panels(o.dashboards, n.list[0].Cluster, table, n.busy.IsHistogram)
	if err != nil {
		return nil, err
	}
	lists := crowd.Lists(n.list[0].Cluster)
	var list []crowd.Question
	for i, p := range panels {
		list = append(list, p)
		if i%3 == 2 {
			list = append(list, crowd.Latest(n.list[17*i%len(n.list)].ID.String()),
				lists[i/3%len(lists)])
		}
	}
	return list, nil
}

// series counts the series of an answer.
func series(
	ctx context.Context, s *crowd.Side, q *crowd.Question, words string, at time.Time,
) (int, error) {
	b, err := line.Get(ctx, line.Plain, s.URL+q.Path+"?"+q.Form(words, at).Encode(), s.Key)
	if err != nil {
		return 0, err
	}
	var a struct{ Data json.RawMessage }
	var result struct{ Result []json.RawMessage }
	var list []json.RawMessage
	if err := json.Unmarshal(b, &a); err != nil {
		return 0, err
	}
	if json.Unmarshal(a.Data, &list) == nil {
		return len(list), nil
	}
	err = json.Unmarshal(a.Data, &result)
	return len(result.Result), err
}
