// Package durabletest takes the power from a directory: what was not made durable when its process
// was killed is lost, each write and each name by chance.
//
// The process to be killed calls Record before it does anything else. Somebody else kills it, or
// has it ended by End in the middle of a sync, calls Lose on the directory, and starts on what is
// left.
//
// What it promises: bytes and names that package durable has returned nil for are there. Of bytes
// that were written later, any first part is, and the rest is missing or zeros. Of names that were
// given or taken later, each may be as it was before. What bites: bytes that were durable and were
// written over are taken for durable.
package durabletest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ringwatch/ringwatch/disk/durable"
)

// event is that something is durable: bytes of a file, or a directory's names.
type event struct {
	File  uint64            `json:",omitempty"` // an inode
	Size  int64             `json:",omitempty"`
	Dir   string            `json:",omitempty"`
	Names map[string]uint64 `json:",omitempty"` // with their inodes
}

// recorder writes down what is durable of a directory.
type recorder struct {
	mu   sync.Mutex // one directory at a time, so that events come in the order of what they tell
	keep string     // has a link to each file, for a name that comes back
	end  string     // is there when the process is to end
	out  *os.File
}

// Record writes down below notes, a directory on the same disk, what of dir this process makes
// durable from now on. What is there already counts as durable.
func Record(dir, notes string) error {
	r := &recorder{keep: filepath.Join(notes, "files"), end: filepath.Join(notes, "end")}
	if err := os.MkdirAll(r.keep, 0o700); err != nil {
		return err
	}
	var err error
	begun := eventsFile(notes) + ".begun"
	r.out, err = os.OpenFile(begun, os.O_WRONLY|os.O_CREATE|os.O_APPEND|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() && !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		return r.note(f, func() error { return nil })
	}); err != nil {
		return err
	}
	if err := os.Rename(begun, eventsFile(notes)); err != nil {
		return err
	}
	durable.Watch(r.around)
	return nil
}

// eventsFile is there when all that was durable at the beginning is noted.
func eventsFile(notes string) string { return filepath.Join(notes, "events") }

// around is a sync, or the end of the process in the middle of it.
func (r *recorder) around(f *os.File, sync func() error) error {
	return r.note(f, func() error {
		if _, err := os.Stat(r.end); err == nil && r.hits(f) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return sync()
	})
}

// hits reports whether a sync is the one that the process ends in: syncs of names are rare.
func (r *recorder) hits(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.IsDir() || rand.IntN(20) == 0
}

// End has the process that calls Record with these notes killed in one of its next syncs.
func End(notes string) error { return os.WriteFile(filepath.Join(notes, "end"), nil, 0o600) }

// note notes what a sync makes durable: what is there when it begins.
func (r *recorder) note(f *os.File, sync func() error) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	var e event
	if info.IsDir() {
		r.mu.Lock()
		defer r.mu.Unlock()
		e.Dir = f.Name()
		if e.Names, err = r.names(e.Dir); err != nil {
			return err
		}
	} else {
		e.File, e.Size = inode(info), info.Size()
		if err := r.link(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), e.File); err != nil {
			return err
		}
	}
	if err := sync(); err != nil {
		return err
	}
	b, err := json.Marshal(e)
	if err == nil {
		_, err = r.out.Write(append(b, '\n')) // at once
	}
	return err
}

func (r *recorder) names(dir string) (map[string]uint64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := map[string]uint64{}
	for _, entry := range entries {
		info, err := entry.Info()
		if os.IsNotExist(err) {
			continue
		}
		if err == nil && info.Mode().IsRegular() {
			err = r.link(filepath.Join(dir, entry.Name()), inode(info))
		}
		if err != nil {
			return nil, err
		}
		names[entry.Name()] = inode(info)
	}
	return names, nil
}

// link keeps a file, so that its inode is nobody else's and its bytes stay.
func (r *recorder) link(path string, inode uint64) error {
	err := unix.Linkat(unix.AT_FDCWD, path, unix.AT_FDCWD, r.path(inode), unix.AT_SYMLINK_FOLLOW)
	if err == unix.EEXIST || err == unix.ENOENT { // it has no name any more
		return nil
	}
	return err
}

func (r *recorder) path(inode uint64) string {
	return filepath.Join(r.keep, strconv.FormatUint(inode, 10))
}

func inode(info fs.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }

// read returns what notes say is durable: sizes by inode, and names by directory.
func read(notes string) (sizes map[uint64]int64, names map[string]map[string]uint64, err error) {
	f, err := os.Open(eventsFile(notes))
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	sizes, names = map[uint64]int64{}, map[string]map[string]uint64{}
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil { // the end; half a line was never acted on
			return sizes, names, nil
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, nil, err
		}
		if e.Dir != "" {
			names[e.Dir] = e.Names
		} else {
			sizes[e.File] = e.Size
		}
	}
}
