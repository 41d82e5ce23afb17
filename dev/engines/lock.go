package engines

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// ErrLockMismatch is returned when a fetched engine is not, byte for byte, the one its lock file
// names.
var ErrLockMismatch = errors.New("differs from its committed lock file")

// A lock file has a line per jar, sorted by name, in the format of sha256sum: the sum in hex, two
// spaces, the file name. `go generate ./dev/engines` writes it anew from what the registry gives;
// review the change like code.
type lockEntry struct{ sum, file string }

func parseLock(text string) ([]lockEntry, error) {
	var entries []lockEntry
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		sum, file, ok := strings.Cut(lines.Text(), "  ")
		if !ok || len(sum) != 2*sha256.Size || file == "" || file != filepath.Base(file) {
			return nil, fmt.Errorf("a lock file has the bad line %q: run go generate ./dev/engines",
				lines.Text())
		}
		entries = append(entries, lockEntry{sum, file})
	}
	if len(entries) == 0 {
		return nil, errors.New("a lock file is empty: run go generate ./dev/engines")
	}
	return entries, nil
}

// verify compares every file that a lock names with what is in dir. Other files there are never
// put on a class path.
func verify(dir string, entries []lockEntry) error {
	for _, e := range entries {
		sum, err := sumFile(filepath.Join(dir, e.file))
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s is missing, so the engine %w", e.file, ErrLockMismatch)
		}
		if err != nil {
			return fmt.Errorf("cannot check %s: %w", e.file, err)
		}
		if sum != e.sum {
			return fmt.Errorf("%s has the SHA-256 %s instead of %s, so the engine %w", e.file,
				sum[:12]+"…", e.sum[:12]+"…", ErrLockMismatch)
		}
	}
	return nil
}

// lockOf returns the lock file's text for the jars in dir.
func lockOf(dir string) (string, error) {
	jars, err := filepath.Glob(filepath.Join(dir, "*.jar"))
	if err != nil || len(jars) == 0 {
		return "", fmt.Errorf("there is no jar in %s", dir)
	}
	sort.Strings(jars)
	var lock strings.Builder
	for _, jar := range jars {
		sum, err := sumFile(jar)
		if err != nil {
			return "", fmt.Errorf("cannot compute the checksum of %s: %w", jar, err)
		}
		fmt.Fprintf(&lock, "%s  %s\n", sum, filepath.Base(jar))
	}
	return lock.String(), nil
}

func sumFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
