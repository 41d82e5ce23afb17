package loki

import (
	"net/http"
	"strconv"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/memory"
)

// counts answers how many lines there were within a width before each step.
func (a *API) counts(r *http.Request, p account.Principal, q *logQuery, s span,
	step time.Duration, form string) (*answer, error) {
	begin := s.start.Add(-q.width)
	found, all, err := a.find(r.Context(), p, q,
		span{begin.Add(time.Millisecond), s.end.Add(time.Millisecond)}, maxEvents, true)
	if err != nil {
		return nil, err
	}
	if !all || len(found) == maxEvents {
		return nil, bad("more than %d events are to be counted: ask for less time, or for one "+
			"cluster, node or kind", maxEvents)
	}
	steps := int(s.end.Sub(s.start)/step) + 1
	lease := memory.Of(r.Context())
	type series struct {
		metric map[string]string
		counts []int32
	}
	var list []*series
	byName := map[string]*series{}
	for i := range found {
		if err := r.Context().Err(); err != nil {
			return nil, err
		}
		name := found[i].Stream()
		metric, key := map[string]string{}, ""
		for _, by := range q.by {
			v := valueOf(&name, by)
			key += strconv.Quote(v)
			if v != "" {
				metric[by] = v
			}
		}
		one := byName[key]
		if one == nil {
			if len(list) == maxLimit {
				return nil, bad("the answer would have more than %d series: sum by fewer labels",
					maxLimit)
			} else if (len(list)+1)*steps > maxPoints {
				return nil, bad("the answer would have more than %d points: use a wider step, or "+
					"sum by fewer labels", maxPoints)
			}
			if err := lease.Take(4 * int64(steps)); err != nil {
				return nil, err
			}
			one = &series{metric, make([]int32, steps)}
			byName[key], list = one, append(list, one)
		}
		// It counts at the steps from its instant on, before that and the width.
		ago := time.UnixMilli(found[i].At).Sub(s.start)
		first, points := max(0, int((ago+step-1)/step)), int64(0)
		for n := first; n < steps && time.Duration(n)*step-ago < q.width; n++ {
			if one.counts[n]++; one.counts[n] == 1 {
				points++
			}
		}
		if err := lease.Take(pointBytes * points); err != nil {
			return nil, err
		}
	}
	out := []any{}
	for _, one := range list {
		var points [][2]any
		for n, count := range one.counts {
			if count > 0 {
				v := float64(count)
				if q.rates {
					v /= q.width.Seconds()
				}
				points = append(points, [2]any{unix(s.start.Add(time.Duration(n) * step)),
					strconv.FormatFloat(v, 'g', -1, 64)})
			}
		}
		switch {
		case len(points) == 0:
		case form == "vector":
			out = append(out, map[string]any{"metric": one.metric, "value": points[0]})
		default:
			out = append(out, map[string]any{"metric": one.metric, "values": points})
		}
	}
	return &answer{data: result{ResultType: form, Result: out}}, nil
}
