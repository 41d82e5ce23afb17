// Package datadir is about the directory in which ringwatch all keeps what has no engine: whose
// things it has (accounts.go), where it was moved (move.go), and the socket on which the process
// that has it answers ringwatch key and ringwatch data move (socket.go).
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/store"
)

// DirectoryThere reports, as a UsageError, that there is no directory of rows where one is meant.
// Only ringwatch all makes one.
func DirectoryThere(c *settings.Config) error {
	_, err := os.Stat(c.Cassandra.Dir)
	if c.Cassandra.Dir == "" || !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return exit.Usage(fmt.Errorf(
		"there are no rows in %s: name the directory of ringwatch all with "+
			"--data or data.dir, or Cassandra with cassandra.hosts", c.Data.Dir))
}

// ConnectError says what to do about a directory that cannot be opened.
func ConnectError(c *settings.Config, err error) error {
	switch {
	case c.Cassandra.Dir == "":
		return err
	case errors.Is(err, store.ErrInUse):
		return exit.Usage(fmt.Errorf("%w: stop that process first, or name another directory", err))
	}
	return exit.Usage(Unwritable(err))
}

// Unwritable adds what to do to an error about a directory that may only be read.
func Unwritable(err error) error {
	switch {
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: make it writable, or copy it with ringwatch data backup and name "+
			"the copy", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: give it to the user of ringwatch all, or name another directory",
			err)
	}
	return err
}

// Exists reports whether a path is.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// NoData is what is said of a directory that has nothing of ringwatch all.
func NoData(dir string) error {
	return exit.Usage(fmt.Errorf("%s has neither rows nor a stream: name the directory of "+
		"ringwatch all", dir))
}
