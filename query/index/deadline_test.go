package index

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/window"
)

// ending is a context that ends when it has been asked so many times.
type ending struct {
	context.Context
	left, after int
}

func (e *ending) Err() error {
	if e.left--; e.left >= 0 {
		return nil
	}
	e.after++
	return context.DeadlineExceeded
}

// wide is an account of some nodes that have many tables.
func wide(t *testing.T, nodes, tables int) *Index {
	t.Helper()
	x := New(0)
	for n := range nodes {
		d := &window.Dictionary{Node: uuid.UUID{byte(n), 1}, Cluster: fmt.Sprint("c", n),
			Type: "table", Key: "table", Labels: []string{"table"}}
		for i := range tables {
			d.Rows = append(d.Rows, []string{fmt.Sprintf("t%d_%06d", n, i)})
			d.Metrics = append(d.Metrics,
				window.Metric{Type: "table", Name: fmt.Sprintf("m%d_%06d", n, i), Unit: "u"})
		}
		f := factOf("acme", day0, d)
		if left := x.Add(f.account, f.id.Node, []window.DictionaryID{f.id},
			map[window.Hash]*window.Dictionary{f.id.Hash: d}); left > 0 {
			t.Fatal(left, " are left out")
		}
	}
	return x
}

// TestEndsWithContext asks a context between any two texts, and no more texts once it has ended.
func TestEndsWithContext(t *testing.T) {
	const tables = 1000
	x := wide(t, 5, tables)
	texts := map[string]int{labels.MetricName: 5 * tables, "table": 5 * tables, "cluster": 5,
		"node": 5}
	for label := range texts {
		for name, ask := range map[string]func(*Selection){
			"count":  func(s *Selection) { s.Count() },
			"names":  func(s *Selection) { s.Names() },
			"values": func(s *Selection) { s.Values("table") },
			"blocks": func(s *Selection) {
				for range s.ByNode() {
				}
			},
		} {
			m := labels.MustNewMatcher(labels.MatchRegexp, label, ".*[0-9a-f]+.*")
			ctx := &ending{left: 3}
			s, err := x.Select("acme", Query{Context: ctx, From: day0, To: day0,
				Selectors: [][]*labels.Matcher{{m}}})
			if err != nil {
				t.Fatal(err)
			}
			if ask(s); !errors.Is(s.Err(), context.DeadlineExceeded) {
				t.Errorf("%s of %s: the error is %v", name, label, s.Err())
			}
			if ctx.after != 1 {
				t.Errorf("%s of %s: it went on with %d texts", name, label, ctx.after)
			}
			ctx = &ending{left: 1 << 30}
			if s, err = x.Select("acme", Query{Context: ctx, From: day0, To: day0,
				Selectors: [][]*labels.Matcher{{m}}}); err != nil {
				t.Fatal(err)
			}
			if ask(s); s.Err() != nil {
				t.Errorf("%s of %s: %v", name, label, s.Err())
			}
			if asked := 1<<30 - ctx.left; asked < texts[label] {
				t.Errorf("%s of %s: the context was asked %d times for %d texts", name, label,
					asked, texts[label])
			}
		}
	}
}

// TestSelectorsAreBounded refuses what would take much memory before it takes it.
func TestSelectorsAreBounded(t *testing.T) {
	x := wide(t, 1, 60_000)
	m := labels.MustNewMatcher(labels.MatchRegexp, "table", "t.*1")
	var list []*labels.Matcher
	for range 1000 {
		list = append(list, m)
	}
	at := func(list []*labels.Matcher) (*Selection, error) {
		return x.Select("acme", Query{From: day0, To: day0, Selectors: [][]*labels.Matcher{list}})
	}
	if _, err := at(list); !errors.Is(err, ErrTooLarge) {
		t.Errorf("the error is %v", err)
	}
	s, err := at(list[:100])
	if err != nil {
		t.Fatal(err)
	}
	if got := len(s.Values("table")); got != 6000 {
		t.Errorf("%d tables match, want 6000", got)
	}
}

// TestPlainComparisons compares a label with a text that some, all or no entities have.
func TestPlainComparisons(t *testing.T) {
	x := wide(t, 1, 10)
	for _, of := range []struct {
		kind  labels.MatchType
		value string
		want  int
	}{
		{labels.MatchEqual, "t0_000003", 1}, {labels.MatchNotEqual, "t0_000003", 9},
		{labels.MatchEqual, "nowhere", 0}, {labels.MatchNotEqual, "nowhere", 10},
		{labels.MatchEqual, "", 0}, {labels.MatchNotEqual, "", 10},
		{labels.MatchEqual, "acme", 0}, {labels.MatchNotEqual, "c0", 10},
	} {
		m := labels.MustNewMatcher(of.kind, "table", of.value)
		s, err := x.Select("acme", Query{From: day0, To: day0, Selectors: [][]*labels.Matcher{{m}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := len(s.Values("table")); got != of.want {
			t.Errorf("%s: %d tables match, want %d", m, got, of.want)
		}
	}
}
