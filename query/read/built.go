package read

import (
	"fmt"

	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/window"
)

func takeAll(lease *memory.Lease, frames [][]byte) error {
	for _, b := range frames {
		if err := lease.Take(int64(len(b))); err != nil {
			return err
		}
	}
	return nil
}

// readable returns a window that was built of frames if every one of them could be read.
func readable(w *window.Window, report window.Report, err error) (*window.Window, error) {
	if err != nil {
		return nil, err
	}
	if report.Corrupt+report.MissingKey > 0 || len(w.Times) == 0 {
		return nil, fmt.Errorf("query: %d of %d frames cannot be decoded",
			report.Corrupt+report.MissingKey, report.Frames)
	}
	return w, nil
}
