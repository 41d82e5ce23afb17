// Package latest keeps everything newest of nodes as it was encoded, for who asks for it again
// before it has changed. Begin with Encodings. It encodes by api/payload and api/exposition.
//
// What it promises: what is kept is right for as long as the node's newest frame is the one it was
// made from, and a node has one frame of an instant; who asks says which. So an answer is the same
// as without it. Only nodes with a newer frame are read and encoded again, once for all who wait.
package latest

import (
	"context"
	"net/http"

	"github.com/google/uuid"
	"github.com/maypok86/otter/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/api/budget"
	"github.com/ringwatch/ringwatch/api/reply"
	"github.com/ringwatch/ringwatch/dictionary/profile"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/window"
)

// Form is how an answer is written.
type Form byte

// The forms.
const (
	JSON Form = iota
	Text      // 0.0.4
	OpenMetrics
)

// Encoded is everything newest of one node as it stands in an answer of one form.
type Encoded struct {
	Heard    int64 // when the node was heard of by its frame, ms
	Interval int64 // how often it sends, ms
	// Payload is the JSON. Families are the lines of the text forms by metric, ascending.
	Payload  *reply.Deflated
	Families []Family
	Missing  []string // why it may not be all, in words
	Size     budget.Size

	recent bool // the recent source held all that it is made of
}

// Family is the lines of one metric of one node.
type Family struct {
	Metric *window.Metric
	Head   profile.Head // of a profile's name
	Lines  reply.Deflated
}

func (e *Encoded) bytes() (n int) {
	if e.Payload != nil {
		n = e.Payload.Bytes()
	}
	for i := range e.Families {
		n += e.Families[i].Lines.Bytes() + familyOverhead
	}
	return n
}

// key is what is encoded, and of whom.
type key struct {
	account string
	node    uuid.UUID
	form    Form
	profile string // of the text forms; "" is ours
}

func keyOf(account string, n *window.Node, form Form, as *profile.Profile) key {
	k := key{account: account, node: n.ID, form: form}
	if as != nil {
		k.profile = as.Name
	}
	return k
}

// Encodings keeps nodes' newest values as they were encoded, bounded in bytes, and encodes them.
type Encodings struct {
	cache   *otter.Cache[key, *Encoded] // nil: nothing is kept
	results *prometheus.CounterVec
	reader  Reader
	share   Share
}

// entryOverhead is what an entry takes beside its bytes and its account's name, to about a fifth.
const entryOverhead = 400

// familyOverhead is what a metric of a text takes beside its lines.
const familyOverhead = 200

// New returns encodings of what a reader reads, of which at most so many bytes are kept. The error
// is that of registering the metrics.
func New(most int64, reader Reader, share Share, reg prometheus.Registerer) (*Encodings, error) {
	c := &Encodings{reader: reader, share: share, results: prometheus.NewCounterVec(
		prometheus.CounterOpts{Name: "ringwatch_api_answers_total",
			Help: "Nodes whose newest values were asked for whole, by whether they were there " +
				"encoded (hit) or had to be read (miss)."}, []string{"result"})}
	c.results.WithLabelValues("hit")
	c.results.WithLabelValues("miss")
	size, entries := func() float64 { return 0 }, func() float64 { return 0 }
	if most > 0 {
		var err error
		c.cache, err = otter.New(&otter.Options[key, *Encoded]{
			MaximumWeight: uint64(most),
			Weigher: func(k key, e *Encoded) uint32 {
				return uint32(min(len(k.account)+e.bytes()+entryOverhead, 1<<31))
			},
		})
		if err != nil {
			return nil, err
		}
		size = func() float64 { return float64(c.cache.WeightedSize()) }
		entries = func() float64 { return float64(c.cache.EstimatedSize()) }
	}
	for _, metric := range []prometheus.Collector{c.results,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ringwatch_api_answers_bytes",
			Help: "Bytes of encoded answers that are kept."}, size),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ringwatch_api_answers",
			Help: "Nodes whose encoded answers are kept."}, entries)} {
		if err := reg.Register(metric); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Keeps reports whether anything is kept.
func (c *Encodings) Keeps() bool { return c.cache != nil }

// get returns what is kept, nil if nothing is.
func (c *Encodings) get(k key) *Encoded {
	if c.cache == nil {
		return nil
	}
	e, _ := c.cache.GetIfPresent(k)
	return e
}

func (c *Encodings) put(k key, e *Encoded) {
	if c.cache != nil {
		c.cache.Set(k, e)
	}
}

// Current returns for each node what is kept of it, if that still is of its newest frame; nil for
// the others. One question to the recent source, of all nodes, tells.
func (c *Encodings) Current(r *http.Request, p account.Principal, nodes []window.Node, form Form,
	as *profile.Profile) []*Encoded {
	list := make([]*Encoded, len(nodes))
	unchanged := c.reader.Unchanged(r.Context(), p.Account, nodes,
		func(i int) *read.StateVersion {
			e := c.get(keyOf(p.Account, &nodes[i], form, as))
			if list[i] = e; e == nil {
				return nil
			}
			return &read.StateVersion{Seen: e.Heard, Interval: e.Interval, Recent: e.recent}
		})
	hits := 0
	for i, is := range unchanged {
		if is {
			hits++
		} else {
			list[i] = nil
		}
	}
	c.results.WithLabelValues("hit").Add(float64(hits))
	c.results.WithLabelValues("miss").Add(float64(len(nodes) - hits))
	return list
}

// Reader reads what nodes sent, as read.Reader.
type Reader interface {
	// Latest returns a node's newest state; its Window is nil without an error if none is known.
	Latest(ctx context.Context, account string, n *window.Node) (read.State, error)
	// Range is for profiles, see exposition.Reader.
	Range(ctx context.Context, account string, n *window.Node, from, to int64,
		selectors [][]*labels.Matcher) (read.Values, error)
	// Unchanged reports for each node whether its newest state still is the one of which kept
	// tells.
	Unchanged(ctx context.Context, account string, nodes []window.Node,
		kept func(i int) *read.StateVersion) []bool
}

// Share lets requests that want the same thing at the same time share one encoding of it, as
// share.Read.
type Share func(ctx context.Context, account, name string,
	encode func(context.Context) (*Encoded, error)) (*Encoded, error)
