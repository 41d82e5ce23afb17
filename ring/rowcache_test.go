package ring

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/prometheus/client_golang/prometheus"
)

var cacheColumns = []Column{{Name: "value"}}

// rowsOf is an answer of one row with one value; nil: no such partition.
func rowsOf(value string) []Row {
	if value == "" {
		return nil
	}
	return []Row{{columns: cacheColumns, values: [][]byte{[]byte(value)}}}
}

func valueOf(r Result) string {
	if len(r.Rows) == 0 {
		return ""
	}
	return string(r.Rows[0].Raw(0))
}

func mustCache(tb testing.TB, bytes int64) *rowCache {
	tb.Helper()
	c, err := newRowCache(bytes)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

const cacheTable = "shop.items"

var cacheShape = shapeOf(shapePrefix("shop", "items", "id", cacheColumns, ""), gocql.LocalOne, nil)

// answers collects what a load delivers, and fails the test when a key gets two.
type answers struct {
	tb  testing.TB
	got map[int]Result
}

func (a *answers) take(i int, r Result) {
	if _, twice := a.got[i]; twice {
		a.tb.Errorf("key %d was answered twice", i)
	}
	a.got[i] = r
}

// loadAll loads keys with a fetch that answers at once.
func loadAll(tb testing.TB, c *rowCache, shape string, ttl time.Duration,
	read func(key string) Result, keys ...string) (got []Result, asked []string) {
	tb.Helper()
	a := answers{tb, map[int]Result{}}
	c.load(tb.Context(), ask{shape: shape, ttl: ttl}, keys,
		func(_ context.Context, missing []int, deliver func(int, Result)) {
			for _, i := range missing {
				asked = append(asked, keys[i])
				deliver(i, read(keys[i]))
			}
		}, a.take)
	for i := range keys {
		r, ok := a.got[i]
		if !ok {
			tb.Fatalf("key %d of %d was not answered", i, len(keys))
		}
		got = append(got, r)
	}
	return got, asked
}

func answering(value string) func(string) Result {
	return func(string) Result { return Result{Rows: rowsOf(value)} }
}

func TestCacheKeeps(t *testing.T) {
	now := time.Unix(1000, 0)
	c, err := newRowCache(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(c.metrics.all()...)
	c.now = func() time.Time { return now }
	failed := errors.New("no replica")
	read := func(key string) Result {
		switch key {
		case "absent":
			return Result{}
		case "bad":
			return Result{Err: failed}
		}
		return Result{Rows: rowsOf("of " + key)}
	}
	keys := []string{"a", "absent", "bad", "b"}
	if _, asked := loadAll(t, c, cacheShape, time.Minute, read, keys...); !slices.Equal(asked,
		keys) {
		t.Fatalf("an empty cache asked for %q", asked)
	}
	now = now.Add(time.Minute - 1)
	got, asked := loadAll(t, c, cacheShape, time.Minute, read, keys...)
	if !slices.Equal(asked, []string{"bad"}) {
		t.Errorf("then for %q; a failure is not kept, that there is nothing is", asked)
	}
	if valueOf(got[0]) != "of a" || valueOf(got[1]) != "" || valueOf(got[3]) != "of b" ||
		!got[0].Cached || !got[1].Cached || got[1].Err != nil {
		t.Errorf("got %+v", got)
	}
	if got[2].Err != failed || got[2].Cached {
		t.Errorf("the one that fails: %+v", got[2])
	}
	other := shapeOf(shapePrefix("shop", "items", "id", []Column{{Name: "value"}, {Name: "price"}},
		""), gocql.LocalOne, nil)
	if _, asked := loadAll(t, c, other, time.Minute, read, "a"); len(asked) != 1 {
		t.Error("what was read of other columns was answered")
	}
	now = now.Add(1)
	if _, asked := loadAll(t, c, cacheShape, time.Minute, read, "a", "b"); len(asked) != 2 {
		t.Errorf("at the end of their time to live only %q were asked for", asked)
	}
	c.forget(cacheTable, "a")
	if _, asked := loadAll(t, c, cacheShape, time.Minute, read, "a"); len(asked) != 1 {
		t.Error("what was forgotten was answered")
	}
	if _, asked := loadAll(t, c, other, time.Minute, read, "a"); len(asked) != 1 {
		t.Error("what was forgotten was answered in another shape")
	}
	c.load(t.Context(), ask{shape: cacheShape, ttl: time.Minute, fresh: true}, []string{"b"},
		func(_ context.Context, missing []int, deliver func(int, Result)) {
			deliver(missing[0], Result{Rows: rowsOf("new")})
		}, func(_ int, r Result) {
			if valueOf(r) != "new" {
				t.Errorf("a fresh read was answered with %+v", r)
			}
		})
	if got, asked := loadAll(t, c, cacheShape, time.Minute, read, "b"); len(asked) != 0 ||
		valueOf(got[0]) != "new" {
		t.Errorf("after a fresh read: asked for %q, got %+v", asked, got)
	}
	want := map[string]float64{"kept": 3 + 1, "joined": 0, "read": 4 + 1 + 1 + 2 + 1 + 1 + 1}
	for by, n := range want {
		if got := count(c.metrics.keys.WithLabelValues(cacheTable, by)); got != n {
			t.Errorf("counted %v keys %s, want %v", got, by, n)
		}
	}
	if families, err := reg.Gather(); err != nil || len(families) < 6 {
		t.Errorf("metrics: %d families, %v", len(families), err)
	}
}

// Shapes of different reads differ, whatever their parts are made of.
func TestShapes(t *testing.T) {
	seen := map[string]string{}
	name := func(names ...string) (list []Column) {
		for _, n := range names {
			list = append(list, Column{Name: n})
		}
		return list
	}
	for _, id := range []string{"1", "2"} {
		for _, columns := range [][]Column{nil, name("a"), name("b"), name("a", "b"), name("ab"),
			name("a\x01b")} {
			for where, markers := range map[string]int{"": 0, "w = ?": 1, "\x01w = ?": 1,
				"w = ? AND v = ?": 2} {
				for _, limit := range []int{0, 1} { // a marker more
					for _, args := range [][]any{{}, {encoded{}}, {encoded("x")},
						{encoded("x"), encoded{}}, {encoded{}, encoded("x")}, {encoded("x\x01")},
						{encoded("x"), encoded("y"), encoded("z")}} {
						if len(args) != markers+limit {
							continue
						}
						for _, level := range []gocql.Consistency{gocql.LocalOne, gocql.Quorum} {
							s := shapeOf(shapePrefix("k", "t", id, columns, where), level, args)
							what := fmt.Sprintf("%s %v %q %d %q %v", id, columns, where, limit,
								args, level)
							if other, ok := seen[s]; ok {
								t.Fatalf("%s and %s have one shape", what, other)
							}
							if tableOf(s) != "k.t" {
								t.Fatalf("the table of %s is %q", what, tableOf(s))
							}
							seen[s] = what
						}
					}
				}
			}
		}
	}
}

// held is a fetch that waits: the test delivers in its place.
type held struct {
	ctx     context.Context
	keys    []string // all of the load
	missing []int
	deliver func(int, Result)
	end     chan struct{}
}

func (h *held) asked() (list []string) {
	for _, i := range h.missing {
		list = append(list, h.keys[i])
	}
	return list
}

// answer delivers for a key, wherever it is asked for.
func (h *held) answer(key string, r Result) {
	for _, i := range h.missing {
		if h.keys[i] == key {
			h.deliver(i, r)
		}
	}
}

// load is a load in a goroutine of its own.
type heldLoad struct {
	*answers
	mu      sync.Mutex
	fetches []*held
	done    bool
	cancel  context.CancelFunc
}

// begin starts a load whose fetches the test answers. It returns when all is quiet. Only in a
// bubble.
func begin(t *testing.T, c *rowCache, fresh bool, keys ...string) *heldLoad {
	return beginIn(t, c, Work{}, fresh, keys...)
}

func beginIn(t *testing.T, c *rowCache, lane Work, fresh bool, keys ...string) *heldLoad {
	ctx, cancel := context.WithCancel(context.Background())
	l := &heldLoad{answers: &answers{t, map[int]Result{}}, cancel: cancel}
	go func() {
		c.load(ctx, ask{cacheShape, time.Minute, fresh, lane}, keys,
			func(ctx context.Context, missing []int, deliver func(int, Result)) {
				h := &held{ctx, keys, slices.Clone(missing), deliver, make(chan struct{})}
				l.mu.Lock()
				l.fetches = append(l.fetches, h)
				l.mu.Unlock()
				select {
				case <-h.end:
				case <-ctx.Done():
				}
			}, func(i int, r Result) {
				l.mu.Lock()
				defer l.mu.Unlock()
				if l.done {
					t.Errorf("key %d was delivered after its load had returned", i)
				}
				l.take(i, r)
			})
		l.mu.Lock()
		defer l.mu.Unlock()
		l.done = true
	}()
	synctest.Wait()
	return l
}

func TestCacheJoins(t *testing.T) {
	gone := errors.New("replica gone")
	bubble := func(name string, f func(t *testing.T, c *rowCache)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, mustCache(t, 1<<20)) })
		})
	}
	bubble("crosswise", func(t *testing.T, c *rowCache) {
		a := begin(t, c, false, "1", "2")
		b := begin(t, c, false, "2", "3", "1")
		if got := b.fetches[0].asked(); !slices.Equal(got, []string{"3"}) {
			t.Fatalf("the second load reads %q", got)
		}
		d := begin(t, c, false, "3", "1") // waits for both, reads nothing
		b.fetches[0].answer("3", Result{Rows: rowsOf("three")})
		a.fetches[0].answer("2", Result{Rows: rowsOf("two")})
		a.fetches[0].answer("1", Result{})
		close(a.fetches[0].end)
		close(b.fetches[0].end)
		synctest.Wait()
		if !a.done || !b.done || !d.done || len(d.fetches) != 0 {
			t.Fatalf("done: %v %v %v, fetches of the third %d", a.done, b.done, d.done,
				len(d.fetches))
		}
		if valueOf(b.got[0]) != "two" || valueOf(b.got[1]) != "three" || len(b.got) != 3 ||
			b.got[2].Err != nil || valueOf(d.got[0]) != "three" || len(d.got) != 2 {
			t.Errorf("got %+v and %+v", b.got, d.got)
		}
		if got := count(c.metrics.of(cacheTable).joined); got != 4 {
			t.Errorf("counted %v joins", got)
		}
	})
	bubble("failed reads", func(t *testing.T, c *rowCache) {
		a := begin(t, c, false, "1", "2")
		b := begin(t, c, false, "1", "2")
		d := begin(t, c, false, "1")
		a.fetches[0].answer("1", Result{Err: gone})
		a.fetches[0].answer("2", Result{Rows: rowsOf("two")})
		close(a.fetches[0].end)
		synctest.Wait()
		if len(b.fetches) != 1 || len(d.fetches) != 1 {
			t.Fatalf("those who waited read %d and %d times", len(b.fetches), len(d.fetches))
		}
		b.fetches[0].answer("1", Result{Err: gone})
		d.fetches[0].answer("1", Result{Rows: rowsOf("one")})
		close(b.fetches[0].end)
		close(d.fetches[0].end)
		synctest.Wait()
		if a.got[0].Err != gone || b.got[0].Err != gone || valueOf(b.got[1]) != "two" ||
			valueOf(d.got[0]) != "one" {
			t.Errorf("got %+v, %+v, %+v", a.got, b.got, d.got)
		}
	})
	bubble("a reader goes away", func(t *testing.T, c *rowCache) {
		a := begin(t, c, false, "1")
		var others []*heldLoad
		for range 10 {
			others = append(others, begin(t, c, false, "1"))
		}
		a.cancel()
		synctest.Wait()
		reading := slices.IndexFunc(others, func(l *heldLoad) bool { return len(l.fetches) > 0 })
		for i, l := range others {
			if i != reading && len(l.fetches) > 0 {
				t.Fatalf("%d and %d both read", reading, i)
			}
		}
		others[reading].fetches[0].answer("1", Result{Rows: rowsOf("one")})
		close(others[reading].fetches[0].end)
		synctest.Wait()
		for i, l := range others {
			if !l.done || valueOf(l.got[0]) != "one" {
				t.Errorf("%d: done %v, got %+v", i, l.done, l.got)
			}
		}
		if !errors.Is(a.got[0].Err, context.Canceled) {
			t.Errorf("who went away got %+v", a.got)
		}
	})
	bubble("who waits goes away", func(t *testing.T, c *rowCache) {
		a := begin(t, c, false, "1")
		b := begin(t, c, false, "1")
		b.cancel()
		synctest.Wait()
		if !b.done || !errors.Is(b.got[0].Err, context.Canceled) {
			t.Fatalf("done %v, got %+v", b.done, b.got)
		}
		a.fetches[0].answer("1", Result{})
		close(a.fetches[0].end)
		synctest.Wait()
		if !a.done || a.got[0].Err != nil {
			t.Errorf("done %v, got %+v", a.done, a.got)
		}
	})
	bubble("the same key twice", func(t *testing.T, c *rowCache) {
		for _, want := range []Result{{Err: gone}, {Rows: rowsOf("one")}} {
			a := begin(t, c, false, "1", "1")
			if got := a.fetches[0].asked(); !slices.Equal(got, []string{"1"}) {
				t.Fatalf("reads %q", got)
			}
			a.fetches[0].answer("1", want)
			close(a.fetches[0].end)
			synctest.Wait()
			if !a.done || a.got[0].Err != want.Err || a.got[1].Err != want.Err ||
				valueOf(a.got[1]) != valueOf(want) {
				t.Errorf("done %v, got %+v", a.done, a.got)
			}
		}
	})
	bubble("left out", func(t *testing.T, c *rowCache) {
		a := begin(t, c, false, "1", "2")
		b := begin(t, c, false, "2")
		a.fetches[0].answer("1", Result{})
		close(a.fetches[0].end)
		synctest.Wait()
		if !a.done || a.got[1].Err == nil || len(b.fetches) != 1 {
			t.Fatalf("done %v, got %+v; the other reads %d times", a.done, a.got, len(b.fetches))
		}
		close(b.fetches[0].end)
	})
	bubble("forgotten meanwhile", func(t *testing.T, c *rowCache) {
		a := begin(t, c, false, "1")
		b := begin(t, c, false, "1")
		c.forget(cacheTable, "1")
		d := begin(t, c, false, "1")
		if len(b.fetches) != 0 || len(d.fetches) != 1 {
			t.Fatalf("who asked before reads %d times, who asked after %d", len(b.fetches),
				len(d.fetches))
		}
		d.fetches[0].answer("1", Result{Rows: rowsOf("new")})
		close(d.fetches[0].end)
		a.fetches[0].answer("1", Result{Rows: rowsOf("old")})
		close(a.fetches[0].end)
		synctest.Wait()
		if valueOf(a.got[0]) != "old" || valueOf(b.got[0]) != "old" || valueOf(d.got[0]) != "new" {
			t.Errorf("got %+v, %+v, %+v", a.got, b.got, d.got)
		}
		if got, asked := loadAll(t, c, cacheShape, time.Minute, answering("never"),
			"1"); len(asked) != 0 || valueOf(got[0]) != "new" {
			t.Errorf("asked for %q, got %+v", asked, got)
		}
	})
	bubble("fresh", func(t *testing.T, c *rowCache) {
		a := begin(t, c, false, "1")
		b := begin(t, c, true, "1")
		d := begin(t, c, false, "1") // joins the later read
		b.fetches[0].answer("1", Result{Rows: rowsOf("new")})
		close(b.fetches[0].end)
		a.fetches[0].answer("1", Result{Rows: rowsOf("old")})
		close(a.fetches[0].end)
		synctest.Wait()
		if valueOf(a.got[0]) != "old" || valueOf(b.got[0]) != "new" || valueOf(d.got[0]) != "new" {
			t.Errorf("got %+v, %+v, %+v", a.got, b.got, d.got)
		}
		if got, asked := loadAll(t, c, cacheShape, time.Minute, answering("never"),
			"1"); len(asked) != 0 || valueOf(got[0]) != "new" {
			t.Errorf("asked for %q, got %+v", asked, got)
		}
	})
	bubble("lanes", func(t *testing.T, c *rowCache) {
		a := beginIn(t, c, Work{Class: "bulk"}, false, "1")
		time.Sleep(time.Second) // the bubble's
		b := beginIn(t, c, Work{Class: "serving"}, false, "1")
		d := beginIn(t, c, Work{Class: "serving"}, false, "1")
		if len(b.fetches) != 1 || len(d.fetches) != 0 {
			t.Fatalf("who hurries reads %d times, and who joins %d", len(b.fetches), len(d.fetches))
		}
		b.fetches[0].answer("1", Result{Rows: rowsOf("later")})
		close(b.fetches[0].end)
		synctest.Wait()
		if !d.done || a.done {
			t.Errorf("done: %v, %v", d.done, a.done)
		}
		a.fetches[0].answer("1", Result{Rows: rowsOf("earlier")})
		close(a.fetches[0].end)
		synctest.Wait()
		if got, _ := loadAll(t, c, cacheShape, time.Minute, answering("never"),
			"1"); valueOf(got[0]) != "later" || valueOf(a.got[0]) != "earlier" {
			t.Errorf("kept %q, and who read first got %q", valueOf(got[0]), valueOf(a.got[0]))
		}
	})
}

// Writers write and forget, readers read through the cache: nobody gets what was forgotten before
// it asked.
func TestForgottenIsNeverSeen(t *testing.T) {
	c := mustCache(t, 64<<10) // small: evictions, too
	const keys, each = 300, 4000
	var stored, forgotten [keys]atomic.Int64
	var kept, joined atomic.Int64
	var all sync.WaitGroup
	for g := range 8 {
		r := rand.New(rand.NewPCG(uint64(g), 1))
		all.Go(func() {
			for range each {
				k := int(r.ExpFloat64() * 20)
				if k >= keys {
					continue
				}
				if r.IntN(20) == 0 {
					v := stored[k].Add(1)
					c.forget(cacheTable, strconv.Itoa(k))
					for old := forgotten[k].Load(); old < v &&
						!forgotten[k].CompareAndSwap(old, v); old = forgotten[k].Load() {
					}
					continue
				}
				list := []string{strconv.Itoa(k), strconv.Itoa((k + 1) % keys),
					strconv.Itoa((k + r.IntN(keys)) % keys)}
				var least [3]int64
				for i, key := range list {
					n, _ := strconv.Atoi(key)
					least[i] = forgotten[n].Load()
				}
				ctx, cancel := context.WithCancel(t.Context())
				if r.IntN(50) == 0 {
					cancel()
				}
				c.load(ctx, ask{cacheShape, time.Minute, r.IntN(20) == 0,
					Work{Class: []string{"", "bulk"}[r.IntN(2)]}}, list,
					func(ctx context.Context, missing []int, deliver func(int, Result)) {
						var fetches sync.WaitGroup
						for _, i := range missing {
							n, _ := strconv.Atoi(list[i])
							fetches.Go(func() {
								if ctx.Err() != nil {
									deliver(i, Result{Err: ctx.Err()})
									return
								}
								v := stored[n].Load()
								runtime.Gosched()
								deliver(i, Result{Rows: rowsOf(fmt.Sprintf("%d %d", n, v))})
							})
						}
						fetches.Wait()
					}, func(i int, result Result) {
						if result.Err != nil {
							if ctx.Err() == nil {
								t.Errorf("key %s: %v", list[i], result.Err)
							}
							return
						}
						if result.Cached {
							kept.Add(1)
						}
						var n, v int64
						if _, err := fmt.Sscanf(valueOf(result), "%d %d", &n, &v); err != nil ||
							strconv.FormatInt(n, 10) != list[i] {
							t.Errorf("key %s was answered with %q", list[i], valueOf(result))
						}
						if v < least[i] {
							t.Errorf("key %s: got %d after %d was forgotten", list[i], v, least[i])
						}
					})
				cancel()
			}
		})
	}
	all.Wait()
	joined.Store(int64(count(c.metrics.of(cacheTable).joined)))
	if kept.Load() == 0 || joined.Load() == 0 {
		t.Errorf("%d answers were kept ones, %d joined: this tested nothing", kept.Load(),
			joined.Load())
	}
	for i := range c.flights {
		if n := len(c.flights[i].of); n > 0 {
			t.Errorf("%d reads are left under way", n)
		}
	}
}
