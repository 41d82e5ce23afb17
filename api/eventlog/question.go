package eventlog

import (
	"context"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/api/fleet"
	"github.com/ringwatch/ringwatch/api/refusal"
	"github.com/ringwatch/ringwatch/api/request"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/events"
)

const (
	// defaultLimit is how many events an answer has if the request does not say, and maxEvents how
	// many it may ask for.
	defaultLimit = 100
	maxEvents    = 1000
	// maxKinds bounds kind=, maxText what text= may look for.
	maxKinds = 32
	maxText  = frame.MaxEventText
)

// Read reads what happened on an account's nodes. It does not look at what a key may see.
type Read func(ctx context.Context, account string, q events.Query) (events.Page, error)

// question is which events a request asks for, with the nodes that it may see.
type question struct {
	query   events.Query
	read    Read
	clock   func() time.Time
	account string
	names   map[uuid.UUID]string
	// unknown refuses the cluster if it has no nodes, and no events of earlier ones.
	unknown *listener.Error
}

// parse reads cluster=, node=, from=, to=, period= and limit=, of nodes that the key may see.
func (q *question) parse(p account.Principal, nodes []window.Node, values url.Values) (err error) {
	q.query.Limit = defaultLimit
	if values.Has("cluster") {
		name := values.Get("cluster")
		if !p.Owns(name) {
			return fleet.UnknownCluster(name, nodes)
		}
		q.query.Clusters = []string{name}
		members := slices.DeleteFunc(slices.Clone(nodes), func(n window.Node) bool {
			return n.Cluster != name
		})
		if len(members) == 0 {
			q.unknown = fleet.UnknownCluster(name, nodes)
		}
		nodes = members
	} else {
		for i := range nodes { // they are sorted by cluster
			if n := len(q.query.Clusters); n == 0 || q.query.Clusters[n-1] != nodes[i].Cluster {
				q.query.Clusters = append(q.query.Clusters, nodes[i].Cluster)
			}
		}
	}
	for i := range nodes {
		q.names[nodes[i].ID] = nodes[i].Name()
	}
	if values.Has("node") {
		if q.query.Nodes, err = fleet.NodesNamed(nodes, values.Get("node")); err != nil {
			return err
		}
	}
	if text := values.Get("limit"); values.Has("limit") {
		n, err := strconv.Atoi(text)
		if q.query.Limit = n; err != nil || n < 1 || n > maxEvents {
			return refusal.Bad("bad_limit", "limit", "limit must be a number from 1 to %d: "+
				"take more page by page, with next", maxEvents)
		}
	}
	return q.parseTimes(values)
}

// parseTimes reads from=, to= and period=; without them everything that is kept is asked for.
func (q *question) parseTimes(values url.Values) (err error) {
	q.query.To = math.MaxInt64
	now := q.clock().UnixMilli()
	if values.Has("to") {
		if q.query.To, err = request.ParseTime("to", values.Get("to")); err != nil {
			return err
		}
	}
	switch {
	case values.Has("from") && values.Has("period"):
		return refusal.Bad("bad_time", "period", "give period= or from=, not both")
	case values.Has("from"):
		if q.query.From, err = request.ParseTime("from", values.Get("from")); err != nil {
			return err
		}
	case values.Has("period"):
		span, err := request.ParseSpan("period", values.Get("period"))
		if err != nil {
			return err
		}
		q.query.From = max(0, min(q.query.To, now)-span)
	}
	if q.query.From > q.query.To {
		return refusal.Bad("bad_time", "from", "from is after to: swap them")
	}
	return nil
}

// filter reads kind=, severity= and text=.
func (q *question) filter(values url.Values) error {
	if values.Has("kind") {
		q.query.Kinds = strings.Split(values.Get("kind"), ",")
		if len(q.query.Kinds) > maxKinds {
			return refusal.Bad("bad_kind", "kind",
				"%d kinds are named, and %d are allowed: leave kind out to "+
					"get all", len(q.query.Kinds), maxKinds)
		}
		for _, kind := range q.query.Kinds {
			if !slices.Contains(events.Kinds, kind) {
				return refusal.UnknownWord("kind", kind, events.Kinds)
			}
		}
	}
	if values.Has("severity") {
		var is bool
		if q.query.Severity, is = frame.ParseSeverity(values.Get("severity")); !is {
			return refusal.UnknownWord("severity", values.Get("severity"), frame.SeverityNames())
		}
	}
	if q.query.Text = values.Get("text"); len(q.query.Text) > maxText {
		return refusal.Bad("bad_text", "text",
			"text has %d bytes, and %d are allowed: look for less", len(q.query.Text), maxText)
	}
	return nil
}

// page reads a page.
func (q *question) page(ctx context.Context) (events.Page, error) {
	found, err := q.read(ctx, q.account, q.query)
	if err == nil && q.unknown != nil && len(found.Events) == 0 && found.Next == nil {
		return found, q.unknown
	}
	return found, err
}
