package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/prometheus/common/expfmt"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/dictionary/profile"
	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/share"
	"github.com/ringwatch/ringwatch/window"
)

const openMetricsType = "application/openmetrics-text"

// family is the lines of one metric of one node.
type family struct {
	metric *window.Metric
	head   profile.Head // of a profile's name
	piece
}

// encodeText writes a node's exposition text metric by metric, in the order of their names.
func (e *encoded) encodeText(series []window.Series, heads map[string]profile.Head, open bool) {
	slices.SortStableFunc(series, func(a, b window.Series) int {
		return strings.Compare(a.Metric.Name, b.Metric.Name)
	})
	x := exposition{open: open}
	for i := 0; i < len(series); {
		first := &series[i]
		x.b = x.b[:0]
		for ; i < len(series) && series[i].Metric.Name == first.Metric.Name; i++ {
			x.series(&series[i])
		}
		metric := *first.Metric // not all of the window
		e.families = append(e.families, family{&metric, heads[metric.Name], newPiece(x.b)})
	}
}

// getLatestText answers for everything newest of nodes that are up or late as exposition text, as
// exposeAll does, from what is kept of each node.
func (s *Server) getLatestText(w http.ResponseWriter, r *http.Request, p account.Principal,
	nodes []Node, as *profile.Profile, size *budget, who string) error {
	open := opens(r)
	f := asText
	if open {
		f = asOpenMetrics
	}
	list := s.current(r, p, nodes, f, as)
	var unknown []int
	for i, e := range list {
		if e == nil {
			unknown = append(unknown, i)
		}
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	ctx, end, err := s.place(ctx, p.Account, len(unknown))
	if err != nil {
		return err
	}
	defer end()
	type encodedNode struct {
		e   *encoded
		err error
	}
	next := share.InOrder(ctx, len(unknown), func(ctx context.Context, i int) encodedNode {
		ctx, end := s.deps.Reader.Shared.Part(ctx)
		defer end() // what is encoded holds nothing of what was read
		e, err := s.encodeLatest(ctx, p.Account, &nodes[unknown[i]], f, as)
		return encodedNode{e, err}
	})
	for i, of := range unknown {
		got := next(i)
		if got.err != nil {
			return got.err
		}
		list[of] = got.e
	}
	end() // who reads the answer may take its time
	now, newest := s.config.Clock().UnixMilli(), int64(0)
	var missing []string
	list = slices.DeleteFunc(list, func(e *encoded) bool {
		if e == nil {
			return true
		}
		missing = read.AppendMissing(missing, e.missing)
		newest = max(newest, e.at)
		return s.deps.Reader.StateAt(now, e.at, e.interval) == query.StateDown
	})
	for _, e := range list {
		if err := size.join(&e.budget); err != nil {
			return err
		}
	}
	if len(list) == 0 {
		return silent(who, newest, missing)
	}
	s.notePartial(w, missing)
	s.metrics.points.Add(float64(size.points))
	writeFamilies(joined(w, r, textType(open)), list, open)
	return nil
}

// place waits for a place among the account's queries if nodes are to be encoded. A cluster's take
// a processor for as long as a dashboard's panels do. Who asks for one node's values, or whether we
// are well, does not wait behind them.
func (s *Server) place(
	ctx context.Context, accountName string, nodes int,
) (of context.Context, end func(), err error) {
	if nodes == 0 || s.deps.Engine == nil {
		return ctx, func() {}, nil
	}
	return s.deps.Engine.Begin(ctx, accountName)
}

// writeFamilies writes what nodes say of each metric together, by name.
func writeFamilies(out *answerWriter, list []*encoded, open bool) {
	defer out.end()
	x := exposition{open: open, names: map[string]bool{}}
	rest := make([][]family, len(list))
	var names []string
	for i, e := range list {
		rest[i] = e.families
		for j := range e.families {
			if name := e.families[j].metric.Name; !x.names[name] {
				x.names[name] = true
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		x.b = x.b[:0]
		for i := range rest {
			if len(rest[i]) == 0 || rest[i][0].metric.Name != name {
				continue
			}
			f := &rest[i][0]
			rest[i] = rest[i][1:]
			if len(x.b) == 0 {
				x.family(f.metric, f.head)
				if _, err := out.Write(x.b); err != nil || out.Flush() != nil {
					return // the client went away
				}
			}
			if out.join.add(&f.piece) != nil {
				return
			}
		}
	}
	if open {
		_, _ = out.WriteString("# EOF\n")
	}
}

// opens reports whether the client prefers OpenMetrics, of whose versions 1.0.0 is meant if none
// is named.
func opens(r *http.Request) bool {
	ranges := strings.Split(strings.Join(r.Header.Values("Accept"), ","), ",")
	for i, text := range ranges {
		if kind, _, _ := strings.Cut(text, ";"); strings.TrimSpace(kind) == openMetricsType &&
			!strings.Contains(text, "version=") {
			ranges[i] = strings.Replace(text, openMetricsType, openMetricsType+";version=1.0.0", 1)
		}
	}
	accept := http.Header{"Accept": {strings.Join(ranges, ",")}}
	return expfmt.NegotiateAccept(accept, expfmt.NewFormat(expfmt.TypeTextPlain),
		expfmt.NewFormat(expfmt.TypeOpenMetrics)).FormatType() == expfmt.TypeOpenMetrics
}

func textType(open bool) string {
	if open {
		return openMetricsType + "; version=1.0.0; charset=utf-8"
	}
	return "text/plain; version=0.0.4; charset=utf-8"
}
