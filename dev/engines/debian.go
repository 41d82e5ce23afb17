package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// ErrNoPrometheus is returned when prometheus or promtool is missing, which only tests run.
var ErrNoPrometheus = errors.New("found no prometheus and promtool, which tests need: " +
	"apt-get install prometheus")

// EnsurePrometheus does for Debian's prometheus, which brings promtool, what EnsureRedis does for
// Redis.
func EnsurePrometheus(ctx context.Context, progress func(string)) error {
	return ensureDebian(ctx, progress, "prometheus", ErrNoPrometheus, "prometheus", "promtool")
}

// ErrNoAlertmanager is returned when prometheus-alertmanager is missing, which only tests run.
var ErrNoAlertmanager = errors.New(
	"found no prometheus-alertmanager, which tests run: apt-get install prometheus-alertmanager")

// EnsureAlertmanager does for Debian's prometheus-alertmanager what EnsureRedis does for Redis.
func EnsureAlertmanager(ctx context.Context, progress func(string)) error {
	return ensureDebian(ctx, progress, "prometheus-alertmanager", ErrNoAlertmanager,
		"prometheus-alertmanager")
}

// ErrNoRedisExporter is returned when prometheus-redis-exporter is missing, which only tests run.
var ErrNoRedisExporter = errors.New(
	"found no prometheus-redis-exporter, which tests run: apt-get install " +
		"prometheus-redis-exporter")

// EnsureRedisExporter does for Debian's prometheus-redis-exporter what EnsureRedis does for Redis.
func EnsureRedisExporter(ctx context.Context, progress func(string)) error {
	return ensureDebian(ctx, progress, "prometheus-redis-exporter", ErrNoRedisExporter,
		"prometheus-redis-exporter")
}

// EnsureTargets installs what the tests of watch/scrape read besides Debian's prometheus: Debian's
// prometheus-node-exporter and victoria-metrics.
func EnsureTargets(ctx context.Context, progress func(string)) error {
	for _, name := range []string{"prometheus-node-exporter", "victoria-metrics"} {
		missing := fmt.Errorf("found no %s, which tests run: apt-get install %s", name, name)
		if err := ensureDebian(ctx, progress, name, missing, name); err != nil {
			return err
		}
	}
	return nil
}

// policyFile, where it exists and exits with 101, keeps Debian's packages from starting their
// services.
const policyFile = "/usr/sbin/policy-rc.d"

// ensureDebian installs a package of Debian's when one of its programs is missing and this
// process may do so, and keeps the package from starting a service of its own. It returns missing
// where it may not.
func ensureDebian(ctx context.Context, progress func(string), name string, missing error,
	programs ...string) error {
	if progress == nil {
		progress = func(string) {}
	}
	if haveAll(programs) {
		return nil
	}
	if os.Geteuid() != 0 || !haveAll([]string{"apt-get"}) {
		return missing
	}
	progress("installing " + name + " from Debian")
	if _, err := os.Stat(policyFile); errors.Is(err, os.ErrNotExist) {
		if err := os.WriteFile(policyFile, []byte("#!/bin/sh\nexit 101\n"), 0o755); err != nil {
			return fmt.Errorf("cannot keep Debian from starting a service of %s: %w; %w", name,
				err, missing)
		}
		defer os.Remove(policyFile)
	}
	for _, args := range [][]string{{"update", "-q"},
		{"install", "-y", "-q", "--no-install-recommends", name}} {
		cmd := exec.CommandContext(ctx, "apt-get",
			append([]string{"-o", "DPkg::Lock::Timeout=120", "-o", "Acquire::Retries=3"},
				args...)...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.WaitDelay = time.Minute
		if out, err := cmd.CombinedOutput(); err != nil {
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			return fmt.Errorf("apt-get %s failed (%w): %s; run apt-get install %s by hand to "+
				"see why", args[0], err, shorten(lines[len(lines)-1]), name)
		}
	}
	if !haveAll(programs) {
		return missing
	}
	return nil
}

func haveAll(programs []string) bool {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return false
		}
	}
	return true
}
