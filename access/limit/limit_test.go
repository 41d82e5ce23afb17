package limit_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/rueidis"

	"github.com/ringwatch/ringwatch/access/limit"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/recent"
)

func TestMain(m *testing.M) { engines.Main(m) }

// slow is a pace at which nothing comes back during a test.
func slow(burst, nodeBurst int) limit.Config {
	c := limit.DefaultConfig()
	c.RequestsPerSecond, c.Burst, c.NodeRequestsPerSecond, c.NodeBurst = 1e-5, burst, 1e-5,
		nodeBurst
	c.Timeout, c.Backoff = time.Minute, time.Nanosecond // a crowded machine is no outage
	return c
}

// process is a limiter with a connection of its own.
type process struct {
	*limit.Limiter
	reader *recent.Reader
	reg    *prometheus.Registry
}

func mustProcess(t *testing.T, redis string, c limit.Config) *process {
	t.Helper()
	p := &process{reg: prometheus.NewRegistry()}
	rc := recent.DefaultConfig()
	rc.Addresses, rc.Backoff, rc.DialTimeout = []string{redis}, time.Nanosecond, 10*time.Second
	var err error
	if p.reader, err = recent.NewReader(rc, p.reg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.reader.Close)
	if p.Limiter, err = limit.New(c, p.reader.Redis(), p.reg); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *process) decisions(t *testing.T, by, refused string) float64 {
	t.Helper()
	families, err := p.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "ringwatch_limit_decisions_total" {
			for _, m := range f.Metric {
				if m.Label[0].GetValue() == by && m.Label[2].GetValue() == refused {
					return m.GetCounter().GetValue()
				}
			}
		}
	}
	t.Fatalf("no decisions by %s, %s", by, refused)
	return 0
}

// TestShared: however many processes and goroutines take, together they get the burst and no
// more. Without Redis that is one process.
func TestShared(t *testing.T) {
	server := engines.SharedRedis(t)
	account := fmt.Sprint("shared-", time.Now().UnixNano())
	c := slow(50, 10)
	c.Accounts = map[string]limit.Rates{account + "-vip": {Burst: 70, NodeBurst: 1000}}
	t.Run("redis", func(t *testing.T) {
		a, b := mustProcess(t, server.Addr(), c), mustProcess(t, server.Addr(), c)
		takesTogether(t, account, a, b)
		if n := a.decisions(t, "local", "none") + b.decisions(t, "local", "none"); n != 0 {
			t.Errorf("%v decisions without Redis", n)
		}
		if n := a.decisions(t, "redis", limit.Node) + b.decisions(t, "redis", limit.Node); n < 190 {
			t.Errorf("%v refusals are counted", n)
		}
	})
	t.Run("memory", func(t *testing.T) {
		one := &process{reg: prometheus.NewRegistry()}
		var err error
		if one.Limiter, err = limit.New(c, nil, one.reg); err != nil {
			t.Fatal(err)
		}
		takesTogether(t, account, one, one)
		if n := one.decisions(t, "local", limit.Node); n < 190 {
			t.Errorf("%v refusals are counted", n)
		}
	})
	everyKeyExpires(t, server.Addr())
}

func takesTogether(t *testing.T, account string, a, b *process) {
	taken := func(account string, node func(int) string) (allowed, byAccount, byNode int64) {
		var n [3]atomic.Int64
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				after, whose := []*process{a, b}[i%2].Take(t.Context(), account, node(i))
				switch {
				case after == 0:
					n[0].Add(1)
				case after < 0 || whose != limit.Account && whose != limit.Node:
					t.Errorf("%v %s", after, whose)
				case whose == limit.Account:
					n[1].Add(1)
				default:
					n[2].Add(1)
				}
			})
		}
		wg.Wait()
		return n[0].Load(), n[1].Load(), n[2].Load()
	}
	one := func(int) string { return "n1" }
	if allowed, byAccount, byNode := taken(account, one); allowed != 10 || byAccount != 0 ||
		byNode != 190 {
		t.Errorf("one node: %d allowed, %d and %d refused", allowed, byAccount, byNode)
	}
	// What the node's limit refused was not taken from the account: 40 are left.
	if allowed, _, _ := taken(account, func(i int) string { return fmt.Sprint("m", i) }); allowed !=
		40 {
		t.Errorf("many nodes: %d allowed", allowed)
	}
	if allowed, _, _ := taken(account+"-vip", one); allowed != 70 {
		t.Errorf("an account of its own rates: %d allowed", allowed)
	}
	if allowed, _, _ := taken(account+"-other", func(int) string { return "" }); allowed != 50 {
		t.Errorf("another account: %d allowed", allowed)
	}
}

// everyKeyExpires by itself.
func everyKeyExpires(t *testing.T, addr string) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr},
		DisableCache: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	keys, err := client.Do(t.Context(), client.B().Keys().Pattern("rw:limit:*").Build()).
		AsStrSlice()
	if err != nil || len(keys) < 43 {
		t.Fatal(len(keys), err)
	}
	for _, k := range keys {
		if ttl, err := client.Do(t.Context(),
			client.B().Pttl().Key(k).Build()).AsInt64(); err != nil || ttl <= 0 {
			t.Errorf("%s has the TTL %d %v", k, ttl, err)
		}
	}
}

// TestComesBack: who waits as long as it is told may go on.
func TestComesBack(t *testing.T) {
	c := slow(3, 1000)
	c.RequestsPerSecond = 20
	for name, p := range map[string]*process{"redis": mustProcess(t, engines.SharedRedis(t).Addr(),
		c), "local": {Limiter: mustLocal(t, c)}} {
		account := strings.ToLower(t.Name()) + "-" + name
		refused := 0
		for began := time.Now(); refused < 5; {
			after, _ := p.Take(t.Context(), account, "")
			if after == 0 {
				if time.Since(began) > time.Minute {
					t.Fatalf("%s: never refused", name)
				}
				continue
			}
			if refused++; after > time.Second/20+time.Millisecond {
				t.Errorf("%s: told to wait %s", name, after)
			}
			<-time.After(after + time.Millisecond)
			if again, _ := p.Take(t.Context(), account, ""); again != 0 {
				t.Errorf("%s: told to wait %s, then %s", name, after, again)
			}
		}
	}
}

func mustLocal(t *testing.T, c limit.Config) *limit.Limiter {
	t.Helper()
	l, err := limit.New(c, nil, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestRedisAway: each process goes on for itself, and together again when Redis is back.
func TestRedisAway(t *testing.T) {
	server := engines.MustRedis(t)
	a, b := mustProcess(t, server.Addr(), slow(1000, 10)), mustProcess(t, server.Addr(),
		slow(1000, 10))
	take := func(p *process, node string, times int) (allowed int) {
		for range times {
			if after, whose := p.Take(t.Context(), "acme", node); after == 0 {
				allowed++
			} else if whose != limit.Node {
				t.Fatal(whose)
			}
		}
		return allowed
	}
	if n := take(a, "n", 6) + take(b, "n", 6); n != 10 {
		t.Errorf("together: %d", n)
	}
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if x, y := take(a, "n", 30), take(b, "n", 30); x != 10 || y != 10 {
		t.Errorf("while Redis is away: %d and %d", x, y)
	}
	if a.decisions(t, "local", "none") != 10 || a.decisions(t, "local", limit.Node) != 20 {
		t.Error("local decisions are not counted")
	}
	again := engines.MustRedis(t, func(c *engines.RedisConfig) { c.Port = server.Port })
	if again.Addr() != server.Addr() {
		t.Fatal(again.Addr())
	}
	// Connections come back by themselves.
	for deadline := time.Now().Add(2 * time.Minute); ; <-time.After(10 * time.Millisecond) {
		before := a.decisions(t, "redis", "none") + b.decisions(t, "redis", "none")
		take(a, "back", 1)
		take(b, "back", 1)
		if a.decisions(t, "redis", "none")+b.decisions(t, "redis", "none") == before+2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("Redis is back and not asked")
		}
	}
	if n := take(a, "m", 7) + take(b, "m", 7); n != 10 {
		t.Errorf("together again: %d", n)
	}
}

// TestSlowRedis: a request waits no longer than it is told, and not each one.
func TestSlowRedis(t *testing.T) {
	c := slow(5, 1000)
	c.Timeout, c.Backoff = 50*time.Millisecond, time.Hour
	asked := 0
	l, err := limit.New(c, func(ctx context.Context, _ func(rueidis.Client) error) error {
		asked++
		<-ctx.Done()
		return ctx.Err()
	}, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	allowed := 0
	for range 20 {
		if after, _ := l.Take(t.Context(), "acme", ""); after == 0 {
			allowed++
		}
	}
	if allowed != 5 || asked != 1 {
		t.Errorf("%d allowed, asked %d times", allowed, asked)
	}
}

func TestValidate(t *testing.T) {
	c := limit.Config{Burst: -1, NodeRequestsPerSecond: -1,
		Accounts: map[string]limit.Rates{"acme": {RequestsPerSecond: -1, NodeBurst: -2}}}
	_, err := limit.New(c, nil, prometheus.NewRegistry())
	for _, want := range []string{"limits: ", "requests_per_second is 0", "burst is -1",
		"node_requests_per_second is -1", "node_burst is 0",
		"accounts.acme.requests_per_second is -1", "accounts.acme.node_burst is -2", "timeout",
		"backoff"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}

// TestSidesAgree: whatever is taken, Redis and the memory of a process let the same through, and
// refuse the same for the same reason.
func TestSidesAgree(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 1))
	t.Log("seed", seed)
	c := slow(40, 12)
	c.Of = fmt.Sprint("sides-", seed)
	redis, memory := mustProcess(t, engines.SharedRedis(t).Addr(), c), mustLocal(t, c)
	refused := 0
	for i := range 600 {
		account, node := fmt.Sprint("account-", r.IntN(8)), ""
		if r.IntN(3) > 0 {
			node = fmt.Sprint("node-", r.IntN(5))
		}
		if r.IntN(4) == 0 {
			n := 1 + r.Int64N(9)
			if a, b := redis.TakeN(t.Context(), account, n), memory.TakeN(t.Context(), account,
				n); (a == 0) != (b == 0) {
				t.Fatalf("%d: %d at once: Redis says %v, memory %v", i, n, a, b)
			}
			continue
		}
		a, whose := redis.Take(t.Context(), account, node)
		b, whose2 := memory.Take(t.Context(), account, node)
		if (a == 0) != (b == 0) || whose != whose2 {
			t.Fatalf("%d: Redis says %v for the %s, memory %v for the %s", i, a, whose, b, whose2)
		}
		if a > 0 {
			refused++
		}
	}
	if refused < 20 || refused > 580 {
		t.Error("too few to mean anything:", refused)
	}
}

// TestTakeN: many at once count as many, in Redis and without it; none are counted of what is
// refused.
func TestTakeN(t *testing.T) {
	redis := engines.MustRedis(t)
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{redis.Addr()},
		DisableCache: true, ForceSingleClient: true})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, do := range []func(context.Context, func(rueidis.Client) error) error{nil,
		func(_ context.Context, f func(rueidis.Client) error) error { return f(client) }} {
		c := limit.DefaultConfig()
		c.RequestsPerSecond, c.Burst, c.Timeout = 1e-3, 100, time.Minute
		l, err := limit.New(c, do, prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range []int64{60, 50, 30, 11, 10, 1} {
			after := l.TakeN(t.Context(), "acme", n)
			if good := i == 0 || i == 2 || i == 4; (after == 0) != good {
				t.Errorf("%d: wait %s", n, after)
			}
		}
		if after := l.TakeN(t.Context(), "zeta", 1_000_000); after != 0 {
			t.Errorf("more than fit at once: wait %s", after)
		}
		if after := l.TakeN(t.Context(), "zeta", 1); after == 0 {
			t.Error("they were not counted")
		}
	}
}
