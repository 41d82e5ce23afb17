package files

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/disk/durable"
	"github.com/ringwatch/ringwatch/store/rows/files/log"
	"github.com/ringwatch/ringwatch/store/rows/files/sorted"
	"github.com/ringwatch/ringwatch/store/rows/files/table"
	"github.com/ringwatch/ringwatch/store/rows/files/tree"
)

// Copy makes a directory that has what another one has, which a process may have. All that was put
// when it is called is in the copy, and some of what is put later. The copy must not be there.
func Copy(from, to string) error {
	if _, err := os.Stat(filepath.Join(from, disk.LockName)); err != nil {
		return notOurs(from, err)
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
	for _, dir := range []string{log.Dir, sorted.Dir} {
		if err := os.Mkdir(filepath.Join(to, dir), 0o700); err != nil {
			return err
		}
	}
	numbers, err := log.Numbers(from)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if _, err := disk.Copy(log.Path(from, n), log.Path(to, n)); err != nil {
			return err
		}
	}
	// The list says which groups of the log are in files at least.
	b, err := disk.Read(filepath.Join(from, tree.ListName))
	if err != nil && !errors.Is(err, disk.ErrDamaged) {
		return err
	}
	names, err := copyRows(from, to)
	if err != nil {
		return err
	}
	has, err := tree.ParseList(b)
	if err != nil {
		return err
	}
	if has.There {
		has.Files = names
		if err := has.Write(new(disk.Disk), to); err != nil {
			return err
		}
	}
	// Tables are there before their rows.
	for _, name := range []string{table.FileName, formatName, disk.LockName} {
		if _, err := disk.Copy(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	for _, dir := range []string{log.Dir, sorted.Dir, "."} {
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
		paths, err := sorted.Paths(from)
		if err != nil {
			return nil, err
		}
		there, unchanged := map[string]bool{}, true
		for _, path := range paths {
			name := filepath.Base(path)
			if there[name] = true; copied[name] {
				continue
			}
			unchanged = false
			if done, err := disk.Copy(path, filepath.Join(to, sorted.Dir, name)); err != nil {
				return nil, err
			} else if done {
				copied[name] = true
			}
		}
		for name := range copied {
			if !there[name] { // it expired, or its rows are in another
				unchanged = false
				delete(copied, name)
				if err := disk.Remove(filepath.Join(to, sorted.Dir, name)); err != nil {
					return nil, err
				}
			}
		}
		if unchanged {
			return slices.Sorted(maps.Keys(copied)), nil
		}
	}
}
