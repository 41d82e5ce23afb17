package files

import (
	"testing"

	"github.com/ringwatch/ringwatch/store/rows"
)

// TestDroppedAndMadeAgain: a table that is made again has nothing of the dropped one, neither what
// was in memory nor what was in files, and neither after a start.
func TestDroppedAndMadeAgain(t *testing.T) {
	dir := t.TempDir()
	e := mustOpen(t, dir, Config{}, wideTable())
	put := func(from, to int64) (list []int64) {
		t.Helper()
		for n := from; n < to; n++ {
			if err := e.Put(t.Context(), rows.Work{}, wideTable(), putOf(n)...); err != nil {
				t.Fatal(err)
			}
			list = append(list, n)
		}
		return list
	}
	old := put(0, 10)
	if err := e.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	old = append(old, put(10, 20)...)
	if err := e.Drop(t.Context(), wideTable()); err != nil {
		t.Fatal(err)
	}
	if err := e.Create(t.Context(), wideTable()); err != nil {
		t.Fatal(err)
	}
	check := func(when string) {
		t.Helper()
		if gone := missing(t, e, old); len(gone) != len(old) {
			t.Errorf("%s only %d of %d rows are gone", when, len(gone), len(old))
		}
	}
	check("made again,")
	fresh := put(20, 25)
	e.Close()
	e = mustOpen(t, dir, Config{}, wideTable())
	check("after a start")
	if gone := missing(t, e, fresh); len(gone) > 0 {
		t.Errorf("%v of the new table are gone", gone)
	}
}
