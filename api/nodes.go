package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/account"
	"github.com/ringwatch/ringwatch/frame"
)

// A node is up while frames come, late when some are missing, down when nothing came for a minute, or for six intervals of a slower agent.
const (
	stateUp   = "up"
	stateLate = "late"
	stateDown = "down"

	lateIntervals = 3
	downIntervals = 6
	downMillis    = 60_000
)

func state(age, interval int64) string {
	switch {
	case age <= lateIntervals*interval:
		return stateUp
	case age <= max(downIntervals*interval, downMillis):
		return stateLate
	}
	return stateDown
}

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

// describe returns the nodes that a key may see, and in words why some may have been heard of later than that says.
func (s *Server) describe(ctx context.Context, p account.Principal) (answers []nodeAnswer, missing []string, err error) {
	nodes, err := s.nodes.get(ctx, p, s.config.NodesTTL)
	if err != nil {
		return nil, nil, err
	}
	seen, missing, err := s.lastSeen(ctx, p.Account, nodes)
	if err != nil {
		return nil, nil, err
	}
	claimed := s.claimed(ctx, p.Account)
	now := s.config.Clock().UnixMilli()
	answers = make([]nodeAnswer, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		a := nodeAnswer{
			ID: n.ID, Cluster: n.Cluster, Datacenter: n.Datacenter, Rack: n.Rack, Address: n.Fact("address"),
			Facts: n.Facts, IntervalMS: n.Interval, State: stateDown, Claimed: claimed[n.ID],
		}
		if at := seen[n.ID]; at > 0 {
			age := max(0, now-at)
			seconds := float64(age) / 1000
			a.LastSeen, a.AgeSeconds, a.State = formatTime(at), &seconds, state(age, n.Interval)
		}
		answers[i] = a
	}
	return answers, missing, nil
}

// claimed returns the nodes that several senders claim. Only the recent source knows; while it is away nobody is said to be claimed.
func (s *Server) claimed(ctx context.Context, accountName string) map[uuid.UUID]bool {
	if s.deps.Recent == nil {
		return nil
	}
	claimed, _ := s.deps.Recent.Claimed(ctx, accountName) // the source counts its failures
	return claimed
}

// lastSeen asks the recent source for all nodes at once, and the store at once for those of which it knows nothing fresh.
func (s *Server) lastSeen(ctx context.Context, accountName string, nodes []Node) (seen map[uuid.UUID]int64, missing []string, err error) {
	seen = map[uuid.UUID]int64{}
	heard := false // by the recent source
	now := s.config.Clock().UnixMilli()
	if s.deps.Recent != nil && len(nodes) > 0 {
		ids := make([]uuid.UUID, len(nodes))
		for i := range nodes {
			ids[i] = nodes[i].ID
			if i == 0 || nodes[i].Cluster != nodes[i-1].Cluster { // they come by cluster
				s.deps.Recent.Touch(accountName, nodes[i].Cluster)
			}
		}
		recent, err := s.deps.Recent.LastSeen(ctx, accountName, ids)
		if err != nil {
			s.fall(err)
		} else {
			seen, heard = recent, true
			s.metrics.reads.WithLabelValues("last_seen", fromRecent).Inc()
		}
	}
	var stale []uuid.UUID // that the store is to be asked of
	late := false
	for i := range nodes {
		n := &nodes[i]
		if at, known := seen[n.ID]; !known || now-at > lateIntervals*n.Interval {
			if !late || nodes[i-1].Cluster != n.Cluster { // they come by cluster
				missing = also(missing, s.onTheWay(ctx, accountName, n, now))
			}
			late = true
			if at, held := s.silences.get(silentKey{accountName, n.ID}, n.Interval, now, s.config.NodesTTL, heard); held {
				if at > 0 {
					seen[n.ID] = max(seen[n.ID], at)
				}
				continue
			}
			stale = append(stale, n.ID)
		}
	}
	if len(stale) == 0 {
		return seen, missing, nil
	}
	s.metrics.reads.WithLabelValues("last_seen", fromStore).Inc()
	stored, err := s.askStore(ctx, accountName, stale, now)
	for _, id := range stale {
		at, found := stored[id]
		if _, known := seen[id]; err != nil && !found && !known {
			return nil, nil, err
		}
		if found {
			seen[id] = max(seen[id], at)
		}
	}
	return seen, missing, nil // what is old is said to be
}

func (s *Server) getNodes(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	if _, err := parameters(r); err != nil {
		return err
	}
	answers, missing, err := s.describe(r.Context(), p)
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
	nodes, missing, err := s.describe(r.Context(), p)
	if err != nil {
		return err
	}
	s.notePartial(w, missing)
	answers := []*clusterAnswer{}
	for _, n := range nodes { // by cluster, then datacenter
		if len(answers) == 0 || answers[len(answers)-1].Cluster != n.Cluster {
			answers = append(answers, &clusterAnswer{Cluster: n.Cluster})
		}
		c := answers[len(answers)-1]
		if len(c.Datacenters) == 0 || c.Datacenters[len(c.Datacenters)-1].Datacenter != n.Datacenter {
			c.Datacenters = append(c.Datacenters, datacenterAnswer{Datacenter: n.Datacenter})
		}
		c.Datacenters[len(c.Datacenters)-1].Nodes++
		c.Nodes++
		switch n.State {
		case stateUp:
			c.Up++
		case stateLate:
			c.Late++
		default:
			c.Down++
		}
		c.LastSeen = max(c.LastSeen, n.LastSeen)
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
