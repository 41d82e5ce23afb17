package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	rows "github.com/ringwatch/ringwatch/store/rows/files"
	"github.com/ringwatch/ringwatch/stream/durable"
	stream "github.com/ringwatch/ringwatch/stream/files"
)

type dataBackupCmd struct {
	Dir string `arg:"" help:"The directory of ringwatch all, whether that runs or not." type:"dir"`
	To  string `arg:"" name:"dir2" help:"The copy, which must not be there or be empty." type:"dir"`
}

// Help implements kong.HelpProvider.
func (*dataBackupCmd) Help() string {
	return "Copies the directory that ringwatch all keeps rows and the stream in, while it runs, " +
		"too. All that was acknowledged when the command begins is in the copy. Then it reads " +
		"the copy whole, and exits with 1 when something in it is damaged. ringwatch all --data " +
		"DIR2 runs on the copy.\n\nExample: ringwatch data backup /var/lib/ringwatch " +
		"/backup/ringwatch"
}

// Run implements the command.
func (c *dataBackupCmd) Run() error { return c.run(os.Stdout) }

func (c *dataBackupCmd) run(out io.Writer) error {
	from, to := filepath.Join(c.Dir, "rows"), filepath.Join(c.To, "rows")
	if !isThere(from) && !isThere(filepath.Join(c.Dir, "stream")) {
		return noData(c.Dir)
	}
	if err := os.MkdirAll(c.To, 0o700); err != nil {
		return usageError{err}
	}
	if there, err := os.ReadDir(c.To); err != nil || len(there) > 0 {
		return usageError{errors.Join(err, fmt.Errorf("%s is not empty: name another directory",
			c.To))}
	}
	copyAll := func() error {
		if !isThere(from) { // Cassandra has the rows
			return nil
		}
		return rows.Copy(from, to)
	}
	if of := filepath.Join(c.Dir, "stream"); isThere(of) {
		copyRows := copyAll
		copyAll = func() error { return stream.Copy(of, filepath.Join(c.To, "stream"), copyRows) }
	}
	if err := copyAll(); err != nil {
		return err
	}
	if of := filepath.Join(c.Dir, accountsName); isThere(of) {
		err := durable.Copy(of, filepath.Join(c.To, accountsName))
		if err = errors.Join(err, durable.Names(c.To)); err != nil {
			return err
		}
	}
	check := dataCheckCmd{Dir: c.To}
	return check.run(out)
}

// isThere reports whether a path is.
func isThere(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// noData is what is said of a directory that has nothing of ringwatch all.
func noData(dir string) error {
	return usageError{fmt.Errorf("%s has neither rows nor a stream: name the directory of "+
		"ringwatch all", dir)}
}
