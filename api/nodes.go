package api

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query"
)

// nodeAnswer is a node in the answer of /v1/nodes.
type nodeAnswer struct {
	ID         uuid.UUID `json:"id"`
	Cluster    string    `json:"cluster"`
	Datacenter string    `json:"datacenter"`
	Rack       string    `json:"rack"`
	Kind       string    `json:"kind"` // what software it runs
	Address    string    `json:"address"`
	Facts      facts     `json:"facts"`
	IntervalMS int64     `json:"interval_ms"`
	LastSeen   string    `json:"last_seen,omitempty"` // not there if no frame is known
	AgeSeconds *float64  `json:"age_seconds,omitempty"`
	State      string    `json:"state"`
	// PausedSince is when the agent was paused or started so; only if State is paused.
	PausedSince string `json:"paused_since,omitempty"`
	// Left says how a node has left; then State is why.
	Left *leftAnswer `json:"left,omitempty"`
	// Claimed says that several senders have sent frames of the node within the last 15 minutes,
	// so that what it says may not be its own.
	Claimed bool `json:"claimed_by_several,omitempty"`
}

// facts are a JSON object. A map for each of 10,000 nodes would take most of an answer's time.
type facts []frame.Fact

// MarshalJSON implements json.Marshaler.
func (list facts) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, f := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, f.Name), ':')
		b = appendString(b, f.Value)
	}
	return append(b, '}'), nil
}

// timeFormat is RFC 3339 with milliseconds, always in UTC.
const timeFormat = "2006-01-02T15:04:05.000Z"

func formatTime(at int64) string { return time.UnixMilli(at).UTC().Format(timeFormat) }

func (a *nodeAnswer) place() *place { return &place{a.Cluster, a.Datacenter, a.Rack, a.ID} }

// row is a node of a list: one that is there, or what is said of one that has moved away.
type row struct {
	place
	node  *Node
	moved *nodeAnswer
}

func (r *row) kind() string {
	if r.moved != nil {
		return r.moved.Kind
	}
	return r.node.Kind()
}

func (r *row) address() string {
	if r.moved != nil {
		return r.moved.Address
	}
	return r.node.Fact("address")
}

func (r *row) hostname() string {
	if r.moved != nil {
		return ""
	}
	return r.node.Fact("hostname")
}

// described are nodes as a key may see them.
type described struct {
	nodes   []nodeAnswer
	total   int      // how many there are on all pages
	next    *place   // what the next page comes after; nil: there is none
	missing []string // why some may have been heard of later than is said
}

// describe returns a page of the nodes that a key may see. When other nodes were heard of last is
// not asked, unless it takes that to know the listing's state of them.
func (s *Server) describe(
	ctx context.Context, p account.Principal, of *listing,
) (*described, error) {
	rows, err := s.rows(ctx, p, of)
	if err != nil {
		return nil, err
	}
	d := &described{total: len(rows)}
	if of.state == "" {
		rows, d.next = page(of, rows, func(r *row) *place { return &r.place })
	}
	if err := s.describeRows(ctx, p, rows, d); err != nil {
		return nil, err
	}
	if of.state != "" {
		d.nodes = slices.DeleteFunc(d.nodes, func(a nodeAnswer) bool { return a.State != of.state })
		d.total = len(d.nodes)
		d.nodes, d.next = page(of, d.nodes, (*nodeAnswer).place)
	}
	return d, nil
}

// rows returns the nodes that a listing means, sorted, but for their state and the page. A name
// that none of them has is an error.
func (s *Server) rows(ctx context.Context, p account.Principal, of *listing) ([]row, error) {
	var rows []row
	for _, age := range []time.Duration{s.config.NodesTTL, min(s.config.NodesTTL, refreshAtMost)} {
		nodes, err := s.deps.Reader.Nodes(ctx, p, age)
		if err != nil {
			return nil, err
		}
		rows = make([]row, 0, len(nodes))
		for i := range nodes {
			n := &nodes[i]
			rows = append(rows, row{place: place{n.Cluster, n.Datacenter, n.Rack, n.ID}, node: n})
		}
		for _, a := range s.movedAway(p, nodes) {
			rows = append(rows, row{place: *a.place(), moved: &a})
		}
		found := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return !of.has(&r) })
		if len(found) > 0 {
			slices.SortStableFunc(found, func(x, y row) int { return x.compare(&y.place) })
			return found, nil
		}
	}
	return nil, of.unknownPlace(rows)
}

// describeRows adds what is known of each node.
func (s *Server) describeRows(
	ctx context.Context, p account.Principal, rows []row, d *described,
) error {
	nodes := make([]Node, 0, len(rows))
	for i := range rows {
		if rows[i].node != nil {
			nodes = append(nodes, *rows[i].node)
		}
	}
	seen, missing, err := s.deps.Reader.LastSeen(ctx, p.Account, nodes)
	if err != nil {
		return err
	}
	d.missing = missing
	claimed := s.deps.Reader.Claimed(ctx, p.Account)
	unanswering := s.deps.Reader.Unanswering(ctx, p.Account, nodes)
	now := s.config.Clock().UnixMilli()
	d.nodes = make([]nodeAnswer, len(rows))
	for i := range rows {
		n := rows[i].node
		if n == nil {
			d.nodes[i] = *rows[i].moved
			continue
		}
		a := nodeAnswer{
			ID: n.ID, Cluster: n.Cluster, Datacenter: n.Datacenter, Rack: n.Rack,
			Kind: n.Kind(), Address: n.Fact("address"), Facts: n.Facts, IntervalMS: n.Interval,
			State: query.StateDown, Claimed: claimed[n.ID],
		}
		if at := seen[n.ID]; at > 0 {
			age := max(0, now-at)
			seconds := float64(age) / 1000
			a.LastSeen, a.AgeSeconds = formatTime(at), &seconds
			a.State = s.deps.Reader.StateAt(now, at, n.Interval)
		}
		if unanswering[n.ID] {
			a.State = query.StateDown
		}
		if since, is := n.Paused(); is && a.State != query.StateDown {
			a.State, a.PausedSince = query.StatePaused, formatTime(since.UnixMilli())
		}
		if left := s.deps.Reader.Left(p.Account, n); left != nil {
			a.State, a.Left, a.PausedSince = left.Why, newLeft(left), ""
		}
		d.nodes[i] = a
	}
	return nil
}

func (s *Server) getNodes(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	values, err := parameters(r, listParameters...)
	if err != nil {
		return err
	}
	of, err := newListing(values)
	if err != nil {
		return err
	}
	d, err := s.describe(r.Context(), p, of)
	if err != nil {
		return err
	}
	s.notePartial(w, d.missing)
	noteList(w, d.total, d.next)
	return writeJSON(w, r, d.nodes)
}

// getNode answers /v1/nodes/{id}: one node as the list has it.
func (s *Server) getNode(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	n, missing, err := s.node(r, p)
	if err != nil {
		return err
	}
	s.notePartial(w, missing)
	return writeJSON(w, r, n)
}

// node returns the node of a request's path that the key may see, and why it may have been heard
// of later than is said. Of a node that has been in several clusters it is where the node is now,
// unless cluster= says which.
func (s *Server) node(r *http.Request, p account.Principal) (*nodeAnswer, []string, error) {
	of, err := parameters(r, "cluster")
	if err != nil {
		return nil, nil, err
	}
	of.Set("id", r.PathValue("id"))
	d, err := s.describe(r.Context(), p, &listing{of: of, path: true})
	if err != nil {
		return nil, nil, err
	}
	for i := range d.nodes {
		if d.nodes[i].Left == nil {
			return &d.nodes[i], d.missing, nil
		}
	}
	return &d.nodes[0], d.missing, nil
}

// clusterAnswer is a cluster in the answer of /v1/clusters.
type clusterAnswer struct {
	Cluster string   `json:"cluster"`
	Kinds   []string `json:"kinds"` // of its nodes, those that have left among them; ascending
	Nodes   int      `json:"nodes"`
	Up      int      `json:"up"`
	Late    int      `json:"late"`
	Paused  int      `json:"paused"`
	Down    int      `json:"down"`
	// that have left; they are not among Nodes
	Left        int                `json:"left"`
	LastSeen    string             `json:"last_seen,omitempty"` // of the node heard of last
	Datacenters []datacenterAnswer `json:"datacenters"`
}

type datacenterAnswer struct {
	Datacenter string `json:"datacenter"`
	Nodes      int    `json:"nodes"`
}

func (s *Server) getClusters(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	values, err := parameters(r, "cluster", "kind", "limit", "after")
	if err != nil {
		return err
	}
	var pages listing
	if err := pages.readPage(values); err != nil {
		return err
	}
	all, err := wholeListing(values)
	if err != nil {
		return err
	}
	d, err := s.describe(r.Context(), p, all)
	if err != nil {
		return err
	}
	s.notePartial(w, d.missing)
	answers := []*clusterAnswer{}
	for i := range d.nodes { // by cluster, then datacenter
		n := &d.nodes[i]
		if len(answers) == 0 || answers[len(answers)-1].Cluster != n.Cluster {
			answers = append(answers,
				&clusterAnswer{Cluster: n.Cluster, Datacenters: []datacenterAnswer{}})
		}
		c := answers[len(answers)-1]
		if at, found := slices.BinarySearch(c.Kinds, n.Kind); !found {
			c.Kinds = slices.Insert(c.Kinds, at, n.Kind)
		}
		c.LastSeen = max(c.LastSeen, n.LastSeen)
		if n.Left != nil {
			c.Left++
			continue
		}
		if len(c.Datacenters) == 0 ||
			c.Datacenters[len(c.Datacenters)-1].Datacenter != n.Datacenter {
			c.Datacenters = append(c.Datacenters, datacenterAnswer{Datacenter: n.Datacenter})
		}
		c.Datacenters[len(c.Datacenters)-1].Nodes++
		c.Nodes++
		switch n.State {
		case query.StateUp:
			c.Up++
		case query.StateLate:
			c.Late++
		case query.StatePaused:
			c.Paused++
		default:
			c.Down++
		}
	}
	total := len(answers)
	answers, next := page(&pages, answers, func(c **clusterAnswer) *place {
		return &place{Cluster: (*c).Cluster}
	})
	noteList(w, total, next)
	return writeJSON(w, r, answers)
}

func writeJSON(w http.ResponseWriter, r *http.Request, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	out := answer(w, r, "application/json")
	_, _ = out.Write(append(b, '\n')) // a client that went away misses nothing
	out.end()
	return nil
}
