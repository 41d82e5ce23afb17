package loki

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window/events"
)

// everything means all streams.
var everything = &logQuery{}

// newest are some of the newest events that a list of labels or streams is made of: those of the
// selector in a parameter, if there is one.
func (a *API) newest(r *http.Request, p account.Principal,
	parameter string) ([]events.Event, error) {
	if err := r.ParseForm(); err != nil {
		return nil, bad("the parameters cannot be read: encode special characters as %%XX")
	}
	s, err := a.times(r)
	if err != nil {
		return nil, err
	}
	q := everything
	switch texts := r.Form[parameter]; {
	case len(texts) > 1:
		return nil, bad("%s is given more than once", parameter)
	case len(texts) == 1 && strings.Trim(texts[0], "{} ") != "":
		if q, err = a.parse(r, texts[0]); err != nil {
			return nil, err
		}
	}
	found, _, err := a.find(r.Context(), p, q, s, listEvents, false)
	return found, err
}

func (a *API) labels(*http.Request, account.Principal) (*answer, error) {
	return &answer{data: labelNames}, nil
}

// labelValues answers label/{name}/values: of clusters and nodes those that there are, of kinds
// those of some of the newest events.
func (a *API) labelValues(r *http.Request, p account.Principal) (*answer, error) {
	name, values := r.PathValue("name"), []string{}
	asked := r.FormValue("query") != ""
	switch {
	case !slices.Contains(labelNames, name):
	case name == "severity" && !asked:
		values = frame.SeverityNames()
	case (name == "cluster" || name == "node") && !asked:
		nodes, err := a.Nodes(r.Context(), p)
		if err != nil {
			return nil, err
		}
		for i := range nodes {
			values = append(values, valueOf(&events.Stream{Cluster: nodes[i].Cluster,
				Node: nodes[i].ID.String()}, name))
		}
	default:
		found, err := a.newest(r, p, "query")
		if err != nil {
			return nil, err
		}
		for i := range found {
			stream := found[i].Stream()
			values = append(values, valueOf(&stream, name))
		}
	}
	slices.Sort(values)
	return &answer{data: slices.Compact(values)}, nil
}

// series answers series: which streams some of the newest events are of.
func (a *API) series(r *http.Request, p account.Principal) (*answer, error) {
	parameter := "match[]"
	if !r.URL.Query().Has(parameter) {
		parameter = "match"
	}
	found, err := a.newest(r, p, parameter)
	if err != nil {
		return nil, err
	}
	list := []map[string]string{}
	known := map[events.Stream]bool{}
	for i := range found {
		if s := found[i].Stream(); !known[s] {
			known[s] = true
			list = append(list, labelsOf(&s))
		}
	}
	return &answer{data: list}, nil
}

// stats answers index/stats: how much a query would read, up to what lists are made of.
func (a *API) stats(r *http.Request, p account.Principal) (*answer, error) {
	found, err := a.newest(r, p, "query")
	if err != nil {
		return nil, err
	}
	streams, bytes := map[events.Stream]bool{}, 0
	for i := range found {
		streams[found[i].Stream()] = true
		bytes += len(found[i].Line())
	}
	return &answer{whole: true, data: map[string]int{"streams": len(streams),
		"chunks": len(streams),
		"bytes":  bytes, "entries": len(found)}}, nil
}
