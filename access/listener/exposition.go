package listener

import (
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
)

// naming are the labels whose values name accounts, keys, or what is in a user's Cassandra. Two of
// them say whose the series is: account, and client, which begins with its account's name.
var naming = map[string]bool{
	"account": true, "client": true, "key": true,
	"cluster": true, "datacenter": true, "rack": true, "node": true, "host": true, "address": true,
	"keyspace": true, "table": true,
}

// Names tells whether the names in an account's series may be shown. The empty account stands for
// series that have names but no account. If Names is nil no names may be shown.
type Names = func(account string) bool

// AllNames shows all names: it is for listeners that only operators reach.
func AllNames(string) bool { return true }

// Exposition answers /metrics. Series whose labels have names that a request may not see are added
// up without these labels, so that totals are the same for everybody.
type Exposition struct {
	from    prometheus.Gatherer
	names   func(*http.Request) (Names, error)
	refuse  func(http.ResponseWriter, *http.Request, error)
	options promhttp.HandlerOpts
	slots   chan struct{} // a token per request under way
}

// maxExpositions is how many requests for /metrics are answered at once: each has all of it in
// memory, and a Prometheus asks for one at a time.
const maxExpositions = 8

// NewExposition returns a handler that asks names what a request may see; refuse answers its error.
func NewExposition(from prometheus.Gatherer, names func(*http.Request) (Names, error),
	refuse func(http.ResponseWriter, *http.Request, error),
	options promhttp.HandlerOpts) *Exposition {
	return &Exposition{from: from, names: names, refuse: refuse, options: options,
		slots: make(chan struct{}, maxExpositions)}
}

// ServeHTTP implements http.Handler.
func (e *Exposition) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	names, err := e.names(r)
	if err != nil {
		e.refuse(w, r, err)
		return
	}
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	default:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "too many requests for /metrics at once: try again in a moment",
			http.StatusServiceUnavailable)
		return
	}
	w.Header().Add("Vary", "Authorization")
	gather := prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := e.from.Gather()
		return unnamed(families, names), err
	})
	promhttp.HandlerFor(gather, e.options).ServeHTTP(w, r)
}

// Unnamed returns a gatherer of what a request without a key sees: totals without the names of
// accounts, of keys, and of what is in a user's Cassandra.
func Unnamed(from prometheus.Gatherer) prometheus.Gatherer {
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := from.Gather()
		return unnamed(families, nil), err
	})
}

// unnamed returns families in which the series that names does not show are added up.
func unnamed(families []*dto.MetricFamily, names Names) []*dto.MetricFamily {
	out := make([]*dto.MetricFamily, len(families))
	for i, f := range families {
		out[i] = unnamedFamily(f, names)
	}
	return out
}

func unnamedFamily(f *dto.MetricFamily, names Names) *dto.MetricFamily {
	list := make([]*dto.Metric, 0, len(f.Metric))
	sums := map[string]*dto.Metric{}
	for _, m := range f.Metric {
		left, owner, named := split(m.Label)
		if !named || names != nil && names(owner) {
			list = append(list, m)
			continue
		}
		var key strings.Builder
		for _, l := range left {
			key.WriteString(l.GetName() + "\xff" + l.GetValue() + "\xff")
		}
		sum := sums[key.String()]
		if sum == nil {
			sum = &dto.Metric{Label: left}
			sums[key.String()] = sum
			list = append(list, sum)
		}
		addMetric(sum, m)
	}
	if len(sums) == 0 {
		return f
	}
	return &dto.MetricFamily{Name: f.Name, Help: f.Help, Type: f.Type, Unit: f.Unit, Metric: list}
}

// split returns the labels that name nothing, and whose the series is.
func split(all []*dto.LabelPair) (left []*dto.LabelPair, owner string, named bool) {
	for _, l := range all {
		switch name := l.GetName(); {
		case !naming[name]:
			left = append(left, l)
			continue
		case name == "account" || name == "client" && owner == "":
			owner, _, _ = strings.Cut(l.GetValue(), "/")
		}
		named = true
	}
	return left, owner, named
}
