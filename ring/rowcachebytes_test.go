package ring

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// heap is what lives on it.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// What the cache says it takes is what it takes, for answers of all sizes: none, small, many
// rows, large.
func TestBytes(t *testing.T) {
	for _, test := range []struct{ answers, rows, columns, bytes int }{
		{100_000, 0, 0, 0}, {100_000, 1, 1, 8}, {50_000, 1, 10, 12}, {25_000, 1, 3, 200},
		{3_000, 60, 4, 20}, {300, 1, 2, 30_000},
	} {
		name := fmt.Sprintf("%d answers of %d rows of %d columns of %d bytes", test.answers,
			test.rows, test.columns, test.bytes)
		before := heap()
		c := mustCache(t, 1<<30)
		c.marks = make([]atomic.Uint32, minMarks) // they are made by the limit, not by what is kept
		read := func(string) Result {
			rows := make([]Row, test.rows)
			for i := range rows {
				block := make([]byte, test.columns*test.bytes)
				rows[i].values = make([][]byte, test.columns)
				for k := range rows[i].values {
					rows[i].values[k] = block[k*test.bytes : (k+1)*test.bytes]
				}
			}
			return Result{Rows: rows}
		}
		for i := range test.answers {
			loadAll(t, c, cacheShape, time.Hour, read, strconv.Itoa(1_000_000_000+i))
		}
		c.entries.CleanUp()
		said, took := int64(c.entries.WeightedSize()), heap()-before
		t.Logf("%s: says %d KB, takes %d KB, %.2f", name, said>>10, took>>10,
			float64(said)/float64(took))
		if c.entries.EstimatedSize() != test.answers {
			t.Errorf("%s: %d are kept", name, c.entries.EstimatedSize())
		}
		if r := float64(said) / float64(took); r < 0.85 || r > 1.25 {
			t.Errorf("%s: the cache says %d bytes and takes %d", name, said, took)
		}
		runtime.KeepAlive(c)
	}
}

// However much is read, what is kept stays within its bytes, and what is asked for often stays.
func TestBounded(t *testing.T) {
	const limit = 256 << 10
	c := mustCache(t, limit)
	r := rand.New(rand.NewPCG(1, 2))
	value := make([]byte, 400)
	often := 0
	for i := range 20_000 {
		loadAll(t, c, cacheShape, time.Hour, answering(string(value[:1+r.IntN(len(value)-1)])),
			fmt.Sprint("once ", i))
		if got, _ := loadAll(t, c, cacheShape, time.Hour, answering("x"),
			fmt.Sprint("often ", i%50)); got[0].Cached {
			often++
		}
	}
	c.entries.CleanUp()
	if said := c.entries.WeightedSize(); said > limit || said < limit/2 {
		t.Errorf("%d bytes of %d are taken", said, limit)
	}
	if often < 15_000 {
		t.Errorf("%d of 20,000 reads of 50 keys were hits, among as many that come once", often)
	}
	if count(c.metrics.evicted) < 10_000 {
		t.Errorf("%v evictions were counted", count(c.metrics.evicted))
	}
	loadAll(t, c, cacheShape, time.Hour, answering(string(make([]byte, limit/8))), "large")
	if _, asked := loadAll(t, c, cacheShape, time.Hour, answering("small now"),
		"large"); len(asked) != 1 || count(c.metrics.tooLarge) != 1 {
		t.Errorf("an answer of an eighth of the cache was kept; %v were counted",
			count(c.metrics.tooLarge))
	}
}

// loads is a cache that keeps n answers, and 50 keys of them to ask for.
func loads(b testing.TB, n, missing int) (*rowCache, []string) {
	c := mustCache(b, 256<<20)
	value := make([]byte, 200)
	for i := range n {
		loadAll(b, c, cacheShape, time.Hour, answering(string(value)), strconv.Itoa(i))
	}
	keys := make([]string, 50)
	for i := range keys {
		keys[i] = strconv.Itoa(i * n / len(keys))
		if i < missing {
			keys[i] = "missing " + keys[i]
		}
	}
	return c, keys
}

func TestHitsAllocateNothing(t *testing.T) {
	c, keys := loads(t, 1000, 0)
	hits, tries := 0, 0
	deliver := func(int, Result) { hits++ }
	ctx := context.Background()
	least := 1.0
	for ; tries < 20 && least >= 1; tries++ { // others in this process allocate now and then
		least = testing.AllocsPerRun(100,
			func() { c.load(ctx, ask{shape: cacheShape, ttl: time.Hour}, keys, nil, deliver) })
	}
	if hits != tries*101*len(keys) || least >= 1 {
		t.Errorf("%d hits, %v allocations each", hits, least)
	}
}

// BenchmarkCacheLoad loads 50 keys: all kept, and 10 that are not.
func BenchmarkCacheLoad(b *testing.B) {
	for _, missing := range []int{0, 10} {
		b.Run(fmt.Sprintf("missing=%d", missing), func(b *testing.B) {
			c, keys := loads(b, 200_000, missing)
			value := rowsOf(string(make([]byte, 200)))
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(p *testing.PB) {
				deliver := func(int, Result) {}
				fetch := func(_ context.Context, missing []int, deliver func(int, Result)) {
					for _, i := range missing {
						deliver(i, Result{Rows: value})
					}
				}
				ttl := time.Hour
				if missing > 0 {
					ttl = 0 // not kept, so that it is missing again
				}
				for p.Next() {
					c.load(b.Context(), ask{shape: cacheShape, ttl: ttl}, keys, fetch, deliver)
				}
			})
		})
	}
}

// BenchmarkShape makes the shape of a read, once a load.
func BenchmarkShape(b *testing.B) {
	prefix, args := shapePrefix("shop", "items", "2c6a2d54-6b0c-4b6e-a4b3-6f2a0e3f4f0e",
		[]Column{{Name: "id"}, {Name: "name"}, {Name: "price"}}, "day >= ?"),
		[]any{encoded(make([]byte, 8))}
	for b.Loop() {
		shapeOf(prefix, gocql.LocalOne, args)
	}
}
