package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/ringwatch/ringwatch/stream/durable"
)

// Copy makes a directory that has what another one has, which a process may have. All that was put
// when it is called is in the copy, and some of what is put later. The copy must not be there.
func Copy(from, to string) error {
	if _, err := os.Stat(filepath.Join(from, lockName)); err != nil {
		return fmt.Errorf("rows: %s is no directory of rows: %w", from, err)
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return fmt.Errorf("rows: %w", err)
	}
	if err := copyAll(from, to); err != nil {
		return fmt.Errorf("rows: cannot copy %s: %w", from, err)
	}
	return nil
}

// copyAll copies the log first: what leaves it meanwhile is in files of rows before.
func copyAll(from, to string) error {
	for _, dir := range []string{logDir, rowsDir} {
		if err := os.Mkdir(filepath.Join(to, dir), 0o700); err != nil {
			return err
		}
	}
	numbers, err := logsIn(filepath.Join(from, logDir))
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if err := durable.Copy(logPath(from, n), logPath(to, n)); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	b, err := read(filepath.Join(from, filesName)) // which groups of the log are in files at least
	if err != nil && !errors.Is(err, errDamaged) {
		return err
	}
	names, err := copyRows(filepath.Join(from, rowsDir), filepath.Join(to, rowsDir))
	if err != nil {
		return err
	}
	if b != nil {
		var has list
		if err := json.Unmarshal(b, &has); err != nil {
			return err
		}
		has.Files = names
		if b, err = json.Marshal(has); err != nil {
			return err
		}
		if err := new(disk).replace(filepath.Join(to, filesName), b); err != nil {
			return err
		}
	}
	// Tables are there before their rows.
	for _, name := range []string{tablesName, formatName, lockName} {
		err := durable.Copy(filepath.Join(from, name), filepath.Join(to, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, dir := range []string{logDir, rowsDir, "."} {
		if err := durable.Names(filepath.Join(to, dir)); err != nil {
			return err
		}
	}
	return nil
}

// copyRows copies files of rows until there is nothing else in either directory. Files never
// change, so the copy is then what the directory was at one moment.
func copyRows(from, to string) (names []string, err error) {
	copied := map[string]bool{}
	for {
		entries, err := os.ReadDir(from)
		if err != nil {
			return nil, err
		}
		there, same := map[string]bool{}, true
		for _, entry := range entries {
			name := entry.Name()
			if _, _, ok := nameOf(name); !ok {
				continue
			}
			if there[name] = true; copied[name] {
				continue
			}
			same = false
			err := durable.Copy(filepath.Join(from, name), filepath.Join(to, name))
			if err == nil {
				copied[name] = true
			} else if !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
		for name := range copied {
			if !there[name] { // it expired, or its rows are in another
				same = false
				delete(copied, name)
				if err := removed(filepath.Join(to, name)); err != nil {
					return nil, err
				}
			}
		}
		if same {
			return slices.Sorted(maps.Keys(copied)), nil
		}
	}
}
