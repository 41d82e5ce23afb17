package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	rows "github.com/ringwatch/ringwatch/store/rows/files"
	stream "github.com/ringwatch/ringwatch/stream/files"
)

type dataCmd struct {
	Check  dataCheckCmd  `cmd:"" help:"Read all files of a directory and name those that are damaged."`
	Backup dataBackupCmd `cmd:"" help:"Copy a directory, while ringwatch all runs, too."`
	Move   dataMoveCmd   `cmd:"" help:"Move a directory into Cassandra and Kafka, while ringwatch all runs."`
}

type dataCheckCmd struct {
	Dir  string `arg:"" help:"The directory of ringwatch all." type:"dir"`
	JSON bool   `name:"json" help:"Print JSON."`
}

// damagedFile is what data check says of a file.
type damagedFile struct {
	Path string `json:"path"`
	What string `json:"what"`
}

// Help implements kong.HelpProvider.
func (*dataCheckCmd) Help() string {
	return "Reads every file of the directory that ringwatch all keeps rows and the stream in, " +
		"and prints those that are damaged or missing. It changes nothing, and needs the " +
		"directory for itself: stop ringwatch all first. It exits with 1 when something is " +
		"damaged. What is whole in a damaged file is used, and ringwatch all sets that file " +
		"aside.\n\nExample: ringwatch data check /var/lib/ringwatch"
}

// Run implements the command.
func (c *dataCheckCmd) Run() error { return c.run(os.Stdout) }

func (c *dataCheckCmd) run(out io.Writer) error {
	found, checked := []damagedFile{}, 0
	damaged := func(path, what string) {
		found = append(found, damagedFile{path, what})
		if !c.JSON {
			fmt.Fprintf(out, "%s: %s\n", plain(path), plain(what))
		}
	}
	for _, part := range []struct {
		name  string
		check func(string, func(path, what string)) error
	}{{"rows", rows.Check}, {"stream", stream.Check}} {
		dir := filepath.Join(c.Dir, part.name)
		if !isThere(dir) {
			continue // an engine has it
		}
		err := part.check(dir, damaged)
		switch {
		case errors.Is(err, rows.ErrInUse), errors.Is(err, stream.ErrInUse):
			return usageError{fmt.Errorf("a process has %s: stop it first", dir)}
		case err != nil:
			return err
		}
		checked++
	}
	if _, err := readAccounts(c.Dir); errors.Is(err, errAccounts) {
		damaged(filepath.Join(c.Dir, accountsName), err.Error())
	} else if err != nil {
		return err
	}
	if checked == 0 {
		return noData(c.Dir)
	}
	if c.JSON {
		if err := printKeyJSON(out, found); err != nil {
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
