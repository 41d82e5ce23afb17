package throttle

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// Run takes leases until ctx ends, then gives back what is not in use. Without Redis it follows
// the cluster's health.
func (t *Throttle) Run(ctx context.Context) error {
	defer t.stop()
	gap := t.config.Refresh / 10
	var asked time.Time
	working := false
	for {
		pause := t.config.UsageInterval
		if working {
			pause = t.config.Refresh
		}
		timer := time.NewTimer(pause)
		kicked := false
		select {
		case <-ctx.Done():
			timer.Stop()
			leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.config.Timeout)
			defer cancel()
			t.exchange(leaving, true)
			return nil
		case <-t.kick:
			kicked = true
		case <-timer.C:
		}
		timer.Stop()
		if kicked && !pauseUntil(ctx, asked.Add(gap)) {
			continue
		}
		asked = time.Now()
		waiting, classes := t.exchange(ctx, false)
		working = classes > 0
		// A process that is told that there is no more asks less often, down to the usual rate.
		// So a spike is answered at once, and a crowd costs Redis no more than quiet work.
		if kicked && waiting {
			gap = min(2*gap, t.config.Refresh)
		} else {
			gap = t.config.Refresh / 10
		}
		t.publish(ctx)
	}
}

func pauseUntil(ctx context.Context, at time.Time) bool {
	d := time.Until(at)
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// ask asks Redis soon. It returns at once.
func (t *Throttle) ask() {
	select {
	case t.kick <- struct{}{}:
	default: // it is about to
	}
}

// stop lets what waits, and what comes yet, go on without Redis.
func (t *Throttle) stop() {
	t.over.Store(true)
	for _, c := range t.order {
		c.wake()
	}
}

// exchange asks Redis for all classes that have work. It says whether anything still waits then,
// and how many classes asked.
func (t *Throttle) exchange(ctx context.Context, leave bool) (waiting bool, classes int) {
	now := t.config.Clock()
	if t.do == nil {
		t.alone(now, t.order)
		return false, len(t.order)
	}
	var list []*asking
	for _, c := range t.order {
		if a := c.prepare(now, leave); a != nil {
			list = append(list, a)
		}
	}
	if len(list) == 0 {
		return false, 0
	}
	answer, err := t.share(ctx, list)
	then := t.config.Clock()
	if err != nil {
		t.metrics.leases.WithLabelValues("failed").Inc()
		var working []*class
		for _, a := range list {
			if a.weight > 0 {
				working = append(working, a.class)
			}
		}
		t.alone(then, working)
		return false, len(list)
	}
	t.metrics.leases.WithLabelValues("granted").Inc()
	t.mu.Lock()
	t.gauge = gauge{pressure: answer[0]}
	t.mu.Unlock()
	for _, c := range t.order {
		c.press(answer[0])
	}
	for i, a := range list {
		v := answer[1+4*i:]
		if a.answered(then, now.Add(t.config.Lease), v[0], v[1], v[2], v[3]) {
			waiting = true
		}
	}
	return waiting, len(list)
}

// alone goes on without Redis, by what this process sees of the cluster's health.
func (t *Throttle) alone(now time.Time, classes []*class) {
	var seen observed
	for _, c := range classes {
		c.mu.Lock()
		seen.add(c.health)
		c.health = observed{}
		c.mu.Unlock()
	}
	t.mu.Lock()
	pressure := t.gauge.feed(&t.config, t.most, now, seen)
	t.mu.Unlock()
	for _, c := range t.order {
		c.press(pressure)
	}
	for _, c := range classes {
		c.failed(now)
	}
}

// keys returns the script's.
func (t *Throttle) key(of string) string { return "rw:throttle:{" + t.config.Name + "}:" + of }

// share calls the script: the answer is the pressure, then four numbers for each class.
func (t *Throttle) share(ctx context.Context, list []*asking) ([]float64, error) {
	keys, args := t.arguments(list)
	call, cancel := context.WithTimeout(ctx, t.config.Timeout)
	defer cancel()
	var answer []string
	err := t.do(call, func(client rueidis.Client) (err error) {
		answer, err = share.Exec(call, client, keys, args).AsStrSlice()
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(answer) != 1+4*len(list) {
		return nil, fmt.Errorf("throttle: Redis answers %d numbers for %d classes", len(answer),
			len(list))
	}
	numbers := make([]float64, len(answer))
	for i, text := range answer {
		if numbers[i], err = strconv.ParseFloat(text, 64); err != nil {
			return nil, fmt.Errorf("throttle: Redis answers %q where a number should be", text)
		}
	}
	return numbers, nil
}

func (t *Throttle) arguments(list []*asking) (keys, args []string) {
	var seen observed
	for _, a := range list {
		seen.add(a.health)
	}
	float := func(v float64) string { return strconv.FormatFloat(v, 'f', 6, 64) }
	micros := func(d time.Duration) string { return strconv.FormatInt(d.Microseconds(), 10) }
	c := &t.config
	keys = []string{t.key("health")}
	args = []string{t.id, micros(c.Lease), micros(c.Refresh), float(seen.n), float(seen.slow),
		float(seen.failed), micros(c.HealthWindow), float(c.SlowShare), float(c.FailedShare),
		float(t.most)}
	for _, a := range list {
		keys = append(keys, t.key("c:"+a.name))
		k := &a.limits
		settle := max(1, float64(int(float64(k.Concurrency)*c.LocalFraction)))
		for _, v := range []float64{k.OperationsPerSecond, float64(k.Burst), float64(k.Concurrency),
			float64(k.Shrink), k.Floor, settle, a.held, a.taken, a.cap, a.used, a.head, a.need,
			a.demand, float64(a.weight)} {
			args = append(args, float(v))
		}
	}
	return keys, args
}
