// Package data has the commands about the directory of ringwatch all: check, backup and move.
package data

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/datadir"
	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/notify"
	rows "github.com/ringwatch/ringwatch/store/rows/files"
	stream "github.com/ringwatch/ringwatch/stream/files"
)

// DataCmd is ringwatch data.
type DataCmd struct {
	Check  DataCheckCmd  `cmd:"" help:"Read all files of a directory and name those that are damaged."`
	Backup DataBackupCmd `cmd:"" help:"Copy a directory, while ringwatch all runs, too."`
	Move   DataMoveCmd   `cmd:"" help:"Move a directory into Cassandra and Kafka, while ringwatch all runs."`
}

// DataCheckCmd is ringwatch data check.
type DataCheckCmd struct {
	Dir  string `arg:"" help:"The directory of ringwatch all." type:"dir"`
	JSON bool   `name:"json" help:"Print JSON."`
}

// DamagedFile is what data check says of a file.
type DamagedFile struct {
	Path string `json:"path"`
	What string `json:"what"`
}

// Help implements kong.HelpProvider.
func (*DataCheckCmd) Help() string {
	return "Reads every file of the directory that ringwatch all keeps rows, the stream and " +
		"silences in, and prints those that are damaged or missing. It changes nothing, and " +
		"needs the directory for itself: stop ringwatch all first. It exits with 1 when " +
		"something is damaged. What is whole in a damaged file is used, and ringwatch all sets " +
		"that file aside.\n\nExample: ringwatch data check /var/lib/ringwatch"
}

// Run implements the command.
func (c *DataCheckCmd) Run() error { return c.RunTo(os.Stdout) }

// RunTo is Run for another output than the process has.
func (c *DataCheckCmd) RunTo(out io.Writer) error {
	found, checked := []DamagedFile{}, 0
	damaged := func(path, what string) {
		found = append(found, DamagedFile{path, what})
		if !c.JSON {
			fmt.Fprintf(out, "%s: %s\n", screen.Plain(path), screen.Plain(what))
		}
	}
	for _, part := range []struct {
		name  string
		check func(string, func(path, what string)) error
	}{{"rows", rows.Check}, {"stream", stream.Check}, {settings.NotifyName, notify.Check}} {
		dir := filepath.Join(c.Dir, part.name)
		if !datadir.Exists(dir) {
			continue // an engine has it
		}
		err := part.check(dir, damaged)
		switch {
		case errors.Is(err, disk.ErrInUse):
			return exit.Usage(fmt.Errorf("a process has %s: stop it first", dir))
		case err != nil:
			return err
		}
		checked++
	}
	if _, err := datadir.ReadAccounts(c.Dir); errors.Is(err, datadir.ErrAccounts) {
		damaged(filepath.Join(c.Dir, datadir.AccountsName), err.Error())
	} else if err != nil {
		return err
	}
	if checked == 0 {
		return datadir.NoData(c.Dir)
	}
	if c.JSON {
		if err := screen.PrintJSON(out, found); err != nil {
			return err
		}
	}
	if len(found) > 0 {
		return fmt.Errorf("%d files are damaged or missing; ringwatch all uses what is whole "+
			"in them", len(found))
	}
	if !c.JSON {
		fmt.Fprintln(out, "all files are whole")
	}
	return nil
}
