package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// step does one thing to a scene.
type step func(context.Context, *scene) error

// verbs are the first words of steps. What follows is a node's number where ofNode has the verb.
var (
	plain = map[string]func(words []string) (step, error){
		"wait":      waiting,
		"cql":       asking,
		"ringwatch": toRingwatch,
	}
	ofNode = map[string]func(n int, words []string) (step, error){
		"nodetool": func(n int, words []string) (step, error) {
			if len(words) == 0 {
				return nil, errors.New("nodetool needs words")
			}
			return func(ctx context.Context, s *scene) error {
				_, err := s.node(n).Nodetool(ctx, words...)
				return err
			}, nil
		},
		"kill":  bare(killing),
		"stop":  bare(stopping),
		"start": bare(starting),
		"cut":   bare(cutting(true)),
		"join":  bare(cutting(false)),
		"slow":  bare(slow),
		"heal":  bare(heal),
	}
)

// parse reads a step: "kill 2", "nodetool 2 drain", "wait 1m", "cql …", "ringwatch kill".
func parse(text string) (step, error) {
	verb, rest, _ := strings.Cut(text, " ")
	words := strings.Fields(rest)
	if make, is := plain[verb]; is {
		return make(words)
	}
	make, is := ofNode[verb]
	if !is {
		return nil, fmt.Errorf("there is no step %q", verb)
	}
	if len(words) > 0 {
		if n, err := strconv.Atoi(words[0]); err == nil && n >= 1 && n <= nodes {
			return make(n, words[1:])
		}
	}
	return nil, fmt.Errorf("%q: the second word is a node's number, 1 to %d", text, nodes)
}

// bare is a step of a node that takes no more words.
func bare(do func(context.Context, *scene, int) error) func(int, []string) (step, error) {
	return func(n int, words []string) (step, error) {
		if len(words) > 0 {
			return nil, fmt.Errorf("%q is too much", words)
		}
		return func(ctx context.Context, s *scene) error { return do(ctx, s, n) }, nil
	}
}

// cutting cuts the way of a node's agent to ingest, or lets it be.
func cutting(is bool) func(context.Context, *scene, int) error {
	return func(_ context.Context, s *scene, n int) error {
		s.ways[n-1].cut(is)
		return nil
	}
}

func killing(_ context.Context, s *scene, n int) error { return s.node(n).Kill() }

func stopping(ctx context.Context, s *scene, n int) error { return s.node(n).Stop(ctx) }

// starting starts a node that was stopped or killed, and waits until it answers.
func starting(ctx context.Context, s *scene, n int) error { return s.node(n).Restart(ctx) }

func waiting(words []string) (step, error) {
	d, err := time.ParseDuration(strings.Join(words, ""))
	return func(ctx context.Context, _ *scene) error { return bench.Pass(ctx, d) }, err
}

func asking(words []string) (step, error) {
	statement := strings.Join(words, " ")
	return func(ctx context.Context, s *scene) error {
		return s.load.session.Query(statement).Consistency(gocql.Quorum).ExecContext(ctx)
	}, nil
}

func toRingwatch(words []string) (step, error) {
	switch {
	case slices.Equal(words, []string{"kill"}):
		return func(_ context.Context, s *scene) error { s.all.End(); return nil }, nil
	case slices.Equal(words, []string{"start"}):
		return func(ctx context.Context, s *scene) error { return s.all.Start(ctx) }, nil
	}
	return nil, errors.New("ringwatch kill, or ringwatch start")
}

func (s *scene) node(n int) *engines.Cassandra { return s.nodes[n-1] }

// slow stops and continues a node many times a second, so that it gets a third of the time.
func slow(ctx context.Context, s *scene, n int) error {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	s.slows[n] = cancel
	s.mu.Unlock()
	go func() {
		for ctx.Err() == nil {
			_ = s.node(n).Pause()
			_ = bench.Pass(ctx, 40*time.Millisecond)
			_ = s.node(n).Resume()
			_ = bench.Pass(ctx, 20*time.Millisecond)
		}
	}()
	return nil
}

func heal(_ context.Context, s *scene, n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stop := s.slows[n]; stop != nil {
		stop()
		delete(s.slows, n)
	}
	return nil
}

// do runs steps in their order.
func (s *scene) do(ctx context.Context, steps []string) error {
	for _, text := range steps {
		run, err := parse(text)
		if err != nil {
			return err
		}
		bench.Progress("  %s", text)
		if err := run(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}
