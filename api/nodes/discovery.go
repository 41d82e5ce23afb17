package nodes

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api/fleet"
	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/api/request"
)

// discovery tells Prometheus what to scrape.
type discovery struct {
	nodes     lister
	publicURL string
	span      time.Duration // how long a silent node stays in it
	metrics   *reply.Metrics
}

// target is one of Prometheus's HTTP service discovery: an address, and labels. Those beginning
// with __ configure the scrape or are for relabelling; the others become labels of what the
// scrape says of itself, such as up.
type target struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// meta begins the labels that are for relabelling only.
const meta = "__meta_ringwatch_"

// get answers /v1/discovery: one target per node, or per cluster with by=cluster, all of
// them at this API. A node that has left, or has been silent for longer than
// Config.DiscoverySpan, is none. Only a label of meta tells a node's state: a label that changes is
// a new target with new series.
func (s *discovery) get(w http.ResponseWriter, r *http.Request, p account.Principal) error {
	values, err := request.Parameters(r, "by", "cluster", "kind")
	if err != nil {
		return err
	}
	by := values.Get("by")
	if by != "" && by != "node" && by != "cluster" {
		return refusal.UnknownWord("by", by, []string{"node", "cluster"})
	}
	all, err := fleet.WholeListing(values)
	if err != nil {
		return err
	}
	d, err := s.nodes.describe(r.Context(), p, all)
	if err != nil {
		return err
	}
	s.metrics.NotePartial(w, d.missing)
	base := s.base(r)
	list := []*target{}
	clusters := map[string]bool{}
	for i := range d.nodes {
		n := &d.nodes[i]
		if n.Left != nil || n.isSilentFor(s.span) {
			continue
		}
		if by == "cluster" {
			if !clusters[n.Cluster] {
				clusters[n.Cluster] = true
				list = append(list,
					newTarget(base, "/v1/clusters/"+url.PathEscape(n.Cluster)+"/prometheus",
						n.Cluster, map[string]string{"cluster": n.Cluster}))
			}
			continue
		}
		instance := n.Address
		if instance == "" {
			instance = n.ID.String()
		}
		labels := map[string]string{"cluster": n.Cluster, "datacenter": n.Datacenter,
			"rack": n.Rack, "node": n.ID.String(), meta + "state": n.State,
			meta + "kind": n.Kind}
		for _, f := range n.Facts {
			labels[meta+"fact_"+labelName(f.Name)] = f.Value
		}
		list = append(list, newTarget(base, "/v1/nodes/"+n.ID.String()+"/prometheus",
			instance, labels))
	}
	return reply.JSON(w, r, list)
}

func newTarget(base *url.URL, path, instance string, labels map[string]string) *target {
	labels["__scheme__"], labels["__metrics_path__"], labels["instance"] = base.Scheme,
		path, instance
	return &target{Targets: []string{base.Host}, Labels: labels}
}

// base is how the asking Prometheus reaches this API: as it did just now, unless the
// configuration says otherwise.
func (s *discovery) base(r *http.Request) *url.URL {
	if u, err := url.Parse(s.publicURL); s.publicURL != "" && err == nil {
		return u
	}
	if r.TLS != nil {
		return &url.URL{Scheme: "https", Host: r.Host}
	}
	return &url.URL{Scheme: "http", Host: r.Host}
}

// labelName replaces what a label's name may not have.
func labelName(name string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '_'
	}, name)
}
