package dictionaries

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/cache"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/fresh"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/building"
)

// Who asks which series there are looks into dictionaries, and those are written when a window is
// closed. So that a new node or table is found within seconds, the store also writes the
// dictionaries of a frame that brings new entities, at once. Closing writes what is still missing.

const (
	// AnnounceAgain is how often the frames of a node's window are looked into: each delta frame
	// brings all that is new since its key frame once more.
	AnnounceAgain = 30 * time.Second
	// announceBytes is how large a payload may be for that, announceMemory what looking into it may
	// take, and AnnouncesAtOnce how many frames are looked into at once. A payload of a MiB is that
	// of a node of some 10,000 tables and takes some 10 MB. What is larger or takes more is left to
	// closing. A key frame that finds all slots taken waits in the backlog; a delta frame leaves it
	// to the next one.
	announceBytes   = 1 << 20
	announceMemory  = 32 << 20
	AnnouncesAtOnce = 4
	// announcedNodes is of how many nodes, and of how many windows, a process remembers that it
	// looked; some 100 bytes each.
	announcedNodes = 50_000
)

// Announcer looks into frames for new series.
type Announcer struct {
	dictionaries *Table
	sent         Sent
	frames       *fresh.Frames
	clock        *calendar.Clock
	log          *slog.Logger

	CatchUpAfter time.Duration

	slots chan struct{} // one for each frame that is looked into
	// outline of the last key frame whose dictionaries are written
	keys *cache.Cache[nodeDay, uint64]
	// when delta frames of a window were last looked into
	windows *cache.Cache[nodeWindow, time.Time]

	mu         sync.Mutex
	backlog    []keyFrame // that came while all slots were taken, announcedNodes at most
	catchingUp bool       // they are being looked into
}

// NewAnnouncer announces the dictionaries of frames. sent are those of key frames that were read.
func NewAnnouncer(dictionaries *Table, frames *fresh.Frames, sent Sent,
	clock *calendar.Clock, log *slog.Logger) *Announcer {
	return &Announcer{dictionaries: dictionaries, frames: frames, clock: clock, log: log,
		slots: make(chan struct{}, AnnouncesAtOnce), sent: sent, CatchUpAfter: catchUpAfter,
		keys:    cache.New[nodeDay, uint64](announcedNodes),
		windows: cache.New[nodeWindow, time.Time](announcedNodes)}
}

// keyFrame is a stored key frame that may bring something new.
type keyFrame struct {
	work    rows.Work
	account string
	header  frame.Header
	outline uint64 // frame.Outline
}

// Key announces what a key frame brings, if that is something else than the node's last one on
// the same day brought. When many come at once, as a fleet's first frames do, the frame does not
// wait: it is read again when there is a slot.
func (s *Announcer) Key(ctx context.Context, w rows.Work, account string, h *frame.Header,
	b []byte) {
	if h.RawLength > announceBytes {
		return
	}
	outline, err := frame.Outline(memory.Bounded(announceMemory), b, s.sent.Of(account))
	k := keyFrame{w, account, *h, outline}
	if err != nil || s.announced(&k) {
		return
	}
	s.mu.Lock()
	waits := s.catchingUp
	if !waits {
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		default:
			waits = true
		}
	}
	if waits && len(s.backlog) < announcedNodes {
		s.backlog = append(s.backlog, k)
	}
	if waits && !s.catchingUp {
		s.catchingUp = true
		go s.catchUp()
	}
	s.mu.Unlock()
	if !waits {
		s.keyWithSlot(ctx, &k, b)
	}
}

// Waiting returns how many key frames have not been looked into yet.
func (s *Announcer) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.backlog)
}

// announced reports whether the node's last key frame of the day brought the same.
func (s *Announcer) announced(k *keyFrame) bool {
	last, known := s.keys.Get(k.day())
	return known && last == k.outline
}

func (k *keyFrame) day() nodeDay {
	return nodeDay{k.account, k.header.Node, calendar.Day(k.header.Window())}
}

// catchUpTimeout bounds the work on one frame of the backlog.
const catchUpTimeout = 30 * time.Second

// catchUpsAtOnce is how many of them are looked into at once: a node has some 40 dictionaries, and
// writing those of a whole fleet at once would leave Cassandra no time for frames and readers. With
// one at a time, 10,000 nodes would not be through when their first windows are to be closed.
const catchUpsAtOnce = 3

// CatchUpAfter is how long the backlog waits first. When a fleet begins at once, all its first
// frames come within an interval, and looking into the backlog must not slow them down.
const catchUpAfter = 20 * time.Second

// catchUp looks into the backlog, the oldest frame first.
func (s *Announcer) catchUp() {
	<-time.After(s.CatchUpAfter)
	var g errgroup.Group
	g.SetLimit(catchUpsAtOnce)
	for {
		s.mu.Lock()
		if len(s.backlog) == 0 {
			s.backlog, s.catchingUp = nil, false
			s.mu.Unlock()
			return
		}
		k := s.backlog[0]
		s.backlog = s.backlog[1:]
		s.mu.Unlock()
		if s.announced(&k) {
			continue
		}
		g.Go(func() error { s.readAgain(&k); return nil })
	}
}

// readAgain looks into a frame that was stored.
func (s *Announcer) readAgain(k *keyFrame) {
	s.slots <- struct{}{}
	defer func() { <-s.slots }()
	ctx, cancel := context.WithTimeout(context.Background(), catchUpTimeout)
	defer cancel()
	b, err := s.frames.One(ctx, k.work, k.account, k.header.Node, k.header.Window(), k.header.At)
	if err == nil && b != nil {
		s.keyWithSlot(ctx, k, b)
	}
}

// keyWithSlot is key for a caller that has a slot.
func (s *Announcer) keyWithSlot(ctx context.Context, k *keyFrame, b []byte) {
	if s.announce(ctx, k.work, k.account, k.header.Node, b) {
		s.keys.Put(k.day(), k.outline, 1)
	}
}

// Delta announces what a delta frame brings beyond its key frame.
func (s *Announcer) Delta(ctx context.Context, w rows.Work, account string, h *frame.Header,
	b []byte) {
	id := nodeWindow{account, h.Node, h.Window()}
	now := s.clock.Now()
	if at, known := s.windows.Get(id); known && now.Sub(at) < AnnounceAgain {
		return
	}
	if more, err := frame.Extends(b); err != nil || !more {
		return
	}
	key, err := s.frames.One(ctx, w, account, h.Node, h.Window(), h.KeyAt())
	if err != nil || !fresh.NamesKey(h, key) {
		return
	}
	k, _, err := frame.Parse(key)
	if err == nil && k.RawLength+h.RawLength <= announceBytes {
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		default:
			return
		}
		if !s.announce(ctx, w, account, h.Node, key, b) {
			return
		}
	}
	s.windows.Put(id, now, 1)
}

// announce writes the dictionaries of frames and reports whether they are there. It is an extra:
// what fails is left to closing the window. The caller has a slot.
func (s *Announcer) announce(ctx context.Context, work rows.Work, account string, node uuid.UUID,
	frames ...[]byte) bool {
	w, _, err := building.Known(memory.Bounded(announceMemory),
		window.Node{Account: account, ID: node}, frames, s.sent.Of(account))
	if err != nil {
		return false
	}
	list := make([]blobs.EncodedDictionary, 0, len(w.Types))
	for _, t := range w.Types {
		blob := blobs.AppendDictionary(nil, t.Dictionary)
		list = append(list, blobs.EncodedDictionary{Key: t.Key, Hash: window.HashOf(blob),
			Blob: blob})
	}
	if err := s.dictionaries.Write(ctx, work, w.Node, w.Start, list); err != nil {
		s.log.Debug("store: the new series of a frame could not be announced; closing its window "+
			"will do it", "node", node, "error", err)
		return false
	}
	return true
}

// nodeDay is a node's partition of dictionaries.
type nodeDay struct {
	account string
	node    uuid.UUID
	day     int64
}

// nodeWindow names a window of a node.
type nodeWindow struct {
	account string
	node    uuid.UUID
	start   int64
}
