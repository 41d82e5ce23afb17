package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
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
		"write":     writing,
		"rate":      pacing,
		"add": func([]string) (step, error) {
			return func(ctx context.Context, s *scene) error {
				if err := s.add(ctx, nil); err != nil {
					return err
				}
				return s.learnIDs(ctx)
			}, nil
		},
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
		"kill":     bare(killing),
		"stop":     bare(stopping),
		"start":    bare(starting),
		"cut":      bare(cutting(true)),
		"join":     bare(cutting(false)),
		"part":     bare(parting(true)),
		"unite":    bare(parting(false)),
		"slow":     bare(slow),
		"heal":     bare(ending("slow")),
		"empty":    bare(emptying),
		"leave":    bare(leaving),
		"clock":    setting,
		"eat":      eating,
		"spare":    bare(sparing),
		"maintain": maintaining,
		"well":     bare(maintained),
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
		if n, err := strconv.Atoi(words[0]); err == nil && n >= 1 && n <= nodes+1 {
			return make(n, words[1:])
		}
	}
	return nil, fmt.Errorf("%q: the second word is a node's number, 1 to %d", text, nodes+1)
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
		s.ways[n-1].cut(0, is)
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

// parting cuts a node off from all others, both ways, or lets them meet again.
func parting(is bool) func(context.Context, *scene, int) error {
	return func(_ context.Context, s *scene, n int) error {
		for other := range s.doors {
			if other != n-1 {
				s.doors[other].cut(n, is)
				s.doors[n-1].cut(other+1, is)
			}
		}
		return nil
	}
}

// slow stops and continues a node many times a second, so that it gets a third of the time.
func slow(ctx context.Context, s *scene, n int) error {
	s.beside(ctx, "slow", n, func(ctx context.Context) {
		for ctx.Err() == nil {
			_ = s.node(n).Pause()
			_ = bench.Pass(ctx, 40*time.Millisecond)
			_ = s.node(n).Resume()
			_ = bench.Pass(ctx, 20*time.Millisecond)
		}
		_ = s.node(n).Resume()
	})
	return nil
}

// beside does something to a node while the steps go on.
func (s *scene) beside(ctx context.Context, what string, n int, do func(context.Context)) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	s.mu.Lock()
	s.undone[fmt.Sprint(what, n)] = func() { cancel(); <-ended }
	s.mu.Unlock()
	go func() { defer close(ended); do(ctx) }()
}

// ending ends what goes on beside the steps.
func ending(what string) func(context.Context, *scene, int) error {
	return func(_ context.Context, s *scene, n int) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if stop := s.undone[fmt.Sprint(what, n)]; stop != nil {
			stop()
			delete(s.undone, fmt.Sprint(what, n))
		}
		return nil
	}
}

// leaving takes the newest node out of the ring, and it is forgotten here.
func leaving(ctx context.Context, s *scene, n int) error {
	if n != len(s.nodes) {
		return errors.New("only the node that was added last leaves")
	}
	if _, err := s.node(n).Nodetool(ctx, "decommission"); err != nil {
		return err
	}
	err := errors.Join(s.node(n).Stop(ctx), s.ways[n-1].listener.Close(),
		s.doors[n-1].listener.Close(), os.RemoveAll(s.node(n).Dir))
	s.nodes, s.configs = s.nodes[:n-1], s.configs[:n-1]
	s.ways, s.doors = s.ways[:n-1], s.doors[:n-1]
	delete(s.ids, n)
	return err
}

// emptying removes the application's data of a node that does not run, as a lost disk does.
func emptying(_ context.Context, s *scene, n int) error {
	dirs, err := filepath.Glob(filepath.Join(s.node(n).Dir, "data", "shop"))
	if err == nil && len(dirs) == 0 {
		err = errors.New("it has no data")
	}
	for _, dir := range dirs {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// setting starts a node again with a clock that is off: "clock 2 +30s", and "clock 2 0s" for the
// right one.
func setting(n int, words []string) (step, error) {
	off, err := time.ParseDuration(strings.Join(words, ""))
	return func(ctx context.Context, s *scene) error {
		libs, _ := filepath.Glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
		if len(libs) == 0 {
			return errors.New("clocks are set by libfaketime: apt-get install libfaketime")
		}
		if err := s.node(n).Stop(ctx); err != nil {
			return err
		}
		c := s.configs[n-1]
		if off != 0 {
			c.Env = []string{"LD_PRELOAD=" + libs[0], "FAKETIME_DONT_FAKE_MONOTONIC=1",
				fmt.Sprintf("FAKETIME=%+f", off.Seconds())}
		}
		again, err := engines.StartCassandra(ctx, c)
		if err == nil {
			s.nodes[n-1] = again
		}
		return err
	}, err
}

// writing writes so many MB, 100 kB a row, and flushes them: "write 80".
func writing(words []string) (step, error) {
	mb, err := strconv.Atoi(strings.Join(words, ""))
	return func(ctx context.Context, s *scene) error {
		if err := s.load.fill(ctx, mb); err != nil {
			return err
		}
		for _, n := range s.nodes {
			if _, err := n.Nodetool(ctx, "flush"); err != nil {
				return err
			}
		}
		return nil
	}, err
}

// pacing changes how many reads and as many writes there are a second: "rate 1000".
func pacing(words []string) (step, error) {
	rate, err := strconv.Atoi(strings.Join(words, ""))
	if err == nil && rate < 1 {
		err = errors.New("rate needs a number above 0")
	}
	return func(_ context.Context, s *scene) error {
		s.load.rate.Store(int64(rate))
		return nil
	}, err
}

// eating fills the disk of the last of the first nodes, by so many MB a second: "eat 3 5".
func eating(n int, words []string) (step, error) {
	mb, err := strconv.ParseFloat(strings.Join(words, ""), 64)
	return func(ctx context.Context, s *scene) error {
		if n != nodes || s.disk == "" {
			return fmt.Errorf("node %d has no disk of its own: run as root, with node %d", n, nodes)
		}
		f, err := os.Create(eaten(s, n))
		if err != nil {
			return err
		}
		s.beside(ctx, "eat", n, func(ctx context.Context) {
			defer f.Close()
			chunk := make([]byte, int(mb*(1<<20)/4))
			for bench.Pass(ctx, time.Second/4) == nil {
				_, _ = f.Write(chunk) // it is full, or it is not
			}
		})
		return nil
	}, err
}

func eaten(s *scene, n int) string { return filepath.Join(s.node(n).Dir, "eaten") }

// sparing gives the disk its space back.
func sparing(ctx context.Context, s *scene, n int) error {
	return errors.Join(ending("eat")(ctx, s, n), os.Remove(eaten(s, n)))
}

// ownDisk mounts a disk of 1 GB at dir, in memory. Only root may.
func ownDisk(dir string) error {
	return errors.Join(os.MkdirAll(dir, 0o755),
		syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1g"))
}

func freeDisk(dir string) error { return syscall.Unmount(dir, 0) }

// maintaining begins a maintenance of a node, safe or not: system_auth has one copy here.
func maintaining(n int, words []string) (step, error) {
	_, err := time.ParseDuration(strings.Join(words, ""))
	return func(ctx context.Context, s *scene) error {
		return s.command(ctx, "maintenance", "begin", "--cluster", clusterName, "--node", s.ids[n],
			"--for", strings.Join(words, ""), "--anyway")
	}, err
}

func maintained(ctx context.Context, s *scene, n int) error {
	return s.command(ctx, "maintenance", "end", "--cluster", clusterName, "--node", s.ids[n])
}

// command runs a command of ringwatch.
func (s *scene) command(ctx context.Context, words ...string) error {
	c := exec.CommandContext(ctx, s.options.binary, words...)
	c.Env = append(os.Environ(), "RINGWATCH_API="+s.all.URLs["api"], "RINGWATCH_KEY="+s.key)
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("ringwatch %s: %w: %s", strings.Join(words, " "), err, out)
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
