package main

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringwatch/ringwatch/stream/durable"
)

// accountsName is a directory's file with the accounts that it has things of, a line each. Its
// last line is a checksum of those before.
const accountsName = "ACCOUNTS"

const accountsEnd = "crc32c %08x\n"

// errAccounts says that what the file has is not what was written.
var errAccounts = errors.New("it is damaged")

// readAccounts returns the accounts that a directory has things of; nil: nobody has written that.
func readAccounts(dir string) ([]string, error) {
	b, err := os.ReadFile(filepath.Join(dir, accountsName))
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
	return nil, errAccounts
}

func accountsLine(names string) string {
	return fmt.Sprintf(accountsEnd,
		crc32.Checksum([]byte(names), crc32.MakeTable(crc32.Castagnoli)))
}

// ownAccounts reports, as a usageError, that a directory has things of others than the
// configuration's accounts. What some of them have is no error: accounts come and go.
func (p *process) ownAccounts() error {
	there, err := readAccounts(p.Data.Dir)
	if errors.Is(err, errAccounts) {
		p.log.Error("the file that says whose the directory's things are is damaged; it is "+
			"written again",
			"file", filepath.Join(p.Data.Dir, accountsName))
		return nil
	}
	if err != nil {
		return usageError{err}
	}
	names := p.accountNames()
	others := slices.DeleteFunc(slices.Clone(there), func(name string) bool {
		return slices.Contains(names, name)
	})
	switch {
	case len(others) == 0:
	case len(others) == len(there):
		return usageError{fmt.Errorf(
			"%s has things of the account %s, and the configuration names %s "+
				"alone: name another directory, or the account in accounts", p.Data.Dir,
			strings.Join(others, ", "), strings.Join(names, ", "))}
	default:
		p.log.Warn("the directory has things of accounts that the configuration does not name; "+
			"nobody can ask for them", "directory", p.Data.Dir, "accounts", others)
	}
	return nil
}

func (p *process) accountNames() (names []string) {
	for i := range p.Accounts {
		names = append(names, p.Accounts[i].Name)
	}
	return names
}

// noteAccounts writes down whose things the directory has from now on. Until that works, the next
// start knows less.
func (p *process) noteAccounts() {
	there, _ := readAccounts(p.Data.Dir) // ownAccounts has said what is wrong
	all := slices.Compact(slices.Sorted(slices.Values(append(p.accountNames(), there...))))
	if slices.Equal(all, there) {
		return
	}
	names := strings.Join(all, "\n") + "\n"
	if err := replaceFile(filepath.Join(p.Data.Dir, accountsName),
		names+accountsLine(names)); err != nil {
		p.log.Warn("cannot write down whose things the directory has", "error", err)
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
