// Package failure says of errors what they mean to who has called the engine. Of our packages it
// imports store/rows and disk.
package failure

import (
	"errors"
	"fmt"

	"github.com/ringwatch/ringwatch/disk"
	"github.com/ringwatch/ringwatch/store/rows"
)

// Closed is the error of calls that the engine's end has ended. It is retryable.
var Closed = &rows.Error{Err: errors.New("rows: the directory is closed"), Retryable: true}

// Unknown returns an error about a table or a column that is not there.
func Unknown(format string, args ...any) error {
	return &rows.Error{Err: fmt.Errorf("rows: "+format, args...), Cause: rows.ErrUnknown}
}

// Writing returns an error of the file system's as a rows.Error. It is retryable: writing goes on
// by itself when the file system lets it.
func Writing(dir string, err error) error {
	var already *rows.Error
	switch {
	case err == nil || errors.As(err, &already):
		return err
	case disk.Full(err):
		return &rows.Error{Err: err, Retryable: true, Meaning: fmt.Sprintf("the disk of %s is "+
			"full: make room there, and writing goes on by itself", dir)}
	}
	return &rows.Error{Err: err, Retryable: true, Meaning: fmt.Sprintf("%s cannot be written", dir)}
}
