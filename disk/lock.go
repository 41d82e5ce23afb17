package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// LockName is the file that says which process has a directory. Every directory of an engine has
// it.
const LockName = "LOCK"

// Lock is a process's hold on a directory. It ends with the process, or when it is closed.
type Lock struct{ f *os.File }

// Take makes a directory this process's. The error wraps ErrInUse if another one has it, and says
// which.
func Take(dir string) (*Lock, error) {
	l, err := lock(dir, os.O_RDWR|os.O_CREATE)
	// On a full disk the lock holds without a name.
	if err == nil && l.f.Truncate(0) == nil {
		fmt.Fprintf(l.f, "process %d (%s)\n", os.Getpid(), strings.Join(os.Args, " "))
	}
	return l, err
}

// Hold takes a directory that some process has made, and changes nothing in it: it may lie on a
// disk that can only be read. Errors are those of Take, and fs.ErrNotExist of another directory.
func Hold(dir string) (*Lock, error) { return lock(dir, os.O_RDONLY) }

func lock(dir string, how int) (*Lock, error) {
	path := filepath.Join(dir, LockName)
	f, err := os.OpenFile(path, how, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("cannot lock %s: %w", path, err)
		}
		who, _ := os.ReadFile(path)
		return nil, fmt.Errorf("%w: %s is used by %s: stop that, or name another directory",
			ErrInUse, dir, strings.TrimSpace(string(who)))
	}
	return &Lock{f}, nil
}

// Close gives the directory up. A nil Lock has none.
func (l *Lock) Close() error {
	if l == nil {
		return nil
	}
	return l.f.Close()
}
