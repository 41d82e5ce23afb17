// Package plan says what a selector means before anything is read of it: Plan what its matchers ask
// of the sources, Windows at which instants it is looked at, and Span which source answers which
// part of the time.
//
//	matchers          ── New ───────────▶ Plan: which metrics, where, as which views
//	hints of PromQL   ── NewWindows ────▶ Windows
//	Windows           ── Windows.Spans ─▶ Spans: samples, or the coarsest rollup that fits
//
// What it promises: sources are asked for more rather than less, and Plan.Means says which of what
// they give is meant.
//
// It may import access/account, frame, window and, of query, what is below it.
package plan

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
	"github.com/ringwatch/ringwatch/window/blobs"
)

// Plan is what a selector's matchers ask of the sources, and which series of what they give it is
// meant.
type Plan struct {
	All   []*labels.Matcher
	Names []*labels.Matcher   // those of __name__
	Place fleet.Place         // the matchers of cluster, datacenter, rack and node
	Read  [][]*labels.Matcher // what sources are asked: they give more rather than less
	Once  [][]*labels.Matcher // the same in as few selectors as can be, for who reads by metric

	// What the index of series is asked, which lists series and reads none: own is of those that
	// are stored but texts, which are made when they are read, OwnTexts of these (nil: as own), and
	// classic of the histograms whose classic series may be meant (nil: of none).
	Own, OwnTexts, Classic []*labels.Matcher

	Facets []blobs.Facet // what is needed of histograms; nil: all
}

// New makes a plan. known lists the metrics that the account has; it is asked only for regular
// expressions that may mean a histogram's classic names.
func New(matchers []*labels.Matcher, known func() map[string]frame.Kind) *Plan {
	p := &Plan{All: matchers}
	var stored []*labels.Matcher // that sources know: le and value are made here
	var le, value []*labels.Matcher
	positive := false
	for _, m := range matchers {
		switch m.Name {
		case labels.MetricName:
			p.Names = append(p.Names, m)
			positive = positive || m.Type == labels.MatchEqual || m.Type == labels.MatchRegexp
			continue
		case "cluster", "datacenter", "rack", "node":
			p.Place = append(p.Place, m)
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
	p.Own = slices.Concat(p.Names, stored, le, value)
	if value != nil {
		p.OwnTexts = slices.Concat(p.Names, stored, le)
	}
	p.Read = [][]*labels.Matcher{append(slices.Clone(p.Names), stored...)}
	p.Once = p.Read
	if !positive {
		return p
	}
	m := p.histogramNames(known)
	if m == nil {
		return p
	}
	p.Classic = slices.Concat([]*labels.Matcher{m}, stored, value)
	p.Read = append(p.Read, append([]*labels.Matcher{m}, stored...))
	p.Once = p.Read
	if m.Type == labels.MatchEqual && len(p.Names) == 1 {
		either := regexp.QuoteMeta(p.Names[0].Value) + "|" + regexp.QuoteMeta(m.Value)
		if both, err := labels.NewMatcher(labels.MatchRegexp, labels.MetricName,
			either); err == nil {
			p.Once = [][]*labels.Matcher{append([]*labels.Matcher{both}, stored...)}
		}
		if !strings.HasSuffix(p.Names[0].Value, series.SuffixBucket) {
			p.Facets = []blobs.Facet{blobs.Values}
		}
	}
	return p
}

// Rollups returns what is asked of rollups: of the metric that is named itself all, and of a
// histogram whose classic names may be meant what these need.
func (p *Plan) Rollups() []read.RollupSelector {
	list := read.AllFacets(p.Read)
	for i := range list[1:] {
		list[1+i].Facets = p.Facets
	}
	return list
}

// histogramNames returns what the names of those histograms match whose classic names are asked
// for; nil if none can be.
func (p *Plan) histogramNames(known func() map[string]frame.Kind) *labels.Matcher {
	for _, m := range p.Names {
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
		if kind.IsHistogram() && !p.Named(name) && slices.ContainsFunc(series.Suffixes[:],
			func(s string) bool { return p.Named(name + s) }) {
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

// OnlyTexts reports whether all metrics that are asked for are known to be texts.
func (p *Plan) OnlyTexts(known map[string]frame.Kind) bool {
	found := false
	for _, m := range p.Names {
		if m.Type == labels.MatchEqual {
			kind, is := known[m.Value]
			return is && kind == frame.String
		}
	}
	for name, kind := range known {
		if p.Named(name) {
			if found = true; kind != frame.String {
				return false
			}
		}
	}
	return found
}

// Kinds calls visit with the kinds of the metrics that are asked for and known, classic if it is a
// histogram's classic names.
func (p *Plan) Kinds(known map[string]frame.Kind, visit func(k frame.Kind, classic bool)) {
	for name, kind := range known {
		if p.Named(name) && kind != frame.String {
			visit(kind, false)
		}
		if kind.IsHistogram() && slices.ContainsFunc(series.Suffixes[:],
			func(s string) bool { return p.Named(name + s) }) {
			visit(kind, true)
		}
	}
}

// OnlyOwn reports whether one of nodes' own series is asked for by its name.
func (p *Plan) OnlyOwn() bool {
	return slices.ContainsFunc(p.Names, func(m *labels.Matcher) bool {
		return m.Type == labels.MatchEqual && slices.Contains(series.OwnMetrics, m.Value)
	})
}

// Named reports whether a metric of the name is asked for.
func (p *Plan) Named(name string) bool {
	return !slices.ContainsFunc(p.Names, func(m *labels.Matcher) bool { return !m.Matches(name) })
}

// Means reports whether a series is asked for.
func (p *Plan) Means(l labels.Labels) bool {
	return !slices.ContainsFunc(p.All, func(m *labels.Matcher) bool {
		return !m.Matches(l.Get(m.Name))
	})
}

// MeansBucket reports whether a series with this value of le, which may be empty, is asked for.
func (p *Plan) MeansBucket(le string) bool {
	return !slices.ContainsFunc(p.All, func(m *labels.Matcher) bool {
		return m.Name == labels.BucketLabel && !m.Matches(le)
	})
}

// Views calls visit with each series, of those that a stored one stands for, that is asked for: the
// stored one itself, or the classic ones of a histogram.
func (p *Plan) Views(l labels.Labels, m *window.Metric, visit func(labels.Labels, series.View)) {
	if !m.Kind.IsHistogram() || p.Named(m.Name) {
		if p.Means(l) {
			visit(l, series.View{})
		}
		return
	}
	b := labels.NewBuilder(l)
	for _, suffix := range series.Suffixes {
		name := m.Name + suffix
		if !p.Named(name) || suffix == series.SuffixSum && !m.HasSum {
			continue
		}
		b.Reset(l)
		b.Set(labels.MetricName, name)
		if suffix != series.SuffixBucket {
			if of := b.Labels(); p.Means(of) {
				visit(of, series.View{Suffix: suffix})
			}
			continue
		}
		for _, bucket := range series.ExposedBuckets(len(m.Bounds.Upper)) {
			b.Set(labels.BucketLabel, series.BucketText(m.Bounds, bucket))
			if of := b.Labels(); p.Means(of) {
				visit(of, series.View{Suffix: suffix, Bucket: bucket})
			}
		}
	}
}

// Texts calls visit with each text that a series of texts had, if it is asked for, and the instants
// at which it had it.
func (p *Plan) Texts(s *window.Series, visit func(l labels.Labels, at []int64)) {
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
		if of := b.Labels(); p.Means(of) {
			visit(of, times[text])
		}
	}
}

// Lists reports whether a stored series is asked for, whatever its text may be.
func (p *Plan) Lists(l labels.Labels, m *window.Metric) bool {
	if !p.Named(m.Name) {
		return false
	}
	return !slices.ContainsFunc(p.All, func(of *labels.Matcher) bool {
		if of.Name == series.ValueLabel && m.Kind == frame.String {
			return false
		}
		return !of.Matches(l.Get(of.Name))
	})
}
