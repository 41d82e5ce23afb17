package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/ringwatch/ringwatch/bench/line"
)

// profiler is a file that -cpuprofile adds to cmd/ringwatch when it builds a program to profile: the
// product itself has no such switch.
//
//go:embed profiler.go.txt
var profiler []byte

// profileTo is the environment's name for the file of a profile; SIGUSR1 begins it, SIGUSR2 ends it.
const profileTo = "RINGWATCH_BENCH_PROFILE"

// buildProfiled builds a bin/ringwatch that can be told to profile itself, from this tree.
func buildProfiled(ctx context.Context, dir string) (program string, err error) {
	source := filepath.Join(dir, "profiler.go")
	if err := os.WriteFile(source, profiler, 0o600); err != nil {
		return "", err
	}
	added, err := filepath.Abs(filepath.Join("cmd", "ringwatch", "bench_profiler.go"))
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(map[string]map[string]string{"Replace": {added: source}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, b, 0o600); err != nil {
		return "", err
	}
	progress("building a ringwatch that can be profiled")
	program = filepath.Join(dir, "ringwatch-profiled")
	out, err := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", program, "./cmd/ringwatch").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building a ringwatch to profile: %w\n%s", err, out)
	}
	return program, nil
}

// profile is where the API's profile comes to be.
func (r *ours) profile() string { return filepath.Join(r.dir, "api.cpu") }

// profiled keeps a profile of the API while do runs.
func (r *ours) profiled(ctx context.Context, to string, do func() error) error {
	whole := r.profile()
	if err := os.Remove(whole); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := syscall.Kill(r.api.Pid(), syscall.SIGUSR1); err != nil {
		return err
	}
	err := do()
	if e := syscall.Kill(r.api.Pid(), syscall.SIGUSR2); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return line.Until(ctx, "the profile", func(context.Context) error {
		b, err := os.ReadFile(whole)
		if err != nil {
			return err
		}
		return os.WriteFile(to, b, 0o600)
	})
}
