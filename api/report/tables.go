package report

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/ringwatch/ringwatch/query/catalog"
)

// figures are the columns of tables, by the catalogue's names.
var figures = []struct {
	name string
	of   func(*Table) *Number
}{
	{"cf::*::*::reads::count", func(t *Table) *Number { return &t.Reads }},
	{"cf::*::*::writes::count", func(t *Table) *Number { return &t.Writes }},
	{"cf::*::*::readLatency::99thPercentile", func(t *Table) *Number { return &t.ReadP99 }},
	{"cf::*::*::writeLatency::99thPercentile", func(t *Table) *Number { return &t.WriteP99 }},
	{"cf::*::*::tombstonesPerRead::99thPercentile", func(t *Table) *Number { return &t.Tombs }},
	{"cf::*::*::partitionSize::max", func(t *Table) *Number { return &t.Partition }},
	{"cf::*::*::diskUsed::value", func(t *Table) *Number { return &t.Disk }},
}

// named returns the expression of a name of the shipped catalogue.
func (m *maker) named(name string, keep ...string) (catalog.Asked, func() string) {
	a, err := m.Catalog.Lookup(name)
	if err != nil {
		m.lack(name, err) // cannot be: a test asks for all of them
		return a, nil
	}
	return a, func() string {
		return a.Picked[0].Expr(m.scope, catalog.Labels(a.Of, keep...), m.heard.window())
	}
}

func (m *maker) tables(ctx context.Context) {
	tables := map[[2]string]*Table{}
	for _, f := range figures {
		a, expr := m.named(f.name, "cluster")
		if expr == nil {
			continue
		}
		for _, s := range m.instant(ctx, f.name, expr()) {
			k := tableOf(&s)
			t := tables[k]
			if t == nil {
				none := Number(math.NaN())
				t = &Table{k[0], k[1], none, none, none, none, none, none, none}
				tables[k] = t
			}
			*f.of(t) = Number(m.heard.rate(&a.Picked[0], s.last(), m.heard.ofTable(k)))
		}
	}
	for _, t := range tables {
		m.report.Tables = append(m.report.Tables, *t)
	}
	slices.SortFunc(
		m.report.Tables,
		func(a, b Table) int { return cmp.Compare(a.Name(), b.Name()) },
	)
}
