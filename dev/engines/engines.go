// Package engines runs the real Cassandra, Kafka and Redis that Ringwatch stands on: for `make
// up` and for every test that needs one.
//
// Cassandra and Kafka are fetched by their Maven coordinates, at one pinned version each, checked
// against the registry's checksums on the way in and against the sums committed here
// (cassandra.lock, kafka.lock) before every use. Redis is the distribution's redis-server. Older
// and newer lines of Cassandra can be named in CassandraConfig.Version; they, and the Java 11
// that 4.0 and 4.1 need, are fetched when they are first started.
//
// What it promises: a Start function returns only when the engine has answered its own protocol;
// a failed start leaves no process behind and is one sentence with the remedy; Stop, Kill, Pause
// and Resume signal the one process that was started and nothing else; all listen on loopback
// unless told otherwise.
//
// What bites:
//   - Linux only: it reads /proc and uses the parent death signal.
//   - A process that is not Detached dies with the process that started it, even when that is
//     killed.
//   - Ports that are chosen for you lie below the range the kernel gives to outgoing connections,
//     so that a Restart finds them free again; between choosing and binding another process may
//     still take one, and then the start is tried again on others.
package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// StartTimeout bounds the wait for an engine to answer after it was started. A healthy start takes
// 1 to 10 seconds, and five minutes on a machine with twenty times the work that it can do. An
// engine that ends is noticed at once, and nobody sits and waits for one that hangs.
const StartTimeout = 12 * time.Minute

// Patience bounds what a test asks of an engine that runs.
const Patience = 3 * time.Minute

// stopGrace is how long a stopped engine may take to leave before it is killed.
const stopGrace = 30 * time.Second

// startAttempts is how often an engine on chosen-for-you ports is started when another process
// took one of them first.
const startAttempts = 4

// Engine is what Cassandra, Kafka and Redis have in common: one process, its log, and how to
// start it again. Its methods may be called from several goroutines.
type Engine struct {
	name   string
	launch func() (*Process, error)
	probe  func(context.Context) error

	mu   sync.Mutex
	proc *Process
}

// Pid returns the id of the engine's process, which may have ended.
func (e *Engine) Pid() int { return e.process().Pid() }

// LogFile returns the path of the file that takes everything the engine writes.
func (e *Engine) LogFile() string { return e.process().LogFile() }

// Process returns the engine's current process; Restart replaces it.
func (e *Engine) Process() *Process { return e.process() }

func (e *Engine) process() *Process {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.proc
}

// Stop asks the engine to end and waits until it has; it is killed when ctx ends or half a minute
// has passed. Stopping a stopped engine does nothing.
func (e *Engine) Stop(ctx context.Context) error { return e.process().Stop(ctx) }

// Kill ends the engine at once, as a crash would, and waits until it is gone.
func (e *Engine) Kill() error { return e.process().Kill() }

// Pause freezes the engine: its ports stay open and nothing answers.
func (e *Engine) Pause() error { return e.process().Pause() }

// Resume lets a paused engine go on.
func (e *Engine) Resume() error { return e.process().Resume() }

// Restart stops the engine if it runs and starts it on the same ports and data, waiting until it
// answers.
func (e *Engine) Restart(ctx context.Context) error {
	if err := e.Stop(ctx); err != nil {
		return err
	}
	proc, err := startReady(ctx, e.name, e.launch, e.probe)
	if err != nil {
		return err
	}
	e.mu.Lock()
	e.proc = proc
	e.mu.Unlock()
	return nil
}

// Ready asks the engine once, over its own protocol, and returns nil when it answers.
func (e *Engine) Ready(ctx context.Context) error { return e.probe(ctx) }

// startReady launches a process and waits until probe passes. On any failure the process is gone
// when it returns.
func startReady(ctx context.Context, name string, launch func() (*Process, error),
	probe func(context.Context) error) (*Process, error) {
	proc, err := launch()
	if err != nil {
		return nil, err
	}
	if err := await(ctx, name, proc, probe); err != nil {
		_ = proc.Kill() // the first error is the one to tell
		return nil, err
	}
	return proc, nil
}

// await polls probe until it passes, the process ends, ctx ends, or the time for a start has
// passed.
func await(ctx context.Context, name string, proc *Process,
	probe func(context.Context) error) error {
	began := time.Now()
	deadline := time.NewTimer(StartTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		select {
		case <-proc.Done():
			return diedError(name, proc)
		default:
		}
		attempt, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := probe(attempt)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("gave up waiting for %s, which was still starting after %.0f s: %w; "+
				"its log is %s", name, time.Since(began).Seconds(), ctx.Err(), proc.LogFile())
		case <-deadline.C:
			return fmt.Errorf("%s did not answer within %.0f s of its start (%v); its log is %s",
				name, StartTimeout.Seconds(), last, proc.LogFile())
		case <-proc.Done():
			return diedError(name, proc)
		case <-tick.C:
		}
	}
}

// ErrPortTaken is returned, wrapped with the port and what needs it, when an engine cannot listen
// where it was told to.
var ErrPortTaken = errors.New("is taken by another process")

// ErrDied is returned, wrapped with the engine's last meaningful log line, when an engine ends
// while it starts.
var ErrDied = errors.New("ended while starting")

func diedError(name string, proc *Process) error {
	line, bindFailed, remedy := diagnose(proc.LogFile())
	if bindFailed {
		return fmt.Errorf("%s: a port it needs %w (%s): stop what listens there or choose "+
			"another port; its log is %s",
			name, ErrPortTaken, line, proc.LogFile())
	}
	return fmt.Errorf("%s %w (%s): %s: %s; its log is %s", name, ErrDied, proc.exit(), line, remedy,
		proc.LogFile())
}

// startOnFreePorts runs start until it succeeds or fails for another reason than a taken port.
// Ports the caller fixed are not retried: the same start would fail again.
func startOnFreePorts[T any](fixed bool, start func() (T, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		t, err := start()
		if err == nil || fixed || attempt == startAttempts || !errors.Is(err, ErrPortTaken) {
			return t, err
		}
	}
}

func makeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cannot make the engine's directory: %w", err)
	}
	return nil
}
