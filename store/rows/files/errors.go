package files

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/ringwatch/ringwatch/frame/codec"
	"github.com/ringwatch/ringwatch/store/rows"
)

var (
	// ErrInUse says that another process has the directory.
	ErrInUse = errors.New("rows: the directory is in use")
	// ErrVersion says that a newer program wrote the directory.
	ErrVersion = errors.New("rows: a newer version wrote the directory")

	errDamaged = errors.New("damaged")
	errClosed  = &rows.Error{Err: errors.New("rows: the directory is closed"), Retryable: true}
)

var blobErrors = codec.Errors{Version: errDamaged, Malformed: errDamaged}

func unknown(format string, args ...any) error {
	return &rows.Error{Err: fmt.Errorf("rows: "+format, args...), Cause: rows.ErrUnknown}
}

// full reports whether an error says that there is no room.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		errors.Is(err, syscall.EFBIG)
}

// trouble returns an error of the file system's as a rows.Error. It is retryable: writing goes on
// by itself when the file system lets it.
func trouble(dir string, err error) error {
	var already *rows.Error
	switch {
	case err == nil || errors.As(err, &already):
		return err
	case full(err):
		return &rows.Error{
			Err:       err,
			Retryable: true,
			Meaning: fmt.Sprintf(
				"the disk of %s is full: make room there, and writing goes on by itself", dir,
			),
		}
	}
	return &rows.Error{Err: err, Retryable: true, Meaning: fmt.Sprintf("%s cannot be written", dir)}
}
