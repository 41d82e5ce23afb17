package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxLogBytes is the size at which a log is put aside (as FILE.1) before a process is started on
// it.
const maxLogBytes = 16 << 20

// ProcessConfig says what to run. Tests use it for the ringwatch binary too.
type ProcessConfig struct {
	Name string   // for messages, e.g. "Kafka"
	Path string   // the program
	Args []string // without the program's name
	Env  []string // added to this process's environment
	Dir  string   // working directory; empty: this process's
	Log  string   // file that takes stdout and stderr, appended to

	// Detached lets the process outlive this one, in a session of its own (no terminal signal
	// reaches it). Otherwise the kernel kills it when this process ends, however it ends.
	Detached bool

	// TimerSlack is by how much the kernel may wake its threads later than they ask for, so that it
	// wakes several at once; 0: by as much as it does for this process, which is 50 µs by default.
	TimerSlack time.Duration

	// Started, when set, is called with the new process's identity before StartProcess returns,
	// so that a caller can write it down before anything else can fail.
	Started func(Identity) error
}

// Process is one started process. It is always reaped, so its id is not reused while Done is open.
type Process struct {
	name string
	log  string
	cmd  *exec.Cmd
	id   Identity
	done chan struct{}

	waitErr error // how it ended; set before done is closed
}

// StartProcess starts a process and returns without waiting for it to do anything.
func StartProcess(c ProcessConfig) (*Process, error) {
	if err := os.MkdirAll(filepath.Dir(c.Log), 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the log directory of %s: %w", c.Name, err)
	}
	if info, err := os.Stat(c.Log); err == nil && info.Size() > maxLogBytes {
		_ = os.Rename(c.Log, c.Log+".1") // a log that cannot be put aside only grows
	}
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot open the log of %s: %w", c.Name, err)
	}
	defer log.Close()
	fmt.Fprintf(log, "%s%s %s\n", logStartMark, c.Name, time.Now().Format(time.RFC3339))

	cmd := exec.Command(c.Path, c.Args...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Dir = c.Dir
	cmd.Stdout, cmd.Stderr = log, log
	start := func() error { return withTimerSlack(c.TimerSlack, cmd.Start) }
	if c.Detached {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		err = start()
	} else {
		// Its own group, so that Ctrl-C reaches only us and we end it in order.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
		err = onLastingThread(start)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", c.Name, err)
	}
	p := &Process{name: c.Name, log: c.Log, cmd: cmd, done: make(chan struct{})}
	p.id, err = IdentityOf(cmd.Process.Pid)
	if err == nil && c.Started != nil {
		err = c.Started(p.id)
	}
	go p.reap()
	if err != nil {
		_ = p.Kill()
		return nil, fmt.Errorf("cannot keep track of %s: %w", c.Name, err)
	}
	return p, nil
}

func (p *Process) reap() {
	p.waitErr = p.cmd.Wait()
	close(p.done)
}

// Pid returns the process id.
func (p *Process) Pid() int { return p.id.Pid }

// Identity returns the process's id and start time.
func (p *Process) Identity() Identity { return p.id }

// LogFile returns the path given as Log.
func (p *Process) LogFile() string { return p.log }

// Done is closed when the process has ended and was reaped.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running tells whether the process has not ended yet.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// exit describes how the process ended.
func (p *Process) exit() string {
	<-p.done
	if p.waitErr == nil {
		return "exit status 0"
	}
	return p.waitErr.Error()
}

// signal sends sig unless the process has ended; os.Process refuses once it was reaped.
func (p *Process) signal(sig syscall.Signal) error {
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cannot send %v to %s (process %d): %w", sig, p.name, p.id.Pid, err)
	}
	return nil
}

// Pause freezes the process (SIGSTOP) and waits until it stands still.
func (p *Process) Pause() error {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		if stat, err := readStat(p.id.Pid); err == nil && stat.state == "T" {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended before it could be paused", p.name)
		case <-tick.C:
		}
	}
}

// Resume lets a paused process go on (SIGCONT).
func (p *Process) Resume() error { return p.signal(syscall.SIGCONT) }

// Kill ends the process at once (SIGKILL) and waits until it is gone.
func (p *Process) Kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

// Stop asks the process to end (SIGTERM) and waits; it kills it when ctx ends or stopGrace has
// passed. A paused process is resumed, or it could not obey.
func (p *Process) Stop(ctx context.Context) error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := p.signal(syscall.SIGCONT); err != nil {
		return err
	}
	grace := time.NewTimer(stopGrace)
	defer grace.Stop()
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	case <-grace.C:
	}
	return p.Kill()
}

// onLastingThread runs f on a thread that lives as long as this process. The kernel sends the
// parent death signal when the *thread* that started the child ends, and Go ends idle threads as
// it likes.
func onLastingThread(f func() error) error {
	lastingThread.once.Do(func() {
		lastingThread.calls = make(chan func())
		go func() {
			runtime.LockOSThread()
			for call := range lastingThread.calls {
				call()
			}
		}()
	})
	result := make(chan error, 1)
	lastingThread.calls <- func() { result <- f() }
	return <-result
}

// withTimerSlack runs f, which starts a process, on a thread with a timer slack: the process and
// its threads inherit it. 0: f runs as it is.
func withTimerSlack(slack time.Duration, f func() error) error {
	if slack == 0 {
		return f()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(slack.Nanoseconds()), 0, 0, 0)
	}
	if err != nil {
		return fmt.Errorf("cannot set a timer slack: %w", err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(before), 0, 0, 0) }()
	return f()
}

var lastingThread struct {
	once  sync.Once
	calls chan func()
}
