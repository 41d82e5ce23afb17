package engines

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// copyOfCache gives the test a cache of its own that holds Kafka, the smaller one.
func copyOfCache(t *testing.T) (dir string, entries []lockEntry) {
	t.Helper()
	kafka := bundles()[1]
	classPath, err := kafka.fetch(t.Context(), func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	cache := t.TempDir()
	dir = filepath.Join(cache, "kafka-"+KafkaVersion)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for jar := range strings.SplitSeq(classPath, ":") {
		from, err := os.Open(jar)
		if err != nil {
			t.Fatal(err)
		}
		to, err := os.Create(filepath.Join(dir, filepath.Base(jar)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(to, from); err != nil {
			t.Fatal(err)
		}
		from.Close()
		to.Close()
	}
	t.Setenv("RINGWATCH_ENGINES", cache)
	entries, err = parseLock(kafkaLock)
	if err != nil {
		t.Fatal(err)
	}
	return dir, entries
}

func TestChangedJarIsRefused(t *testing.T) {
	dir, entries := copyOfCache(t)
	jar := filepath.Join(dir, entries[3].file)
	bytes, err := os.ReadFile(jar)
	if err != nil {
		t.Fatal(err)
	}
	bytes[len(bytes)/2] ^= 1
	if err := os.WriteFile(jar, bytes, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = StartKafka(t.Context(), KafkaConfig{Dir: t.TempDir()})
	if !errors.Is(err, ErrLockMismatch) {
		t.Errorf("the error is not ErrLockMismatch")
	}
	oneSentence(t, err, entries[3].file, "committed lock file", "remove "+dir)

	if err := os.Remove(jar); err != nil {
		t.Fatal(err)
	}
	_, err = StartKafka(t.Context(), KafkaConfig{Dir: t.TempDir()})
	if !errors.Is(err, ErrLockMismatch) {
		t.Errorf("the error is not ErrLockMismatch")
	}
	oneSentence(t, err, entries[3].file, "missing")
}

// Two at once, as two packages' tests on a fresh machine: one fetches, both end with the same
// checked directory.
func TestFetchTwiceAtOnce(t *testing.T) {
	Needed(t, "Kafka's files")
	cache := t.TempDir()
	t.Setenv("RINGWATCH_ENGINES", cache)
	var fetched, waited sync.Map
	var both sync.WaitGroup
	for i := range 2 {
		both.Go(func() {
			_, err := bundles()[1].fetch(t.Context(), func(line string) {
				t.Log(line)
				if strings.HasPrefix(line, "fetching") {
					fetched.Store(i, true)
				} else {
					waited.Store(i, true)
				}
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	count := 0
	fetched.Range(func(any, any) bool { count++; return true })
	if count != 1 {
		t.Errorf("%d of 2 fetched", count)
	}
	left, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil || len(left) != 2 {
		t.Errorf("the cache holds %v", left)
	}
}

func TestFetchFailures(t *testing.T) {
	t.Run("no Maven", func(t *testing.T) {
		t.Setenv("RINGWATCH_ENGINES", t.TempDir())
		t.Setenv("PATH", "")
		oneSentence(t, Fetch(t.Context(), nil), "found no Maven", "apt-get install maven")
	})
	t.Run("no such version", func(t *testing.T) {
		t.Setenv("RINGWATCH_ENGINES", t.TempDir())
		b := bundles()[1]
		b.pom = []byte(strings.ReplaceAll(string(b.pom),
			"<version>4.3.1</version>\n    </dependency>",
			"<version>0.0.0-none</version>\n    </dependency>"))
		_, err := b.fetch(t.Context(), nil)
		oneSentence(t, err, "cannot fetch Kafka", "check the network")
	})
	t.Run("given up while waiting", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "lock")
		unlock, err := lockFile(t.Context(), path, func() { t.Error("waited for nobody") })
		if err != nil {
			t.Fatal(err)
		}
		defer unlock()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := lockFile(ctx, path, func() {}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the second holder got %v", err)
		}
	})
}

func TestLockFiles(t *testing.T) {
	for _, b := range bundles() {
		entries, err := parseLock(b.lock)
		if err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(entries); i++ {
			if entries[i-1].file >= entries[i].file {
				t.Errorf("%s.lock: %s and %s are not in order", b.name, entries[i-1].file,
					entries[i].file)
			}
		}
		if !strings.Contains(string(b.pom), "<version>"+b.version+"</version>") {
			t.Errorf("%s.pom.xml does not name version %s", b.name, b.version)
		}
	}
	for _, bad := range []string{"", "zz  a.jar\n", strings.Repeat("0", 64) + "  ../a.jar\n",
		strings.Repeat("0", 64) + " a.jar\n"} {
		if _, err := parseLock(bad); err == nil {
			t.Errorf("the lock %q was accepted", bad)
		}
	}
}
