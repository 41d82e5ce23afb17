// Package nodes answers which nodes and clusters there are, in which state they are, and where
// Prometheus scrapes them: /v1/nodes, /v1/clusters and /v1/discovery. Begin with Handler. It finds
// nodes by api/fleet.
//
// What it promises: a node's state is what it and who watches it said last. Who cannot be asked
// makes an answer partial.
package nodes

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/fleet"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/api/request"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/roster"
)

// Config is what a Handler works with.
type Config struct {
	Fleet   *fleet.Fleet
	Reader  Reader
	Trouble Trouble
	Roster  *roster.Roster
	// Forget puts into every process's roster that a node has left; nil: nobody can.
	Forget func(context.Context, roster.Record) error
	// PublicURL is how clients reach the API; empty: by the address that they use themselves.
	PublicURL string
	// DiscoverySpan is how long a silent node stays in discovery.
	DiscoverySpan time.Duration
	Metrics       *reply.Metrics
	Clock         func() time.Time
	Log           *slog.Logger
}

// Handler has the endpoints.
type Handler struct {
	nodes      lister
	discovery  discovery
	forgetting forgetting
	metrics    *reply.Metrics
}

// New returns the endpoints.
func New(c Config) *Handler {
	nodes := lister{fleet: c.Fleet, reader: c.Reader, trouble: c.Trouble, clock: c.Clock}
	return &Handler{nodes: nodes, metrics: c.Metrics,
		discovery: discovery{nodes: nodes, publicURL: c.PublicURL, span: c.DiscoverySpan,
			metrics: c.Metrics},
		forgetting: forgetting{nodes: nodes, roster: c.Roster, keep: c.Forget, log: c.Log}}
}

// Routes returns the endpoints.
func (h *Handler) Routes() []listener.Route {
	return []listener.Route{
		{Pattern: "GET /v1/clusters", Handle: h.getClusters},
		{Pattern: "GET /v1/nodes", Handle: h.getNodes},
		{Pattern: "GET /v1/nodes/{id}", Handle: h.getNode},
		{Pattern: "POST /v1/nodes/{id}/forget", Scope: account.Rules, Handle: h.forgetting.post},
		{Pattern: "GET /v1/discovery", Handle: h.discovery.get},
	}
}

func (h *Handler) getNodes(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	values, err := request.Parameters(r, fleet.Parameters...)
	if err != nil {
		return err
	}
	l, err := fleet.NewListing(values)
	if err != nil {
		return err
	}
	d, err := h.nodes.describe(r.Context(), p, l)
	if err != nil {
		return err
	}
	h.metrics.NotePartial(w, d.missing)
	fleet.NotePage(w, d.total, d.next)
	return reply.JSON(w, r, d.nodes)
}

// getNode answers /v1/nodes/{id}: one node as the list has it.
func (h *Handler) getNode(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	n, missing, err := h.nodes.one(r, p)
	if err != nil {
		return err
	}
	h.metrics.NotePartial(w, missing)
	return reply.JSON(w, r, n)
}

// cluster is a cluster in the answer of /v1/clusters.
type cluster struct {
	Cluster    string   `json:"cluster"`
	Kinds      []string `json:"kinds"` // of its nodes, those that have left among them; ascending
	Nodes      int      `json:"nodes"`
	Up         int      `json:"up"`
	Leaving    int      `json:"leaving"`
	Joining    int      `json:"joining"`
	Paused     int      `json:"paused"`
	Late       int      `json:"late"`
	NotServing int      `json:"not_serving"`
	Down       int      `json:"down"`
	// that have left; they are not among Nodes
	Left        int          `json:"left"`
	LastSeen    string       `json:"last_seen,omitempty"` // of the node heard of last
	Datacenters []datacenter `json:"datacenters"`
}

type datacenter struct {
	Datacenter string `json:"datacenter"`
	Nodes      int    `json:"nodes"`
}

func (h *Handler) getClusters(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	values, err := request.Parameters(r, "cluster", "kind", "limit", "after")
	if err != nil {
		return err
	}
	pages, err := fleet.Pages(values)
	if err != nil {
		return err
	}
	all, err := fleet.WholeListing(values)
	if err != nil {
		return err
	}
	d, err := h.nodes.describe(r.Context(), p, all)
	if err != nil {
		return err
	}
	h.metrics.NotePartial(w, d.missing)
	clusters := clustersOf(d.nodes)
	total := len(clusters)
	clusters, next := fleet.Page(pages, clusters, func(c **cluster) *fleet.Place {
		return &fleet.Place{Cluster: (*c).Cluster}
	})
	fleet.NotePage(w, total, next)
	return reply.JSON(w, r, clusters)
}

// clustersOf adds nodes up that come by cluster, then datacenter.
func clustersOf(list []node) []*cluster {
	clusters := []*cluster{}
	for i := range list {
		n := &list[i]
		if len(clusters) == 0 || clusters[len(clusters)-1].Cluster != n.Cluster {
			clusters = append(clusters, &cluster{Cluster: n.Cluster, Datacenters: []datacenter{}})
		}
		clusters[len(clusters)-1].add(n)
	}
	return clusters
}

// add counts a node.
func (c *cluster) add(n *node) {
	if at, found := slices.BinarySearch(c.Kinds, n.Kind); !found {
		c.Kinds = slices.Insert(c.Kinds, at, n.Kind)
	}
	c.LastSeen = max(c.LastSeen, n.LastSeen)
	if n.Left != nil {
		c.Left++
		return
	}
	if len(c.Datacenters) == 0 ||
		c.Datacenters[len(c.Datacenters)-1].Datacenter != n.Datacenter {
		c.Datacenters = append(c.Datacenters, datacenter{Datacenter: n.Datacenter})
	}
	c.Datacenters[len(c.Datacenters)-1].Nodes++
	c.Nodes++
	switch n.State {
	case read.StateUp:
		c.Up++
	case read.StateLate:
		c.Late++
	case read.StatePaused:
		c.Paused++
	case read.StateJoining:
		c.Joining++
	case read.StateLeaving:
		c.Leaving++
	case read.StateNotServing:
		c.NotServing++
	default:
		c.Down++
	}
}
