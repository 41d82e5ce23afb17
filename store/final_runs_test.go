package store

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/reading"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/rollup"
	"github.com/ringwatch/ringwatch/window/rollup/rolluptest"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// TestKeptColumnsOfRollups: while hours and days are made, after that, with a late frame and when
// that has been made part of its hour, rollups are with what is kept what they are without,
// whatever was asked for before.
func TestKeptColumnsOfRollups(t *testing.T) { onEach(t, testKeptColumnsOfRollups) }

func testKeptColumnsOfRollups(t *testing.T, open opener) {
	for i, few := range []int{3, reading.FewRows} {
		begin := rollup.Day.Start(eve) + 20*rollup.Hour.Millis
		c := newClock(begin)
		s := open(t, c, func(c *Config) {
			c.HourSpread, c.Grace, c.KeptBytes = 0, 4*c.Timeout, 8<<20
		})
		s.reading.FewRows, s.late.Clusters.Age = few, 0
		n, w := windowtest.NewNode(seeded(t, uint64(200+i))), NewWriter(s)
		of := rollupQuestions{t: t, s: s, node: n, begin: begin,
			random: rand.New(rand.NewPCG(uint64(i), 31))}
		handle := func(at int64) {
			record := stream.Record{Account: "acme", Value: n.Step(at, false).Bytes}
			if err := w.Handle(t.Context(), []stream.Record{record}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 8 * 36 {
			handle(c.millis.Load())
			c.millis.Add(100_000)
			if err := w.CloseDue(t.Context(), c.now()); err != nil {
				t.Fatal(err)
			}
			if i%12 == 0 {
				of.ask(3)
			}
		}
		of.keeps(6 * 12)
		rollUp(t, w, c)
		of.ask(40)
		of.keeps(8 * 12)
		remade := func(at int64) {
			m := memory.Unbounded()
			err := errors.Join(writing(s).CloseWindow(t.Context(), m, "acme", n.ID, at),
				writing(s).MakeHour(t.Context(), m, "acme", n.ID, rollup.Hour.Start(at)),
				writing(s).MakeDay(t.Context(), m, "acme", n.ID, rollup.Day.Start(at)))
			if err != nil {
				t.Fatal(err)
			}
		}
		forget := func() { // marks expire, of which databases have clocks of their own
			c.millis.Add(3 * s.config.FreshTTL.Milliseconds())
			s.late.Assume("acme", n.ID, c.millis.Load())
		}
		end := c.millis.Load()
		of.agree(rollup.FiveMinutes, begin, end, nil, nil)
		handle(begin + 3*rollup.Hour.Millis + 1000)
		remade(begin + 3*rollup.Hour.Millis)
		forget()
		of.agree(rollup.FiveMinutes, begin, end, nil, nil)
		handle(begin + 5*rollup.Hour.Millis + 1000)
		of.ask(20)
		remade(begin + 5*rollup.Hour.Millis)
		of.ask(20)
		forget()
		of.ask(20)
	}
}

// rollupQuestions asks random questions of a node.
type rollupQuestions struct {
	t      *testing.T
	s      *Store
	node   *windowtest.Node
	begin  int64
	random *rand.Rand
}

func (q *rollupQuestions) ask(n int) {
	q.t.Helper()
	for range n {
		level := rollup.Levels[q.random.IntN(len(rollup.Levels))]
		span := 10 * rollup.Hour.Millis
		from := q.begin - rollup.Hour.Millis + q.random.Int64N(span)
		to := from + q.random.Int64N(span)
		facets := [][]blobs.Facet{nil, {blobs.Values}}[q.random.IntN(2)]
		q.agree(level, from, to, facets, q.matchers())
	}
}

// agree compares an answer with what is kept and one without.
func (q *rollupQuestions) agree(
	level rollup.Level, from, to int64, facets []blobs.Facet, by []*labels.Matcher,
) {
	q.t.Helper()
	warm, _ := q.read(level, from, to, facets, by)
	keeps, config := q.s, q.s.config
	config.KeptBytes = 0
	q.s = another(keeps, config)
	cold, _ := q.read(level, from, to, facets, by)
	q.s = keeps
	if d := rolluptest.Diff(warm, cold); d != "" {
		q.t.Fatalf("%s from %d to %d, %v of %v:\n%s", level.Name, from, to, facets, by, d)
	}
}

// keeps checks that so many periods are kept once they were asked for.
func (q *rollupQuestions) keeps(want int) {
	q.t.Helper()
	to := q.begin + 8*rollup.Hour.Millis - 1
	q.read(rollup.FiveMinutes, q.begin, to, nil, nil)
	if _, kept := q.read(rollup.FiveMinutes, q.begin, to, nil, nil); kept < want {
		q.t.Errorf("%d periods are kept, want %d", kept, want)
	}
}

// matchers are of names, of entities, of both, or none.
func (q *rollupQuestions) matchers() (list []*labels.Matcher) {
	pick := func(typ labels.MatchType, name string, of ...string) {
		if i := q.random.IntN(2 * len(of)); i < len(of) {
			list = append(list, labels.MustNewMatcher(typ, name, of[i]))
		}
	}
	if q.random.IntN(2) == 0 {
		pick(labels.MatchEqual, labels.MetricName, "node_0", "table_0", "table_1", "pool_0", "none")
	} else {
		pick(labels.MatchRegexp, labels.MetricName, "(node|table)_[01]", "table_.*", ".*_1",
			"none|no")
	}
	pick(labels.MatchNotEqual, "keyspace", "", "a")
	pick(labels.MatchRegexp, "keyspace", "a|", ".+")
	pick(labels.MatchEqual, "cluster", q.node.Cluster, q.node.Cluster, "other")
	pick(labels.MatchEqual, "node", q.node.ID.String())
	return list
}

// read reads, and returns how many periods were kept.
func (q *rollupQuestions) read(
	level rollup.Level, from, to int64, facets []blobs.Facet, by []*labels.Matcher,
) (rolluptest.Points, int) {
	q.t.Helper()
	list, report, err := answers(q.s).ReadRollup(q.t.Context(), "acme", q.node.ID, level, from, to,
		facets, by...)
	if err != nil || report.Partial() {
		q.t.Fatal(err, report.Missing())
	}
	return of(q.t, list), report.Kept
}
