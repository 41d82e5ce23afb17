package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/schedule"
)

// What follows is for callers without a stream: each does one thing at once, whatever windows are
// open and whatever is due.

// WriteFrame stores a frame as it was received; a key frame also renews what is known of its node.
// The error wraps one of package frame's if the bytes are no frame, or ErrTooLarge; else it is
// Cassandra's, see Retryable. Writing a frame twice is the same as writing it once.
func (w *Writer) WriteFrame(ctx context.Context, account string, b []byte) error {
	h, _, err := frame.Parse(b)
	if err != nil {
		return err
	}
	return w.store.writeFrame(ctx, w.work, account, &h, b, w.store.clock.Now())
}

// CloseWindow turns a window's frames into the rows of its generation. It reads them from
// Cassandra, because a process that restarted has not seen all of them. Instants that are stored
// already and whose frames have expired are kept. It may be repeated at any time and run in two
// processes at once: the window is then what the later reading of its frames gives. What the
// lease refuses, the error wraps.
func (w *Writer) CloseWindow(ctx context.Context, lease *memory.Lease, account string,
	node uuid.UUID, start int64) error {
	return w.store.closing.Close(ctx, w.store.task(w.work, lease), account, node, start)
}

// MakeHour makes a node's hour that begins at start (milliseconds since the Unix epoch) from its
// closed windows: the rows of v3, which replace those of the windows, and its 5-minute rollups. It
// may be repeated at any time and run in two processes at once. What the lease refuses, the error
// wraps.
func (w *Writer) MakeHour(ctx context.Context, lease *memory.Lease, account string, node uuid.UUID,
	start int64) error {
	return w.store.hours.MakeHour(ctx, w.store.task(schedule.Rolling(w.work), lease),
		account, node, start)
}

// MakeDay makes the rollups of a node's day that begins at start (milliseconds since the Unix
// epoch), by the hour and of the whole day, from those of five minutes that are stored. It may be
// repeated at any time and run in two processes at once; what is up to date is not written again.
// What the lease refuses, the error wraps.
func (w *Writer) MakeDay(ctx context.Context, lease *memory.Lease, account string, node uuid.UUID,
	start int64) error {
	return w.store.hours.MakeDay(ctx, w.store.task(schedule.Rolling(w.work), lease),
		account, node, start)
}
