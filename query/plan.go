package query

import (
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/fleet"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/series"
	"github.com/ringwatch/ringwatch/window"
)

// plan is what a selector's matchers ask of the sources, and which series of what they give it is
// meant.
type plan struct {
	all   []*labels.Matcher
	names []*labels.Matcher   // those of __name__
	place fleet.Place         // the matchers of cluster, datacenter, rack and node
	read  [][]*labels.Matcher // what sources are asked: they give more rather than less
	once  [][]*labels.Matcher // the same in as few selectors as can be, for who reads by metric

	// What the index of series is asked, which lists series and reads none: own is of those that
	// are stored but texts, which are made when they are read, ownTexts of these (nil: as own), and
	// classic of the histograms whose classic series may be meant (nil: of none).
	own, ownTexts, classic []*labels.Matcher

	facets []window.Facet // what is needed of histograms; nil: all
}

// newPlan makes a plan. known lists the metrics that the account has; it is asked only for regular
// expressions that may mean a histogram's classic names.
func newPlan(matchers []*labels.Matcher, known func() map[string]frame.Kind) *plan {
	p := &plan{all: matchers}
	var stored []*labels.Matcher // that sources know: le and value are made here
	var le, value []*labels.Matcher
	positive := false
	for _, m := range matchers {
		switch m.Name {
		case labels.MetricName:
			p.names = append(p.names, m)
			positive = positive || m.Type == labels.MatchEqual || m.Type == labels.MatchRegexp
			continue
		case "cluster", "datacenter", "rack", "node":
			p.place = append(p.place, m)
		case labels.BucketLabel:
			le = append(le, m)
			continue
		}
		if m.Name == series.ValueLabel || strings.HasPrefix(m.Name, "exported_") {
			value = append(value, m)
			continue
		}
		stored = append(stored, m)
	}
	p.own = slices.Concat(p.names, stored, le, value)
	if value != nil {
		p.ownTexts = slices.Concat(p.names, stored, le)
	}
	p.read = [][]*labels.Matcher{append(slices.Clone(p.names), stored...)}
	p.once = p.read
	if !positive {
		return p
	}
	m := p.histogramNames(known)
	if m == nil {
		return p
	}
	p.classic = slices.Concat([]*labels.Matcher{m}, stored, value)
	p.read = append(p.read, append([]*labels.Matcher{m}, stored...))
	p.once = p.read
	if m.Type == labels.MatchEqual && len(p.names) == 1 {
		either := regexp.QuoteMeta(p.names[0].Value) + "|" + regexp.QuoteMeta(m.Value)
		if both, err := labels.NewMatcher(labels.MatchRegexp, labels.MetricName,
			either); err == nil {
			p.once = [][]*labels.Matcher{append([]*labels.Matcher{both}, stored...)}
		}
		if !strings.HasSuffix(p.names[0].Value, series.SuffixBucket) {
			p.facets = []window.Facet{window.Values}
		}
	}
	return p
}

// rollups returns what is asked of rollups: of the metric that is named itself all, and of a
// histogram whose classic names may be meant what these need.
func (p *plan) rollups() []read.RollupSelector {
	list := read.AllFacets(p.read)
	for i := range list[1:] {
		list[1+i].Facets = p.facets
	}
	return list
}

// histogramNames returns what the names of those histograms match whose classic names are asked
// for; nil if none can be.
func (p *plan) histogramNames(known func() map[string]frame.Kind) *labels.Matcher {
	for _, m := range p.names {
		if m.Type == labels.MatchEqual {
			of, can := series.HistogramName(m.Value)
			if !can {
				return nil
			}
			return labels.MustNewMatcher(labels.MatchEqual, labels.MetricName, of)
		}
	}
	var names []string
	for name, kind := range known() {
		if kind.IsHistogram() && !p.named(name) && slices.ContainsFunc(series.Suffixes[:],
			func(s string) bool { return p.named(name + s) }) {
			names = append(names, regexp.QuoteMeta(name))
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	m, err := labels.NewMatcher(labels.MatchRegexp, labels.MetricName, strings.Join(names, "|"))
	if err != nil {
		return nil // cannot happen: the names are quoted
	}
	return m
}

// onlyTexts reports whether all metrics that are asked for are known to be texts.
func (p *plan) onlyTexts(known map[string]frame.Kind) bool {
	found := false
	for _, m := range p.names {
		if m.Type == labels.MatchEqual {
			kind, is := known[m.Value]
			return is && kind == frame.String
		}
	}
	for name, kind := range known {
		if p.named(name) {
			if found = true; kind != frame.String {
				return false
			}
		}
	}
	return found
}

// kinds calls visit with the kinds of the metrics that are asked for and known, classic if it is a
// histogram's classic names.
func (p *plan) kinds(known map[string]frame.Kind, visit func(k frame.Kind, classic bool)) {
	for name, kind := range known {
		if p.named(name) && kind != frame.String {
			visit(kind, false)
		}
		if kind.IsHistogram() && slices.ContainsFunc(series.Suffixes[:],
			func(s string) bool { return p.named(name + s) }) {
			visit(kind, true)
		}
	}
}

// onlyOwn reports whether one of nodes' own series is asked for by its name.
func (p *plan) onlyOwn() bool {
	return slices.ContainsFunc(p.names, func(m *labels.Matcher) bool {
		return m.Type == labels.MatchEqual && slices.Contains(series.OwnMetrics, m.Value)
	})
}

// named reports whether a metric of the name is asked for.
func (p *plan) named(name string) bool {
	return !slices.ContainsFunc(p.names, func(m *labels.Matcher) bool { return !m.Matches(name) })
}

// means reports whether a series is asked for.
func (p *plan) means(l labels.Labels) bool {
	return !slices.ContainsFunc(p.all, func(m *labels.Matcher) bool {
		return !m.Matches(l.Get(m.Name))
	})
}

// meansBucket reports whether a series with this value of le, which may be empty, is asked for.
func (p *plan) meansBucket(le string) bool {
	return !slices.ContainsFunc(p.all, func(m *labels.Matcher) bool {
		return m.Name == labels.BucketLabel && !m.Matches(le)
	})
}

// views calls visit with each series, of those that a stored one stands for, that is asked for: the
// stored one itself, or the classic ones of a histogram.
func (p *plan) views(l labels.Labels, m *window.Metric, visit func(labels.Labels, series.View)) {
	if !m.Kind.IsHistogram() || p.named(m.Name) {
		if p.means(l) {
			visit(l, series.View{})
		}
		return
	}
	b := labels.NewBuilder(l)
	for _, suffix := range series.Suffixes {
		name := m.Name + suffix
		if !p.named(name) || suffix == series.SuffixSum && !m.HasSum {
			continue
		}
		b.Reset(l)
		b.Set(labels.MetricName, name)
		if suffix != series.SuffixBucket {
			if of := b.Labels(); p.means(of) {
				visit(of, series.View{Suffix: suffix})
			}
			continue
		}
		for _, bucket := range series.ExposedBuckets(len(m.Bounds.Upper)) {
			b.Set(labels.BucketLabel, series.BucketText(m.Bounds, bucket))
			if of := b.Labels(); p.means(of) {
				visit(of, series.View{suffix, bucket})
			}
		}
	}
}

// texts calls visit with each text that a series of texts had, if it is asked for, and the instants
// at which it had it.
func (p *plan) texts(s *window.Series, visit func(l labels.Labels, at []int64)) {
	name := series.TextLabel(s.Labels)
	var order []string
	times := map[string][]int64{}
	for i, text := range s.Strings {
		if times[text] == nil {
			order = append(order, text)
		}
		times[text] = append(times[text], s.At[i])
	}
	slices.Sort(order) // the same whatever the time range begins with
	b := labels.NewBuilder(s.Labels)
	for _, text := range order {
		b.Reset(s.Labels)
		b.Set(name, text)
		if of := b.Labels(); p.means(of) {
			visit(of, times[text])
		}
	}
}

// lists reports whether a stored series is asked for, whatever its text may be.
func (p *plan) lists(l labels.Labels, m *window.Metric) bool {
	if !p.named(m.Name) {
		return false
	}
	return !slices.ContainsFunc(p.all, func(of *labels.Matcher) bool {
		if of.Name == series.ValueLabel && m.Kind == frame.String {
			return false
		}
		return !of.Matches(l.Get(of.Name))
	})
}
