package blobs

import (
	"errors"

	"github.com/ringwatch/ringwatch/frame/codec"
)

// reader reads the blobs of COLUMNS.md.
type reader struct{ codec.Reader }

func read(b []byte) reader { return reader{codec.New(b, &blobErrors)} }

// Why a stored blob could not be read.
var (
	// ErrVersion says that a newer program wrote the blob.
	ErrVersion = errors.New("window: blob of an unknown version")
	// ErrMalformed says that the blob breaks a rule of COLUMNS.md.
	ErrMalformed = errors.New("window: malformed blob")
	// ErrDictionary says that the blob refers to a dictionary that was not found.
	ErrDictionary = errors.New("window: dictionary not found")
)

var blobErrors = codec.Errors{Version: ErrVersion, Malformed: ErrMalformed}
