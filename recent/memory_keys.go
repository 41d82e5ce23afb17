package recent

import (
	"context"
	"errors"
	"time"
)

// memoryKeys are what a Memory keeps beside frames: sets, hashes and senders, by name, as Redis
// has them.
type memoryKeys struct {
	most, bytes int64
	byName      map[string]*memoryKey
	swept       int64 // when expire last looked
}

// memoryKey is what is under one name: fields with texts, or members with times.
type memoryKey struct {
	texts          map[string]string
	times          map[string]int64
	expires, bytes int64
}

// errFull says that something does not fit, and is not kept.
var errFull = errors.New("recent: the memory for the last minutes is full")

// sweepMillis is how often expired keys are looked for: there is one name for each node at most.
const sweepMillis = 5_000

func (w *memoryKeys) expire(now int64) {
	if now >= w.swept && now-w.swept < sweepMillis {
		return
	}
	w.swept = now
	for name, s := range w.byName {
		if s.expires <= now {
			w.remove(name)
		}
	}
}

func (w *memoryKeys) remove(name string) {
	if s := w.byName[name]; s != nil {
		w.bytes -= s.bytes
		delete(w.byName, name)
	}
}

// of returns what stands under a name; nil if that is nothing, or has expired.
func (w *memoryKeys) of(name string, now int64) *memoryKey {
	if s := w.byName[name]; s != nil && s.expires > now {
		return s
	}
	return nil
}

// set lets s stand under a name until expires. Without room for it nothing stands there.
func (w *memoryKeys) set(name string, s *memoryKey, expires int64) error {
	w.remove(name)
	if len(s.texts)+len(s.times) == 0 {
		return nil
	}
	s.expires, s.bytes = expires, int64(windowOverhead+len(name))
	for field, text := range s.texts {
		s.bytes += int64(frameOverhead + len(field) + len(text))
	}
	for field := range s.times {
		s.bytes += int64(frameOverhead + len(field))
	}
	if w.bytes+s.bytes > w.most {
		return errFull
	}
	w.bytes += s.bytes
	w.byName[name] = s
	return nil
}

// times returns the times that stand under a name, for somebody to add to.
func (w *memoryKeys) times(name string, now int64) *memoryKey {
	if s := w.of(name, now); s != nil {
		return s
	}
	return &memoryKey{times: map[string]int64{}}
}

func (m *Memory) addToSet(_ context.Context, set string, members []string, now int64,
	keep time.Duration) error {
	at := m.lock()
	defer m.mu.Unlock()
	s := m.keys.times(set, at)
	for _, member := range members {
		s.times[member] = max(s.times[member], now)
	}
	for member, last := range s.times {
		if last < now-keep.Milliseconds() {
			delete(s.times, member)
		}
	}
	return m.keys.set(set, s, at+keep.Milliseconds())
}

func (m *Memory) setMembers(_ context.Context, set string, since int64) ([]string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var members []string
	if s := m.keys.of(set, m.clock().UnixMilli()); s != nil {
		for member, at := range s.times {
			if at >= since {
				members = append(members, member)
			}
		}
	}
	return members, nil
}

func (m *Memory) setHashes(_ context.Context, list []hash, ttl time.Duration) error {
	expires := m.lock() + ttl.Milliseconds()
	defer m.mu.Unlock()
	var failed error
	for _, of := range list {
		s := &memoryKey{texts: make(map[string]string, len(of.fields)/2)}
		for i := 0; i+1 < len(of.fields); i += 2 {
			s.texts[of.fields[i]] = of.fields[i+1]
		}
		failed = errors.Join(failed, m.keys.set(of.name, s, expires))
	}
	return failed
}

func (m *Memory) hashField(_ context.Context, name, field string) (string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if s := m.keys.of(name, m.clock().UnixMilli()); s != nil {
		return s.texts[field], nil
	}
	return "", nil
}

func (m *Memory) renew(_ context.Context, names []string, ttl time.Duration) ([]bool, error) {
	now := m.lock()
	defer m.mu.Unlock()
	there := make([]bool, len(names))
	for i, name := range names {
		if s := m.keys.of(name, now); s != nil {
			s.expires = now + ttl.Milliseconds()
			there[i] = true
		}
	}
	return there, nil
}

func (m *Memory) addSender(_ context.Context, name, sender string, now int64) (bool, error) {
	at := m.lock()
	defer m.mu.Unlock()
	s := m.keys.times(name, at)
	before, known := s.times[sender]
	several := false
	for other, last := range s.times {
		several = several || known && other != sender && last > before
	}
	if len(s.times) >= maxSenders && !known {
		clear(s.times)
	}
	s.times[sender] = now
	return several, m.keys.set(name, s, at+senderTTL.Milliseconds())
}
