package files

import (
	"runtime"
	"testing"

	"github.com/ringwatch/ringwatch/store/rows"
)

// TestReadTakesLittle: a row is found without a copy of the index that names its block.
func TestReadTakesLittle(t *testing.T) {
	table := wideTable()
	e := mustOpen(t, t.TempDir(), Config{}, table)
	const partitions = 2000
	for i := range int64(partitions) {
		must(t, e.Put(t.Context(), rows.Work{}, table, putOf(i)[0]))
	}
	must(t, e.Flush(t.Context()))
	read := func(i int64) {
		found := false
		q := rows.Query{Table: table, Key: putOf(i)[0].Key[:len(table.Partition)],
			Columns: []string{"y"}}
		must(t, e.Read(t.Context(), rows.Work{}, q, func(scan func(...any) bool) bool {
			found = scan(nil)
			return false
		}))
		if !found {
			t.Fatalf("partition %d is not found", i)
		}
	}
	read(partitions / 2)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const reads = 200
	for range reads {
		read(partitions / 2) // its blocks are kept
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / reads; each > 6<<10 {
		t.Errorf("a read takes %d bytes", each)
	}
}
