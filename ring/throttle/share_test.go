package throttle

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
)

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		child()
		return
	}
	engines.Main(m)
}

// connect returns what calls with a client of a Redis, as what recent.Reader.Redis returns does.
func connect(t testing.TB, address string) func(context.Context, func(rueidis.Client) error) error {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address},
		DisableCache: true, DisableRetry: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return func(_ context.Context, f func(rueidis.Client) error) error { return f(client) }
}

// patient is a configuration in which a crowded machine is no outage: leases do not end during a
// test.
func patient(name string, classes map[string]Class) Config {
	c := DefaultConfig()
	c.Name = strings.ToLower(name)
	c.Classes = classes
	c.Lease, c.Timeout = 10*time.Minute, time.Minute
	c.LocalFraction = 1 // else slots would be given sparingly for the first lease
	return c
}

var fleets atomic.Int64

// unique returns a fleet's name of the test's own: tests share a Redis.
func unique(name string) string {
	return fmt.Sprintf("%s-%d", strings.ReplaceAll(strings.ToLower(name), "/", "-"), fleets.Add(1))
}

func mustNew(t testing.TB, c Config,
	do func(context.Context, func(rueidis.Client) error) error) *Throttle {
	t.Helper()
	th, err := New(c, do, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return th
}

func redisMicros(t testing.TB,
	do func(context.Context, func(rueidis.Client) error) error) (us int64) {
	t.Helper()
	err := do(t.Context(), func(c rueidis.Client) error {
		v, err := c.Do(t.Context(), c.B().Time().Build()).AsIntSlice()
		if err == nil {
			us = v[0]*1_000_000 + v[1]
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return us
}

// TestShares: processes that ask at random, for anything, never have more slots together than the
// class, nor get more operations than burst + rate × t and one request.
func TestShares(t *testing.T) {
	do := connect(t, engines.SharedRedis(t).Addr())
	rapid.Check(t, func(rt *rapid.T) {
		limits := Class{OperationsPerSecond: float64(rapid.IntRange(1, 100_000).Draw(rt, "rate")),
			Concurrency: rapid.IntRange(1, 100).Draw(rt, "slots")}
		limits.Burst = max(2,
			int(limits.OperationsPerSecond*rapid.Float64Range(0.4, 3).Draw(rt, "burst"))+1)
		c := patient(unique("shares"), map[string]Class{"x": limits})
		c.LocalFraction = 0.5
		limits = c.classes()["x"]
		type process struct {
			*Throttle
			held, cap, used, head float64
		}
		var all []*process
		for range rapid.IntRange(1, 6).Draw(rt, "processes") {
			all = append(all, &process{Throttle: mustNew(t, c, do)})
		}
		most := float64(min(limits.Burst, limits.Concurrency))
		began, got, largest := redisMicros(t, do), 0.0, 0.0
		for range rapid.IntRange(1, 60).Draw(rt, "askings") {
			p := all[rapid.IntRange(0, len(all)-1).Draw(rt, "process")]
			// What it does by itself: ends something, begins something, comes down.
			p.used -= float64(rapid.IntRange(0, int(p.used)).Draw(rt, "ended"))
			if p.head > 0 && p.head <= p.held && p.used+p.head <= p.cap {
				p.used, p.held, p.head = p.used+p.head, p.held-p.head, 0
			}
			p.cap = max(p.cap, p.used)
			if p.head == 0 {
				p.head = float64(rapid.IntRange(0, int(most)).Draw(rt, "head"))
			}
			largest = max(largest, p.head)
			a := &asking{class: p.classes["x"], held: p.held, cap: p.cap, used: p.used,
				head: p.head, need: min(float64(limits.Concurrency),
					p.used+p.head*float64(rapid.IntRange(1, 10).Draw(rt, "waiting"))),
				demand: float64(rapid.IntRange(0, 200_000).Draw(rt, "demand")),
				weight: rapid.IntRange(1, 20).Draw(rt, "clients")}
			answer, err := p.share(t.Context(), []*asking{a})
			if err != nil {
				rt.Fatal(err)
			}
			granted, share, cap, target := answer[1], answer[2], answer[3], answer[4]
			if granted < 0 || share < 0 || share > limits.OperationsPerSecond+1e-3 || cap < p.cap ||
				target < 0 {
				rt.Fatalf("%v is the answer to %+v", answer, a)
			}
			if granted > 0 && a.held+granted < a.head-1e-5 {
				rt.Fatalf("%g are given to who has %g and needs %g: they are of no use", granted,
					a.held, a.head)
			}
			p.held += granted
			p.cap = max(min(cap, target), p.used)
			got += granted
			bound := float64(limits.Burst) +
				limits.OperationsPerSecond*float64(redisMicros(t, do)-began)/1e6 + largest
			if got > bound+1e-3 {
				rt.Fatalf("%g were given where %g may", got, bound)
			}
			caps := 0.0
			for _, q := range all {
				caps += q.cap
			}
			if caps > float64(limits.Concurrency) {
				rt.Fatalf("%g slots are out where %d may", caps, limits.Concurrency)
			}
		}
	})
}

// TestFill: the total is given, nobody gets more than it wants, and who gets less than it wants
// has no less for its weight than anybody else.
func TestFill(t *testing.T) {
	do := connect(t, engines.SharedRedis(t).Addr())
	script := rueidis.NewLuaScript(fillLua + `
local list = {}
for i = 2, #ARGV, 2 do
  list[#list + 1] = {want = tonumber(ARGV[i]), weight = tonumber(ARGV[i + 1])}
end
local answer = {string.format('%.9f', fill(tonumber(ARGV[1]), list, 'want', 'got'))}
for _, e in ipairs(list) do
  answer[#answer + 1] = string.format('%.9f', e.got)
end
return answer`)
	rapid.Check(t, func(rt *rapid.T) {
		total := float64(rapid.IntRange(0, 1000).Draw(rt, "total"))
		args := []string{fmt.Sprint(total)}
		var want, weight []float64
		for range rapid.IntRange(1, 12).Draw(rt, "who") {
			want = append(want, float64(rapid.IntRange(0, 400).Draw(rt, "want")))
			weight = append(weight, float64(rapid.IntRange(1, 9).Draw(rt, "weight")))
			args = append(args, fmt.Sprint(want[len(want)-1]), fmt.Sprint(weight[len(weight)-1]))
		}
		var got []float64
		if err := do(t.Context(), func(c rueidis.Client) (err error) {
			texts, err := script.Exec(t.Context(), c, nil, args).AsStrSlice()
			for _, text := range texts {
				var v float64
				fmt.Sscan(text, &v)
				got = append(got, v)
			}
			return err
		}); err != nil {
			rt.Fatal(err)
		}
		left, got := got[0], got[1:]
		sum := left
		for i := range got {
			sum += got[i]
			if got[i] > want[i]+1e-6 {
				rt.Fatalf("%v of %v", got, want)
			}
			if got[i] >= want[i]-1e-6 {
				continue
			}
			if left > 1e-6 {
				rt.Fatalf("%v of %v while %g are left", got, want, left)
			}
			for j := range got {
				if got[j]/weight[j] > got[i]/weight[i]+1e-6 {
					rt.Fatalf("%v of %v by %v", got, want, weight)
				}
			}
		}
		if math.Abs(sum-total) > 1e-6 {
			rt.Fatalf("%v of %v: %g of %g", got, want, sum, total)
		}
	})
}

// TestClientsCountTheSame: three clients in one process get three times what one gets in another,
// however much this one asks for; and who asks for little gets it.
func TestClientsCountTheSame(t *testing.T) {
	do := connect(t, engines.SharedRedis(t).Addr())
	c := patient(unique(t.Name()),
		map[string]Class{"x": {OperationsPerSecond: 4000, Burst: 4000, Concurrency: 400}})
	ask := func(p *Throttle, cap, demand float64, clients int) []float64 {
		t.Helper()
		answer, err := p.share(t.Context(),
			[]*asking{{class: p.classes["x"], cap: cap, used: cap, head: 1, need: 400,
				demand: demand, weight: clients}})
		if err != nil {
			t.Fatal(err)
		}
		return answer[1:]
	}
	greedy, three, light := mustNew(t, c, do), mustNew(t, c, do), mustNew(t, c, do)
	for range 2 { // at first the greedy one is alone
		ask(greedy, 0, 1e9, 1)
		ask(three, 0, 1e5, 3)
		ask(light, 0, 100, 1)
	}
	for p, want := range map[*Throttle]float64{greedy: 975, three: 2925, light: 100} {
		clients, demand := 1, map[*Throttle]float64{greedy: 1e9, three: 1e5, light: 100}[p]
		if p == three {
			clients = 3
		}
		if v := ask(p, 0, demand, clients); math.Abs(v[1]-want) > 1 {
			t.Errorf("%g operations a second for %d clients that ask for %g, want %g", v[1],
				clients, demand, want)
		}
	}
	if v := ask(three, 0, 1e5, 3); math.Abs(v[3]-240) > 2 {
		t.Errorf("%g of 400 slots for three of five clients", v[3])
	}
}

// TestOwed: who asks first does not get what the other, who asks a little later, is owed.
func TestOwed(t *testing.T) {
	do := connect(t, engines.SharedRedis(t).Addr())
	c := patient(unique(t.Name()),
		map[string]Class{"x": {OperationsPerSecond: 1000, Burst: 1000, Concurrency: 400}})
	first, second := mustNew(t, c, do), mustNew(t, c, do)
	ask := func(p *Throttle) float64 {
		t.Helper()
		answer, err := p.share(t.Context(),
			[]*asking{{class: p.classes["x"], head: 1, need: 400, demand: 1e6, weight: 1}})
		if err != nil {
			t.Fatal(err)
		}
		return answer[1]
	}
	ask(first)
	ask(second)
	for range 5 {
		from := redisMicros(t, do)
		eventually.True(t, "time stands still", func() bool {
			return redisMicros(t, do)-from > 100_000
		})
		one, other := ask(first), ask(second)
		if one < 20 || other < 0.4*(one+other) {
			t.Errorf("%g and %g operations are given", one, other)
		}
	}
}

// BenchmarkShare is what one asking costs Redis, for one class of a hundred processes: its
// processor's time, which a crowded machine does not change.
func BenchmarkShare(b *testing.B) {
	do := connect(b, engines.SharedRedis(b).Addr())
	c := patient(unique("bench"), nil)
	var all []*Throttle
	for range 100 {
		all = append(all, mustNew(b, c, do))
	}
	ask := func(i int) {
		th := all[i%len(all)]
		if _, err := th.share(b.Context(),
			[]*asking{{class: th.classes[Bulk], cap: 5, used: 5, head: 10, need: 100,
				demand: float64(i % 300), weight: 1 + i%3}}); err != nil {
			b.Fatal(err)
		}
	}
	cpu := func() (seconds float64) {
		err := do(b.Context(), func(c rueidis.Client) error {
			text, err := c.Do(b.Context(), c.B().Info().Section("cpu").Build()).ToString()
			for _, line := range strings.Split(text, "\n") {
				if _, v, found := strings.Cut(line, "used_cpu_user:"); found {
					_, err = fmt.Sscan(v, &seconds)
				}
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		return seconds
	}
	for i := range all {
		ask(i)
	}
	before, n := cpu(), 0
	for b.Loop() {
		ask(n)
		n++
	}
	b.ReportMetric((cpu()-before)*1e6/float64(n), "redis-cpu-µs/op")
}

// TestHeldCounts: what a process holds and does not use is not given to others as well.
func TestHeldCounts(t *testing.T) {
	do := connect(t, engines.SharedRedis(t).Addr())
	c := patient(unique(t.Name()),
		map[string]Class{"x": {OperationsPerSecond: 1000, Burst: 500, Concurrency: 1000}})
	out := 0.0
	ask := func(p *Throttle) {
		t.Helper()
		answer, err := p.share(t.Context(),
			[]*asking{{class: p.classes["x"], head: 250, need: 250, weight: 1}})
		if err != nil {
			t.Fatal(err)
		}
		out += answer[1]
	}
	holder := mustNew(t, c, do)
	eventually.True(t, "it gets nothing", func() bool { ask(holder); return out > 0 })
	from := redisMicros(t, do)
	// and the bucket is as full as it may be
	eventually.True(t, "time stands still", func() bool {
		return redisMicros(t, do)-from > 900_000
	})
	from = redisMicros(t, do)
	for range 5 {
		ask(mustNew(t, c, do))
	}
	// A burst, what came meanwhile, and one request's more.
	if most := 500 + float64(redisMicros(t, do)-from)/1000 + 250; out > most {
		t.Errorf("%g operations may begin at once where %g may", out, most)
	}
}
