package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/dev/engines"
)

type upCmd struct {
	Settings settings `embed:""`

	Wait time.Duration `help:"How long to wait for the metrics." default:"5m" env:"RINGWATCH_UP_WAIT"`
}

// Run starts what does not run yet:
//
//	tools, memory, ports → fetch → Cassandra+agent │ ringwatch all → metrics come back → say where
//
// A line has Redis and Kafka beside them.
// Whatever fails, what this run started is stopped again; what ran before is left running.
func (c *upCmd) Run(ctx context.Context, st *state) error {
	unlock, err := st.lock()
	if err != nil {
		return err
	}
	defer unlock()
	all := services(st, c.Settings)
	say := newSayer()
	var starting []service
	for _, s := range all {
		if _, runs := st.recorded(s.name); !runs {
			starting = append(starting, s)
		}
	}
	if saved, ok := st.savedSettings(); ok && anyRuns(st) {
		if differences := saved.differences(c.Settings); len(differences) > 0 {
			return fmt.Errorf("the running stack has other settings (%s): run make down first",
				strings.Join(differences, ", "))
		}
	}
	key, err := c.prepare(ctx, st, starting, say)
	if err != nil {
		return err
	}
	run := &launch{st: st, say: say, all: all, started: map[string]bool{}}
	host, err := run.bringUp(ctx, c, starting, key)
	if err != nil {
		return run.undo(ctx, err)
	}
	say.done(st, c.Settings, key, host)
	return nil
}

// prepare checks and fetches everything before the first process starts.
func (c *upCmd) prepare(ctx context.Context, st *state, starting []service,
	say *sayer) (key string, err error) {
	if len(starting) > 0 {
		if !c.Settings.EnginesOnly {
			if err := st.built(); err != nil {
				return "", err
			}
		}
		if err := checkTools(ctx, c.Settings, say.line); err != nil {
			return "", err
		}
		if err := checkPorts(starting); err != nil {
			return "", err
		}
		if err := checkMemory(starting); err != nil {
			return "", err
		}
		if err := fetch(ctx, c.Settings, say.line); err != nil {
			return "", err
		}
	}
	if key, err = st.apiKey(); err != nil {
		return "", err
	}
	return key, st.writeConfig(c.Settings, key)
}

// launch remembers what one run started.
type launch struct {
	st  *state
	say *sayer
	all []service

	mu      sync.Mutex
	started map[string]bool // by name
}

// bringUp starts the engines and ringwatch side by side, and returns Cassandra's host id once its
// metrics are answered. ringwatch waits for the engines itself: its ingest is there before the
// agent's first frame, which else comes again later and later.
func (l *launch) bringUp(ctx context.Context, c *upCmd, starting []service,
	key string) (host string, err error) {
	isStarting := map[string]bool{}
	for _, s := range starting {
		isStarting[s.name] = true
	}
	side, sideCtx := errgroup.WithContext(ctx)
	// Until an engine's process is there its ports are held for it, and who connects to them is
	// deceived.
	launched := make(chan struct{}, len(starting))
	engines := 0
	for _, s := range l.all {
		if !s.engine {
			continue
		}
		if isStarting[s.name] {
			engines++
		}
		side.Go(func() error { return l.ensure(sideCtx, s, isStarting[s.name], launched) })
	}
	for _, s := range l.all {
		if s.engine || !isStarting[s.name] {
			continue
		}
		side.Go(func() error {
			for range engines {
				select {
				case <-launched:
				case <-sideCtx.Done():
					return nil // the engine says why
				}
			}
			l.say.line("starting " + s.title)
			return l.start(sideCtx, s, nil)
		})
	}
	if err := side.Wait(); err != nil {
		return "", err
	}
	if c.Settings.EnginesOnly {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.Wait)
	defer cancel()
	check := answerCheck{set: c.Settings, key: key, cassandraLog: l.st.log("cassandra")}
	return check.wait(ctx, l.say, func() error { return firstDead(l.st, l.all) })
}

// ensure starts a service and waits until it answers, or only waits when it runs already. One
// that ends meanwhile is started. launched is told when a process that it was asked to start is
// there.
func (l *launch) ensure(ctx context.Context, s service, start bool,
	launched chan<- struct{}) error {
	if !start {
		launched = nil // nobody waits for it
	}
	bounded, cancel := context.WithTimeout(ctx, engines.StartTimeout)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for !start {
		attempt, cancelAttempt := context.WithTimeout(bounded, 5*time.Second)
		err := s.answers(attempt)
		cancelAttempt()
		if err == nil {
			return nil
		}
		select {
		case <-bounded.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("%s runs but does not answer on %s (%v): "+
				"run make down, then make up; its log is %s", s.title, s.addr, err,
				l.st.log(s.name))
		case <-tick.C:
		}
		_, runs := l.st.recorded(s.name)
		start = !runs
	}
	l.say.line("starting " + s.title)
	if err := l.start(ctx, s, launched); err != nil {
		return err
	}
	l.say.line(s.title + " answers on " + s.addr)
	return nil
}

func (l *launch) start(ctx context.Context, s service, launched chan<- struct{}) error {
	defer l.say.meanwhile(s.title + " is still starting")()
	return s.start(ctx, func(id engines.Identity) error {
		select {
		case launched <- struct{}{}:
		default: // nil, or started again on its ports
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.started[s.name] = true
		return l.st.record(s.name, id)
	})
}

// undo stops what this run started, in reverse order, and returns why it had to.
func (l *launch) undo(ctx context.Context, cause error) error {
	var stopped []string
	for _, s := range slices.Backward(l.all) {
		if !l.started[s.name] {
			continue
		}
		if id, runs := l.st.recorded(s.name); runs {
			if _, err := id.Stop(context.WithoutCancel(ctx), stopGrace); err != nil {
				cause = fmt.Errorf("%w (and %v)", cause, err)
				continue
			}
		}
		l.st.forget(s.name)
		stopped = append(stopped, s.title)
	}
	if len(stopped) > 0 {
		l.say.line("stopped " + strings.Join(stopped, ", ") + " again")
	}
	return cause
}

// firstDead returns an error about the first of the services that does not run, with its last
// words.
func firstDead(st *state, all []service) error {
	for _, s := range all {
		if _, runs := st.recorded(s.name); !runs {
			line, remedy := engines.LastWords(st.log(s.name))
			return fmt.Errorf("%s ended: %s: %s; its log is %s", s.title, line, remedy,
				st.log(s.name))
		}
	}
	return nil
}

// anyRuns tells whether any process of the stack runs.
func anyRuns(st *state) bool {
	for _, s := range started(st) {
		if _, runs := st.recorded(s.name); runs {
			return true
		}
	}
	return false
}

// sayer prints progress, each line with the seconds since the start.
type sayer struct {
	mu    sync.Mutex
	began time.Time
}

func newSayer() *sayer { return &sayer{began: time.Now()} }

func (s *sayer) line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Printf("%6.1f s  %s\n", time.Since(s.began).Seconds(), text)
}

// meanwhile says a text every 15 s until what it returns is called.
func (s *sayer) meanwhile(text string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	tick := time.NewTicker(15 * time.Second)
	go func() {
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				s.line(text)
			}
		}
	}()
	return cancel
}

// done says where everything is and what to try.
func (s *sayer) done(st *state, set settings, key, host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !set.EnginesOnly {
		fmt.Printf("\nConsole    %s/#key=%s\n", set.apiURL(), key)
	}
	fmt.Printf("\nCassandra  %s", local(set.CassandraPort))
	if set.Line {
		fmt.Printf("   Kafka  %s   Redis  %s", local(set.KafkaPort), local(set.RedisPort))
	}
	fmt.Println()
	if !set.EnginesOnly {
		fmt.Printf("API        %s   ingest %s   agent  http://%s/metrics\nAPI key    %s\n\n",
			set.apiURL(), local(set.IngestPort), local(set.AgentPort), key)
		fmt.Printf("Try:\n  bin/ringwatch nodes\n  bin/ringwatch latest %s --match "+
			"'cassandra_table_*'\n  bin/ringwatch query 'topk(3, os_load1)' --period 15m\n  "+
			"bin/ringwatch alerts\n  bin/ringwatch top\n", host)
		fmt.Printf("  curl -H 'Authorization: Bearer %s' '%s'\n\n", key, metricsURL(set, host))
	}
	fmt.Fprintf(os.Stdout, "Logs are in %s. To stop everything: make down\n", st.path("logs"))
}
