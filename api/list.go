package api

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/roster"
)

// NextHeader is there when limit= cut a list: what after= takes for the rest of it.
const NextHeader = "Ringwatch-Next"

// maxCursor bounds what after= takes: the names of a place, and what encoding adds.
const maxCursor = 4 << 10

// place is where a node stands in a list. None of it changes while the node lives, so a node that
// comes or goes between two pages neither hides another one nor shows it twice.
type place struct {
	Cluster    string    `json:"c"`
	Datacenter string    `json:"d"`
	Rack       string    `json:"r"`
	ID         uuid.UUID `json:"n"`
}

func (p *place) compare(o *place) int {
	return cmp.Or(cmp.Compare(p.Cluster, o.Cluster), cmp.Compare(p.Datacenter, o.Datacenter),
		cmp.Compare(p.Rack, o.Rack), slices.Compare(p.ID[:], o.ID[:]))
}

// cursor returns the place as text for after=.
func (p *place) cursor() string {
	b, _ := json.Marshal(p) // strings and numbers always can be
	return base64.RawURLEncoding.EncodeToString(b)
}

// listing says which nodes a list has, and which page of them.
type listing struct {
	// cluster, datacenter, rack, id and kind, each as it must be; absent: any
	of    url.Values
	name  string // in lower case; empty: any
	state string // empty: any
	path  bool   // the names stand in a path, so that an id which nobody has is an error

	limit int    // 0: all
	after *place // the page begins behind it; nil: with the first one
}

// listParameters are what newListing reads of the parameters of /v1/nodes.
var listParameters = strings.Fields("cluster datacenter rack id kind name state limit after")

// states are those that a node may be in, with how it may have left.
var states = []string{query.StateUp, query.StateLate, query.StatePaused, query.StateDown,
	roster.Decommissioned, roster.Replaced, roster.Moved, roster.Forgotten, roster.Removed}

// wholeListing is a listing of all nodes that parameters name by place and kind, on one page.
func wholeListing(of url.Values) (*listing, error) {
	if of.Has("kind") && !slices.Contains(frame.Kinds, of.Get("kind")) {
		return nil, unknownWord("kind", of.Get("kind"), frame.Kinds)
	}
	return &listing{of: of}, nil
}

func newListing(of url.Values) (*listing, error) {
	l, err := wholeListing(of)
	if err != nil {
		return nil, err
	}
	l.name, l.state = strings.ToLower(of.Get("name")), of.Get("state")
	if of.Has("state") && !slices.Contains(states, l.state) {
		return nil, unknownWord("state", l.state, states)
	}
	return l, l.readPage(of)
}

// readPage reads limit= and after=.
func (l *listing) readPage(of url.Values) (err error) {
	if text := of.Get("limit"); text != "" {
		if l.limit, err = strconv.Atoi(text); err != nil || l.limit < 0 {
			return bad("bad_limit", "limit", "limit must be a number, and 0 is all: limit=100")
		}
	}
	text := of.Get("after")
	if text == "" {
		return nil
	}
	l.after = &place{}
	b, err := base64.RawURLEncoding.DecodeString(text[:min(len(text), maxCursor+1)])
	if err == nil {
		err = json.Unmarshal(b, l.after)
	}
	if err != nil || len(text) > maxCursor {
		return bad("bad_cursor", "after",
			"after must be the header %s of the page before, as it came; leave it out for "+
				"the first page",
			NextHeader)
	}
	return nil
}

// has reports whether a node is listed, as far as its state does not matter.
func (l *listing) has(r *row) bool {
	is := func(name, has string) bool {
		return !l.of.Has(name) || l.of.Get(name) == has ||
			name == "id" && strings.EqualFold(l.of.Get(name), has)
	}
	return is("cluster", r.Cluster) && is("datacenter", r.Datacenter) && is("rack", r.Rack) &&
		is("kind", r.kind()) && is("id", r.ID.String()) &&
		(l.name == "" || l.isCalled(&r.place, r.address(), r.hostname()))
}

// isCalled reports whether the listing's name is a node's id, the beginning of it, its address with
// or without the port, or its host name.
func (l *listing) isCalled(p *place, address, hostname string) bool {
	host, _, err := net.SplitHostPort(address)
	return strings.HasPrefix(p.ID.String(), l.name) || strings.EqualFold(address, l.name) ||
		err == nil && strings.EqualFold(host, l.name) || strings.EqualFold(hostname, l.name)
}

// page returns the listing's page of a sorted list. next is the place after which the rest comes;
// nil if there is none.
func page[T any](l *listing, list []T, at func(*T) *place) (cut []T, next *place) {
	if l.after != nil {
		i, _ := slices.BinarySearchFunc(list, l.after, func(t T, after *place) int {
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

// noteList tells how many there are, and where the rest of them begins.
func noteList(w http.ResponseWriter, total int, next *place) {
	w.Header().Set(TotalHeader, strconv.Itoa(total))
	if next != nil {
		w.Header().Set(NextHeader, next.cursor())
	}
}
