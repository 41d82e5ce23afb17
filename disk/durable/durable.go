// Package durable makes files last: what it has returned nil for is there after the power has
// failed. A file's name and its bytes are made durable separately; a new file needs both. It
// imports none of our packages.
package durable

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// around is called for each sync; tests may have their own.
var around = func(_ *os.File, sync func() error) error { return sync() }

// Watch has each sync go through f, which is to call it. It is for tests that lose what was not
// synced, and comes before all other calls.
func Watch(f func(file *os.File, sync func() error) error) { around = f }

// Bytes makes what is written to a file, and its length, last.
func Bytes(f *os.File) error {
	return around(f, func() error {
		for {
			if err := unix.Fdatasync(int(f.Fd())); err != unix.EINTR {
				return err
			}
		}
	})
}

// Names makes the names in a directory last: those that are new, and that others are gone.
func Names(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(around(d, d.Sync), d.Close())
}

// Dir makes a directory that is there for this user alone, with those above it that are missing.
func Dir(dir string) error {
	above := filepath.Dir(dir)
	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		_ = Names(above) // an earlier process may have been killed before; else it is not ours
		return nil
	}
	if above != dir {
		if err := Dir(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	return Names(above)
}

// Copy makes a file, which must not be there, of what another has. Its name does not last yet.
func Copy(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err == nil {
		err = Bytes(out)
	}
	return errors.Join(err, out.Close())
}
