// Package scrape answers Prometheus's scrapes: everything newest of a node, or of a cluster, as
// exposition text. Begin with Handler. It writes by api/exposition, and keeps by api/latest.
//
// What it promises: values of a silent node are not the present's, and a scrape does not look as if
// they were.
package scrape

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/budget"
	"github.com/ringwatch/ringwatch/api/exposition"
	"github.com/ringwatch/ringwatch/api/fleet"
	"github.com/ringwatch/ringwatch/api/latest"
	"github.com/ringwatch/ringwatch/api/literal"
	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/api/request"
	"github.com/ringwatch/ringwatch/dictionary/profile"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/nearest"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// Reader reads what nodes sent, as read.Reader.
type Reader interface {
	// Latest returns a node's newest state; its Window is nil without an error if none is known.
	Latest(ctx context.Context, account string, n *window.Node) (read.State, error)
	// Range is for profiles, see exposition.Reader.
	Range(ctx context.Context, account string, n *window.Node, from, to int64,
		selectors [][]*labels.Matcher) (read.Values, error)
}

// Part returns a context whose work gives its memory back when end is called, as
// share.Readings.Part.
type Part func(ctx context.Context) (within context.Context, end func())

// State is the state at an instant of a node that was last heard of at another one, in ms, as
// read.Reader.StateAt.
type State func(at, heard, interval int64) string

// Queue waits for a place among an account's queries, as query.Engine.Begin.
type Queue func(ctx context.Context, account string) (within context.Context, end func(), err error)

// Config is what a Handler works with.
type Config struct {
	Fleet     *fleet.Fleet
	Reader    Reader
	Part      Part
	State     State
	Encodings *latest.Encodings
	Queue     Queue // nil: nobody waits
	Limits    budget.Limits
	Metrics   *reply.Metrics
	Clock     func() time.Time
}

// Handler has the endpoints.
type Handler struct{ config Config }

// New returns the endpoints.
func New(c Config) *Handler { return &Handler{c} }

// Routes returns the endpoints.
func (h *Handler) Routes() []listener.Route {
	return []listener.Route{
		{Pattern: "GET /v1/nodes/{id}/prometheus", Handle: h.getNode},
		{Pattern: "GET /v1/clusters/{cluster}/prometheus", Handle: h.getCluster},
	}
}

// getNode answers /v1/nodes/{id}/prometheus: everything newest, as exposition text, under
// the names of a profile.
func (h *Handler) getNode(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	return h.get(w, r, p, "this node")
}

// getCluster answers /v1/clusters/{cluster}/prometheus: the same of all nodes of a cluster that are
// not silent.
func (h *Handler) getCluster(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	return h.get(w, r, p, "no node of this cluster")
}

// scraping is a scrape that is being answered.
type scraping struct {
	config  *Config
	w       http.ResponseWriter
	r       *http.Request
	who     account.Principal
	nodes   []window.Node
	profile *profile.Profile // whose names they have; nil: ours
	budget  *budget.Budget
	silent  string // who has sent nothing, if nobody has
}

func (h *Handler) get(w http.ResponseWriter, r *http.Request, p account.Principal,
	silent string) error {
	as, err := profileOf(r)
	if err != nil {
		return err
	}
	nodes, err := h.config.Fleet.InPath(r, p)
	if err != nil {
		return err
	}
	s := &scraping{config: &h.config, w: w, r: r, who: p, nodes: nodes, profile: as, silent: silent,
		budget: budget.New(h.config.Limits, "metrics", "ask for one node at a time, or for chosen "+
			"metrics at /v1/nodes/{id}/metrics with format=prometheus")}
	// a single node's text is mostly asked for once per frame, by a Prometheus
	if len(nodes) > 1 && h.config.Encodings.Keeps() {
		return s.writeEncoded()
	}
	return s.write()
}

// write writes the newest values of the nodes that are up or late. If all nodes are silent it
// fails, so that Prometheus's up is 0.
func (s *scraping) write() error {
	c, ctx := s.config, s.r.Context()
	now := c.Clock().UnixMilli()
	var nodes []exposition.Node
	var missing []string
	newest := int64(0)
	for i := range s.nodes {
		state, err := c.Reader.Latest(ctx, s.who.Account, &s.nodes[i])
		if err != nil {
			return err
		}
		missing = read.AppendMissing(missing, state.Missing)
		if state.Window == nil {
			continue
		}
		newest = max(newest, state.Seen)
		if c.State(now, state.Seen, state.Node.Interval) == read.StateDown {
			continue
		}
		node, err := s.read(ctx, &s.nodes[i], state)
		if err != nil {
			return err
		}
		if err := s.budget.Take(exposition.Size(node.Series)); err != nil {
			return err
		}
		nodes = append(nodes, node)
	}
	if len(nodes) == 0 {
		return s.refuse(newest, missing)
	}
	c.Metrics.NotePartial(s.w, missing)
	c.Metrics.AddValues(s.budget.Values())
	exposition.Write(s.w, s.r, nodes)
	return nil
}

// read returns the newest values of a state.
func (s *scraping) read(ctx context.Context, n *window.Node,
	state read.State) (exposition.Node, error) {
	series, err := selecting.LatestWithin(ctx, state.Window, memory.Of(ctx))
	if err != nil {
		return exposition.Node{}, err
	}
	if s.profile == nil {
		return exposition.Node{Series: slices.DeleteFunc(series, exposition.NeverCounted)}, nil
	}
	return exposition.UnderProfile(ctx, s.config.Reader, s.who.Account, n, state.Window, series,
		s.profile)
}

// refuse is the refusal where no node has newest values; newest is when one had, in ms, 0 for
// never, and missing why that may not be so.
func (s *scraping) refuse(newest int64, missing []string) error {
	e := &listener.Error{Status: http.StatusNotFound, Reason: "silent", Field: "id",
		Message: s.silent + " has not sent anything yet"}
	if newest > 0 {
		e.Message = fmt.Sprintf("%s has sent nothing since %s: look at its agent; "+
			"/v1/nodes/{id}/metrics has the old values", s.silent, literal.Time(newest))
		if s.silent != "this node" {
			e.Message = fmt.Sprintf("%s has sent anything since %s: look at the agents; "+
				"/v1/nodes/{id}/metrics has the old values", s.silent, literal.Time(newest))
		}
	}
	if len(missing) > 0 {
		e.Message += "; or " + strings.Join(missing, "; ")
	}
	return e
}

// ofFile are the names that the agent gives to rule files beyond the first of a kind.
var ofFile = regexp.MustCompile(`^(jmx|criteo)_exporter_\d+$`)

// profileOf returns the profile whose names a request asks for; nil: ours.
func profileOf(r *http.Request) (*profile.Profile, error) {
	values, err := request.Parameters(r, "profile")
	if err != nil {
		return nil, err
	}
	name := values.Get("profile")
	if !values.Has("profile") || name == profile.Ringwatch {
		return nil, nil
	}
	as := profile.Named(name)
	if as == nil && ofFile.MatchString(name) {
		return nil, refusal.Bad("unknown_profile", "profile",
			"%q is a node's own rule file, which the API does not have: scrape the agent at "+
				"/metrics?profile=%s, where profiles of agent.yaml names the file, or ask here "+
				"for one of %s",
			name, name, strings.Join(profile.Names(), ", "))
	}
	if as == nil {
		return nil, refusal.Bad("unknown_profile", "profile", "unknown profile %.40q: %s", name,
			nearest.Offer(name, profile.Names()))
	}
	return as, nil
}
