package files

import (
	"math"
	"time"
)

// size returns how large a directory is, with what is set aside in it.
func (d *directory) size(topics []*topic) int64 {
	sum := d.quarantine.Bytes()
	for _, t := range topics {
		sum += t.bytes()
	}
	return sum
}

// shrink removes files while all have more bytes than most: what is set aside, then the oldest.
func (d *directory) shrink(topics []*topic, most int64) {
	if most == 0 || d.size(topics) <= most {
		return
	}
	d.quarantine.Clear()
	for sum := d.size(topics); sum > most; sum = d.size(topics) {
		first, at := (*topic)(nil), int64(math.MaxInt64)
		for _, t := range topics {
			if t.settings.Compact { // which never changes
				continue
			}
			if oldest := t.oldest(); oldest < min(at, never) {
				first, at = t, oldest
			}
		}
		if first == nil {
			return
		}
		d.log.Warn("the stream has more bytes than it may; the oldest go before their time",
			"bytes", sum, "max_bytes", most, "directory", first.dir,
			"until", time.UnixMilli(at).UTC())
		if _, err := first.removeOldest("max_bytes"); err != nil {
			d.log.Error("a file of the stream cannot be removed", "error", err)
			return
		}
		d.health.Shrunk(time.Now())
	}
}
