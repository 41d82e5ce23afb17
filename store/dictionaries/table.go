// Package dictionaries keeps the dictionaries that closed windows and rollups refer to, by content,
// and finds them again. Start with Table; an Announcer writes those of frames before their window
// is closed, so that new series are found at once.
package dictionaries

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/store/cache"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// writtenBytes bounds what a process knows of what is written. A partition takes 200 bytes and 8
// for each dictionary, so 500; a node has four that are in use (its day's, and one for each level
// of rollups). Half of the bound is always kept, which is enough for 16,000 nodes; with more, what
// was not used for longest is forgotten, and a receipt read again.
const (
	writtenBytes     = 64 << 20
	writtenPartition = 200
)

// Metrics count dictionaries. Written and Known together are those that a window or rollup
// refers to.
type Metrics struct {
	Known, Written prometheus.Counter
	// read because a process did not know which dictionaries are there, by result: found, none
	Receipts *prometheus.CounterVec
	Damaged  prometheus.Counter // that could not be decoded
}

// Table keeps dictionaries, and what this process knows of them.
type Table struct {
	engine          rows.Engine
	series, written *rows.Table
	metrics         Metrics
	log             *slog.Logger
	clock           *calendar.Clock
	known           *cache.Cache[partitionKey, []window.Hash] // which are in a partition
	decoded         *cache.Cache[dictionaryKey, *window.Dictionary]
}

// New keeps in an engine the dictionaries of windows that live for ttl.
func New(engine rows.Engine, ttl time.Duration, clock *calendar.Clock,
	metrics Metrics, log *slog.Logger) *Table {
	return &Table{engine: engine, series: Layout(ttl), written: WrittenLayout(),
		metrics: metrics, log: log, clock: clock,
		known:   cache.New[partitionKey, []window.Hash](writtenBytes),
		decoded: cache.New[dictionaryKey, *window.Dictionary](dictionaryValues)}
}

// WriteMissing writes those of a list of dictionaries that a partition lacks, in as few mutations
// as their size allows, and the receipt after that. report, which may be nil, is called in between
// with what was written.
func (s *Table) WriteMissing(ctx context.Context, w rows.Work, h Partition,
	list []blobs.EncodedDictionary, report func([]blobs.EncodedDictionary) error) error {
	known, err := s.knownIn(ctx, w, h)
	if err != nil {
		return err
	}
	var missing []blobs.EncodedDictionary
	for _, d := range list {
		if _, found := slices.BinarySearchFunc(known, d.Hash, compareHashes); !found {
			missing = append(missing, d)
		}
	}
	s.metrics.Known.Add(float64(len(list) - len(missing)))
	if len(missing) == 0 {
		return nil
	}
	rest := make([]rows.Row, len(missing))
	for i, d := range missing {
		rest[i] = h.row(d.Key, d.Hash, d.Blob)
	}
	if err := s.engine.Put(ctx, w, h.rows, rest...); err != nil {
		return fmt.Errorf("store: write dictionaries: %w", err)
	}
	s.metrics.Written.Add(float64(len(missing)))
	if report != nil {
		if err := report(missing); err != nil {
			return err
		}
	}
	known = slices.Clone(known) // others read it
	for _, d := range missing {
		known = append(known, d.Hash)
	}
	slices.SortFunc(known, compareHashes)
	known = slices.Compact(known)
	receipt := h.receipt(appendReceipt(nil, seconds(h.ttl), known))
	if err := s.engine.Put(ctx, w, h.rows, receipt); err != nil {
		return fmt.Errorf("store: write which dictionaries are there: %w", err)
	}
	s.remember(h, known)
	return nil
}

// Remembers bounds what a process knows of what is written.
func (s *Table) Remembers(bytes int) {
	s.known = cache.New[partitionKey, []window.Hash](bytes)
}

// knownIn returns the dictionaries that are certainly in a partition, in order.
func (s *Table) knownIn(ctx context.Context, w rows.Work,
	h Partition) ([]window.Hash, error) {
	if known, found := s.known.Get(h.partitionKey); found {
		return known, nil
	}
	var b []byte
	if err := s.engine.Read(ctx, w, h.receiptQuery, func(scan func(...any) bool) bool {
		return scan(&b)
	}); err != nil {
		return nil, fmt.Errorf("store: read which dictionaries are there: %w", err)
	}
	known := receiptOf(b, seconds(h.ttl))
	if known == nil {
		s.metrics.Receipts.WithLabelValues("none").Inc()
		return nil, nil
	}
	s.metrics.Receipts.WithLabelValues("found").Inc()
	s.remember(h, known)
	return known, nil
}

func (s *Table) remember(h Partition, known []window.Hash) {
	s.known.Put(h.partitionKey, known, writtenPartition+len(known)*len(window.Hash{}))
}

// Write writes those of the dictionaries of a node's span that are not there, and then that it did:
// see list.go.
func (s *Table) Write(ctx context.Context, w rows.Work, n window.Node, start int64,
	list []blobs.EncodedDictionary) error {
	return s.WriteMissing(ctx, w, s.dayPartition(n.Account, n.ID, calendar.Day(start)), list,
		func(written []blobs.EncodedDictionary) error {
			return s.recordWritten(ctx, w, n, start, written)
		})
}
