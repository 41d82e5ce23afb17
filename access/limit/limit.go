// Package limit counts the requests, or the frames, of each account and of each node, over all
// processes that share a Redis, or in one process without. Begin with Limiter. It imports none of
// our packages.
//
// What it promises:
//   - Over any time t an account, or a node of it, gets at most burst + rate × t requests, whatever
//     process they come to, by Redis's clock. A thousandth of an account's burst may be used in a
//     process up to a second after it was counted.
//   - Without Redis, and while it is away or slow, each process enforces the same rates for itself:
//     n processes let n times as much through.
//   - No request waits longer for Redis than Config.Timeout.
//
// Which limiter is for what. Here: requests and frames a second, of accounts and nodes, over all
// processes. Package ring/throttle: operations on a shared Cassandra, of workload classes, over
// all processes. Package memory: bytes at once, of accounts, in a process. Package query: queries
// of accounts at once (queue), and computations at once as there are processors (share.OnCPU).
// Package ingest: processor time of accounts (cost.go). Package access/account: guesses of keys.
//
// What bites: a refused request does not count. A client that asks again at once is refused until
// the time that it was told has passed.
package limit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/rueidis"
)

// Rates are what one account may do.
type Rates struct {
	RequestsPerSecond     float64 `yaml:"requests_per_second"`
	Burst                 int     `yaml:"burst"` // at once, after a pause
	NodeRequestsPerSecond float64 `yaml:"node_requests_per_second"`
	NodeBurst             int     `yaml:"node_burst"`
}

// Config is the rates of accounts and how long to wait for Redis.
type Config struct {
	// Of names what is counted, if not requests. What has different names is counted apart.
	Of string `yaml:"-"`

	// The rates of every account, as in Rates.
	RequestsPerSecond float64 `yaml:"requests_per_second"`
	Burst             int     `yaml:"burst"`
	// 0.1 with a burst of 2: two requests in 20 s
	NodeRequestsPerSecond float64 `yaml:"node_requests_per_second"`
	NodeBurst             int     `yaml:"node_burst"`
	// Accounts have other rates than these, where theirs is not 0.
	Accounts map[string]Rates `yaml:"accounts"`

	Timeout time.Duration `yaml:"timeout"` // how long a request may wait for Redis
	// how long Redis is not asked after it has failed to answer
	Backoff time.Duration `yaml:"backoff"`
}

// DefaultConfig lets a Prometheus scrape a fleet of 10,000 nodes every five seconds, and stops a
// program that runs wild.
func DefaultConfig() Config {
	return Config{
		RequestsPerSecond: 2_000, Burst: 10_000, NodeRequestsPerSecond: 20, NodeBurst: 100,
		Timeout: 250 * time.Millisecond, Backoff: time.Second,
	}
}

// Validate returns everything that is wrong with the configuration, at once.
func (c *Config) Validate() error {
	var wrong []error
	check := func(where string, perSecond float64, burst int, least float64) {
		if !(perSecond >= least && perSecond <= 1e6) {
			wrong = append(wrong,
				fmt.Errorf("%srequests_per_second is %g: use more than 0 and at most 1000000",
					where, perSecond))
		}
		if burst < int(math.Ceil(least)) || burst > 1e9 {
			wrong = append(wrong, fmt.Errorf("%sburst is %d: use 1 to 1000000000", where, burst))
		}
	}
	const slowest = 1e-6
	check("", c.RequestsPerSecond, c.Burst, slowest)
	check("node_", c.NodeRequestsPerSecond, c.NodeBurst, slowest)
	for name, r := range c.Accounts {
		check("accounts."+name+".", r.RequestsPerSecond, r.Burst, 0)
		check("accounts."+name+".node_", r.NodeRequestsPerSecond, r.NodeBurst, 0)
	}
	for name, d := range map[string]time.Duration{"timeout": c.Timeout, "backoff": c.Backoff} {
		if d <= 0 {
			wrong = append(wrong, fmt.Errorf("%s is %v: use more than 0", name, d))
		}
	}
	return errors.Join(wrong...)
}

// pace is a rate as the script has it.
type pace struct {
	interval int64 // µs a request
	burst    int64
}

func newPace(perSecond float64, burst int) pace {
	return pace{max(1, int64(1e6/perSecond)), int64(burst)}
}

// rates returns the paces of an account and of its nodes.
func (c *Config) rates(account string) [2]pace {
	r := c.Accounts[account]
	either := func(own, all float64) float64 {
		if own > 0 {
			return own
		}
		return all
	}
	return [2]pace{
		newPace(either(r.RequestsPerSecond, c.RequestsPerSecond),
			int(either(float64(r.Burst), float64(c.Burst)))),
		newPace(either(r.NodeRequestsPerSecond, c.NodeRequestsPerSecond),
			int(either(float64(r.NodeBurst), float64(c.NodeBurst)))),
	}
}

// Requests is what is counted if Config.Of does not say otherwise.
const Requests = "requests"

// Whose limit a request has met.
const (
	Account = "account"
	Node    = "node"
)

// counter is the waist of the package. It counts n requests of an account and, if node is not
// empty, of that node. If either has no room it counts none of both, and returns how long to wait
// and whose limit was met; otherwise it returns 0. An error says that it does not answer now.
type counter interface {
	take(ctx context.Context, account, node string, rates [2]pace,
		n int64) (after time.Duration, whose string, err error)
	name() string
}

// Limiter counts requests. Its methods may be called from many goroutines.
type Limiter struct {
	config    Config
	counters  []counter // the first that answers counts; the last one always does
	decisions *prometheus.CounterVec
	now       func() time.Time

	mu     sync.Mutex
	leases map[string]*lease // one per account that has keys
}

// A lease is some requests of an account that were counted at once, so that only the first of them
// waits for Redis. It is a thousandth of the burst. What is not used within a second is lost.
const (
	leaseShare  = 1000
	leaseLength = time.Second
)

type lease struct {
	mu    sync.Mutex // held while more is asked for: who comes meanwhile shares it
	left  int64
	by    string // who counted it
	until time.Time
}

// New checks the configuration and registers metrics. do calls a function with a client of Redis,
// as what recent.Reader.Redis returns does; nil: each process counts for itself.
func New(c Config, do func(context.Context, func(rueidis.Client) error) error,
	reg prometheus.Registerer) (*Limiter, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("limits: %w", err)
	}
	if c.Of == "" {
		c.Of = Requests
	}
	l := &Limiter{
		config: c,
		now:    time.Now,
		decisions: prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "ringwatch_limit_decisions_total",
				ConstLabels: prometheus.Labels{"of": c.Of},
				Help: "Requests or frames counted, by where (redis, or local without " +
					"Redis and while it is away) and by whose limit refused them (none, " +
					"account, node)."}, []string{"by", "refused"}),
	}
	if do != nil {
		l.counters = append(l.counters, newShared(&l.config, do))
	}
	l.counters = append(l.counters, &local{began: time.Now()})
	for _, by := range []string{"redis", "local"} {
		for _, refused := range []string{"none", Account, Node} {
			l.decisions.WithLabelValues(by, refused)
		}
	}
	return l, reg.Register(l.decisions)
}

// TakeN counts n requests of an account at once, or as many as its burst if that is less. It
// returns 0, or how long to wait until there is room for all of them; then none was counted.
func (l *Limiter) TakeN(ctx context.Context, account string, n int64) time.Duration {
	after, _ := l.take(ctx, account, "", n)
	return after
}

// Take counts a request of an account, and of one of its nodes if node is not empty. It returns 0
// if the request may go on, else how long to wait, and whose limit it has met, Account or Node;
// then it was not counted.
func (l *Limiter) Take(ctx context.Context,
	account, node string) (after time.Duration, whose string) {
	return l.take(ctx, account, node, 1)
}

func (l *Limiter) take(ctx context.Context, account, node string,
	n int64) (after time.Duration, whose string) {
	rates := l.config.rates(account)
	n = min(n, rates[0].burst)
	var by string
	if share := rates[0].burst / leaseShare; node == "" && n == 1 && share > 1 {
		after, whose, by = l.lease(ctx, account, rates, share)
	} else {
		after, whose, by = l.count(ctx, account, node, rates, n)
	}
	refused := whose
	if after == 0 {
		refused = "none"
	}
	l.decisions.WithLabelValues(by, refused).Inc()
	return after, whose
}

// count counts n requests and says who did.
func (l *Limiter) count(ctx context.Context, account, node string, rates [2]pace,
	n int64) (after time.Duration, whose, by string) {
	for _, c := range l.counters {
		var err error
		if after, whose, err = c.take(ctx, account, node, rates, n); err == nil {
			return after, whose, c.name()
		}
	}
	return after, whose, by
}

// lease takes a request from the account's lease. When that is used up it counts the next one, or
// if there is no room for that, one request.
func (l *Limiter) lease(ctx context.Context, account string, rates [2]pace,
	share int64) (after time.Duration, whose, by string) {
	l.mu.Lock()
	of := l.leases[account]
	if of == nil {
		if l.leases == nil {
			l.leases = map[string]*lease{}
		}
		of = &lease{}
		l.leases[account] = of
	}
	l.mu.Unlock()
	of.mu.Lock()
	defer of.mu.Unlock()
	if of.left > 0 && l.now().Before(of.until) {
		of.left--
		return 0, Account, of.by
	}
	if after, _, by = l.count(ctx, account, "", rates, share); after > 0 {
		return l.count(ctx, account, "", rates, 1)
	}
	of.left, of.by, of.until = share-1, by, l.now().Add(leaseLength)
	return 0, Account, by
}
