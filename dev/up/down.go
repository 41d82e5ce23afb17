package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/ringwatch/ringwatch/dev/engines"
)

// stopGrace is how long a process may take to leave before it is killed. Cassandra drains first.
const stopGrace = time.Minute

type downCmd struct{}

// Run stops the stack in reverse order, by process id and start time.
func (*downCmd) Run(ctx context.Context, st *state) error {
	unlock, err := st.lock()
	if err != nil {
		return err
	}
	defer unlock()
	say := newSayer()
	stopped := 0
	for _, s := range slices.Backward(started(st)) {
		id, runs := st.recorded(s.name)
		if runs {
			// Not ctx: an impatient Ctrl-C must not turn a stop into a crash.
			killed, err := id.Stop(context.WithoutCancel(ctx), stopGrace)
			if err != nil {
				return fmt.Errorf("cannot stop %s: %w", s.title, err)
			}
			how := "stopped "
			if killed {
				how = "killed "
			}
			say.line(fmt.Sprintf("%s%s (process %d)", how, s.title, id.Pid))
			stopped++
		}
		st.forget(s.name)
	}
	if stopped == 0 {
		say.line("nothing was running")
	}
	return nil
}

type cleanDataCmd struct{}

// Run removes the data of a stack that is down.
func (*cleanDataCmd) Run(st *state) error {
	unlock, err := st.lock()
	if err != nil {
		return err
	}
	defer unlock()
	for _, s := range started(st) {
		if id, runs := st.recorded(s.name); runs {
			return fmt.Errorf("%s still runs (process %d): run make down first", s.title, id.Pid)
		}
	}
	for _, dir := range []string{"data", "logs"} {
		if err := os.RemoveAll(st.path(dir)); err != nil {
			return fmt.Errorf("cannot remove the data: %w", err)
		}
	}
	fmt.Println("removed the data and logs in " + st.root)
	return nil
}

type statusCmd struct{}

// Run says of each process whether it runs and answers.
func (*statusCmd) Run(ctx context.Context, st *state) error {
	set, ok := st.savedSettings()
	if !ok {
		fmt.Println("nothing was started here yet: run make up")
		return nil
	}
	for _, s := range services(st, set) {
		fmt.Printf("%-10s %s\n", s.title, describe(ctx, st, s))
	}
	return nil
}

func describe(ctx context.Context, st *state, s service) string {
	id, runs := st.recorded(s.name)
	if !runs {
		return "does not run"
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := s.answers(ctx); err != nil {
		line, _ := engines.LastWords(st.log(s.name))
		return fmt.Sprintf("runs (process %d) and does not answer on %s; its log says: %s", id.Pid,
			s.addr, line)
	}
	return fmt.Sprintf("answers on %s (process %d)", s.addr, id.Pid)
}
