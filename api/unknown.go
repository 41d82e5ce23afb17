package api

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/query/nearest"
)

// A name that does not exist is refused, wherever a request may say one: an empty answer would be
// an all-clear. What there is instead is told of what the key may see alone.

// unknown refuses the name of a thing, such as a cluster, that is none of those the key sees.
func unknown(what, field, name string, known []string) *Error {
	slices.Sort(known)
	return &Error{Status: http.StatusNotFound, Reason: "unknown_" + what, Field: field,
		Message: fmt.Sprintf("this key sees no %s %.200q: %s", what, name,
			nearest.Offer(name, known))}
}

// unknownWord refuses a word that is none of a fixed list.
func unknownWord(field, text string, list []string) *Error {
	return bad("bad_"+field, field, "unknown %s %.40q: %s", field, text, nearest.Offer(text, list))
}

// unknownNode refuses what is no node of a list. What there is it says as the
// text does: by addresses or by host names.
func unknownNode(field, text string, nodes []Node) *Error {
	known := make([]string, len(nodes))
	for i := range nodes {
		known[i] = nodeWord(text, nodes[i].ID.String(), nodes[i].Fact("address"),
			nodes[i].Fact("hostname"))
	}
	return unknown("node", field, text, known)
}

// nodeWord is how who wrote a text may call a node: as the text does where that can be known.
func nodeWord(text, id, address, hostname string) string {
	if _, _, err := net.SplitHostPort(text); err == nil || net.ParseIP(text) != nil {
		return cmp.Or(address, id)
	}
	return cmp.Or(hostname, address, id)
}

// refreshAtMost is how often a name that is not in the list may make it be read again: a new node
// is found at once, guessing names costs little.
const refreshAtMost = time.Second

// nodesOf returns the nodes that a key sees and that parameters name by place or id, or refuses the
// name that none has.
func (s *Server) nodesOf(ctx context.Context, p account.Principal, of url.Values) ([]Node, error) {
	l := listing{of: of, path: true}
	rows, err := s.rows(ctx, p, &l)
	if err != nil {
		return nil, err
	}
	nodes := make([]Node, 0, len(rows))
	for i := range rows {
		if rows[i].node != nil {
			nodes = append(nodes, *rows[i].node)
		}
	}
	if len(nodes) == 0 { // all have moved away
		return nil, l.unknownPlace(nil)
	}
	return nodes, nil
}

// called is what a row may be named by, in the field of a listing.
func (r *row) called(field, text string) string {
	switch field {
	case "cluster":
		return r.Cluster
	case "datacenter":
		return r.Datacenter
	case "rack":
		return r.Rack
	}
	return nodeWord(text, r.ID.String(), r.address(), r.hostname())
}

// unknownPlace refuses the name that makes a listing of rows empty. nil: there is something of each
// name, and no node has them all; what is not of the kind or in the state is no mistake.
func (l *listing) unknownPlace(rows []row) error {
	for _, field := range []string{"cluster", "datacenter", "rack", "id", "name"} {
		only, what := listing{of: url.Values{}}, field
		if l.of.Has(field) && field != "name" {
			only.of.Set(field, l.of.Get(field))
		} else if only.name = l.name; field != "name" || l.name == "" {
			continue
		}
		if field == "id" || field == "name" {
			what = "node"
		}
		var known []string
		var found []row
		for i := range rows {
			if known = append(known, rows[i].called(field, l.of.Get(field))); only.has(&rows[i]) {
				found = append(found, rows[i])
			}
		}
		if len(found) == 0 && field == "id" && !l.path {
			return nil // who has ids asks what of them is still there
		}
		if len(found) == 0 {
			return unknown(what, field, l.of.Get(field), known)
		}
		rows = found
	}
	return nil
}
