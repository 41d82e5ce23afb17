package disk

import (
	"errors"
	"io/fs"

	"github.com/ringwatch/ringwatch/disk/durable"
)

// Copy copies a file to where none is, if it is there, and reports that: a process that has the
// directory may remove it meanwhile. The copy's name does not last yet.
func Copy(from, to string) (there bool, err error) {
	err = durable.Copy(from, to)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
