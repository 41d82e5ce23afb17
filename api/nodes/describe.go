package nodes

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api/fleet"
	"github.com/ringwatch/ringwatch/api/literal"
	"github.com/ringwatch/ringwatch/api/request"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/roster"
	"github.com/ringwatch/ringwatch/window"
)

// Reader knows when nodes were heard of, and who has left, as read.Reader.
type Reader interface {
	// LastSeen returns when nodes were heard of, in ms, and in words why some may have been heard
	// of later than that.
	LastSeen(ctx context.Context, account string, nodes []window.Node) (
		heard map[uuid.UUID]int64, missing []string, err error)
	// StateAt is the state at an instant of a node that was last heard of at another one, in ms.
	StateAt(at, heard, interval int64) string
	// Left returns how a node has left its cluster; nil if it has not.
	Left(account string, n *window.Node) *roster.End
}

// Trouble knows of which nodes what they say is in doubt, as read.Reader.
type Trouble interface {
	// Claimed returns the nodes that several senders claim.
	Claimed(ctx context.Context, account string) map[uuid.UUID]bool
	// Unanswering returns those of the nodes that did not answer who watches them.
	Unanswering(ctx context.Context, account string, nodes []window.Node) map[uuid.UUID]bool
}

// node is a node in the answer of /v1/nodes.
type node struct {
	ID         uuid.UUID `json:"id"`
	Cluster    string    `json:"cluster"`
	Datacenter string    `json:"datacenter"`
	Rack       string    `json:"rack"`
	Kind       string    `json:"kind"` // what software it runs
	Address    string    `json:"address"`
	Facts      facts     `json:"facts"`
	IntervalMS int64     `json:"interval_ms"`
	LastSeen   string    `json:"last_seen,omitempty"` // not there if no frame is known
	AgeSeconds *float64  `json:"age_seconds,omitempty"`
	State      string    `json:"state"`
	// Why says what the node does not do though it runs, as a sentence; only if State is joining,
	// leaving or not_serving.
	Why string `json:"why,omitempty"`
	// PausedSince is when the agent was paused or started so; only if State is paused.
	PausedSince string `json:"paused_since,omitempty"`
	// Left says how a node has left; then State is why.
	Left *departure `json:"left,omitempty"`
	// Claimed says that several senders have sent frames of the node within the last 15 minutes,
	// so that what it says may not be its own.
	Claimed bool `json:"claimed_by_several,omitempty"`
}

// departure says how a node has left.
type departure struct {
	Since string `json:"since"`
	// By is the id of the node in its place, the cluster that it is in now, or the name of the key
	// that forgot it.
	By string `json:"by,omitempty"`
}

func newDeparture(e *roster.End) *departure {
	return &departure{Since: literal.Time(e.At), By: e.By}
}

// facts are a JSON object. A map for each of 10,000 nodes would take most of an answer's time.
type facts []frame.Fact

// MarshalJSON implements json.Marshaler.
func (list facts) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, f := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(literal.AppendString(b, f.Name), ':')
		b = literal.AppendString(b, f.Value)
	}
	return append(b, '}'), nil
}

func (n *node) place() *fleet.Place {
	return &fleet.Place{Cluster: n.Cluster, Datacenter: n.Datacenter, Rack: n.Rack, ID: n.ID}
}

// heardAt says that the node was heard of at an instant, both in ms.
func (n *node) heardAt(at, now int64) {
	seconds := float64(max(0, now-at)) / 1000
	n.LastSeen, n.AgeSeconds = literal.Time(at), &seconds
}

// described are nodes as a key may see them.
type described struct {
	nodes   []node
	total   int          // how many there are on all pages
	next    *fleet.Place // what the next page comes after; nil: there is none
	missing []string     // why some may have been heard of later than is said
}

// lister finds nodes and describes them.
type lister struct {
	fleet   *fleet.Fleet
	reader  Reader
	trouble Trouble
	clock   func() time.Time
}

// one returns the node of a request's path that the key may see, and why it may have been heard
// of later than is said. Of a node that has been in several clusters it is where the node is now,
// unless cluster= says which.
func (l *lister) one(r *http.Request, p account.Principal) (*node, []string, error) {
	values, err := request.Parameters(r, "cluster")
	if err != nil {
		return nil, nil, err
	}
	d, err := l.describe(r.Context(), p, fleet.OneNode(r.PathValue("id"), values))
	if err != nil {
		return nil, nil, err
	}
	for i := range d.nodes {
		if d.nodes[i].Left == nil {
			return &d.nodes[i], d.missing, nil
		}
	}
	return &d.nodes[0], d.missing, nil
}

// describe returns a page of the nodes that a key may see. When other nodes were heard of last is
// not asked, unless it takes that to know the listing's state of them.
func (l *lister) describe(
	ctx context.Context, p account.Principal, asked *fleet.Listing,
) (*described, error) {
	rows, err := l.fleet.Rows(ctx, p, asked)
	if err != nil {
		return nil, err
	}
	d := &described{total: len(rows)}
	if asked.State == "" {
		rows, d.next = fleet.Page(asked, rows, func(r *fleet.Row) *fleet.Place { return &r.Place })
	}
	if err := l.describeRows(ctx, p, rows, d); err != nil {
		return nil, err
	}
	if asked.State != "" {
		d.nodes = slices.DeleteFunc(d.nodes, func(n node) bool { return n.State != asked.State })
		d.total = len(d.nodes)
		d.nodes, d.next = fleet.Page(asked, d.nodes, (*node).place)
	}
	return d, nil
}

// describeRows adds what is known of each node.
func (l *lister) describeRows(
	ctx context.Context, p account.Principal, rows []fleet.Row, d *described,
) error {
	present := make([]window.Node, 0, len(rows))
	for i := range rows {
		if rows[i].Node != nil {
			present = append(present, *rows[i].Node)
		}
	}
	heard, missing, err := l.reader.LastSeen(ctx, p.Account, present)
	if err != nil {
		return err
	}
	d.missing = missing
	claimed := l.trouble.Claimed(ctx, p.Account)
	unanswering := l.trouble.Unanswering(ctx, p.Account, present)
	now := l.clock().UnixMilli()
	d.nodes = make([]node, len(rows))
	for i := range rows {
		n := rows[i].Node
		if n == nil {
			d.nodes[i] = describeMoved(&rows[i], now)
			continue
		}
		d.nodes[i] = l.describeNode(p, n, heard[n.ID], now, unanswering[n.ID])
		d.nodes[i].Claimed = claimed[n.ID]
	}
	return nil
}

// describeNode describes a node that was heard of at an instant, both in ms; 0: never.
func (l *lister) describeNode(p account.Principal, n *window.Node, heard, now int64,
	unanswering bool) node {
	a := node{
		ID: n.ID, Cluster: n.Cluster, Datacenter: n.Datacenter, Rack: n.Rack,
		Kind: n.Kind(), Address: n.Fact("address"), Facts: n.Facts, IntervalMS: n.Interval,
		State: read.StateDown,
	}
	if heard > 0 {
		a.heardAt(heard, now)
		a.State = l.reader.StateAt(now, heard, n.Interval)
	}
	if unanswering {
		a.State = read.StateDown
	}
	if end := l.reader.Left(p.Account, n); end != nil {
		a.State, a.Left = end.Why, newDeparture(end)
		return a
	}
	switch a.State = read.Refine(a.State, &n.Identity); a.State {
	case read.StatePaused:
		since, _ := n.Paused()
		a.PausedSince = literal.Time(since.UnixMilli())
	case read.StateJoining, read.StateLeaving, read.StateNotServing:
		a.Why = why(n.Fact(frame.FactNotServing))
	}
	return a
}

// describeMoved describes a node that has moved to another cluster.
func describeMoved(row *fleet.Row, now int64) node {
	rec := row.Moved
	a := node{ID: rec.Node, Cluster: rec.Cluster, Datacenter: rec.Datacenter, Rack: rec.Rack,
		Kind: row.Kind(), Address: rec.Address, State: rec.End.Why, Left: newDeparture(rec.End)}
	if at := rec.End.Last; at > 0 {
		a.heardAt(at, now)
	}
	return a
}

// isSilentFor reports whether a node was not heard of for longer than a time, or never.
func (n *node) isSilentFor(span time.Duration) bool {
	return n.AgeSeconds == nil || time.Duration(*n.AgeSeconds*float64(time.Second)) > span
}

// reasons are what a node that does not serve says of it, in sentences.
var reasons = map[string]string{
	frame.Starting: "It is starting.",
	frame.Joining: "It is joining the ring: it streams its share of the data, and answers no " +
		"reads yet.",
	frame.JoiningFailed: "It could not join the ring: it lacks data of its share, and answers no " +
		"reads. nodetool bootstrap resume goes on.",
	frame.Leaving: "It is leaving the ring: it streams its data to the nodes that take over its " +
		"share.",
	frame.Drained: "It was drained: no client and no other node reaches it until Cassandra is " +
		"started again.",
	frame.NoGossip: "Its gossip is off: other nodes take it for down, and send it neither reads " +
		"nor writes. nodetool enablegossip ends that.",
	frame.NoClients: "Its native transport is off: no client can connect. nodetool enablebinary " +
		"ends that.",
	frame.NoGossip + "," + frame.NoClients: "Its gossip and its native transport are off: " +
		"neither clients nor other nodes reach it. Cassandra does so after a disk error " +
		"(disk_failure_policy: stop); its system.log says why.",
}

// why returns the sentence for the words of frame.FactNotServing.
func why(words string) string {
	if text, known := reasons[words]; known {
		return text
	}
	return "It does not serve, and calls that " + words + "."
}
