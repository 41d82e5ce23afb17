// Package loki answers of Loki's HTTP API, under /loki/api/v1, what Grafana's Explore, its
// annotations and its check of a data source ask: what happened on nodes, as log lines. Begin with
// API.
//
// What it promises: answers have the form of Loki's HTTP API, and are limited to the clusters of
// the request's key. A stream has the labels cluster, node, kind and severity; a line is an event's
// text with its labels as logfmt. What is not answered is refused with a sentence.
//
// What bites: of LogQL there are stream selectors, line filters and counts of lines. A question
// looks at a bounded number of events; lines found until then come with a warning, and counts are
// refused.
package loki

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/selector"
	"github.com/ringwatch/ringwatch/window/events"
)

// Deps are what the endpoints work with.
type Deps struct {
	// Events reads what happened on an account's nodes.
	Events func(ctx context.Context, account string, q events.Query) (events.Page, error)
	// Nodes are those that the principal may see.
	Nodes     func(ctx context.Context, p account.Principal) ([]query.Node, error)
	Selectors *selector.Parser
	Clock     func() time.Time
	Log       *slog.Logger
}

// API has the endpoints.
type API struct{ Deps }

// New returns the endpoints.
func New(d Deps) *API { return &API{d} }

// Routes returns the endpoints, each for keys with the scope read.
func (a *API) Routes() []listener.Route {
	var list []listener.Route
	for path, h := range map[string]func(*http.Request, account.Principal) (*answer, error){
		"query": a.query, "query_range": a.queryRange, "labels": a.labels,
		"label/{name}/values": a.labelValues, "series": a.series, "index/stats": a.stats,
	} {
		list = append(list, listener.Route{Pattern: "GET /loki/api/v1/" + path, Fail: fail,
			Handle: func(w http.ResponseWriter, r *http.Request, p account.Principal) error {
				got, err := h(r, p)
				if err != nil {
					return err
				}
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Cache-Control", "no-store")
				_ = json.NewEncoder(w).Encode(got.body())
				return nil
			}})
	}
	return list
}

// fail writes an error as Loki does: as text.
func fail(w http.ResponseWriter, _ *http.Request, e *listener.Error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(e.Status)
	_, _ = fmt.Fprintln(w, e.Message)
}

// answer is the data of an answer.
type answer struct {
	data     any
	whole    bool // data is all of it
	warnings []string
}

func (a *answer) body() any {
	if a.whole {
		return a.data
	}
	return struct {
		Status   string   `json:"status"`
		Data     any      `json:"data"`
		Warnings []string `json:"warnings,omitempty"`
	}{"success", a.data, a.warnings}
}

// result is the data of a query.
type result struct {
	ResultType string   `json:"resultType"`
	Result     any      `json:"result"`
	Stats      struct{} `json:"stats"`
}

func bad(format string, args ...any) *listener.Error {
	return &listener.Error{Status: http.StatusBadRequest, Reason: "bad_data",
		Message: fmt.Sprintf(format, args...)}
}

// labelNames are a stream's, ascending.
var labelNames = []string{"cluster", "kind", "node", "severity"}

// valueOf is the value of a stream's label. Grafana's volumes are by a level, which is our
// severity.
func valueOf(s *events.Stream, name string) string {
	switch name {
	case "cluster":
		return s.Cluster
	case "kind":
		return s.Kind
	case "node":
		return s.Node
	case "severity", "detected_level":
		return s.Severity
	}
	return ""
}

const (
	defaultLimit, maxLimit = 100, 5000
	defaultSpan            = time.Hour
	// maxSteps is Loki's.
	maxSteps = 11_000
	// A question looks at so many events, in so many pages, and keeps so many bytes of them.
	maxEvents, pageEvents, maxPages = 10_000, 1000, 50
	maxBytes                        = 16 << 20
	// Counts are of so many steps of series; one that is not 0 takes so many bytes until it is
	// sent.
	maxPoints, pointBytes = 1_000_000, 150
	// listEvents is how many of the newest events lists of labels and series are made of.
	listEvents = 2000
	// fewNodes is of how many nodes the store is asked by name.
	fewNodes = 100
)

// span is a range of time: from start, before end.
type span struct{ start, end time.Time }

// times reads start, end and since.
func (a *API) times(r *http.Request) (s span, err error) {
	s.end = a.Clock()
	if text := r.FormValue("end"); text != "" {
		if s.end, err = timeOf("end", text); err != nil {
			return s, err
		}
	}
	back := defaultSpan
	if text := r.FormValue("since"); text != "" {
		if back, err = durationOf("since", text); err != nil {
			return s, err
		}
	}
	s.start = s.end.Add(-back)
	if text := r.FormValue("start"); text != "" {
		if s.start, err = timeOf("start", text); err != nil {
			return s, err
		}
	}
	if s.end.Before(s.start) {
		return s, bad("end is before start: swap them")
	}
	return s, nil
}

// timeOf reads nanoseconds or seconds since 1970, or RFC 3339, as Loki does: a whole number of up
// to ten digits is seconds.
func timeOf(name, text string) (time.Time, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n >= 0 {
		if len(text) <= 10 {
			return time.Unix(n, 0), nil
		}
		return time.Unix(0, n), nil
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil && v >= 0 && v < 1e10 {
		seconds, rest := math.Modf(v)
		return time.Unix(int64(seconds), int64(rest*1e9)), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil && t.Unix() >= 0 {
		return t, nil
	}
	return time.Time{}, bad("%s is not a time: use nanoseconds since 1970, or RFC 3339", name)
}

// durationOf reads seconds, or a duration such as 5m.
func durationOf(name, text string) (time.Duration, error) {
	if v, err := strconv.ParseFloat(text, 64); err == nil && v > 0 && v < 1e9 {
		return time.Duration(v * float64(time.Second)), nil
	}
	d, err := model.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, bad("%s is not a duration: use seconds, or a number and a unit such as 5m", name)
	}
	return time.Duration(d), nil
}

func (a *API) parse(r *http.Request, text string) (*logQuery, error) {
	q, err := parse(text, a.Selectors.Request(r.Context()))
	if err != nil && r.Context().Err() == nil {
		return nil, bad("%v", err)
	}
	return q, err
}

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
	streams, of := []*stream{}, map[events.Stream]*stream{}
	for i := range found {
		e := &found[i]
		name := e.Stream()
		if of[name] == nil {
			of[name] = &stream{Stream: labelsOf(&name)}
			streams = append(streams, of[name])
		}
		line := e.Line()
		if err := memory.Of(r.Context()).Take(jsonBytes(line)); err != nil {
			return nil, err
		}
		of[name].Values = append(of[name].Values, [2]string{
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

func labelsOf(s *events.Stream) map[string]string {
	return map[string]string{"cluster": s.Cluster, "kind": s.Kind, "node": s.Node,
		"severity": s.Severity}
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

func unix(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

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
	of := map[string]*series{}
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
		one := of[key]
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
			of[key], list = one, append(list, one)
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

// find returns the events that a query means, at most limit of them: of counts without their
// lines. all: none was left out but for the limit.
func (a *API) find(ctx context.Context, p account.Principal, q *logQuery, s span, limit int,
	forward bool) (found []events.Event, all bool, err error) {
	ask, any, err := a.narrowed(ctx, p, q)
	if err != nil || !any {
		return nil, true, err
	}
	// Events have milliseconds: the first from start on, the last before end.
	ask.From = s.start.Add(time.Millisecond - 1).UnixMilli()
	ask.To = s.end.Add(-1).UnixMilli()
	ask.Limit = pageEvents
	if forward {
		first := events.OlderThan(ask.From)
		ask.After = &first
	}
	lease, looked, kept := memory.Of(ctx), 0, int64(0)
	for range maxPages {
		page, err := a.Events(ctx, p.Account, ask)
		if err != nil {
			return nil, false, err
		}
		takes, before := bytesOf(page.Events...), kept
		if err := lease.Take(takes); err != nil {
			return nil, false, err
		}
		for i := range page.Events {
			if err := ctx.Err(); err != nil {
				return nil, false, err
			}
			e := &page.Events[i]
			if !q.means(e) {
				continue
			}
			if q.counts {
				e.Text, e.Labels = "", nil
			}
			found, kept = append(found, *e), kept+bytesOf(*e)
			if len(found) == limit || kept > maxBytes {
				return found, len(found) == limit, nil
			}
		}
		lease.Give(takes - (kept - before))
		if looked += len(page.Events); page.Next == nil {
			return found, true, nil
		}
		if looked >= maxEvents {
			return found, false, nil
		}
		if forward {
			ask.After = page.Next
		} else {
			ask.Before = page.Next
		}
	}
	return found, false, nil
}

// bytesOf is what events take in memory, and their lines.
func bytesOf(list ...events.Event) (n int64) {
	for i := range list {
		n += 400 + 2*int64(len(list[i].Text))
		for _, l := range list[i].Labels {
			n += 32 + 2*int64(len(l.Name)+len(l.Value))
		}
	}
	return n
}

// means reports whether a query means an event.
func (q *logQuery) means(e *events.Event) bool {
	name := e.Stream()
	for _, m := range q.matchers {
		if !m.Matches(valueOf(&name, m.Name)) {
			return false
		}
	}
	if len(q.filters) == 0 {
		return true
	}
	line := e.Line()
	for i := range q.filters {
		if !q.filters[i].passes(line) {
			return false
		}
	}
	return true
}

// narrowed is what the store can look for by itself: clusters, nodes, kinds, the least severity.
// any is false if there is nothing that the query could mean.
func (a *API) narrowed(ctx context.Context, p account.Principal, q *logQuery) (
	ask events.Query, any bool, err error) {
	nodes, err := a.Nodes(ctx, p)
	if err != nil {
		return ask, false, err
	}
	matches := func(name, value string) bool {
		return !slices.ContainsFunc(q.matchers, func(m *labels.Matcher) bool {
			return m.Name == name && !m.Matches(value)
		})
	}
	byNode := slices.ContainsFunc(q.matchers,
		func(m *labels.Matcher) bool { return m.Name == "node" })
	clusters, ids := map[string]bool{}, []uuid.UUID{}
	for i := range nodes {
		n := &nodes[i]
		if !matches("cluster", n.Cluster) || byNode && !matches("node", n.ID.String()) {
			continue
		}
		clusters[n.Cluster] = true
		ids = append(ids, n.ID)
	}
	if len(clusters) == 0 {
		return ask, false, nil
	}
	for name := range clusters {
		ask.Clusters = append(ask.Clusters, name)
	}
	slices.Sort(ask.Clusters)
	if byNode && len(ids) <= fewNodes {
		ask.Nodes = ids
	}
	for _, m := range q.matchers {
		if m.Name != "kind" {
			continue
		}
		if m.Type == labels.MatchEqual && m.Value != "" {
			ask.Kinds = []string{m.Value}
		} else if m.Type == labels.MatchRegexp && len(m.SetMatches()) > 0 {
			ask.Kinds = m.SetMatches()
		}
	}
	for ; ask.Severity < frame.Error &&
		!matches("severity", ask.Severity.String()); ask.Severity++ {
	}
	return ask, true, nil
}

// everything means all streams.
var everything = &logQuery{}

// newest are some of the newest events that a list of labels or streams is made of: those of the
// selector in a parameter, if there is one.
func (a *API) newest(r *http.Request, p account.Principal,
	parameter string) ([]events.Event, error) {
	if err := r.ParseForm(); err != nil {
		return nil, bad("the parameters cannot be read: encode special characters as %%XX")
	}
	s, err := a.times(r)
	if err != nil {
		return nil, err
	}
	q := everything
	switch texts := r.Form[parameter]; {
	case len(texts) > 1:
		return nil, bad("%s is given more than once", parameter)
	case len(texts) == 1 && strings.Trim(texts[0], "{} ") != "":
		if q, err = a.parse(r, texts[0]); err != nil {
			return nil, err
		}
	}
	found, _, err := a.find(r.Context(), p, q, s, listEvents, false)
	return found, err
}

func (a *API) labels(*http.Request, account.Principal) (*answer, error) {
	return &answer{data: labelNames}, nil
}

// labelValues answers label/{name}/values: of clusters and nodes those that there are, of kinds
// those of some of the newest events.
func (a *API) labelValues(r *http.Request, p account.Principal) (*answer, error) {
	name, values := r.PathValue("name"), []string{}
	asked := r.FormValue("query") != ""
	switch {
	case !slices.Contains(labelNames, name):
	case name == "severity" && !asked:
		values = frame.SeverityNames()
	case (name == "cluster" || name == "node") && !asked:
		nodes, err := a.Nodes(r.Context(), p)
		if err != nil {
			return nil, err
		}
		for i := range nodes {
			values = append(values, valueOf(&events.Stream{Cluster: nodes[i].Cluster,
				Node: nodes[i].ID.String()}, name))
		}
	default:
		found, err := a.newest(r, p, "query")
		if err != nil {
			return nil, err
		}
		for i := range found {
			stream := found[i].Stream()
			values = append(values, valueOf(&stream, name))
		}
	}
	slices.Sort(values)
	return &answer{data: slices.Compact(values)}, nil
}

// series answers series: which streams some of the newest events are of.
func (a *API) series(r *http.Request, p account.Principal) (*answer, error) {
	parameter := "match[]"
	if !r.URL.Query().Has(parameter) {
		parameter = "match"
	}
	found, err := a.newest(r, p, parameter)
	if err != nil {
		return nil, err
	}
	list := []map[string]string{}
	of := map[events.Stream]bool{}
	for i := range found {
		if s := found[i].Stream(); !of[s] {
			of[s] = true
			list = append(list, labelsOf(&s))
		}
	}
	return &answer{data: list}, nil
}

// stats answers index/stats: how much a query would read, up to what lists are made of.
func (a *API) stats(r *http.Request, p account.Principal) (*answer, error) {
	found, err := a.newest(r, p, "query")
	if err != nil {
		return nil, err
	}
	of, bytes := map[events.Stream]bool{}, 0
	for i := range found {
		of[found[i].Stream()] = true
		bytes += len(found[i].Line())
	}
	return &answer{whole: true, data: map[string]int{"streams": len(of), "chunks": len(of),
		"bytes": bytes, "entries": len(found)}}, nil
}
