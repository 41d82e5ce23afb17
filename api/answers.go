package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/google/uuid"
	"github.com/maypok86/otter/v2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/dictionary/profile"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/share"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/selecting"
)

// form is how an answer is written.
type form byte

const (
	asJSON form = iota
	asText
	asOpenMetrics
)

// encoded is everything newest of one node as it stands in an answer of one form.
type encoded struct {
	at       int64 // when the node was heard of by its frame, ms
	interval int64
	recent   bool     // the recent source held all that it is made of
	piece    *piece   // asJSON: its payload
	families []family // the text forms: its lines by metric
	missing  []string // see query.State; then recent is false
	budget            // what it is counted as
}

func (e *encoded) bytes() (n int) {
	if e.piece != nil {
		n = len(e.piece.deflated)
	}
	for i := range e.families {
		n += len(e.families[i].deflated) + familyOverhead
	}
	return n
}

// answerKey is whose answer it is.
type answerKey struct {
	account string
	node    uuid.UUID
	form    form
	profile string // of the text forms; "" is ours
}

// answers keeps nodes' newest values as they were encoded, bounded in bytes. What is kept is
// right for as long as the node's newest frame is the one it was made from, and a node has one
// frame of an instant; who asks says which.
type answers struct {
	kept    *otter.Cache[answerKey, *encoded] // nil: nothing is kept
	results *prometheus.CounterVec
}

// answerOverhead is what an entry takes beside its bytes and its account's name, to about a fifth.
const answerOverhead = 400

// familyOverhead is what a metric of a text takes beside its lines.
const familyOverhead = 200

func newAnswers(most int64, reg prometheus.Registerer) (*answers, error) {
	a := &answers{results: prometheus.NewCounterVec(
		prometheus.CounterOpts{Name: "ringwatch_api_answers_total",
			Help: "Nodes whose newest values were asked for whole, by whether they were there " +
				"encoded (hit) or had to be read (miss)."}, []string{"result"})}
	a.results.WithLabelValues("hit")
	a.results.WithLabelValues("miss")
	size, entries := func() float64 { return 0 }, func() float64 { return 0 }
	if most > 0 {
		var err error
		a.kept, err = otter.New(&otter.Options[answerKey, *encoded]{
			MaximumWeight: uint64(most),
			Weigher: func(k answerKey, e *encoded) uint32 {
				return uint32(min(len(k.account)+e.bytes()+answerOverhead, 1<<31))
			},
		})
		if err != nil {
			return nil, err
		}
		size = func() float64 { return float64(a.kept.WeightedSize()) }
		entries = func() float64 { return float64(a.kept.EstimatedSize()) }
	}
	for _, c := range []prometheus.Collector{a.results,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ringwatch_api_answers_bytes",
			Help: "Bytes of encoded answers that are kept."}, size),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "ringwatch_api_answers",
			Help: "Nodes whose encoded answers are kept."}, entries)} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// get returns what is kept, nil if nothing is.
func (a *answers) get(k answerKey) *encoded {
	if a.kept == nil {
		return nil
	}
	e, _ := a.kept.GetIfPresent(k)
	return e
}

func (a *answers) put(k answerKey, e *encoded) {
	if a.kept != nil {
		a.kept.Set(k, e)
	}
}

// getLatestAll answers for everything newest of nodes. One question to the recent source, of all
// nodes, tells whose newest frame is another than the one that was encoded; only those are read
// and encoded again, once for all who ask for them at the same time.
func (s *Server) getLatestAll(w http.ResponseWriter, r *http.Request, p account.Principal,
	nodes []Node, size *budget) error {
	known := make([]element, len(nodes))
	for i, e := range s.current(r, p, nodes, asJSON, nil) {
		if e != nil {
			known[i] = e.element()
		}
	}
	return s.stream(w, r, nodes, size, known, func(ctx context.Context, n *Node) element {
		e, err := s.encodeLatest(ctx, p.Account, n, asJSON, nil)
		if err != nil {
			return element{err: err}
		}
		if e == nil { // nothing is known of it
			return element{missing: s.deps.Reader.InFlight(ctx, p.Account, n.Cluster,
				s.config.Clock().UnixMilli())}
		}
		return e.element()
	})
}

func (e *encoded) element() element {
	return element{piece: e.piece, missing: e.missing, count: func(b *budget) error {
		return b.join(&e.budget)
	}}
}

// current returns for each node what is kept of it, if that still is of its newest frame; nil for
// the others.
func (s *Server) current(r *http.Request, p account.Principal, nodes []Node, f form,
	as *profile.Profile) []*encoded {
	list := make([]*encoded, len(nodes))
	same := s.deps.Reader.Unchanged(r.Context(), p.Account, nodes, func(i int) *query.StateVersion {
		if list[i] = s.answers.get(answerKey{p.Account, nodes[i].ID, f, nameOf(as)}); list[i] ==
			nil {
			return nil
		}
		return &query.StateVersion{Seen: list[i].at, Interval: list[i].interval,
			Recent: list[i].recent}
	})
	hits := 0
	for i, is := range same {
		if is {
			hits++
		} else {
			list[i] = nil
		}
	}
	s.answers.results.WithLabelValues("hit").Add(float64(hits))
	s.answers.results.WithLabelValues("miss").Add(float64(len(nodes) - hits))
	return list
}

// encodeLatest reads a node's newest state and returns it encoded; nil without an error if there
// is none.
func (s *Server) encodeLatest(ctx context.Context, accountName string, n *Node, f form,
	as *profile.Profile) (*encoded, error) {
	k := answerKey{accountName, n.ID, f, nameOf(as)}
	return share.Read(ctx, s.deps.Reader.Shared, accountName,
		fmt.Sprintf("encoded/%d/%s/%s/%s", f, accountName, n.ID, k.profile),
		func(ctx context.Context) (*encoded, error) {
			state, err := s.deps.Reader.Latest(ctx, accountName, n)
			if err != nil || state.Window == nil {
				return nil, err
			}
			e := &encoded{at: state.Seen, interval: state.Node.Interval, recent: state.Recent,
				missing: state.Missing}
			if known := s.answers.get(k); known != nil && known.at == e.at {
				e.piece, e.families, e.budget = known.piece, known.families, known.budget
			} else if err := s.encode(ctx, e, n, state.Window, k, as); err != nil {
				return nil, err
			}
			s.answers.put(k, e)
			return e, nil
		})
}

// encode encodes the newest values of a window for a key of answers.
func (s *Server) encode(ctx context.Context, e *encoded, n *Node, w *window.Window, k answerKey,
	as *profile.Profile) error {
	var series []window.Series
	err := share.OnCPU(ctx, func() (err error) {
		series, err = selecting.LatestWithin(ctx, w, memory.Of(ctx))
		return err
	})
	if err != nil {
		return err
	}
	var heads map[string]profile.Head
	switch {
	case k.form == asJSON:
		e.budget.addAll(series)
	case as != nil:
		if series, heads, err = s.show(ctx, k.account, n, w, series, as); err != nil {
			return err
		}
		e.budget.addAllLines(series)
	default:
		series = slices.DeleteFunc(series, neverCounted)
		e.budget.addAllLines(series)
	}
	if err := memory.Of(ctx).Take(e.budget.bytes); err != nil {
		return err
	}
	return share.OnCPU(ctx, func() error {
		if k.form == asJSON {
			e.encodeJSON(series)
		} else {
			e.encodeText(series, heads, k.form == asOpenMetrics)
		}
		return nil
	})
}

func (e *encoded) encodeJSON(series []window.Series) {
	var text []byte
	q := metricsQuery{latest: true}
	for i := range series {
		if i > 0 {
			text = append(text, ',')
		}
		text = q.appendSeries(text, &series[i])
	}
	p := newPiece(text)
	e.piece = &p
}
