package report

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/query/catalog"
)

// Table is what a table was like in all of the time, its rates over the time that it was heard of.
// What is not known is NaN.
type Table struct {
	Keyspace  string `json:"keyspace"`
	Table     string `json:"table"`
	Reads     Number `json:"reads_per_second"` // on all replicas
	Writes    Number `json:"writes_per_second"`
	ReadP99   Number `json:"read_p99_microseconds"`
	WriteP99  Number `json:"write_p99_microseconds"`
	Tombs     Number `json:"tombstones_per_read_p99"`
	Partition Number `json:"largest_partition_bytes"`
	Disk      Number `json:"disk_bytes"`
}

// Name is keyspace.table.
func (t *Table) Name() string { return t.Keyspace + "." + t.Table }

// System reports whether the table is Cassandra's own.
func (t *Table) System() bool {
	return t.Keyspace == "system" || strings.HasPrefix(t.Keyspace, "system_")
}

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
		func(a, b Table) int { return compareText(a.Name(), b.Name()) },
	)
}

// Top returns the n tables, Cassandra's own left out, that have the most of something; where it is
// unknown or nothing they are not there.
func (r *Report) Top(n int, figure func(*Table) float64) []Table {
	list := slices.Clone(r.Tables)
	list = slices.DeleteFunc(list, func(t Table) bool { return t.System() || !(figure(&t) > 0) })
	slices.SortStableFunc(list, func(a, b Table) int {
		return compareFalling(figure(&a), figure(&b))
	})
	return list[:min(n, len(list))]
}

// rate adds up what is known of a table's reads and writes.
func (t *Table) rate() float64 {
	sum := 0.0
	for _, n := range []Number{t.Reads, t.Writes} {
		if n.Known() {
			sum += float64(n)
		}
	}
	return sum
}
