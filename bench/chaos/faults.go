package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// fault is something that happens, lasts and is over.
type fault struct {
	name  string
	kills int           // processes that end by kill -9
	lasts time.Duration // at most; the lane draws how long
	do    func(ctx context.Context) error
	undo  func(ctx context.Context) error // nil: it is over by itself
}

// How long faults last at most.
const (
	down     = 3 * time.Second  // a process that was killed
	still    = 6 * time.Second  // one that stands still
	slow     = 10 * time.Second // a Cassandra that answers by fits and starts
	fullDisk = 12 * time.Second
	wrongly  = 20 * time.Second // a clock
)

// chaos lets faults come in two lanes, roles' and engines', each of which has one at a time. The
// order in a lane, and how long each lasts, is the seed's.
func (s *system) chaos(ctx context.Context, f *fleet) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	end := time.Now().Add(s.Length)
	over := func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return time.Now().After(end) && s.Report.Kills >= s.Config.Kills
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.lane(ctx, f, 1, s.Pause, over, s.ofRoles) })
	if !s.Embedded {
		g.Go(func() error { return s.lane(ctx, f, 2, 2*s.Pause, over, s.ofEngines) })
	}
	return g.Wait()
}

// lane deals rounds of faults, each round in another order.
func (s *system) lane(ctx context.Context, f *fleet, number uint64, pause time.Duration,
	over func() bool, round func(f *fleet, number int) []fault,
) error {
	random := rand.New(rand.NewPCG(s.Seed, number))
	for n := 0; ; n++ {
		list := round(f, n)
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for _, one := range list {
			lasts := time.Duration(random.Float64() * float64(one.lasts))
			rest := time.Duration((0.5 + random.Float64()) * float64(pause))
			if err := bench.Pass(ctx, rest); err != nil {
				return err
			}
			if over() {
				return nil
			}
			if err := s.happen(ctx, f, one, lasts); err != nil {
				return fmt.Errorf("chaos: %s: %w", one.name, err)
			}
		}
	}
}

// happen lets one fault come and go.
func (s *system) happen(ctx context.Context, f *fleet, one fault, lasts time.Duration) error {
	s.mu.Lock()
	s.Faults[one.name]++
	s.Report.Kills += one.kills
	s.mu.Unlock()
	s.Progress(fmt.Sprintf("%s, %.1f s", one.name, lasts.Seconds()))
	if err := one.do(ctx); err != nil {
		return err
	}
	if err := bench.Pass(ctx, lasts); err != nil {
		return err
	}
	if one.undo != nil {
		if err := one.undo(ctx); err != nil {
			return err
		}
	}
	f.recover.over(one.name)
	return nil
}

// ofRoles is a round of what happens to our processes and to nodes.
func (s *system) ofRoles(f *fleet, _ int) (list []fault) {
	times := 3
	if s.Embedded {
		times = 12
		list = append(list, s.fullDirectory(), s.fullDirectory())
	}
	for _, r := range s.roles {
		for range times {
			list = append(list, killed(r))
		}
		list = append(list, standstill(r.name, r.pause, r.resume))
	}
	return append(list, f.wrongClock(time.Minute), f.wrongClock(-time.Minute))
}

// ofEngines is a round of what happens to engines.
func (s *system) ofEngines(_ *fleet, number int) (list []fault) {
	all := map[string]*engines.Engine{"Cassandra": &s.Cassandra.Engine, "Kafka": &s.Kafka.Engine,
		"Redis": &s.Redis.Engine}
	for _, name := range []string{"Cassandra", "Kafka", "Redis"} {
		e := all[name]
		kill := func(context.Context) error { return e.Kill() }
		one := fault{name: "kill " + name, kills: 1, lasts: down, do: kill, undo: restart(e)}
		list = append(list, one, one,
			standstill(name, func(context.Context) error { return e.Pause() },
				func(context.Context) error { return e.Resume() }))
	}
	if number%5 == 0 {
		list = append(list, fault{name: "Kafka away", kills: 1, lasts: 2 * s.Away,
			do:   func(context.Context) error { return s.Kafka.Kill() },
			undo: restart(&s.Kafka.Engine)})
	}
	return append(list, s.slowCassandra(),
		fault{name: "Redis wiped", do: func(context.Context) error { return s.wipe() }},
		full("Cassandra", &s.Cassandra.Engine), full("Kafka", &s.Kafka.Engine))
}

// killed ends a role by kill -9 and starts it again.
func killed(r *role) fault {
	return fault{name: "kill " + r.name, kills: 1, lasts: down,
		do:   func(context.Context) error { return r.kill() },
		undo: func(context.Context) error { return r.start() }}
}

// standstill is SIGSTOP.
func standstill(name string, pause, resume func(context.Context) error) fault {
	return fault{name: "stop " + name, lasts: still, do: pause, undo: resume}
}

// pulse is how long a slow Cassandra stands still, and goes on, at a time.
const pulse = 300 * time.Millisecond

// slowCassandra answers by fits and starts.
func (s *system) slowCassandra() fault {
	return fault{name: "slow Cassandra", do: func(ctx context.Context) error {
		for range slow / (2 * pulse) {
			if err := s.Cassandra.Pause(); err != nil {
				return err
			}
			waited := bench.Pass(ctx, pulse)
			if err := s.Cassandra.Resume(); err != nil {
				return err
			}
			if waited != nil {
				return waited
			}
			if err := bench.Pass(ctx, pulse); err != nil {
				return err
			}
		}
		return nil
	}}
}

// full is an engine without room for another byte. Its operator makes room and starts it again,
// because it may have stopped to write.
func full(name string, e *engines.Engine) fault {
	return fault{name: "full disk of " + name, kills: 1, lasts: fullDisk,
		do: func(context.Context) error { return e.LimitFiles(0) },
		undo: func(ctx context.Context) error {
			if err := e.Kill(); err != nil {
				return err
			}
			return restart(e)(ctx) // a new process has no limit
		}}
}

// restart starts an engine that was killed. On a crowded machine one may take longer than an engine
// has for its start, so it is tried some times.
func restart(e *engines.Engine) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		for range 5 {
			if err = e.Restart(ctx); err == nil || ctx.Err() != nil {
				return err
			}
		}
		return err
	}
}

// fullDirectory leaves the one process no room. It goes on by itself.
func (s *system) fullDirectory() fault {
	limit := func(bytes uint64) func(context.Context) error {
		return func(context.Context) error {
			if p := s.roles[0].now(); p != nil {
				return p.LimitFiles(bytes)
			}
			return nil
		}
	}
	return fault{name: "full disk", lasts: fullDisk, do: limit(0), undo: limit(engines.Unlimited)}
}
