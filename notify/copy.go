package notify

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/disk/durable"
)

// The files of an account's directory.
const (
	silencesName = "silences"
	toldName     = "told"
	alertsName   = "alerts"
)

// journals are all of them.
var journals = []string{silencesName, toldName, alertsName}

// Copy copies a directory, also while a process has it, to a place where nothing is yet. The copy
// has every silence that was answered for before the call, and what was told by then.
func Copy(from, to string) error {
	err := copyAccounts(from, to)
	if err != nil {
		return fmt.Errorf("notify: cannot copy %s: %w", from, err)
	}
	return nil
}

func copyAccounts(from, to string) error {
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	names, err := accountsIn(from)
	if err != nil {
		return err
	}
	for _, name := range names {
		dir := filepath.Join(to, directoryOf(name))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		for _, file := range journals {
			// A process may be in the middle of a record: who opens the copy cuts that off.
			if _, err := disk.Copy(filepath.Join(from, directoryOf(name), file),
				filepath.Join(dir, file)); err != nil {
				return err
			}
		}
		if err := copyHistory(filepath.Join(from, directoryOf(name)), dir); err != nil {
			return err
		}
		if err := durable.Names(dir); err != nil {
			return err
		}
	}
	if _, err := disk.Copy(filepath.Join(from, disk.LockName),
		filepath.Join(to, disk.LockName)); err != nil {
		return err
	}
	return errors.Join(durable.Names(to), durable.Names(filepath.Dir(to)))
}

func copyHistory(from, to string) error {
	var errs []error
	for _, kind := range historyKinds {
		old, copied := history{dir: from, kind: kind}, history{dir: to, kind: kind}
		begins, err := old.begins()
		errs = append(errs, err)
		for _, begin := range begins {
			_, err := disk.Copy(old.path(begin), copied.path(begin))
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Check reads every file of a directory that no process has, and calls damaged with the path of
// each that is not whole, and why. The error wraps disk.ErrInUse if a process has the directory.
func Check(dir string, damaged func(path, what string)) error {
	lock, err := disk.Hold(dir)
	if err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	defer lock.Close()
	names, err := accountsIn(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		for _, file := range journals {
			path := filepath.Join(dir, directoryOf(name), file)
			content, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			if _, _, broken := readJournal(content); broken {
				damaged(path, "a record is damaged; those before it are used")
			}
		}
	}
	return nil
}
