package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// TestPriority: rules and api step back with all their threads.
func TestPriority(t *testing.T) {
	own, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ports := engines.FreePorts(t, 2) // where nobody is, so that each waits
	config := configFile(t, fmt.Sprintf(
		"kafka: {brokers: [\"127.0.0.1:%d\"]}\ncassandra: {hosts: [\"127.0.0.1:%d\"]}\n", ports[0],
		ports[1]))
	for _, role := range []string{"rules", "api"} {
		c := exec.Command(self, role, "--wait", "10m", "--config", config)
		c.Env = append(os.Environ(), asRingwatch)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
		eventually(t, "the priority of "+role, func(context.Context) error {
			return niceOf(c.Process.Pid, max(wire.Lowered, 20-own))
		})
	}
}

// niceOf returns nil if a process has threads and all of them have a niceness.
func niceOf(pid, want int) error {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	threads, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(threads) < 4 { // it has hardly begun
		return fmt.Errorf("process %d has %d threads", pid, len(threads))
	}
	for _, thread := range threads {
		b, err := os.ReadFile(dir + "/" + thread.Name() + "/stat")
		if err != nil {
			return err
		}
		// After the name in brackets come the state and 15 numbers; the niceness is the 16th.
		_, rest, _ := strings.Cut(string(b), ") ")
		if nice, err := strconv.Atoi(strings.Fields(rest)[16]); err != nil || nice != want {
			return fmt.Errorf("thread %s has niceness %d, %v; want %d", thread.Name(), nice,
				err, want)
		}
	}
	return nil
}
