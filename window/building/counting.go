package building

import (
	"fmt"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/window"
)

func (b *builder) take(bytes int64) error {
	if b.allow == nil || bytes == 0 {
		return nil
	}
	if err := b.allow.Take(bytes); err != nil {
		return fmt.Errorf("%w: %w", frame.ErrMemory, err)
	}
	return nil
}

// release says that a decoded frame is not needed any more.
func (b *builder) release(bytes int64) { b.freeAfterNext += bytes }

// counting counts what an allowance has given.
type counting struct {
	allow window.Allowance
	bytes *int64
}

// Take implements frame.Allowance.
func (c counting) Take(bytes int64) error {
	if c.allow == nil {
		return nil
	}
	err := c.allow.Take(bytes)
	if err == nil {
		*c.bytes += bytes
	}
	return err
}
