package files

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/store/rows/files/log"
	"github.com/ringwatch/ringwatch/store/rows/files/sorted"
	"github.com/ringwatch/ringwatch/store/rows/files/table"
	"github.com/ringwatch/ringwatch/store/rows/files/tree"
)

// Check reads each file of a directory that no process has, whole, and calls damaged for those that
// are damaged or missing. It changes nothing. The error wraps disk.ErrInUse if a process has the
// directory, and ErrVersion if a newer program wrote it.
func Check(dir string, damaged func(path, what string)) error {
	lock, err := disk.Hold(dir)
	if err != nil {
		return notOurs(dir, err)
	}
	defer lock.Close()
	c := checker{dir, damaged}
	for _, check := range []func() error{c.format, c.tables, c.rows, c.log} {
		if err := check(); err != nil {
			return fmt.Errorf("rows: %w", err)
		}
	}
	return nil
}

// notOurs returns why a directory cannot be held.
func notOurs(dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("rows: %s is no directory of rows: %w", dir, err)
	}
	return fmt.Errorf("rows: %w", err)
}

// checker checks a directory that nobody changes.
type checker struct {
	dir     string
	damaged func(path, what string)
}

// small reads a small file; nil: it is not there, or is damaged.
func (c *checker) small(name string) ([]byte, error) {
	path := filepath.Join(c.dir, name)
	b, err := disk.Read(path)
	if errors.Is(err, disk.ErrDamaged) {
		c.damaged(path, err.Error())
		return nil, nil
	}
	return b, err
}

func (c *checker) format() error {
	b, err := c.small(formatName)
	if err != nil || b == nil {
		return err
	}
	return checkFormat(c.dir, b)
}

func (c *checker) tables() error {
	_, err := c.small(table.FileName)
	return err
}

func (c *checker) rows() error {
	b, err := c.small(tree.ListName)
	if err != nil {
		return err
	}
	should, err := tree.ParseList(b)
	if err != nil {
		c.damaged(filepath.Join(c.dir, tree.ListName), err.Error())
	}
	dir := filepath.Join(c.dir, sorted.Dir)
	there, err := sorted.Paths(c.dir)
	if err != nil {
		return err
	}
	var files []*sorted.File
	for _, path := range there {
		f, err := sorted.Open(path)
		if f == nil {
			return err
		}
		if files = append(files, f); err != nil {
			c.damaged(path, err.Error())
		} else if lost := unread(f); lost > 0 {
			c.damaged(path, fmt.Sprintf("%d of %d bytes cannot be read", lost, f.Size))
		}
		f.Release()
	}
	for _, name := range should.Missing(files) {
		c.damaged(filepath.Join(dir, name), "it is missing")
	}
	return nil
}

// unread reads a file whole and returns how many of its bytes cannot be read.
func unread(f *sorted.File) int64 {
	all := new(sorted.Reader).Whole(f)
	for all.Next() {
	}
	return all.Lost()
}

func (c *checker) log() error {
	_, err := log.Each(c.dir, func(path string, b []byte) error {
		var wrong []string
		broken := 0
		for _, h := range log.Read(b, func(_ int64, list [][]byte) {
			for _, m := range list {
				if _, err := table.Decode(m); err != nil {
					broken++
				}
			}
		}) {
			wrong = append(wrong, fmt.Sprintf("%d bytes at %d cannot be read", h.Size, h.At))
		}
		if broken > 0 {
			wrong = append(wrong, fmt.Sprintf("%d mutations cannot be read", broken))
		}
		if len(wrong) > 0 {
			c.damaged(path, strings.Join(wrong, ", "))
		}
		return nil
	})
	return err
}
