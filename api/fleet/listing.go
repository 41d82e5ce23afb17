package fleet

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/roster"
)

// maxCursor bounds what after= takes: the names of a place, and what encoding adds.
const maxCursor = 4 << 10

// Listing says which nodes a list has, and which page of them.
type Listing struct {
	State string // empty: any

	// cluster, datacenter, rack, id and kind, each as it must be; absent: any
	names  url.Values
	name   string // of a node, in lower case; empty: any
	inPath bool   // names stand in a path, so that an id which nobody has is an error

	limit int    // 0: all
	after *Place // the page begins behind it; nil: with the first one
}

// Parameters are what NewListing reads.
var Parameters = strings.Fields("cluster datacenter rack id kind name state limit after")

// states are those that a node may be in, with how it may have left.
var states = append(slices.Clone(read.States), roster.Decommissioned, roster.Replaced,
	roster.Moved, roster.Forgotten, roster.Removed)

// WholeListing is a listing of all nodes that parameters name by place and kind, on one page.
func WholeListing(names url.Values) (*Listing, error) {
	if names.Has("kind") && !slices.Contains(frame.Kinds, names.Get("kind")) {
		return nil, refusal.UnknownWord("kind", names.Get("kind"), frame.Kinds)
	}
	return &Listing{names: names}, nil
}

// NewListing reads Parameters.
func NewListing(values url.Values) (*Listing, error) {
	l, err := WholeListing(values)
	if err != nil {
		return nil, err
	}
	l.name, l.State = strings.ToLower(values.Get("name")), values.Get("state")
	if values.Has("state") && !slices.Contains(states, l.State) {
		return nil, refusal.UnknownWord("state", l.State, states)
	}
	return l, l.readPage(values)
}

// Pages reads limit= and after= alone.
func Pages(values url.Values) (*Listing, error) {
	l := &Listing{}
	return l, l.readPage(values)
}

// OneNode is a listing of the node of an id, in the cluster that cluster= of the parameters says.
func OneNode(id string, values url.Values) *Listing {
	values.Set("id", id)
	return &Listing{names: values, inPath: true}
}

// readPage reads limit= and after=.
func (l *Listing) readPage(values url.Values) (err error) {
	if text := values.Get("limit"); text != "" {
		if l.limit, err = strconv.Atoi(text); err != nil || l.limit < 0 {
			return refusal.Bad("bad_limit", "limit",
				"limit must be a number, and 0 is all: limit=100")
		}
	}
	text := values.Get("after")
	if text == "" {
		return nil
	}
	l.after = &Place{}
	b, err := base64.RawURLEncoding.DecodeString(text[:min(len(text), maxCursor+1)])
	if err == nil {
		err = json.Unmarshal(b, l.after)
	}
	if err != nil || len(text) > maxCursor {
		return refusal.Bad("bad_cursor", "after",
			"after must be the header %s of the page before, as it came; leave it out for "+
				"the first page",
			reply.NextHeader)
	}
	return nil
}

// has reports whether a node is listed, as far as its state does not matter.
func (l *Listing) has(r *Row) bool {
	is := func(name, value string) bool {
		return !l.names.Has(name) || l.names.Get(name) == value ||
			name == "id" && strings.EqualFold(l.names.Get(name), value)
	}
	return is("cluster", r.Place.Cluster) && is("datacenter", r.Place.Datacenter) &&
		is("rack", r.Place.Rack) && is("kind", r.Kind()) && is("id", r.Place.ID.String()) &&
		(l.name == "" || isCalled(l.name, r.Place.ID, r.address(), r.hostname()))
}

// unknownPlace refuses the name that makes a listing of rows empty. nil: there is something of each
// name, and no node has them all; what is not of the kind or in the state is no mistake.
func (l *Listing) unknownPlace(rows []Row) error {
	for _, field := range []string{"cluster", "datacenter", "rack", "id", "name"} {
		one, thing := Listing{names: url.Values{}}, field
		if l.names.Has(field) && field != "name" {
			one.names.Set(field, l.names.Get(field))
		} else if one.name = l.name; field != "name" || l.name == "" {
			continue
		}
		if field == "id" || field == "name" {
			thing = "node"
		}
		var known []string
		var found []Row
		for i := range rows {
			known = append(known, rows[i].value(field, l.names.Get(field)))
			if one.has(&rows[i]) {
				found = append(found, rows[i])
			}
		}
		if len(found) == 0 && field == "id" && !l.inPath {
			return nil // who has ids asks which of them are still there
		}
		if len(found) == 0 {
			return refusal.UnknownName(thing, field, l.names.Get(field), known)
		}
		rows = found
	}
	return nil
}

// Page returns the listing's page of a sorted list. next is the place after which the rest comes;
// nil if there is none.
func Page[T any](l *Listing, list []T, at func(*T) *Place) (cut []T, next *Place) {
	if l.after != nil {
		i, _ := slices.BinarySearchFunc(list, l.after, func(t T, after *Place) int {
			if at(&t).compare(after) <= 0 {
				return -1
			}
			return 1
		})
		list = list[i:]
	}
	if l.limit > 0 && len(list) > l.limit {
		list = list[:l.limit]
		next = at(&list[l.limit-1])
	}
	return list, next
}

// NotePage tells how many there are, and where the rest of them begins.
func NotePage(w http.ResponseWriter, total int, next *Place) {
	w.Header().Set(reply.TotalHeader, strconv.Itoa(total))
	if next != nil {
		w.Header().Set(reply.NextHeader, next.cursor())
	}
}
