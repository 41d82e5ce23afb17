package engines

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A test binary that is killed must not leave engines behind.
func TestProcessDiesWithItsStarter(t *testing.T) {
	if dir := os.Getenv("RINGWATCH_TEST_STARTER"); dir != "" {
		p, err := StartProcess(ProcessConfig{Name: "cat", Path: "/bin/sleep", Args: []string{"600"},
			Log: filepath.Join(dir, "log")})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("\n%d\n", p.Pid())
		<-p.Done()
		return
	}
	starter := exec.Command(os.Args[0], "-test.run=^TestProcessDiesWithItsStarter$")
	starter.Env = append(os.Environ(), "RINGWATCH_TEST_STARTER="+t.TempDir())
	out, err := starter.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	pid := 0
	for lines := bufio.NewScanner(out); pid == 0 && lines.Scan(); {
		_, _ = fmt.Sscan(lines.Text(), &pid)
	}
	id, err := IdentityOf(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := starter.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = starter.Wait() // it was killed
	if !id.awaitEnd(t.Context(), time.Minute) {
		t.Errorf("process %d outlives the process that started it", pid)
	}
}

// What `make down` relies on: a process is stopped by its identity, and a reused process id is
// left alone.
func TestIdentity(t *testing.T) {
	var told Identity
	p, err := StartProcess(ProcessConfig{
		Name: "sleep", Path: "/bin/sleep", Args: []string{"600"},
		Log: filepath.Join(t.TempDir(), "log"), Detached: true,
		Started: func(id Identity) error { told = id; return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill() })
	if told != p.Identity() || !told.Alive() {
		t.Errorf("Started was told %v, alive %v", told, told.Alive())
	}
	other := Identity{Pid: told.Pid, Started: told.Started + 1}
	if killed, err := other.Stop(t.Context(), time.Minute); other.Alive() || killed || err != nil ||
		!told.Alive() {
		t.Error("another process with the same id was taken for this one")
	}
	if killed, err := told.Stop(t.Context(), time.Minute); killed || err != nil || told.Alive() {
		t.Errorf("Stop: killed %v, %v, alive %v", killed, err, told.Alive())
	}
	if killed, err := told.Stop(t.Context(), time.Minute); killed || err != nil {
		t.Errorf("a second Stop: killed %v, %v", killed, err)
	}
}

func TestStopKillsWhatDoesNotObey(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p, err := StartProcess(ProcessConfig{Name: "stubborn", Path: "/bin/sh",
		Args: []string{"-c", `trap "" TERM; echo ready; while :; do read x; done </dev/zero`},
		Log:  log})
	if err != nil {
		t.Fatal(err)
	}
	err = await(t.Context(), "stubborn", p, func(context.Context) error {
		if text := logTail(log, 1<<10); len(text) < 6 || text[len(text)-6:] != "ready\n" {
			return fmt.Errorf("the log is %q", text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := p.Stop(soon); err != nil {
		t.Fatal(err)
	}
	if p.Running() {
		t.Error("it still runs")
	}
}

func TestChosenPorts(t *testing.T) {
	var hold portHold
	defer hold.release()
	seen := map[int]bool{}
	for range 20 {
		port := 0
		if err := hold.take("127.0.0.1", &port, "the test"); err != nil {
			t.Fatal(err)
		}
		if seen[port] {
			t.Errorf("port %d was given twice", port)
		}
		seen[port] = true
		if err := PortFree("127.0.0.1", port, "the test"); err == nil {
			t.Errorf("port %d is held and yet free", port)
		}
	}
	oneSentence(t, PortFree("127.0.0.1", occupied(t), "Kafka"), "is taken by another process",
		"Kafka needs it")

	// A start that loses its port to another process is tried again on others.
	attempts := 0
	port, err := startOnFreePorts(false, func() (int, error) {
		if attempts++; attempts == 1 {
			return 0, PortFree("127.0.0.1", occupied(t), "the test")
		}
		return 7, nil
	})
	if port != 7 || err != nil || attempts != 2 {
		t.Errorf("got %d, %v after %d attempts", port, err, attempts)
	}
	if _, err := net.Listen("tcp", "127.0.0.1:notaport"); err == nil {
		t.Error("a bad port was listened on")
	}
}

// Two processes, or two parts of one, never choose the same port, though nobody listens on it.
func TestPortBlocks(t *testing.T) {
	var one, other portBlocks
	defer func() {
		for _, claim := range append(one.claims, other.claims...) {
			claim.Close()
		}
	}()
	seen := map[int]bool{}
	for i := range 2*portBlock + 10 {
		for _, b := range []*portBlocks{&one, &other} {
			port := b.next()
			if seen[port] || port < firstChosenPort || port >= lastChosenPort {
				t.Fatalf("the choice number %d is %d, seen before: %t", i, port, seen[port])
			}
			seen[port] = true
		}
	}
	if len(one.claims) != 3 || len(other.claims) != 3 {
		t.Errorf("%d and %d blocks are claimed", len(one.claims), len(other.claims))
	}
}

func TestDiagnose(t *testing.T) {
	for _, c := range []struct {
		name, log, line string
		bindFailed      bool
	}{
		{"only this start counts",
			"ERROR old\n" + logStartMark + "X\nINFO fine\nFATAL new\n\tat somewhere\n", "FATAL new",
			false},
		{"Cassandra's storage port",
			logStartMark + "X\nERROR /127.0.0.1:7000 is in use by another process.\nINFO bye\n",
			"ERROR /127.0.0.1:7000 is in use by another process.", true},
		{"Redis's port",
			logStartMark + "X\n1:M # Warning: Could not create server TCP listening socket " +
				"127.0.0.1:6379: bind: Address already in use\n",
			"1:M # Warning: Could not create server TCP listening socket 127.0.0.1:6379: bind: " +
				"Address already in use", true},
		{"no complaint", logStartMark + "X\nhello\n\n", "hello", false},
		{"nothing", "", "it wrote nothing", false},
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(c.log), 0o644); err != nil {
			t.Fatal(err)
		}
		line, bindFailed, remedy := diagnose(path)
		if line != c.line || bindFailed != c.bindFailed || remedy == "" {
			t.Errorf("%s: got %q, %v, %q", c.name, line, bindFailed, remedy)
		}
	}
}

// A process and the threads it makes have the timer slack that it was started with, and who started
// it keeps its own.
func TestTimerSlack(t *testing.T) {
	for _, detached := range []bool{false, true} {
		p, err := StartProcess(ProcessConfig{
			Name: "sleep", Path: "/bin/sh", Args: []string{"-c", "sleep 600; true"},
			Log:      filepath.Join(t.TempDir(), "log"),
			Detached: detached, TimerSlack: 3 * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Kill() })
		if got := slackOf(t, p.Pid()); got != 3*time.Millisecond {
			t.Errorf("detached %v: the process has a slack of %v", detached, got)
		}
	}
	threads, err := filepath.Glob("/proc/self/task/*")
	if err != nil || len(threads) == 0 {
		t.Fatal(threads, err)
	}
	for _, thread := range threads {
		tid, err := strconv.Atoi(filepath.Base(thread))
		if err != nil {
			t.Fatal(err)
		}
		if got := slackOf(t, tid); got == 3*time.Millisecond {
			t.Errorf("thread %d of this process has the slack of what it started", tid)
		}
	}
}

// slackOf returns the timer slack of a thread, which need not be its process's first; 0 if it has
// ended.
func slackOf(t *testing.T, tid int) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/timerslack_ns", tid))
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	} else if err != nil {
		t.Fatal(err)
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(ns)
}
