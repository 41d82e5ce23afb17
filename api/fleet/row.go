package fleet

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"net"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/window"
)

// Place is where a node stands in a list. None of it changes while the node lives, so a node that
// comes or goes between two pages neither hides another one nor shows it twice.
type Place struct {
	Cluster    string    `json:"c"`
	Datacenter string    `json:"d"`
	Rack       string    `json:"r"`
	ID         uuid.UUID `json:"n"`
}

func placeOf(n *window.Node) Place { return Place{n.Cluster, n.Datacenter, n.Rack, n.ID} }

func (p *Place) compare(o *Place) int {
	return cmp.Or(cmp.Compare(p.Cluster, o.Cluster), cmp.Compare(p.Datacenter, o.Datacenter),
		cmp.Compare(p.Rack, o.Rack), slices.Compare(p.ID[:], o.ID[:]))
}

// cursor returns the place as text for after=.
func (p *Place) cursor() string {
	b, _ := json.Marshal(p) // strings and numbers always can be
	return base64.RawURLEncoding.EncodeToString(b)
}

// Row is a node of a list: one that is there, or what is known of one that has moved away.
type Row struct {
	Place   Place
	Node    *window.Node   // nil: it has moved away
	Moved   *roster.Record // how; nil: it has not
	kindNow string         // of who has moved, in the cluster that it is in now
}

// Kind is what software the node runs.
func (r *Row) Kind() string {
	if r.Moved != nil {
		return cmp.Or(r.kindNow, frame.KindCassandra)
	}
	return r.Node.Kind()
}

func (r *Row) address() string {
	if r.Moved != nil {
		return r.Moved.Address
	}
	return r.Node.Fact("address")
}

func (r *Row) hostname() string {
	if r.Moved != nil {
		return ""
	}
	return r.Node.Fact("hostname")
}

// value is what the row may be named by in a field of a listing, as a text that names it may say.
func (r *Row) value(field, text string) string {
	switch field {
	case "cluster":
		return r.Place.Cluster
	case "datacenter":
		return r.Place.Datacenter
	case "rack":
		return r.Place.Rack
	}
	return nodeWord(text, r.Place.ID.String(), r.address(), r.hostname())
}

// isCalled reports whether a name in lower case is a node's id, the beginning of it, its address
// with or without the port, or its host name.
func isCalled(name string, id uuid.UUID, address, hostname string) bool {
	host, _, err := net.SplitHostPort(address)
	return strings.HasPrefix(id.String(), name) || strings.EqualFold(address, name) ||
		err == nil && strings.EqualFold(host, name) || strings.EqualFold(hostname, name)
}

// nodeWord is how who wrote a text may call a node: as the text does where that can be known.
func nodeWord(text, id, address, hostname string) string {
	if _, _, err := net.SplitHostPort(text); err == nil || net.ParseIP(text) != nil {
		return cmp.Or(address, id)
	}
	return cmp.Or(hostname, address, id)
}
