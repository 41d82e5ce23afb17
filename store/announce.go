package store

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"strconv"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/window"
)

// Who asks which series there are looks into dictionaries, and those are written when a window is
// closed. So that a new node or table is found within seconds, the store also writes the dictionaries
// of a frame that brings new entities, at once. Closing writes what is still missing.

const (
	// announceAgain is how often the frames of a node's window are looked into: each delta frame brings all
	// that is new since its key frame once more.
	announceAgain = 30 * time.Second
	// announceBytes is how large a payload may be for that, announceMemory what looking into it may take, and
	// announcesAtOnce how many frames are looked into at once. A payload of a MiB is that of a node of some 10,000
	// tables and takes some 10 MB. What is larger, takes more or comes while others are looked into, is left to the
	// next frame or to closing.
	announceBytes   = 1 << 20
	announceMemory  = 32 << 20
	announcesAtOnce = 4
	// announcedNodes is of how many nodes, and of how many windows, a process remembers that it looked; some
	// 100 bytes each.
	announcedNodes = 50_000
)

// announceKey announces what a key frame brings, if that is something else than the node's last one on
// the same day brought.
func (s *Store) announceKey(ctx context.Context, account string, h *frame.Header, b []byte) {
	if h.RawLength > announceBytes {
		return
	}
	f, err := s.decodeToAnnounce(b)
	if err != nil {
		return
	}
	id := nodeDay{account, h.Node, dayOf(h.Window())}
	sum := dictionarySum(f)
	if last, known := s.announcedKeys.get(id); known && last == sum {
		return
	}
	if s.announce(ctx, account, h.Node, b) {
		s.announcedKeys.put(id, sum, 1)
	}
}

// decodeToAnnounce decodes a key frame, some at a time.
func (s *Store) decodeToAnnounce(b []byte) (*frame.Frame, error) {
	s.announcing <- struct{}{}
	defer func() { <-s.announcing }()
	return frame.DecodeWithin(memory.Bounded(announceMemory), b, nil)
}

// announceDelta announces what a delta frame brings beyond its key frame.
func (s *Store) announceDelta(ctx context.Context, account string, h *frame.Header, b []byte) {
	id := windowID{account, h.Node, h.Window()}
	now := s.config.Now()
	if at, known := s.announced.get(id); known && now.Sub(at) < announceAgain {
		return
	}
	if more, err := frame.Extends(b); err != nil || !more {
		return
	}
	key, err := s.frameRow(ctx, "AND at = ?", account, gocql.UUID(h.Node), h.Window(), h.KeyAt())
	if err != nil || !names(h, key) {
		return
	}
	k, _, err := frame.Parse(key)
	if err != nil || k.RawLength+h.RawLength > announceBytes || s.announce(ctx, account, h.Node, key, b) {
		s.announced.put(id, now, 1)
	}
}

// announce writes the dictionaries of frames and reports whether they are there. It is an extra: what
// fails is left to closing the window.
func (s *Store) announce(ctx context.Context, account string, node uuid.UUID, frames ...[]byte) bool {
	select {
	case s.announcing <- struct{}{}:
		defer func() { <-s.announcing }()
	default:
		return false
	}
	w, _, err := window.BuildWithin(memory.Bounded(announceMemory), window.Node{Account: account, ID: node}, frames)
	if err != nil {
		return false
	}
	list := make([]window.EncodedDictionary, 0, len(w.Types))
	for _, t := range w.Types {
		blob := t.Dictionary.Append(nil)
		list = append(list, window.EncodedDictionary{Key: t.Key, Hash: window.HashOf(blob), Blob: blob})
	}
	if err := s.writeDictionaries(ctx, w.Node, w.Start, list); err != nil {
		s.log.Debug("store: the new series of a frame could not be announced; closing its window will do it", "node", node, "error", err)
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

// dictionarySum tells two key frames apart by what their dictionaries say.
func dictionarySum(f *frame.Frame) uint64 {
	h := fnv.New64a()
	say := func(texts ...string) {
		for _, t := range texts {
			io.WriteString(h, t)
			h.Write([]byte{0xff}) // in no text: they are UTF-8
		}
	}
	say(f.Cluster, f.Identity.Datacenter, f.Identity.Rack)
	for i := range f.Bounds {
		say(fmt.Sprint(f.Bounds[i]))
	}
	for i := range f.Templates {
		say(f.Templates[i].Type)
		say(f.Templates[i].Labels...)
		for _, m := range f.Templates[i].Metrics {
			say(m.Name, m.Unit)
			h.Write([]byte{byte(m.Kind), byte(m.Exponent), byte(m.Bounds), byte(m.Bounds >> 8)})
		}
	}
	for i := range f.Added {
		say(strconv.Itoa(f.Added[i].Template))
		for _, row := range f.Added[i].Rows {
			say(row...)
		}
	}
	return h.Sum64()
}
