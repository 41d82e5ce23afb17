// Package profiled builds a ringwatch that a benchmark can profile: the product itself has no such
// switch. What it profiles is one process, from Begin to End.
package profiled

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

// profiler is a file that Build adds to cmd/ringwatch.
//
//go:embed profiler.go.txt
var profiler []byte

// Env names the environment variable that says where the process's profile of the CPU comes to be.
// That of the heap has .heap behind its name.
const Env = "RINGWATCH_BENCH_PROFILE"

// Build builds a program to profile into dir, from the tree that it is called in.
func Build(ctx context.Context, dir string) (program string, err error) {
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
	program = filepath.Join(dir, "ringwatch-profiled")
	build := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", program,
		"./cmd/ringwatch")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building a ringwatch to profile: %w\n%s", err, out)
	}
	return program, nil
}

// Begin begins a profile of a process that was started with Env, which had file.
func Begin(pid int, file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return syscall.Kill(pid, syscall.SIGUSR1)
}

// End ends it, and returns when the file is there.
func End(ctx context.Context, pid int, file string) error {
	if err := syscall.Kill(pid, syscall.SIGUSR2); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return line.Until(ctx, "the profile", func(context.Context) error {
		_, err := os.Stat(file)
		return err
	})
}
