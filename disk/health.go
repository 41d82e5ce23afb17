package disk

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Health is what an operator should know of a directory that is open.
type Health struct {
	dir, what string

	damaged atomic.Int64
	over    atomic.Int64
	shrunk  atomic.Int64 // seconds since the Unix epoch; 0: never
}

// NewHealth returns the health of a directory that has just been opened; what is what lies in it:
// rows, frames.
func NewHealth(dir, what string) *Health { return &Health{dir: dir, what: what} }

// Damaged counts a file that was found damaged or missing. The log has been told.
func (h *Health) Damaged() { h.damaged.Add(1) }

// Shrunk says that something was removed before its time, because the directory was too large.
func (h *Health) Shrunk(at time.Time) { h.shrunk.Store(at.Unix()) }

// Over says by how many bytes the directory is larger than it may be and cannot be made smaller.
func (h *Health) Over(bytes int64) { h.over.Store(bytes) }

// shrunkFor is how long Warnings tell of something that was removed: at a bound that is always
// reached, a file goes some times a day.
const shrunkFor = 24 * time.Hour

// Warnings returns a sentence for each thing that is not as it should be.
func (h *Health) Warnings(now time.Time) (list []string) {
	last := time.Unix(h.shrunk.Load(), 0)
	if over := h.over.Load(); over > 0 {
		list = append(list, fmt.Sprintf("%s has %d MiB more than max_bytes, and what is left is "+
			"too new to remove: raise data.max_bytes", h.dir, over>>20+1))
	} else if now.Sub(last) < shrunkFor {
		list = append(list, fmt.Sprintf("%s is as large as max_bytes lets it be: the oldest %s go "+
			"before their time, last at %s: raise data.max_bytes", h.dir, h.what,
			last.UTC().Format(time.RFC3339)))
	}
	if n := h.damaged.Load(); n > 0 {
		list = append(list, fmt.Sprintf("%d files of %s were found damaged or missing since the "+
			"start: what is good is served, and the log names them", n, h.dir))
	}
	return list
}
