package throttle

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
)

// TestUsage: what clients ask for in two processes is added, by class, client, table and
// datacenter, and is gone when they ask no more.
func TestUsage(t *testing.T) {
	server := engines.SharedRedis(t)
	c := patient(unique(t.Name()),
		map[string]Class{"x": {OperationsPerSecond: 1e5, Burst: 1e5, Concurrency: 60,
			MaxWait: time.Hour}})
	c.UsageInterval = 200 * time.Millisecond
	a, b := mustNew(t, c, connect(t, server.Addr())), mustNew(t, c, connect(t, server.Addr()))
	run(t, a)
	run(t, b)
	shop := Work{Class: "x", Client: "acme/shop", Keyspace: "shop", Table: "items",
		Datacenter: "dc1"}
	fleet := Work{Class: Dashboard, Client: "acme/grafana", Keyspace: "ringwatch", Table: "raw",
		Datacenter: "dc2"}
	first, second := work(t, 4, 5, shop, a, b), work(t, 2, 1, fleet, b)
	report := func(th *Throttle) map[Work]Usage {
		t.Helper()
		r, err := th.Usage(t.Context())
		if err != nil || r.Alone {
			t.Fatal(r, err)
		}
		m := map[Work]Usage{}
		for i, u := range r.Usage {
			m[u.Work] = u
			if i > 0 && u.OperationsPerSecond > r.Usage[i-1].OperationsPerSecond {
				t.Error("it is not sorted")
			}
		}
		return m
	}
	both := func(u Usage) bool {
		return u.OperationsPerSecond > 0 && u.P50 > 0 && u.P99 >= u.P50 && u.Mean > 0
	}
	var seen Usage
	eventually.True(t, "the work is not seen from both processes", func() bool {
		x, y := report(a), report(b)
		seen = x[shop]
		return both(x[shop]) && both(x[fleet]) && both(y[shop]) && both(y[fleet])
	})
	// each says that it took 1 ms
	if seen.P50 < 800*time.Microsecond || seen.P99 > 1300*time.Microsecond {
		t.Errorf("%+v", seen)
	}
	eventually.True(t, "two processes are not two", func() bool {
		r, err := a.Usage(t.Context())
		if err != nil || len(r.Classes) != 4 || r.Classes[3] != (ClassUsage{"x", 1e5, 60, 1}) {
			t.Fatalf("%+v %v", r, err)
		}
		return r.Processes == 2
	})
	r, err := b.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	by := Group(r.Usage, func(w Work) Work { return Work{Class: w.Class} })
	sums := map[string]float64{}
	for _, u := range r.Usage {
		sums[u.Class] += u.OperationsPerSecond
	}
	for _, u := range by {
		if u.Client != "" || math.Abs(u.OperationsPerSecond-sums[u.Class]) > 1e-6 ||
			u.RequestsPerSecond > 0 && u.P99 < 800*time.Microsecond {
			t.Errorf("%+v of %v", u, sums)
		}
	}
	begun, _ := first.end()
	second.end()
	total := 0.0
	for _, th := range []*Throttle{a, b} {
		total += value(t, th, "operations_total", "acme/shop")
	}
	if total != begun {
		t.Errorf("%g operations are counted of %g", total, begun)
	}
	eventually.True(t, "what is over is shown yet", func() bool {
		return len(report(a)) == 0 && len(report(b)) == 0
	})
}

// TestUsageWithoutRedis tells of this process, and says so.
func TestUsageWithoutRedis(t *testing.T) {
	server := engines.MustRedis(t)
	c := DefaultConfig()
	c.UsageInterval = 100 * time.Millisecond
	th := mustNew(t, c, connect(t, server.Addr()))
	run(t, th)
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	w := Work{Class: Bulk, Client: "a/b"}
	eventually.True(t, "its own work is not shown", func() bool {
		done, err := th.Admit(t.Context(), w, 2)
		if err != nil {
			t.Fatal(err)
		}
		done(time.Millisecond, nil)
		r, err := th.Usage(t.Context())
		if err != nil || !r.Alone {
			t.Fatal(r, err)
		}
		return len(r.Usage) == 1 && r.Usage[0].Work == w && r.Usage[0].OperationsPerSecond > 0
	})
}

// TestUsageOfOneProcess is the whole, and says so, where there is no Redis to share.
func TestUsageOfOneProcess(t *testing.T) {
	c := DefaultConfig()
	c.UsageInterval = 100 * time.Millisecond
	th := mustNew(t, c, nil)
	run(t, th)
	w := Work{Class: Bulk, Client: "a/b"}
	eventually.True(t, "its work is not shown", func() bool {
		done, err := th.Admit(t.Context(), w, 2)
		if err != nil {
			t.Fatal(err)
		}
		done(time.Millisecond, nil)
		r, err := th.Usage(t.Context())
		if err != nil || r.Alone || r.Processes != 1 {
			t.Fatal(r, err)
		}
		return len(r.Usage) == 1 && r.Usage[0].Work == w && r.Usage[0].OperationsPerSecond > 0
	})
}

// TestUsageIsBounded: many clients count as other, nothing is lost in the sum, and who asks no
// more makes room.
func TestUsageIsBounded(t *testing.T) {
	now := time.Unix(1000, 0)
	c := DefaultConfig()
	c.UsageKeys, c.Clock = 10, func() time.Time { return now }
	th := mustNew(t, c, nil)
	admit := func(client string) {
		t.Helper()
		done, err := th.Admit(t.Context(), Work{Class: Serving, Client: client}, 1)
		if err != nil {
			t.Fatal(err)
		}
		done(0, nil)
	}
	check := func(want float64) {
		t.Helper()
		sum := 0.0
		for _, x := range th.usage.totals() {
			sum += x.operations
		}
		if sum != want {
			t.Errorf("%g operations are counted of %g", sum, want)
		}
		if n := len(th.usage.tallies); n > c.UsageKeys+1 {
			t.Errorf("%d are counted by themselves", n)
		}
	}
	for i := range 100 {
		admit(fmt.Sprint("a/", i))
	}
	check(100)
	now = now.Add(c.UsageInterval)
	report, err := th.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sum, others := 0.0, 0.0
	for _, u := range report.Usage {
		sum += u.OperationsPerSecond * c.UsageInterval.Seconds()
		if u.Client == other && u.Class == Serving {
			others += u.OperationsPerSecond * c.UsageInterval.Seconds()
		}
	}
	if math.Abs(sum-100) > 1e-6 || math.Abs(others-90) > 1e-6 {
		t.Errorf("%g operations are shown, %g of others", sum, others)
	}
	admit("a/new")
	check(101)
	if u := th.usage.tallies[Work{Class: Serving, Client: "a/new"}]; u == nil {
		t.Error("who asks no more makes no room")
	}
	for _, took := range []time.Duration{0, time.Microsecond, 50 * time.Microsecond,
		3 * time.Millisecond, time.Second, time.Hour} {
		var times [buckets]float64
		times[bucketOf(took)]++
		got := quantile(&times, 0.99)
		if took >= 50*time.Microsecond && took < time.Minute &&
			math.Abs(float64(got-took))/float64(took) > 0.2 {
			t.Errorf("%s is shown as %s", took, got)
		}
	}
}
