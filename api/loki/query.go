package loki

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/window/events"
)

// queryRange answers query_range: lines, or counts of them.
func (a *API) queryRange(r *http.Request, p account.Principal) (*answer, error) {
	q, err := a.parse(r, r.FormValue("query"))
	if err != nil {
		return nil, err
	}
	s, err := a.times(r)
	if err != nil {
		return nil, err
	}
	if q.counts {
		step := max(s.end.Sub(s.start)/250, time.Second).Truncate(time.Second)
		if text := r.FormValue("step"); text != "" {
			if step, err = durationOf("step", text); err != nil {
				return nil, err
			}
		}
		if step <= 0 || s.end.Sub(s.start)/step >= maxSteps {
			return nil, bad("the query has more than %d steps: use a wider step", maxSteps)
		}
		return a.counts(r, p, q, s, step, "matrix")
	}
	limit := defaultLimit
	if text := r.FormValue("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > maxLimit {
			return nil, bad("limit must be a number from 1 to %d", maxLimit)
		}
	}
	forward := false
	switch text := strings.ToLower(r.FormValue("direction")); text {
	case "", "backward":
	case "forward":
		forward = true
	default:
		return nil, bad("direction must be forward or backward, not %.20q", text)
	}
	found, all, err := a.find(r.Context(), p, q, s, limit, forward)
	if err != nil {
		return nil, err
	}
	type stream struct {
		Stream map[string]string `json:"stream"`
		Values [][2]string       `json:"values"`
	}
	streams, byName := []*stream{}, map[events.Stream]*stream{}
	for i := range found {
		e := &found[i]
		name := e.Stream()
		if byName[name] == nil {
			byName[name] = &stream{Stream: labelsOf(&name)}
			streams = append(streams, byName[name])
		}
		line := e.Line()
		if err := memory.Of(r.Context()).Take(jsonBytes(line)); err != nil {
			return nil, err
		}
		byName[name].Values = append(byName[name].Values, [2]string{
			strconv.FormatInt(e.At*int64(time.Millisecond), 10), line})
	}
	got := &answer{data: result{ResultType: "streams", Result: streams}}
	if !all {
		got.warnings = []string{"the question looked at as many events as one may: ask for less " +
			"time, or for one cluster, node or kind"}
	}
	return got, nil
}

// jsonBytes is what a line takes at most as JSON, in a buffer that doubles as it grows.
func jsonBytes(line string) int64 {
	n := len(line) + 40
	for i := range len(line) {
		switch c := line[i]; {
		case c < ' ', c > '~', strings.IndexByte(`"\&<>`, c) >= 0:
			n += len(`\u0000`) - 1
		}
	}
	return 2 * int64(n)
}

// healthQuery is what Grafana asks to learn whether a data source works.
const healthQuery = "vector(1)+vector(1)"

// query answers query: counts at an instant.
func (a *API) query(r *http.Request, p account.Principal) (*answer, error) {
	at := a.Clock()
	if text := r.FormValue("time"); text != "" {
		var err error
		if at, err = timeOf("time", text); err != nil {
			return nil, err
		}
	}
	text := r.FormValue("query")
	if strings.Join(strings.Fields(text), "") == healthQuery {
		return &answer{data: result{ResultType: "vector", Result: []any{map[string]any{
			"metric": map[string]string{}, "value": []any{unix(at), "2"}}}}}, nil
	}
	q, err := a.parse(r, text)
	if err != nil {
		return nil, err
	}
	if !q.counts {
		return nil, bad("log queries are not supported as an instant query type, please change " +
			"your query to a range query type")
	}
	return a.counts(r, p, q, span{at, at}, time.Second, "vector")
}
