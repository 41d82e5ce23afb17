package profile

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

// Loss is what a profile loses on a page that has others' names before its own: a name is one
// profile's there, that of the one that stands first.
type Loss struct {
	Profile, By string
	Names       []string // in order
}

// Losses returns what an order of profiles loses on one page of all of them, where the names are
// those of the profiles here. It looks at one entity of each type, so it knows no node's own names.
func Losses(order []string) ([]Loss, error) {
	taken := map[string]*family{}
	lost := map[[2]string][]string{}
	for _, name := range order {
		families, err := sampled(name)
		if err != nil {
			return nil, err
		}
		for _, f := range families {
			var by *family
			for _, line := range f.lines() {
				by = cmp.Or(by, taken[line])
			}
			switch {
			case by == nil:
				for _, line := range f.lines() {
					taken[line] = f
				}
			case !by.share(f):
				key := [2]string{name, by.profile}
				lost[key] = append(lost[key], f.name)
			}
		}
	}
	var list []Loss
	for key, names := range lost {
		slices.Sort(names)
		list = append(list, Loss{key[0], key[1], slices.Compact(names)})
	}
	slices.SortFunc(list, func(a, b Loss) int {
		return cmp.Compare(a.Profile+" "+a.By, b.Profile+" "+b.By)
	})
	return list, nil
}

// family is all series of one name of a profile.
type family struct {
	profile, name string
	kind          string // number, histogram or summary
	series        []sample
}

type sample struct {
	from   string // type and name of ours
	labels map[string]string
}

// lines returns the names that the family takes on a page.
func (f *family) lines() []string {
	switch f.kind {
	case "histogram":
		return []string{f.name, f.name + "_bucket", f.name + "_sum", f.name + "_count"}
	case "summary":
		return []string{f.name, f.name + "_sum", f.name + "_count"}
	}
	return []string{f.name}
}

// share lets a family of a later profile have this one's series, and reports whether all of its
// series are there then: those of the same value have the labels of both.
func (f *family) share(later *family) bool {
	if f.name != later.name || f.kind != "number" || later.kind != "number" {
		return false
	}
	for i := range later.series {
		if !slices.ContainsFunc(f.series, func(of sample) bool {
			return of.has(&later.series[i])
		}) {
			return false
		}
	}
	return true
}

// has reports whether a series has another's labels, which it gets if it is of the same of ours and
// both profiles are made of ours rather than of beans.
func (s *sample) has(other *sample) bool {
	for name, value := range other.labels {
		if is, there := s.labels[name]; there && is != value || !there && s.from != other.from {
			return false
		}
	}
	maps.Copy(s.labels, other.labels) // as the agent does: each by the labels of both
	return true
}

// sampling is the context of a sample, whose series tell of what they are.
var sampling = context.WithValue(context.Background(), samplingKey{}, true)

type samplingKey struct{}

// sampled returns a profile's families of one entity of each type.
func sampled(name string) ([]*family, error) {
	now, err := sampleState()
	if err != nil {
		return nil, err
	}
	byName := map[string]*family{}
	var order []*family
	add := func(name, kind string, s sample, by string) {
		f := byName[name]
		if f == nil {
			f = &family{profile: by, name: name, kind: kind}
			byName[name] = f
			order = append(order, f)
		}
		f.series = append(f.series, s)
	}
	if name == Ringwatch {
		for i := range now {
			kind := "number"
			if now[i].Metric.Kind.IsHistogram() {
				kind = "histogram"
			}
			add(now[i].Metric.Name, kind, sample{now[i].Metric.Type + "/" + now[i].Metric.Name,
				entityOf(now[i].Labels)}, name)
		}
		return order, nil
	}
	p := Named(name)
	if p == nil {
		return nil, nil
	}
	shown, err := p.Show(sampling, sampleNode(), now, nil)
	if err != nil {
		return nil, err
	}
	summaries := map[string]bool{}
	if n, ok := p.by.(*instaclustr); ok {
		for _, list := range n.series {
			for _, of := range list {
				summaries[of.name] = summaries[of.name] || of.summary
			}
		}
	}
	for i := range shown.Series {
		s := &shown.Series[i]
		base := strings.TrimSuffix(strings.TrimSuffix(s.Metric.Name, "_sum"), "_count")
		from := shown.from[i]
		if _, ofBeans := p.by.(*byRules); ofBeans {
			from = name // none of ours
		}
		switch {
		case summaries[base]:
			add(base, "summary", sample{from, entityOf(s.Labels)}, name)
		default:
			add(s.Metric.Name, "number", sample{from, entityOf(s.Labels)}, name)
		}
	}
	return order, nil
}

func entityOf(l labels.Labels) map[string]string {
	m := map[string]string{}
	l.Range(func(l labels.Label) {
		if !slices.Contains([]string{labels.MetricName, "cluster", "datacenter", "rack", "node"},
			l.Name) {
			m[l.Name] = l.Value
		}
	})
	return m
}

func sampleNode() *window.Node {
	return &window.Node{Cluster: "c", ID: uuid.UUID{1}, Identity: frame.Identity{Datacenter: "dc",
		Rack: "r", Facts: []frame.Fact{{Name: "address", Value: "10.0.0.1:7000"}}}}
}

// sampleValues are what an entity's labels are in the sample.
var sampleValues = map[string]string{"cache": "KeyCache", "request": "CASRead",
	"peer": "10.0.0.2:7000", "gc": "G1", "pool": "p", "mount": "/", "device": "sda"}

// sampleState is a value of every series that beans.txt or a profile's table speaks of.
func sampleState() ([]window.Series, error) {
	c, err := loadBeans()
	if err != nil {
		return nil, err
	}
	bounds := &frame.Bounds{Exponent: -6, Upper: []int64{1, 2, 4}}
	var now []window.Series
	known := map[string]bool{}
	add := func(entity, name, kind string, own []string) {
		// few nodes have one
		if known[name] || strings.HasSuffix(entity, sumSuffix) ||
			strings.HasSuffix(entity, oldSuffix) ||
			entity == "index_table" {
			return
		}
		known[name] = true
		m := &window.Metric{Type: entity, Name: name, Kind: frame.Gauge}
		s := window.Series{Metric: m, At: []int64{1}}
		switch kind {
		case "latency", "timer", "histogram", "buckets", "total":
			m.Kind, m.Bounds, m.HasSum, m.Unit = frame.Histogram, bounds, kind == "latency",
				"seconds"
			s.Histograms = []window.Histogram{window.NewHistogram([]int64{1, 0, 0, 0}, 1)}
		default:
			s.Ints = []int64{1}
		}
		b := labels.NewBuilder(labels.EmptyLabels()).Set(labels.MetricName, name)
		for _, l := range own {
			b.Set(l, cmp.Or(sampleValues[l], "x"))
		}
		s.Labels = b.Labels()
		now = append(now, s)
	}
	for i := range c.sources {
		s := &c.sources[i]
		var own []string
		for _, m := range label.FindAllStringSubmatch(s.bean, -1) {
			own = append(own, m[1])
		}
		add(s.entity, s.series, s.kind, own)
	}
	for _, one := range []struct{ entity, series string }{{"node", "cassandra_node_gossip_running"},
		{"node", "cassandra_node_peers_up"}, {"peer", "cassandra_peer_up"},
		{"filesystem", "os_filesystem_size_bytes"}, {"filesystem", "os_filesystem_available_bytes"},
		{"filesystem", "os_filesystem_free_bytes"}} {
		add(one.entity, one.series, "gauge", entityLabels[one.entity])
	}
	return now, nil
}
