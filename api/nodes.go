package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/account"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query"
)

// nodeAnswer is a node in the answer of /v1/nodes.
type nodeAnswer struct {
	ID         uuid.UUID `json:"id"`
	Cluster    string    `json:"cluster"`
	Datacenter string    `json:"datacenter"`
	Rack       string    `json:"rack"`
	Address    string    `json:"address"`
	Facts      facts     `json:"facts"`
	IntervalMS int64     `json:"interval_ms"`
	LastSeen   string    `json:"last_seen,omitempty"` // not there if no frame is known
	AgeSeconds *float64  `json:"age_seconds,omitempty"`
	State      string    `json:"state"`
	// Left says how a node has left; then State is why.
	Left *leftAnswer `json:"left,omitempty"`
	// Claimed says that several senders have sent frames of the node within the last 15 minutes, so that what it says may not be its own.
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

// describe returns the nodes that a key may see, of a cluster or of an id if that says so, and in words why some may have been heard of later than
// that says. Nothing is asked about other nodes.
func (s *Server) describe(ctx context.Context, p account.Principal, of url.Values) (answers []nodeAnswer, missing []string, err error) {
	nodes, err := s.deps.Reader.Nodes(ctx, p, s.config.NodesTTL)
	if err != nil {
		return nil, nil, err
	}
	if of.Has("cluster") || of.Has("id") {
		var meant []Node
		for i := range nodes {
			n := &nodes[i]
			if (!of.Has("cluster") || n.Cluster == of.Get("cluster")) && (!of.Has("id") || n.ID.String() == of.Get("id")) {
				meant = append(meant, *n)
			}
		}
		nodes = meant
	}
	seen, missing, err := s.deps.Reader.LastSeen(ctx, p.Account, nodes)
	if err != nil {
		return nil, nil, err
	}
	claimed := s.deps.Reader.Claimed(ctx, p.Account)
	moved := s.movedAway(p, nodes, of)
	now := s.config.Clock().UnixMilli()
	answers = make([]nodeAnswer, len(nodes), len(nodes)+len(moved))
	for i := range nodes {
		n := &nodes[i]
		a := nodeAnswer{
			ID: n.ID, Cluster: n.Cluster, Datacenter: n.Datacenter, Rack: n.Rack, Address: n.Fact("address"),
			Facts: n.Facts, IntervalMS: n.Interval, State: query.StateDown, Claimed: claimed[n.ID],
		}
		if at := seen[n.ID]; at > 0 {
			age := max(0, now-at)
			seconds := float64(age) / 1000
			a.LastSeen, a.AgeSeconds, a.State = formatTime(at), &seconds, query.StateOf(age, n.Interval)
		}
		if left := s.deps.Reader.Left(p.Account, n); left != nil {
			a.State, a.Left = left.Why, newLeft(left)
		}
		answers[i] = a
	}
	if len(moved) > 0 {
		answers = append(answers, moved...)
		slices.SortStableFunc(answers, func(x, y nodeAnswer) int {
			return cmp.Or(cmp.Compare(x.Cluster, y.Cluster), cmp.Compare(x.Datacenter, y.Datacenter),
				cmp.Compare(x.Rack, y.Rack), slices.Compare(x.ID[:], y.ID[:]))
		})
	}
	return answers, missing, nil
}

func (s *Server) getNodes(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	of, err := parameters(r, "cluster", "id")
	if err != nil {
		return err
	}
	answers, missing, err := s.describe(r.Context(), p, of)
	if err != nil {
		return err
	}
	s.notePartial(w, missing)
	return writeJSON(w, r, answers)
}

// clusterAnswer is a cluster in the answer of /v1/clusters.
type clusterAnswer struct {
	Cluster     string             `json:"cluster"`
	Nodes       int                `json:"nodes"`
	Up          int                `json:"up"`
	Late        int                `json:"late"`
	Down        int                `json:"down"`
	Left        int                `json:"left"`                // that have left; they are not among Nodes
	LastSeen    string             `json:"last_seen,omitempty"` // of the node heard of last
	Datacenters []datacenterAnswer `json:"datacenters"`
}

type datacenterAnswer struct {
	Datacenter string `json:"datacenter"`
	Nodes      int    `json:"nodes"`
}

func (s *Server) getClusters(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	if _, err := parameters(r); err != nil {
		return err
	}
	nodes, missing, err := s.describe(r.Context(), p, nil)
	if err != nil {
		return err
	}
	s.notePartial(w, missing)
	answers := []*clusterAnswer{}
	for _, n := range nodes { // by cluster, then datacenter
		if len(answers) == 0 || answers[len(answers)-1].Cluster != n.Cluster {
			answers = append(answers, &clusterAnswer{Cluster: n.Cluster, Datacenters: []datacenterAnswer{}})
		}
		c := answers[len(answers)-1]
		c.LastSeen = max(c.LastSeen, n.LastSeen)
		if n.Left != nil {
			c.Left++
			continue
		}
		if len(c.Datacenters) == 0 || c.Datacenters[len(c.Datacenters)-1].Datacenter != n.Datacenter {
			c.Datacenters = append(c.Datacenters, datacenterAnswer{Datacenter: n.Datacenter})
		}
		c.Datacenters[len(c.Datacenters)-1].Nodes++
		c.Nodes++
		switch n.State {
		case query.StateUp:
			c.Up++
		case query.StateLate:
			c.Late++
		default:
			c.Down++
		}
	}
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
