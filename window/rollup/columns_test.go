package rollup_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// TestColumnsGrow: columns that were made of a few periods after the other, packed between, cut at
// their begin and joined by name, say of any range what its periods say, also of the first
// increase.
func TestColumnsGrow(t *testing.T) {
	r := rand.New(rand.NewPCG(20261125, 1))
	compared := 0
	eachRun(t, 40, 37, func(level rollup.Level, start int64, list []*rollup.Rollup) {
		for _, facets := range [][]blobs.Facet{nil, {blobs.Values}} {
			c := rollup.NewColumns(facets)
			begin := start
			for i := 0; i < len(list); {
				n := 1 + r.IntN(len(list)-i)
				var err error
				if c, err = c.Extend(t.Context(), nil, list[i:i+n]); err != nil {
					t.Fatal(err)
				}
				if i += n; r.IntN(3) == 0 {
					begin = max(begin, list[r.IntN(i)].Start)
					c = c.From(begin)
				}
				if r.IntN(2) == 0 {
					var bytes int64
					if c, bytes = c.Pack(); bytes <= 0 {
						t.Fatalf("columns take %d bytes", bytes)
					}
				}
				if r.IntN(3) == 0 {
					var parts []*rollup.Columns
					for _, of := range c.ByName() {
						parts = append(parts, of)
					}
					c = rollup.NewColumns(facets).Join(parts...)
				}
			}
			since := max(begin, list[r.IntN(len(list))].Start)
			from := max(since, list[r.IntN(len(list))].Start)
			to := list[r.IntN(len(list))].Start
			got, err := c.Select(t.Context(), nil, since, from, to)
			if err != nil {
				t.Fatal(err)
			}
			known := slices.DeleteFunc(slices.Clone(list),
				func(p *rollup.Rollup) bool { return p.Start < since })
			want, err := rollup.SelectContext(t.Context(), nil, facets, known, from, to)
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				compared += want[i].Len()
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("level %s, since %d, %d to %d:\n%+v, want\n%+v", level.Name, since,
					from, to,
					got, want)
			}
		}
	})
	if compared < 5_000 {
		t.Errorf("only %d points were compared", compared)
	}
}
