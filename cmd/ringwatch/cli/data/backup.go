package data

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/datadir"
	"github.com/ringwatch/ringwatch/disk/durable"
	"github.com/ringwatch/ringwatch/notify"
	rows "github.com/ringwatch/ringwatch/store/rows/files"
	stream "github.com/ringwatch/ringwatch/stream/files"
)

// DataBackupCmd is ringwatch data backup.
type DataBackupCmd struct {
	Dir string `arg:"" help:"The directory of ringwatch all, whether that runs or not." type:"dir"`
	To  string `arg:"" name:"dir2" help:"The copy, which must not be there or be empty." type:"dir"`
}

// Help implements kong.HelpProvider.
func (*DataBackupCmd) Help() string {
	return "Copies the directory that ringwatch all keeps rows, the stream and silences in, " +
		"while it runs, too. All that was acknowledged when the command begins is in the copy. " +
		"Then it reads the copy whole, and exits with 1 when something in it is damaged. " +
		"ringwatch all --data DIR2 runs on the copy.\n\nExample: ringwatch data backup " +
		"/var/lib/ringwatch /backup/ringwatch"
}

// Run implements the command.
func (c *DataBackupCmd) Run() error { return c.RunTo(os.Stdout) }

// RunTo is Run for another output than the process has.
func (c *DataBackupCmd) RunTo(out io.Writer) error {
	from, to := filepath.Join(c.Dir, "rows"), filepath.Join(c.To, "rows")
	if !datadir.Exists(from) && !datadir.Exists(filepath.Join(c.Dir, "stream")) {
		return datadir.NoData(c.Dir)
	}
	if err := os.MkdirAll(c.To, 0o700); err != nil {
		return exit.Usage(err)
	}
	if there, err := os.ReadDir(c.To); err != nil || len(there) > 0 {
		return exit.Usage(errors.Join(err, fmt.Errorf("%s is not empty: name another directory",
			c.To)))
	}
	copyAll := func() error {
		if !datadir.Exists(from) { // Cassandra has the rows
			return nil
		}
		return rows.Copy(from, to)
	}
	if of := filepath.Join(c.Dir, "stream"); datadir.Exists(of) {
		copyRows := copyAll
		copyAll = func() error { return stream.Copy(of, filepath.Join(c.To, "stream"), copyRows) }
	}
	if err := copyAll(); err != nil {
		return err
	}
	if of := filepath.Join(c.Dir, settings.NotifyName); datadir.Exists(of) {
		if err := notify.Copy(of, filepath.Join(c.To, settings.NotifyName)); err != nil {
			return err
		}
	}
	if of := filepath.Join(c.Dir, datadir.AccountsName); datadir.Exists(of) {
		err := durable.Copy(of, filepath.Join(c.To, datadir.AccountsName))
		if err = errors.Join(err, durable.Names(c.To)); err != nil {
			return err
		}
	}
	check := DataCheckCmd{Dir: c.To}
	return check.RunTo(out)
}
