package datadir

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/disk/durable"
)

// AccountsName is a directory's file with the accounts that it has things of, a line each. Its
// last line is a checksum of those before.
const AccountsName = "ACCOUNTS"

const accountsEnd = "crc32c %08x\n"

// ErrAccounts says that what the file has is not what was written.
var ErrAccounts = errors.New("it is damaged")

// ReadAccounts returns the accounts that a directory has things of; nil: nobody has written that.
func ReadAccounts(dir string) ([]string, error) {
	b, err := os.ReadFile(filepath.Join(dir, AccountsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list := strings.SplitAfter(string(b), "\n")
	if n := len(list) - 2; n > 0 {
		if names := strings.Join(list[:n], ""); list[n] == accountsLine(names) && list[n+1] == "" {
			return strings.Fields(names), nil
		}
	}
	return nil, ErrAccounts
}

func accountsLine(names string) string {
	return fmt.Sprintf(accountsEnd,
		crc32.Checksum([]byte(names), crc32.MakeTable(crc32.Castagnoli)))
}

// OwnAccounts reports, as a UsageError, that a directory has things of others than the
// configuration's accounts. What some of them have is no error: accounts come and go.
func OwnAccounts(c *settings.Config, log *slog.Logger) error {
	there, err := ReadAccounts(c.Data.Dir)
	if errors.Is(err, ErrAccounts) {
		log.Error("the file that says whose the directory's things are is damaged; it is "+
			"written again",
			"file", filepath.Join(c.Data.Dir, AccountsName))
		return nil
	}
	if err != nil {
		return exit.Usage(err)
	}
	names := accountNames(c)
	others := slices.DeleteFunc(slices.Clone(there), func(name string) bool {
		return slices.Contains(names, name)
	})
	switch {
	case len(others) == 0:
	case len(others) == len(there):
		return exit.Usage(fmt.Errorf(
			"%s has things of the account %s, and the configuration names %s "+
				"alone: name another directory, or the account in accounts", c.Data.Dir,
			strings.Join(others, ", "), strings.Join(names, ", ")))
	default:
		log.Warn("the directory has things of accounts that the configuration does not name; "+
			"nobody can ask for them", "directory", c.Data.Dir, "accounts", others)
	}
	return nil
}

func accountNames(c *settings.Config) (names []string) {
	for i := range c.Accounts {
		names = append(names, c.Accounts[i].Name)
	}
	return names
}

// NoteAccounts writes down whose things the directory has from now on. Until that works, the next
// start knows less.
func NoteAccounts(c *settings.Config, log *slog.Logger) {
	there, _ := ReadAccounts(c.Data.Dir) // OwnAccounts has said what is wrong
	all := slices.Compact(slices.Sorted(slices.Values(append(accountNames(c), there...))))
	if slices.Equal(all, there) {
		return
	}
	names := strings.Join(all, "\n") + "\n"
	if err := replaceFile(filepath.Join(c.Data.Dir, AccountsName),
		names+accountsLine(names)); err != nil {
		log.Warn("cannot write down whose things the directory has", "error", err)
	}
}

// replaceFile writes a small file as a whole: it is there as it was or as it should be.
func replaceFile(path, text string) error {
	f, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.WriteString(text); err == nil {
		err = durable.Bytes(f)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err != nil {
		return err
	}
	return durable.Names(filepath.Dir(path))
}
