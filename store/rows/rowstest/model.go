package rowstest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/store/rows"
)

// modelTable is a table of two clustering columns and two values.
func modelTable(descending bool) *rows.Table {
	t := &rows.Table{
		Name:      "model",
		Partition: []rows.Column{{Name: "p", Kind: rows.Text}},
		Clustering: []rows.Column{{Name: "a", Kind: rows.Text},
			{Name: "b", Kind: rows.Int64, Descending: descending}},
		Values: []rows.Column{{Name: "x", Kind: rows.Blob}, {Name: "y", Kind: rows.Int64}},
		TTL:    time.Hour, Grace: time.Hour, Compression: rows.Fast,
	}
	if descending {
		t.Name = "model_descending"
	}
	return t
}

type modelKey struct {
	a string
	b int64
}

// modelRow has each value with its write time; 0: it was never written.
type modelRow struct{ x, y modelValue }

type modelValue struct{ value, stamp int64 }

func (v *modelValue) put(value, stamp int64) {
	if stamp > v.stamp {
		*v = modelValue{value, stamp}
	}
}

// slicesOfModel: after writings in any order, by several at once, queries of all forms find what a
// model finds.
func slicesOfModel(t *testing.T, open Open) {
	up, down := modelTable(false), modelTable(true)
	e, ctx := open(t, nil, up, down), t.Context()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	names := []string{"", "a", "a{", "ab", "b", "é"}
	model := map[modelKey]*modelRow{}
	var list []rows.Row
	for i, stamp := range random.Perm(600) {
		k := modelKey{names[random.IntN(len(names))], int64(random.IntN(20) - 10)}
		row := rows.Row{Key: []any{"p", k.a, k.b}, Values: []any{nil, nil},
			Stamp: 2 * int64(stamp+1)}
		if model[k] == nil {
			model[k] = &modelRow{}
		}
		if random.IntN(4) > 0 {
			model[k].x.put(int64(i), row.Stamp)
			row.Values[0] = []byte(fmt.Sprint(i))
		}
		if random.IntN(4) > 0 {
			model[k].y.put(int64(i), row.Stamp)
			row.Values[1] = int64(i)
		}
		list = append(list, row)
	}
	var wg sync.WaitGroup
	for some := range slices.Chunk(list, 75) {
		cut := random.IntN(len(some) + 1)
		for _, table := range []*rows.Table{up, down} {
			wg.Go(func() {
				// some of it twice
				for _, part := range [][]rows.Row{some[:cut], some[cut:], some[:cut]} {
					if err := e.Put(ctx, rows.Work{}, table, part...); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	// Calls whose rows have one write time, between those of others, so that some come late.
	for i, stamp := range random.Perm(600)[:30] {
		var same []rows.Row
		for b := range int64(20) {
			k := modelKey{names[random.IntN(len(names))], b - 10}
			if model[k] == nil {
				model[k] = &modelRow{}
			}
			same = append(same,
				rows.Row{Key: []any{"p", k.a, k.b}, Values: []any{nil, int64(1000 + i)},
					Stamp: 2*int64(stamp+1) + 1})
			model[k].y.put(int64(1000+i), 2*int64(stamp+1)+1)
		}
		for _, table := range []*rows.Table{up, down} {
			must(t, e.Put(ctx, rows.Work{}, table, same...))
		}
	}
	for n := range 150 {
		table := []*rows.Table{up, down}[n%2]
		q := rows.Query{Table: table, Key: []any{"p"}, Columns: []string{"b", "x", "a", "y"},
			Written: "y"}
		form := random.IntN(8)
		if form >= 1 && form <= 4 {
			q.Equal = []any{names[random.IntN(len(names))]}
		}
		bound := func() any {
			if random.IntN(3) == 0 {
				return nil
			}
			return int64(random.IntN(24) - 12)
		}
		switch form {
		case 2:
			q.From, q.To = bound(), bound()
		case 3:
			q.In = []int64{int64(random.IntN(20) - 10), 3, int64(random.IntN(20) - 10), 99}
		case 4:
			q.Equal = append(q.Equal, int64(random.IntN(20)-10))
		case 5:
			q.From, q.To = names[random.IntN(len(names))], names[random.IntN(len(names))]
		case 6, 7:
			q.In = []string{"b", names[random.IntN(len(names))], "nothing"}
			if form == 7 {
				q.From, q.To = bound(), bound()
			}
		}
		if random.IntN(3) == 0 {
			q.Limit = 1 + random.IntN(30)
		}
		if random.IntN(2) == 0 {
			q.Page = 1 + random.IntN(20)
		}
		var got []string
		err := e.Read(ctx, rows.Work{}, q, func(scan func(...any) bool) bool {
			var k modelKey
			var x []byte
			var y *int64
			var written int64
			if !scan(&k.b, &x, &k.a, &y, &written) {
				return false
			}
			text := "none"
			if y != nil {
				text = fmt.Sprint(*y)
			}
			got = append(got, fmt.Sprintf("%q %d: %s %s %d", k.a, k.b, x, text, written))
			return true
		})
		if want := ask(model, &q); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%+v (%v):\n%s\nwant\n%s", q, err, strings.Join(got, "\n"),
				strings.Join(want, "\n"))
		}
	}
	q := rows.Query{Table: up, Key: []any{"p"}, In: []string{}, Columns: []string{"a"}}
	must(t, e.Read(ctx, rows.Work{}, q, func(scan func(...any) bool) bool {
		if scan(nil) {
			t.Error("an empty list finds a row")
		}
		return false
	}))
}

// ask answers a query from the model.
func ask(model map[modelKey]*modelRow, q *rows.Query) []string {
	var keys []modelKey
	for k := range model {
		values := []any{k.a, k.b}
		keep := true
		for _, v := range q.Equal {
			keep = keep && values[0] == v
			values = values[1:]
		}
		if q.In != nil {
			switch list := q.In.(type) {
			case []string:
				keep = keep && slices.Contains(list, values[0].(string))
			case []int64:
				keep = keep && slices.Contains(list, values[0].(int64))
			}
			values = values[1:]
		}
		if q.From != nil {
			keep = keep && order(values[0], q.From) >= 0
		}
		if q.To != nil {
			keep = keep && order(values[0], q.To) <= 0
		}
		if keep {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(i, j modelKey) int {
		b := cmp.Compare(i.b, j.b)
		if q.Table.Clustering[1].Descending {
			b = -b
		}
		return cmp.Or(cmp.Compare(i.a, j.a), b)
	})
	if q.Limit > 0 {
		keys = keys[:min(len(keys), q.Limit)]
	}
	var list []string
	for _, k := range keys {
		r := model[k]
		x, y := "", "none"
		if r.x.stamp > 0 {
			x = fmt.Sprint(r.x.value)
		}
		if r.y.stamp > 0 {
			y = fmt.Sprint(r.y.value)
		}
		list = append(list, fmt.Sprintf("%q %d: %s %s %d", k.a, k.b, x, y, r.y.stamp))
	}
	return list
}

func order(a, b any) int {
	if s, is := a.(string); is {
		return strings.Compare(s, b.(string))
	}
	return cmp.Compare(a.(int64), b.(int64))
}
