package api

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/window/events"
)

const (
	// eventsLimit is how many events an answer has if the request does not say, and mostEvents how
	// many it may ask for.
	eventsLimit = 100
	mostEvents  = 1000
	// mostKinds bounds kind=, mostText what text= may look for.
	mostKinds = 32
	mostText  = frame.MaxEventText
	// eventsBack is how far back who follows asks again for what happened. What comes later is
	// asked for apart; there is a minute for writing it.
	eventsBack = events.LateAfter + time.Minute
	// slowQueriesTime is what slow queries are of if the request does not say.
	slowQueriesTime = 24 * time.Hour
	// jsonGrowth is how much longer an event may be as JSON, where a byte becomes \u0000 at worst.
	jsonGrowth = 6
	// slowQueryPages is how many pages of mostEvents slow queries are made of at most.
	slowQueryPages = 20
)

// eventsRoutes are there if Deps.Events is.
func (s *Server) eventsRoutes() []route {
	if s.deps.Events == nil {
		return nil
	}
	return []route{{pattern: "GET /v1/events", scoped: s.getEvents},
		{pattern: "GET /v1/slow-queries", scoped: s.getSlowQueries}}
}

// eventsAnswer is the answer of /v1/events.
type eventsAnswer struct {
	Events []eventAnswer `json:"events"`
	// Next is cursor= or after= for what follows; not there: that was all.
	Next string `json:"next,omitempty"`
	// More says to who follows that there is something behind Next already.
	More bool `json:"more,omitempty"`
}

type eventAnswer struct {
	ID       string            `json:"id"`
	At       string            `json:"at"`
	Cluster  string            `json:"cluster"`
	Node     uuid.UUID         `json:"node"`
	Name     string            `json:"name"` // what people call the node; empty: nobody knows
	Kind     string            `json:"kind"`
	Severity string            `json:"severity"`
	Labels   map[string]string `json:"labels"`
	Text     string            `json:"text"`
	Nodes    int               `json:"nodes,omitempty"` // that said so of the schema
	// Also are the ids of what the other nodes said of it: they are not in the answer, and in
	// another one who follows would take them for something new.
	Also []string `json:"also,omitempty"`
}

// getEvents answers /v1/events: what happened on nodes, the newest first, or with after= what
// happened since, the oldest first.
func (s *Server) getEvents(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	values, err := parameters(r, "cluster", "node", "kind", "severity", "text", "from", "to",
		"period", "limit", "cursor", "after")
	if err != nil {
		return err
	}
	of, err := s.eventsAsked(r.Context(), p, values)
	if err != nil {
		return err
	}
	if err := of.filter(values); err != nil {
		return err
	}
	switch {
	case values.Has("cursor") && values.Has("after"):
		return bad("bad_cursor", "cursor",
			"give cursor= for older events or after= for newer ones, "+
				"not both")
	case values.Has("cursor"):
		id, err := events.ParseID(values.Get("cursor"))
		if err != nil {
			return bad("bad_cursor", "cursor", "cursor must be next of the answer before or an "+
				"event's id, as it came; leave it out for the newest events")
		}
		of.Before = &id
	}
	var found events.Page
	answer := eventsAnswer{Events: []eventAnswer{}}
	if values.Has("after") {
		f, err := parseAfter(values.Get("after"), s.config.Clock().UnixMilli())
		if err != nil {
			return err
		}
		if found.Events, answer.More, err = of.follow(r.Context(), &f); err != nil {
			return err
		}
		answer.Next = f.String()
	} else {
		if found, err = of.read(r.Context()); err != nil {
			return err
		}
		if found.Next != nil {
			answer.Next = found.Next.String()
		}
	}
	lease := memory.Of(r.Context())
	again, also := saidAgain(found.Events)
	for i := range found.Events {
		e := &found.Events[i]
		if again[i] {
			continue
		}
		if err := lease.Take(jsonGrowth * e.Bytes()); err != nil {
			return err
		}
		a := of.describe(e)
		if e.Kind == "schema" {
			a.Nodes, a.Also = 1+len(also[i]), also[i]
		}
		answer.Events = append(answer.Events, a)
	}
	return writeJSON(w, r, answer)
}

// eventsAsked is which events a request asks for, with the nodes that it may see.
type eventsAsked struct {
	events.Query
	server  *Server
	account string
	names   map[uuid.UUID]string
	// unknown refuses the cluster if it has no nodes, and no events of earlier ones.
	unknown *Error
}

// eventsAsked reads cluster=, node=, from=, to=, period= and limit=.
func (s *Server) eventsAsked(ctx context.Context, p account.Principal,
	values url.Values) (*eventsAsked, error) {
	nodes, err := s.deps.Reader.Nodes(ctx, p, s.config.NodesTTL)
	if err != nil {
		return nil, err
	}
	of := &eventsAsked{server: s, account: p.Account, names: map[uuid.UUID]string{},
		Query: events.Query{Limit: eventsLimit}}
	if values.Has("cluster") {
		name := values.Get("cluster")
		if !p.Owns(name) {
			return nil, unknownCluster(name, nodes)
		}
		of.Clusters = []string{name}
		there := slices.DeleteFunc(slices.Clone(nodes), func(n Node) bool {
			return n.Cluster != name
		})
		if len(there) == 0 {
			of.unknown = unknownCluster(name, nodes)
		}
		nodes = there
	} else {
		for i := range nodes { // they are sorted by cluster
			if n := len(of.Clusters); n == 0 || of.Clusters[n-1] != nodes[i].Cluster {
				of.Clusters = append(of.Clusters, nodes[i].Cluster)
			}
		}
	}
	for i := range nodes {
		of.names[nodes[i].ID] = nodes[i].Name()
	}
	if values.Has("node") {
		if of.Nodes, err = nodesCalled(nodes, values.Get("node")); err != nil {
			return nil, err
		}
	}
	if text := values.Get("limit"); values.Has("limit") {
		if of.Limit, err = strconv.Atoi(text); err != nil || of.Limit < 1 || of.Limit > mostEvents {
			return nil, bad("bad_limit", "limit", "limit must be a number from 1 to %d: take more "+
				"page by page, with next", mostEvents)
		}
	}
	return of, of.parseTimes(values)
}

// unknownCluster refuses a cluster of which no node is there.
func unknownCluster(name string, nodes []Node) *Error {
	known := make([]string, len(nodes))
	for i := range nodes {
		known[i] = nodes[i].Cluster
	}
	return unknown("cluster", "cluster", name, known)
}

// nodesCalled returns the ids of the nodes that node= means. Of a node that is not there any more
// the id is enough: its events may be.
func nodesCalled(nodes []Node, text string) (ids []uuid.UUID, err error) {
	l := listing{name: strings.ToLower(text)}
	if l.name != "" {
		for i := range nodes {
			n := &nodes[i]
			if l.isCalled(&place{ID: n.ID}, n.Fact("address"), n.Fact("hostname")) {
				ids = append(ids, n.ID)
			}
		}
		if id, err := uuid.Parse(l.name); err == nil && len(ids) == 0 && len(l.name) == 36 {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, unknownNode("node", text, nodes)
	}
	return ids, nil
}

// parseTimes reads from=, to= and period=; without them everything that is kept is asked for.
func (of *eventsAsked) parseTimes(values url.Values) (err error) {
	of.To = math.MaxInt64
	now := of.server.config.Clock().UnixMilli()
	if values.Has("to") {
		if of.To, err = parseTime("to", values.Get("to")); err != nil {
			return err
		}
	}
	switch {
	case values.Has("from") && values.Has("period"):
		return bad("bad_time", "period", "give period= or from=, not both")
	case values.Has("from"):
		if of.From, err = parseTime("from", values.Get("from")); err != nil {
			return err
		}
	case values.Has("period"):
		span, err := parseSpan("period", values.Get("period"))
		if err != nil {
			return err
		}
		of.From = max(0, min(of.To, now)-span)
	}
	if of.From > of.To {
		return bad("bad_time", "from", "from is after to: swap them")
	}
	return nil
}

// filter reads kind=, severity= and text=.
func (of *eventsAsked) filter(values url.Values) error {
	if values.Has("kind") {
		of.Kinds = strings.Split(values.Get("kind"), ",")
		if len(of.Kinds) > mostKinds {
			return bad("bad_kind", "kind",
				"%d kinds are named, and %d are allowed: leave kind out to "+
					"get all", len(of.Kinds), mostKinds)
		}
		for _, kind := range of.Kinds {
			if !slices.Contains(events.Kinds, kind) {
				return unknownWord("kind", kind, events.Kinds)
			}
		}
	}
	if values.Has("severity") {
		var is bool
		if of.Severity, is = frame.ParseSeverity(values.Get("severity")); !is {
			return unknownWord("severity", values.Get("severity"), frame.SeverityNames())
		}
	}
	if of.Text = values.Get("text"); len(of.Text) > mostText {
		return bad("bad_text", "text", "text has %d bytes, and %d are allowed: look for less",
			len(of.Text), mostText)
	}
	return nil
}

// read reads a page.
func (of *eventsAsked) read(ctx context.Context) (events.Page, error) {
	found, err := of.server.deps.Events(ctx, of.account, of.Query)
	if err == nil && of.unknown != nil && len(found.Events) == 0 && found.Next == nil {
		return found, of.unknown
	}
	return found, err
}

func (of *eventsAsked) describe(e *events.Event) eventAnswer {
	a := eventAnswer{ID: e.ID().String(), At: formatTime(e.At), Cluster: e.Cluster, Node: e.Node,
		Name: of.names[e.Node], Kind: e.Kind, Severity: e.Severity.String(),
		Labels: map[string]string{}, Text: e.Text}
	for _, l := range e.Labels {
		a.Labels[l.Name] = l.Value
	}
	return a
}

// slowQueriesAnswer is the answer of /v1/slow-queries.
type slowQueriesAnswer struct {
	Queries []*slowQuery `json:"queries"`
	Partial []string     `json:"partial,omitempty"` // what was not looked at
}

// slowQuery is a statement that was slow, on however many nodes.
type slowQuery struct {
	slowStatement
	Times   int64   `json:"times"`
	Slowest float64 `json:"slowest_seconds"`
	Nodes   int     `json:"nodes"` // that said so
	Last    string  `json:"last"`

	on map[uuid.UUID]bool
}

type slowStatement struct {
	Cluster   string `json:"cluster"`
	Keyspace  string `json:"keyspace"`
	Table     string `json:"table"`
	Statement string `json:"statement"`
}

// getSlowQueries answers /v1/slow-queries: which statements were slow, the slowest first.
func (s *Server) getSlowQueries(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	values, err := parameters(r, "cluster", "node", "from", "to", "period", "limit")
	if err != nil {
		return err
	}
	if !values.Has("from") && !values.Has("period") {
		if to := values.Get("to"); to != "" {
			return bad("bad_time", "from", "to= needs from= or period=")
		}
		values.Set("period", fmt.Sprintf("%dh", int(slowQueriesTime.Hours())))
	}
	of, err := s.eventsAsked(r.Context(), p, values)
	if err != nil {
		return err
	}
	most := of.Limit
	of.Kinds, of.Limit = []string{"slow_query"}, mostEvents
	answer := slowQueriesAnswer{Queries: []*slowQuery{}}
	queries := map[slowStatement]*slowQuery{}
	for page := 1; ; page++ {
		found, err := of.read(r.Context())
		if err != nil {
			return err
		}
		for i := range found.Events {
			addSlow(queries, &found.Events[i])
		}
		if found.Next == nil {
			break
		}
		if page == slowQueryPages {
			answer.Partial = []string{"slow queries before " + formatTime(found.Next.At) +
				" were not looked at: ask for less time, or for one cluster"}
			break
		}
		of.Before = found.Next
		of.unknown = nil // something was there
	}
	for _, q := range queries {
		q.Nodes = len(q.on)
		answer.Queries = append(answer.Queries, q)
	}
	slices.SortFunc(answer.Queries, func(a, b *slowQuery) int {
		return cmp.Or(cmp.Compare(b.Slowest, a.Slowest), cmp.Compare(b.Times, a.Times),
			cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.Keyspace, b.Keyspace),
			cmp.Compare(a.Table, b.Table), cmp.Compare(a.Statement, b.Statement))
	})
	answer.Queries = answer.Queries[:min(len(answer.Queries), most)]
	s.notePartial(w, answer.Partial)
	return writeJSON(w, r, answer)
}

// addSlow counts an event of kind slow_query; newer ones came before.
func addSlow(queries map[slowStatement]*slowQuery, e *events.Event) {
	of := slowStatement{e.Cluster, e.Label("keyspace"), e.Label("table"), e.Text}
	q := queries[of]
	if q == nil {
		q = &slowQuery{slowStatement: of, Last: formatTime(e.At), on: map[uuid.UUID]bool{}}
		queries[of] = q
	}
	times, err := strconv.ParseInt(e.Label("times"), 10, 64)
	if err != nil || times < 1 {
		times = 1
	}
	q.Times += min(times, math.MaxInt64-q.Times)
	if seconds, err := strconv.ParseFloat(e.Label("slowest_seconds"), 64); err == nil &&
		!math.IsInf(seconds, 0) && seconds > q.Slowest { // NaN is not
		q.Slowest = seconds
	}
	q.on[e.Node] = true
}
