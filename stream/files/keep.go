package files

import (
	"crypto/sha256"
	"errors"
	"os"
	"time"
)

// goneKept is how long a key's last message is kept that says that the key is gone.
const goneKept = 24 * time.Hour

// keep mends damaged files of the topic, deletes what is older than its retention and compacts it.
func (t *topic) keep(now time.Time) error {
	err := t.mendAll()
	t.mu.Lock()
	settings := t.settings
	t.mu.Unlock()
	if settings.Compact {
		return errors.Join(err, t.compact(now))
	}
	for settings.Retention > 0 && t.oldest() < now.Add(-settings.Retention).UnixMilli() {
		if removed, failed := t.removeOldest("retention"); !removed {
			return errors.Join(err, failed)
		}
	}
	return err
}

// mendAll mends the files in which somebody has found damage. The one that is written comes later.
func (t *topic) mendAll() error {
	t.mu.Lock()
	closed := t.segments[:len(t.segments)-1]
	t.mu.Unlock()
	var errs []error
	for _, s := range closed {
		t.mu.Lock()
		damaged := s.damaged
		t.mu.Unlock()
		if !damaged {
			continue
		}
		mended, err := t.mend(s)
		if err == nil {
			t.replace([]*segment{s}, mended)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// replace puts a segment in the place of neighbours.
func (t *topic) replace(old []*segment, by *segment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []*segment
	for _, s := range t.segments {
		switch {
		case s == old[len(old)-1]:
			list = append(list, by)
		case s.id < old[0].id || s.id > by.id:
			list = append(list, s)
		}
	}
	t.segments = list
}

// oldest returns the time of the newest record in the first segment, or a later one. If that
// segment cannot be removed it returns a time that never comes.
func (t *topic) oldest() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.segments) < 2 {
		return never
	}
	return t.newestOf(0)
}

const never = int64(1) << 62

// bytes returns the size of all segments.
func (t *topic) bytes() (sum int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.segments {
		sum += s.size
	}
	return sum
}

// removeOldest removes the first segment, unless it is written.
func (t *topic) removeOldest(reason string) (bool, error) {
	t.mu.Lock()
	if len(t.segments) < 2 {
		t.mu.Unlock()
		return false, nil
	}
	s := t.segments[0]
	t.segments = t.segments[1:]
	t.mu.Unlock()
	t.of.metrics.removed.WithLabelValues(reason).Inc()
	return true, os.Remove(s.path)
}

// compact makes one file of the closed ones, with the last message of each key, once half of their
// bytes are not worth keeping.
func (t *topic) compact(now time.Time) error {
	t.mu.Lock()
	closed, written := t.segments[:len(t.segments)-1], *t.last()
	retention := t.settings.Retention
	t.mu.Unlock()
	sum := int64(0)
	for _, s := range closed {
		sum += s.size
	}
	if len(closed) == 0 || sum < max(t.compactAt, t.size) {
		return nil
	}
	last := map[[16]byte]int64{} // the newest offset of each key
	for _, s := range append(closed[:len(closed):len(closed)], &written) {
		lost, err := s.each(func(h *head, body []byte) error {
			last[keyOf(h, body)] = h.offset
			return nil
		})
		if err != nil {
			return err
		}
		if lost > 0 && s != &written { // it is mended first, and so set aside
			t.mu.Lock()
			if !s.damaged {
				t.of.tellDamage()
			}
			s.damaged = true
			t.mu.Unlock()
			return nil
		}
	}
	end := closed[len(closed)-1]
	merged := &segment{id: end.id, first: closed[0].first, path: end.path, compact: true,
		before: closed[0].before, base: closed[0].base, oldest: closed[0].oldest}
	err := merged.create(&t.of.disk, func(out *os.File) error {
		w := recordWriter{file: out}
		for _, s := range closed {
			if _, err := s.each(func(h *head, body []byte) error {
				age, newest := now.Sub(time.UnixMilli(h.time)), last[keyOf(h, body)] == h.offset
				if !newest || h.value < 0 && age > goneKept || retention > 0 && age > retention {
					return nil
				}
				return w.record(h, body)
			}); err != nil {
				return err
			}
		}
		return w.flush()
	})
	if err != nil {
		return err
	}
	t.compactAt = 2 * merged.size
	t.replace(closed, merged)
	var errs []error
	for _, s := range closed[:len(closed)-1] { // the last one's place is taken
		errs = append(errs, os.Remove(s.path))
	}
	return errors.Join(errs...)
}

// keyOf is a sum of a record's partition and key, so that a key takes little memory.
func keyOf(h *head, body []byte) (sum [16]byte) {
	all := sha256.Sum256(append([]byte{byte(h.partition), byte(h.partition >> 8)}, body[:h.key]...))
	copy(sum[:], all[:])
	return sum
}
