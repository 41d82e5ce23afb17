package tree

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/store/rows/files/sorted"
)

// ListName is the file of a directory that says which files of rows there should be.
const ListName = "FILES"

// List says which files there should be. It is only for telling what is missing: what there is, is
// found by looking.
type List struct {
	Files []string `json:"files"` // names
	Next  int64    `json:"next"`  // a number that no file of rows has had
	Group int64    `json:"group"` // the last group of the log whose rows are all in files

	There bool `json:"-"` // it could be read
}

// ParseList reads what the file says; nil says nothing.
func ParseList(b []byte) (l List, err error) {
	if b == nil {
		return l, nil
	}
	if err := json.Unmarshal(b, &l); err != nil {
		return l, fmt.Errorf("%s: %w", ListName, err)
	}
	l.There = true
	return l, nil
}

// Write writes the file of a directory.
func (l *List) Write(d *disk.Disk, dir string) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return d.Replace(filepath.Join(dir, ListName), b)
}

// Missing returns those that are not in a directory, and that none which is there replaces.
func (l *List) Missing(there []*sorted.File) (names []string) {
	known := map[int64]bool{}
	for _, f := range there {
		known[f.ID] = true
		for _, id := range f.Replaces {
			known[id] = true
		}
	}
	for _, name := range l.Files {
		if _, id, _ := sorted.Name(name); !known[id] {
			names = append(names, name)
		}
	}
	return names
}
