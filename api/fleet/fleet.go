// Package fleet finds the nodes that a request means: by cluster, datacenter, rack, id, kind or
// name, those that have moved to another cluster among them. Begin with Fleet. It imports
// api/refusal and api/reply, and of what reads query and frame.
//
// What it promises: a key is told of what it may see alone. A name that none of these nodes has is
// refused, with what there is instead.
//
// What bites: the list of nodes is remembered for a while. A name that is not in it makes it be
// read again, once a second at most.
package fleet

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/window"
)

// Reader knows the nodes of accounts, as read.Reader.
type Reader interface {
	// Nodes returns those that a key may see, by cluster, datacenter, rack and id. The list is not
	// older than age, and is not to be changed.
	Nodes(ctx context.Context, p account.Principal, age time.Duration) ([]window.Node, error)
	// Roster knows who has left.
	Roster() *roster.Roster
}

// Fleet finds nodes.
type Fleet struct {
	reader Reader
	age    time.Duration // of the list that nodes are looked for in
}

// New returns one whose list is not older than age.
func New(reader Reader, age time.Duration) *Fleet { return &Fleet{reader: reader, age: age} }

// refreshAtMost is how often a name that is not in the list may make it be read again: a new node
// is found at once, guessing names costs little.
const refreshAtMost = time.Second

// All returns the nodes that a key may see, by cluster, datacenter, rack and id.
func (f *Fleet) All(ctx context.Context, p account.Principal) ([]window.Node, error) {
	return f.reader.Nodes(ctx, p, f.age)
}

// Rows returns the nodes that a listing means, sorted, but for their state and the page. A name
// that none of them has is an error.
func (f *Fleet) Rows(ctx context.Context, p account.Principal, l *Listing) ([]Row, error) {
	var rows []Row
	for _, age := range []time.Duration{f.age, min(f.age, refreshAtMost)} {
		nodes, err := f.reader.Nodes(ctx, p, age)
		if err != nil {
			return nil, err
		}
		rows = make([]Row, 0, len(nodes))
		for i := range nodes {
			n := &nodes[i]
			rows = append(rows, Row{Place: placeOf(n), Node: n})
		}
		rows = append(rows, f.moved(p, nodes)...)
		found := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return !l.has(&r) })
		if len(found) > 0 {
			slices.SortStableFunc(found, func(x, y Row) int { return x.Place.compare(&y.Place) })
			return found, nil
		}
	}
	return nil, l.unknownPlace(rows)
}

// moved returns those of the account's nodes that were in a cluster which the key may see and
// are in another one now, which is the one that nodes has. nodes are all that the key may see.
func (f *Fleet) moved(p account.Principal, nodes []window.Node) (rows []Row) {
	type standing struct {
		node    uuid.UUID
		cluster string
	}
	known, kinds := map[standing]bool{}, map[uuid.UUID]string{}
	for _, rec := range f.reader.Roster().Left(p.Account, roster.Moved) {
		if !p.Owns(rec.Cluster) {
			continue
		}
		if len(known) == 0 {
			for i := range nodes {
				known[standing{nodes[i].ID, nodes[i].Cluster}] = true
				kinds[nodes[i].ID] = nodes[i].Kind()
			}
		}
		if !known[standing{rec.Node, rec.Cluster}] {
			rows = append(rows, Row{
				Place: Place{rec.Cluster, rec.Datacenter, rec.Rack, rec.Node},
				Moved: &rec, kindNow: kinds[rec.Node]})
		}
	}
	return rows
}

// Nodes returns the nodes that a key sees and that parameters name by place or id, or refuses the
// name that none has.
func (f *Fleet) Nodes(ctx context.Context, p account.Principal,
	names url.Values) ([]window.Node, error) {
	l := Listing{names: names, inPath: true}
	rows, err := f.Rows(ctx, p, &l)
	if err != nil {
		return nil, err
	}
	nodes := make([]window.Node, 0, len(rows))
	for i := range rows {
		if rows[i].Node != nil {
			nodes = append(nodes, *rows[i].Node)
		}
	}
	if len(nodes) == 0 { // all have moved away
		return nil, l.unknownPlace(nil)
	}
	return nodes, nil
}

// InPath returns the nodes that a request's path means: one, a cluster's, or a datacenter's, which
// may be in several clusters.
func (f *Fleet) InPath(r *http.Request, p account.Principal) ([]window.Node, error) {
	names := url.Values{}
	for _, field := range []string{"cluster", "datacenter", "id"} {
		if name := r.PathValue(field); name != "" {
			names.Set(field, name)
		}
	}
	return f.Nodes(r.Context(), p, names)
}
