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

// Identity names one process for good: a process id alone is reused, a process id with its start time is not.
type Identity struct {
	Pid     int
	Started uint64 // clock ticks since boot, from /proc/PID/stat
}

// IdentityOf returns the identity of a running process.
func IdentityOf(pid int) (Identity, error) {
	started, _, err := readStat(pid)
	if err != nil {
		return Identity{}, fmt.Errorf("process %d is not there: %w", pid, err)
	}
	return Identity{Pid: pid, Started: started}, nil
}

// Alive tells whether this very process still runs. A zombie, ended but not reaped by its parent, does not.
func (id Identity) Alive() bool {
	started, state, err := readStat(id.Pid)
	return err == nil && started == id.Started && state != "Z" && state != "X"
}

// Stop ends a process that need not be our child: SIGTERM, then SIGKILL when ctx ends or grace has passed. It
// reports whether the process had to be killed. A process that is gone, or whose id now belongs to another, is left alone.
func (id Identity) Stop(ctx context.Context, grace time.Duration) (killed bool, err error) {
	if !id.Alive() {
		return false, nil
	}
	process, err := os.FindProcess(id.Pid) // holds a pidfd, so later signals cannot reach another process
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
		return true, fmt.Errorf("process %d does not end even when killed; it may hang in the kernel", id.Pid)
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

// readStat returns the start time and the state letter of a process.
func readStat(pid int) (started uint64, state string, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, "", err
	}
	// The command's name, in parentheses, may hold anything; what follows the last one does not.
	_, rest, ok := cutLast(string(stat), ")")
	fields := strings.Fields(rest)
	if !ok || len(fields) < 20 {
		return 0, "", fmt.Errorf("/proc/%d/stat has an unknown shape", pid)
	}
	if _, err := fmt.Sscan(fields[19], &started); err != nil {
		return 0, "", fmt.Errorf("/proc/%d/stat has an unknown shape: %w", pid, err)
	}
	return started, fields[0], nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
