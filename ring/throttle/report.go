package throttle

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// Usage is what one client has asked for of one table lately, in all processes together.
type Usage struct {
	Work
	OperationsPerSecond float64
	RequestsPerSecond   float64 // that ended
	RefusedPerSecond    float64 // operations
	Waiting             float64 // operations
	Running             float64 // operations
	// of requests that ended; 0: none did. Quantiles are right to some 20 %
	Mean, P50, P99 time.Duration

	requests, seconds float64
	times             [buckets]float64
}

// ClassUsage is how a class stands.
type ClassUsage struct {
	Class               string
	OperationsPerSecond float64 // the configured limit
	Concurrency         int     // the configured limit
	// the part of both that the cluster's health leaves, as this process knows
	Factor float64
}

// Report is who asks for how much of what.
type Report struct {
	Processes int  // whose numbers are in
	Alone     bool // Redis did not answer: these are this process's numbers
	Classes   []ClassUsage
	Usage     []Usage // the most operations first
}

// row is a Usage as processes publish it.
type row struct {
	Work
	Operations float64      `json:"o,omitempty"`
	Refused    float64      `json:"r,omitempty"`
	Requests   float64      `json:"q,omitempty"`
	Seconds    float64      `json:"s,omitempty"`
	Waiting    float64      `json:"w,omitempty"`
	Running    float64      `json:"u,omitempty"`
	Times      [][2]float64 `json:"t,omitempty"` // index of bucket, requests
}

// published is what a process says of its last interval.
type published struct {
	Seconds float64 `json:"seconds"`
	Rows    []row   `json:"rows"`
}

// publishing puts this process's last interval where Usage of others finds it, with its time to
// live.
//
//	rw:throttle:{NAME}:usage       sorted set: when processes have published, in ms
//	rw:throttle:{NAME}:u:PROCESS   string: JSON
var publishing = rueidis.NewLuaScript(`
local t = redis.call('TIME')
local now, ttl = t[1] * 1000 + math.floor(t[2] / 1000), tonumber(ARGV[2])
redis.call('SET', KEYS[2], ARGV[3], 'PX', ttl)
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ttl)
redis.call('PEXPIRE', KEYS[1], ttl)`)

// publish tells Redis of the last interval, once, if anything was done in it.
func (t *Throttle) publish(ctx context.Context) {
	last := t.usage.last(t.config.Clock())
	if t.do == nil || len(last.rows) == 0 || last.ended.Equal(t.told) {
		return
	}
	text, err := json.Marshal(published{last.seconds, last.rows})
	if err != nil {
		return // numbers are never NaN
	}
	call, cancel := context.WithTimeout(ctx, t.config.Timeout)
	defer cancel()
	err = t.do(call, func(client rueidis.Client) error {
		err := publishing.Exec(call, client, []string{t.key("usage"), t.key("u:" + t.id)},
			[]string{t.id, strconv.FormatInt(t.usageTTL().Milliseconds(), 10),
				string(text)}).Error()
		if rueidis.IsRedisNil(err) {
			return nil
		}
		return err
	})
	if err == nil {
		t.told = last.ended
	}
}

// usageTTL is how long an interval is shown: until the next one is surely there.
func (t *Throttle) usageTTL() time.Duration { return 5 * t.config.UsageInterval / 2 }

// Usage returns who asks for how much of what, over all processes in their last intervals (two
// seconds). It asks Redis; while that is away it tells of this process only.
func (t *Throttle) Usage(ctx context.Context) (Report, error) {
	now := t.config.Clock()
	report := Report{Processes: 1}
	t.mu.Lock()
	pressure := t.gauge.pressure
	t.mu.Unlock()
	for _, c := range t.order {
		report.Classes = append(report.Classes, ClassUsage{c.name, c.limits.OperationsPerSecond,
			c.limits.Concurrency, c.limits.factor(pressure)})
	}
	var all []published
	if last := t.usage.last(now); now.Sub(last.ended) < t.usageTTL() {
		all = append(all, published{last.seconds, last.rows})
	}
	others, err := t.others(ctx)
	switch {
	case ctx.Err() != nil:
		return report, ctx.Err()
	case err != nil:
		report.Alone = true
	}
	report.Processes += len(others)
	report.Usage = sum(append(all, others...))
	return report, nil
}

// others returns what the other processes have published.
func (t *Throttle) others(ctx context.Context) (list []published, err error) {
	if t.do == nil {
		return nil, nil
	}
	call, cancel := context.WithTimeout(ctx, max(time.Second, t.config.Timeout))
	defer cancel()
	err = t.do(call, func(client rueidis.Client) error {
		ids, err := client.Do(call,
			client.B().Zrange().Key(t.key("usage")).Min("0").Max("-1").Build()).AsStrSlice()
		if err != nil {
			return err
		}
		var keys []string
		for _, id := range ids {
			if id != t.id {
				keys = append(keys, t.key("u:"+id))
			}
		}
		if len(keys) == 0 {
			return nil
		}
		texts, err := client.Do(call, client.B().Mget().Key(keys...).Build()).ToArray()
		if err != nil {
			return err
		}
		for _, text := range texts {
			var p published
			// else it has expired, or is of another version
			if b, err := text.AsBytes(); err == nil && json.Unmarshal(b, &p) == nil &&
				p.Seconds > 0 {
				list = append(list, p)
			}
		}
		return nil
	})
	return list, err
}

// sum adds what processes say.
func sum(all []published) []Usage {
	var list []Usage
	for _, p := range all {
		for _, r := range p.Rows {
			u := Usage{Work: r.Work, OperationsPerSecond: r.Operations / p.Seconds,
				RequestsPerSecond: r.Requests / p.Seconds, RefusedPerSecond: r.Refused / p.Seconds,
				Waiting: r.Waiting, Running: r.Running, requests: r.Requests, seconds: r.Seconds}
			for _, b := range r.Times {
				if i := int(b[0]); i >= 0 && i < buckets {
					u.times[i] += b[1]
				}
			}
			list = append(list, u)
		}
	}
	return Group(list, func(w Work) Work { return w })
}

// Group adds those whose work is the same by what by makes of it. The most operations come first.
func Group(list []Usage, by func(Work) Work) []Usage {
	found := map[Work]*Usage{}
	var groups []*Usage
	for i := range list {
		u := &list[i]
		w := by(u.Work)
		g := found[w]
		if g == nil {
			g = &Usage{Work: w}
			found[w] = g
			groups = append(groups, g)
		}
		g.OperationsPerSecond += u.OperationsPerSecond
		g.RequestsPerSecond += u.RequestsPerSecond
		g.RefusedPerSecond += u.RefusedPerSecond
		g.Waiting += u.Waiting
		g.Running += u.Running
		g.requests += u.requests
		g.seconds += u.seconds
		for j, n := range u.times {
			g.times[j] += n
		}
	}
	sums := make([]Usage, len(groups))
	for i, g := range groups {
		if sums[i] = *g; g.requests > 0 {
			sums[i].Mean = time.Duration(g.seconds / g.requests * float64(time.Second))
			sums[i].P50, sums[i].P99 = quantile(&g.times, 0.5), quantile(&g.times, 0.99)
		}
	}
	slices.SortFunc(sums, func(a, b Usage) int {
		return cmp.Or(cmp.Compare(b.OperationsPerSecond, a.OperationsPerSecond),
			cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(a.Class, b.Class),
			cmp.Compare(a.Client, b.Client),
			cmp.Compare(a.Keyspace, b.Keyspace), cmp.Compare(a.Table, b.Table),
			cmp.Compare(a.Datacenter, b.Datacenter))
	})
	return sums
}

// quantile returns the geometric middle of the bucket in which it lies.
func quantile(times *[buckets]float64, q float64) time.Duration {
	var all float64
	for _, n := range times {
		all += n
	}
	rank := q * all
	for i, n := range times {
		if rank -= n; n > 0 && rank <= 0 {
			return time.Duration(math.Exp2((float64(i)-0.5)/2) * float64(time.Microsecond))
		}
	}
	return 0
}
