package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// Identity names one process for good: a process id alone is reused, a process id with its start
// time is not.
type Identity struct {
	Pid     int
	Started uint64 // clock ticks since boot, from /proc/PID/stat
}

// IdentityOf returns the identity of a running process.
func IdentityOf(pid int) (Identity, error) {
	stat, err := readStat(pid)
	if err != nil {
		return Identity{}, fmt.Errorf("there is no process %d: %w", pid, err)
	}
	return Identity{Pid: pid, Started: stat.started}, nil
}

// Alive tells whether this very process still runs. A zombie, ended but not reaped by its parent,
// does not.
func (id Identity) Alive() bool {
	stat, err := readStat(id.Pid)
	return err == nil && stat.started == id.Started && !stat.ended()
}

// Stop ends a process that need not be our child: SIGTERM, then SIGKILL when ctx ends or grace
// has passed. It reports whether the process had to be killed. A process that is gone, or whose
// id now belongs to another, is left alone.
func (id Identity) Stop(ctx context.Context, grace time.Duration) (killed bool, err error) {
	if !id.Alive() {
		return false, nil
	}
	// holds a pidfd, so later signals cannot reach another process
	process, err := os.FindProcess(id.Pid)
	if err != nil {
		return false, fmt.Errorf("cannot find process %d: %w", id.Pid, err)
	}
	defer process.Release()
	if !id.Alive() {
		return false, nil
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT} {
		if err := process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return false, fmt.Errorf("cannot send %v to process %d: %w", sig, id.Pid, err)
		}
	}
	if id.awaitEnd(ctx, grace) {
		return false, nil
	}
	if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return false, fmt.Errorf("cannot kill process %d: %w", id.Pid, err)
	}
	if !id.awaitEnd(context.WithoutCancel(ctx), stopGrace) {
		return true, fmt.Errorf("process %d does not end even when killed; it may hang in "+
			"the kernel", id.Pid)
	}
	return true, nil
}

func (id Identity) awaitEnd(ctx context.Context, bound time.Duration) bool {
	deadline := time.NewTimer(bound)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for id.Alive() {
		select {
		case <-ctx.Done():
			return false
		case <-deadline.C:
			return false
		case <-tick.C:
		}
	}
	return true
}

// procStat is what is read of /proc/PID/stat.
type procStat struct {
	state   string
	threads int
	started uint64
}

// ended tells whether only the entry in the process table is left. While a process ends, its
// first thread can be a zombie already and others still hold its ports open.
func (s procStat) ended() bool { return (s.state == "Z" || s.state == "X") && s.threads <= 1 }

func readStat(pid int) (procStat, error) {
	var s procStat
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return s, err
	}
	// The command's name, in parentheses, may hold anything; what follows the last one does not.
	// proc(5) counts from 1, and the state is its third field.
	const state, threads, started = 0, 20 - 3, 22 - 3
	_, rest, ok := cutLast(string(text), ")")
	fields := strings.Fields(rest)
	if !ok || len(fields) <= started {
		return s, fmt.Errorf("/proc/%d/stat has an unknown shape", pid)
	}
	s.state = fields[state]
	if _, err := fmt.Sscan(fields[threads]+" "+fields[started], &s.threads,
		&s.started); err != nil {
		return s, fmt.Errorf("/proc/%d/stat has an unknown shape: %w", pid, err)
	}
	return s, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
