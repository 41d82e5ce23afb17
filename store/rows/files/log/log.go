// Package log keeps what was written and is not in sorted files yet. Begin with Log. FORMAT.md
// describes the bytes. Of our packages it imports disk, disk/durable and frame/codec.
package log

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/disk/durable"
)

// Dir is the folder of a directory that has the log.
const Dir = "log"

// Suffix ends the names of log files.
const Suffix = ".log"

// Path returns where a directory's log file of a number is.
func Path(dir string, number int64) string {
	return filepath.Join(dir, Dir, fmt.Sprintf("%010d%s", number, Suffix))
}

// Numbers returns the numbers of a directory's log files, ascending.
func Numbers(dir string) ([]int64, error) {
	entries, err := os.ReadDir(filepath.Join(dir, Dir))
	if err != nil {
		return nil, err
	}
	var list []int64
	for _, e := range entries {
		name, is := strings.CutSuffix(e.Name(), Suffix)
		if n, err := strconv.ParseInt(name, 10, 64); is && err == nil && n > 0 {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list, nil
}

// Each calls read with the log files of a directory, in order, and returns the last one's number.
func Each(dir string, read func(path string, content []byte) error) (last int64, err error) {
	numbers, err := Numbers(dir)
	if err != nil {
		return 0, err
	}
	for _, last = range numbers {
		path := Path(dir, last)
		b, err := os.ReadFile(path)
		if err == nil {
			err = read(path, b)
		}
		if err != nil {
			return last, err
		}
	}
	return last, nil
}

// Log writes groups of mutations, one goroutine at a time.
type Log struct {
	dir    string
	disk   *disk.Disk
	number int64 // the last file's
	file   *os.File
	path   string
	size   int64 // what is durable of the file
	group  int64 // the last group's number
}

// New returns the log of a directory whose last file and last group have numbers. It has no file
// yet: call Next.
func New(dir string, d *disk.Disk, file, group int64) *Log {
	return &Log{dir: dir, disk: d, number: file, group: group}
}

// Path returns the file that is written; "": there is none, since nobody knows what a write that
// failed has left in the last one.
func (l *Log) Path() string { return l.path }

// Group returns the number of the last group that was written.
func (l *Log) Group() int64 { return l.group }

// Next begins a new file, which is there after a crash, too. After an error the old one stays.
func (l *Log) Next() error {
	l.number++
	path := Path(l.dir, l.number)
	f, err := l.disk.Create(path)
	if err != nil {
		return err
	}
	err = l.disk.Write(f, []byte(magic), 0)
	if err == nil {
		err = durable.Bytes(f)
	}
	if err == nil {
		err = durable.Names(filepath.Dir(path))
	}
	if err != nil {
		os.Remove(path)
		return errors.Join(err, f.Close())
	}
	l.Close()
	l.file, l.path, l.size = f, path, int64(len(magic))
	return nil
}

// Append writes mutations as a group and syncs it. After an error nothing of it counts.
func (l *Log) Append(mutations [][]byte) error {
	group := appendGroup(nil, l.group+1, mutations)
	err := l.disk.Write(l.file, group, l.size)
	wrote := err == nil
	if wrote {
		err = durable.Bytes(l.file)
	}
	if err == nil {
		l.size += int64(len(group))
		l.group++
		return nil
	}
	// Nobody knows what a failed sync has left, so the file is not used again.
	if cut := l.file.Truncate(l.size); wrote || cut != nil {
		l.Close()
	}
	return err
}

// Close leaves the file, all of which is durable.
func (l *Log) Close() {
	if l.file != nil {
		l.file.Close()
	}
	l.file, l.path = nil, ""
}
