package store

import (
	"context"
	"fmt"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/fresh"
	"github.com/ringwatch/ringwatch/store/rows"
)

// writeFrame also keeps when the frame was received: a replay writes the same again.
func (s *Store) writeFrame(ctx context.Context, w rows.Work, account string, h *frame.Header,
	b []byte, received time.Time) error {
	if len(b) > MaxFrameBytes {
		return fmt.Errorf("%w: %d bytes, and %d are allowed", ErrTooLarge, len(b), MaxFrameBytes)
	}
	if err := s.late.Mark(ctx, w, account, h); err != nil {
		return err
	}
	if err := s.fresh.Put(ctx, w, account, h, b, received); err != nil {
		return err
	}
	if err := s.events.Put(ctx, w, account, h, b); err != nil {
		return err
	}
	if !h.IsKey() {
		s.announcer.Delta(ctx, w, account, h, b)
		return nil
	}
	id, err := frame.ReadIdentity(b)
	// what its header says is stored; its values will be missed when the window is closed, and
	// counted then
	if err != nil {
		s.metrics.frames.badKeyPayload.Inc()
		return nil
	}
	if err := s.nodes.Put(ctx, w, account, h, &id, fresh.HeardBy(h, received)); err != nil {
		return err
	}
	s.announcer.Key(ctx, w, account, h, b)
	return nil
}

// MaxFrameBytes is the longest frame that is stored: half of what Cassandra takes in one mutation
// by default. A node of 10,000 tables sends key frames of about a tenth of it.
const MaxFrameBytes = 8 << 20
