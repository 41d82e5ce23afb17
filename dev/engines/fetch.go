package engines

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

//go:generate go run ./relock

// CassandraVersion and KafkaVersion are the versions their pom files name.
const (
	CassandraVersion = "5.0.9"
	KafkaVersion     = "4.3.1"
)

var (
	//go:embed cassandra.pom.xml
	cassandraPom []byte
	//go:embed cassandra.lock
	cassandraLock string
	//go:embed kafka.pom.xml
	kafkaPom []byte
	//go:embed kafka.lock
	kafkaLock string
)

// bundle is an engine that comes as a set of jars.
type bundle struct {
	name, title, version string
	pom                  []byte
	lock                 string
	files                string // what its pom and lock are called
}

func bundles() []bundle {
	return []bundle{
		{"cassandra", "Cassandra", CassandraVersion, cassandraPom, cassandraLock, "cassandra"},
		{"kafka", "Kafka", KafkaVersion, kafkaPom, kafkaLock, "kafka"},
	}
}

// checked remembers the directories this process has compared with their lock.
var checked sync.Map

// Fetch makes the Cassandra and the Kafka of make up-line ready to start, and their Java where the
// one found is another: each is fetched unless it is in the cache, and checked against its lock.
// Starting one does the same; calling Fetch first lets a person see the progress. progress, which
// may be nil, takes short lines for a person.
func Fetch(ctx context.Context, progress func(string)) error {
	for _, b := range bundles() {
		if _, err := b.fetch(ctx, progress); err != nil {
			return err
		}
	}
	_, err := JavaHome(ctx, CassandraVersion, progress)
	return err
}

// CacheDir returns where fetched engines are kept: RINGWATCH_ENGINES, or ringwatch/engines in the
// user's cache.
func CacheDir() (string, error) {
	if dir := os.Getenv("RINGWATCH_ENGINES"); dir != "" {
		return filepath.Abs(dir)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("found no cache directory for the engines: %w; set "+
			"RINGWATCH_ENGINES to one", err)
	}
	return filepath.Join(cache, "ringwatch", "engines"), nil
}

// fetch returns the class path of the engine's jars, sorted by name, after fetching what is
// missing and checking all.
func (b bundle) fetch(ctx context.Context, progress func(string)) (string, error) {
	if progress == nil {
		progress = func(string) {}
	}
	entries, err := parseLock(b.lock)
	if err != nil {
		return "", err
	}
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, b.name+"-"+b.version)
	if err := b.fetchInto(ctx, dir, entries, progress); err != nil {
		return "", err
	}
	classPath := make([]string, len(entries))
	for i, e := range entries {
		classPath[i] = filepath.Join(dir, e.file)
	}
	return strings.Join(classPath, ":"), nil
}

// fetchInto makes dir hold the checked jars. The directory appears there whole, by a rename, so
// one that exists is complete.
func (b bundle) fetchInto(ctx context.Context, dir string, entries []lockEntry,
	progress func(string)) error {
	if _, ok := checked.Load(dir); ok {
		return nil
	}
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		if err := b.fetchLocked(ctx, dir, entries, progress); err != nil {
			return err
		}
	} else if err := verify(dir, entries); err != nil {
		return fmt.Errorf("refusing %s %s from the cache: %w; remove %s to fetch it again", b.title,
			b.version, err, dir)
	}
	checked.Store(dir, true)
	return nil
}

// lockCache makes the cache and waits until no other process fetches into it.
func lockCache(ctx context.Context, cache string,
	progress func(string)) (unlock func(), err error) {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the cache for the engines: %w; set RINGWATCH_ENGINES "+
			"to a directory that can be written", err)
	}
	return lockFile(ctx, filepath.Join(cache, "flock"),
		func() { progress("waiting for another process that fetches engines") })
}

// fetchLocked fetches while no other process does: one is enough, and Maven's own cache takes one
// writer.
func (b bundle) fetchLocked(ctx context.Context, dir string, entries []lockEntry,
	progress func(string)) error {
	cache := filepath.Dir(dir)
	unlock, err := lockCache(ctx, cache, progress)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return verify(dir, entries) // that other process fetched it
	}
	if left, err := filepath.Glob(filepath.Join(cache, "*-fetching-*")); err == nil {
		for _, dir := range left { // of a process that was killed, or it would hold the lock
			_ = os.RemoveAll(dir) // it only takes space
		}
	}
	fresh, err := os.MkdirTemp(cache, b.name+"-fetching-")
	if err != nil {
		return fmt.Errorf("cannot make a directory to fetch %s into: %w", b.title, err)
	}
	defer os.RemoveAll(fresh)
	if err := b.download(ctx, fresh, len(entries), progress); err != nil {
		return err
	}
	if err := verify(filepath.Join(fresh, "lib"), entries); err != nil {
		return fmt.Errorf("refusing the fetched %s %s: %w; if the change is meant, run go "+
			"generate ./dev/engines", b.title, b.version, err)
	}
	if err := os.Rename(filepath.Join(fresh, "lib"), dir); err != nil {
		return fmt.Errorf("cannot keep the fetched %s: %w", b.title, err)
	}
	return nil
}

// download has Maven copy the engine's jars into dir/lib. Maven checks each against the
// registry's checksum (-C: strictly).
func (b bundle) download(ctx context.Context, dir string, jars int, progress func(string)) error {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return fmt.Errorf("found no Maven (mvn), which fetches %s: apt-get install maven", b.title)
	}
	pom := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(pom, b.pom, 0o644); err != nil {
		return fmt.Errorf("cannot write the pom of %s: %w", b.title, err)
	}
	progress(fmt.Sprintf("fetching %s %s (%d jars)", b.title, b.version, jars))
	cmd := exec.CommandContext(ctx, mvn, "-B", "-C", "-f", pom, "dependency:copy-dependencies",
		"-DincludeScope=runtime", "-DoutputDirectory="+filepath.Join(dir, "lib"))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("cannot read Maven's output: %w", err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot run Maven: %w", err)
	}
	began, said, got, complaint := time.Now(), time.Now(), 0, ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		switch {
		case strings.Contains(line, "Downloaded from "):
			got++
		case strings.HasPrefix(line, "[ERROR] ") && complaint == "":
			complaint = strings.TrimPrefix(line, "[ERROR] ")
		}
		if time.Since(said) > 2*time.Second {
			said = time.Now()
			progress(fmt.Sprintf("fetching %s %s: %d files after %.0f s", b.title, b.version, got,
				time.Since(began).Seconds()))
		}
	}
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("gave up fetching %s: %w", b.title, ctx.Err())
		}
		return fmt.Errorf("cannot fetch %s %s (%w): %s; check the network and Maven's settings, "+
			"then try again",
			b.title, b.version, err, shorten(complaint))
	}
	return nil
}

// Relock fetches every engine anew into a temporary directory and returns the text of its lock
// file by the file's name.
func Relock(ctx context.Context, progress func(string)) (map[string]string, error) {
	locks := make(map[string]string)
	for _, b := range append(bundles(), otherCassandras()...) {
		dir, err := os.MkdirTemp("", "ringwatch-relock-")
		if err != nil {
			return nil, fmt.Errorf("cannot make a directory to fetch into: %w", err)
		}
		defer os.RemoveAll(dir)
		if err := b.download(ctx, dir, strings.Count(b.lock, "\n"), progress); err != nil {
			return nil, err
		}
		if locks[b.files+".lock"], err = lockOf(filepath.Join(dir, "lib")); err != nil {
			return nil, err
		}
	}
	for _, r := range javaRuntimes() {
		dir, err := os.MkdirTemp("", "ringwatch-relock-")
		if err != nil {
			return nil, fmt.Errorf("cannot make a directory to fetch into: %w", err)
		}
		defer os.RemoveAll(dir)
		if err := r.download(ctx, dir, progress); err != nil {
			return nil, err
		}
		if locks[r.file], err = lockOfWheel(dir); err != nil {
			return nil, err
		}
	}
	return locks, nil
}
