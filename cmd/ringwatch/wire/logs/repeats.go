package logs

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// sayAgain is how long lines of one kind are counted before one more is written.
const sayAgain = time.Minute

// MaxKinds bounds the kinds that are told apart, each with its last line, of a few hundred bytes.
// Messages are the code's own words, so that there are some fifty; what libraries say may have
// more. Beyond the bound all lines are of one kind.
const MaxKinds = 250

// kind says which lines count as the same: level, message, and the values of the attributes in
// tells. What comes from outside, such as a node or an error's text, tells nothing apart.
type kind struct {
	level   slog.Level
	message string
	of      string
}

// tells are the attributes whose few values are the code's and mean different things.
var tells = []string{"reason", "what", "engine", "group"}

// Repeats lets the first warning or error of a kind through and counts those that follow. After a
// minute in which some did, it writes the last of them with repeated=HOW MANY and over=SINCE
// WHEN; after one in which none did, the next one is the first again. Lines below warnings pass:
// an access log is a line per request by wish. One repeats serves all loggers of the process.
type Repeats struct {
	Now   func() time.Time
	After func(time.Duration, func()) // calls once when the time has passed

	mu    sync.Mutex
	Kinds map[kind]*repeated
	set   bool // tick will be called
}

// repeated is what is known of the lines of one kind.
type repeated struct {
	since   time.Time // when one was written
	count   int       // what came after it
	last    slog.Record
	handler slog.Handler // of the last
}

// NewRepeats makes one that has said nothing yet.
func NewRepeats() *Repeats {
	return &Repeats{Now: time.Now, After: func(d time.Duration, f func()) { time.AfterFunc(d, f) },
		Kinds: map[kind]*repeated{}}
}

// Wrap returns a handler that writes to next.
func (r *Repeats) Wrap(next slog.Handler) slog.Handler {
	return &repeatsHandler{repeats: r, next: next}
}

// take reports whether a line is to be written now.
func (r *Repeats) take(k kind, line slog.Record, handler slog.Handler) bool {
	now := r.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.Kinds[k]
	if known == nil && len(r.Kinds) >= MaxKinds {
		k = kind{level: k.level}
		known = r.Kinds[k]
	}
	if known == nil {
		r.Kinds[k] = &repeated{since: now}
	} else {
		known.count, known.last, known.handler = known.count+1, line.Clone(), handler
	}
	if !r.set {
		r.set = true
		r.After(sayAgain, r.tick)
	}
	return known == nil
}

// tick says what was counted of the kinds whose minute is over, and calls itself again while
// there are kinds.
func (r *Repeats) tick() {
	r.say(sayAgain)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.set = len(r.Kinds) > 0; !r.set {
		return
	}
	now, next := r.Now(), sayAgain
	for _, known := range r.Kinds {
		next = min(next, known.since.Add(sayAgain).Sub(now))
	}
	r.After(max(next, time.Second), r.tick)
}

// Flush says what was counted and not yet said.
func (r *Repeats) Flush() { r.say(0) }

// say writes what was counted of each kind in a time that is not shorter, the oldest first, and
// forgets those of which nothing was.
func (r *Repeats) say(shortest time.Duration) {
	type line struct {
		slog.Record
		handler slog.Handler
	}
	var lines []line
	now := r.Now()
	r.mu.Lock()
	for k, known := range maps.Clone(r.Kinds) {
		over := now.Sub(known.since)
		if over < shortest {
			continue
		}
		if known.count == 0 {
			delete(r.Kinds, k)
			continue
		}
		if k.message == "" && k.of == "" {
			known.last.Message = "more lines of various kinds, the last: " + known.last.Message
		}
		known.last.AddAttrs(slog.Int("repeated", known.count),
			slog.Duration("over", over.Round(time.Second)))
		lines = append(lines, line{known.last, known.handler})
		r.Kinds[k] = &repeated{since: now}
	}
	r.mu.Unlock()
	slices.SortFunc(lines, func(a, b line) int { return a.Time.Compare(b.Time) })
	for _, l := range lines {
		// nothing can be said of a log that cannot be written
		_ = l.handler.Handle(context.Background(), l.Record)
	}
}

// repeatsHandler is a slog.Handler of repeats, with the attributes and groups of one logger.
type repeatsHandler struct {
	repeats *Repeats
	next    slog.Handler
	of      string
	grouped bool
}

// Enabled implements slog.Handler.
func (h *repeatsHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *repeatsHandler) Handle(ctx context.Context, line slog.Record) error {
	if line.Level < slog.LevelWarn {
		return h.next.Handle(ctx, line)
	}
	k := kind{line.Level, line.Message, h.of}
	line.Attrs(func(a slog.Attr) bool {
		k.of += h.tells(a)
		return true
	})
	if !h.repeats.take(k, line, h.next) {
		return nil
	}
	return h.next.Handle(ctx, line)
}

// tells returns what an attribute says of a line's kind.
func (h *repeatsHandler) tells(a slog.Attr) string {
	if h.grouped || !slices.Contains(tells, a.Key) {
		return ""
	}
	value := a.Value.String()
	return a.Key + "=" + value[:min(len(value), 64)] + " "
}

// WithAttrs implements slog.Handler.
func (h *repeatsHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	c := *h
	c.next = h.next.WithAttrs(attrs)
	for _, a := range attrs {
		c.of += h.tells(a)
	}
	return &c
}

// WithGroup implements slog.Handler.
func (h *repeatsHandler) WithGroup(name string) slog.Handler {
	c := *h
	c.next, c.grouped = h.next.WithGroup(name), h.grouped || name != ""
	return &c
}
