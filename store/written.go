package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// A node has some 40 dictionaries, in its day's partition of series and in each rollup's partition
// again. They hardly ever change, so closing a window writes only those that are missing. A process
// remembers those that it has written itself. For those that others wrote, or that it forgot, it
// asks Cassandra once a partition: it reads the receipt.
//
// The receipt is a row beside the dictionaries that names those a quorum has acknowledged; it is
// written after that. The rows themselves would prove less: with read repair off a quorum read also
// finds a row that a process which died left on one replica, and the next read may miss it.
//
// What a receipt names lives long enough. A partition's dictionaries are written with one time to
// live (series: RawTTL and a day; rollups: the table's TTL and the partition's length), none before
// the partition begins, so that they outlive what is answered of its last window. A receipt of a
// shorter time to live, from before somebody raised it, does not count. If a receipt is lost, or
// two processes replace each other's, dictionaries are written once more, which does no harm.

// writtenKey is a partition that has dictionaries.
type writtenKey struct {
	table, account string
	node           uuid.UUID
	start          int64 // of its day or bucket
}

// writtenBytes bounds what a process knows of what is written. A partition takes 200 bytes and 8
// for each dictionary, so 500; a node has four that are in use (its day's, and one for each level
// of rollups). Half of the bound is always kept, which is enough for 16,000 nodes; with more, what
// was not used for longest is forgotten, and a receipt read again.
const (
	writtenBytes     = 64 << 20
	writtenPartition = 200
)

// dictionaryPartition is one partition that has dictionaries, and how to write and read there.
type dictionaryPartition struct {
	writtenKey
	ttl          int64 // seconds
	rows         *rows.Table
	row          func(key string, hash window.Hash, b []byte) rows.Row // a dictionary
	receipt      func(b []byte) rows.Row
	receiptQuery rows.Query // reads the receipt
}

// receiptName is the receipt's hash, which no dictionary has: theirs are 8 bytes long.
var receiptName = []byte("receipt")

func (s *dictionaryRows) dayPartition(account string, node uuid.UUID,
	day int64) dictionaryPartition {
	row := func(key string, hash, b []byte) rows.Row {
		return rows.Row{Key: []any{account, node, day, key, hash}, Values: []any{b}}
	}
	return dictionaryPartition{
		writtenKey: writtenKey{seriesTable, account, node, day},
		ttl:        seconds(s.series.TTL),
		rows:       s.series,
		row: func(key string, hash window.Hash, b []byte) rows.Row {
			return row(key, hash[:], b)
		},
		receipt: func(b []byte) rows.Row { return row("", receiptName, b) },
		receiptQuery: rows.Query{Table: s.series, Key: []any{account, node},
			Equal: []any{day, "", receiptName}, Columns: []string{"blob"}},
	}
}

func (s *Store) rollupPartition(t *rollupTable, account string, node uuid.UUID,
	bucket int64) dictionaryPartition {
	ttl := t.ttl + time.Duration(t.bucket)*time.Millisecond
	row := func(metric string, b []byte) rows.Row {
		return rows.Row{Key: []any{account, node, bucket, "", metric, bucket}, Values: []any{b},
			TTL: ttl}
	}
	table := s.byName[t.name]
	return dictionaryPartition{
		writtenKey: writtenKey{t.name, account, node, bucket},
		ttl:        seconds(ttl),
		rows:       table,
		row: func(_ string, hash window.Hash, b []byte) rows.Row {
			return row(hash.String(), b)
		},
		receipt: func(b []byte) rows.Row { return row(string(receiptName), b) },
		receiptQuery: rows.Query{Table: table, Key: []any{account, node, bucket},
			Equal: []any{"", string(receiptName), bucket}, Columns: []string{"blob"}},
	}
}

// dictionaryRows keeps dictionaries, and what this process knows of them.
type dictionaryRows struct {
	engine          rows.Engine
	series, written *rows.Table
	metrics         *Metrics
	log             *slog.Logger
	now             func() int64
	known           *recentCache[writtenKey, []window.Hash] // which are in a partition
}

// writeMissing writes those of a list of dictionaries that a partition lacks, in as few mutations
// as their size allows, and the receipt after that. report, which may be nil, is called in between
// with what was written.
func (s *dictionaryRows) writeMissing(ctx context.Context, w rows.Work, h dictionaryPartition,
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
	s.metrics.DictionariesKnown.Add(float64(len(list) - len(missing)))
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
	s.metrics.DictionariesWritten.Add(float64(len(missing)))
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
	if err := s.engine.Put(ctx, w, h.rows, h.receipt(appendReceipt(nil, h.ttl, known))); err !=
		nil {
		return fmt.Errorf("store: write which dictionaries are there: %w", err)
	}
	s.remember(h, known)
	return nil
}

// knownIn returns the dictionaries that are certainly in a partition, in order.
func (s *dictionaryRows) knownIn(ctx context.Context, w rows.Work,
	h dictionaryPartition) ([]window.Hash, error) {
	if known, found := s.known.get(h.writtenKey); found {
		return known, nil
	}
	var b []byte
	if err := s.engine.Read(ctx, w, h.receiptQuery, func(scan func(...any) bool) bool {
		return scan(&b)
	}); err != nil {
		return nil, fmt.Errorf("store: read which dictionaries are there: %w", err)
	}
	known := receiptOf(b, h.ttl)
	if known == nil {
		s.metrics.Receipts.WithLabelValues("none").Inc()
		return nil, nil
	}
	s.metrics.Receipts.WithLabelValues("found").Inc()
	s.remember(h, known)
	return known, nil
}

func (s *dictionaryRows) remember(h dictionaryPartition, known []window.Hash) {
	s.known.put(h.writtenKey, known, writtenPartition+len(known)*len(window.Hash{}))
}

func compareHashes(a, b window.Hash) int { return slices.Compare(a[:], b[:]) }

// receiptVersion begins a receipt; the time to live in seconds as a varint and the hashes follow.
const receiptVersion = 1

func appendReceipt(dst []byte, ttl int64, known []window.Hash) []byte {
	dst = binary.AppendUvarint(append(dst, receiptVersion), uint64(ttl))
	for _, h := range known {
		dst = append(dst, h[:]...)
	}
	return dst
}

// receiptOf returns what a receipt names, in order; nil if it is none that counts.
func receiptOf(b []byte, ttl int64) []window.Hash {
	if len(b) == 0 || b[0] != receiptVersion {
		return nil
	}
	lives, n := binary.Uvarint(b[1:])
	if n <= 0 || lives < uint64(ttl) {
		return nil
	}
	b = b[1+n:]
	size := len(window.Hash{})
	if len(b)%size != 0 {
		return nil
	}
	known := make([]window.Hash, 0, len(b)/size)
	for ; len(b) > 0; b = b[size:] {
		known = append(known, window.Hash(b[:size]))
	}
	slices.SortFunc(known, compareHashes)
	return known
}

// write writes those of the dictionaries of a node's span that are not there, and then that it did:
// see dictionaries.go.
func (s *dictionaryRows) write(ctx context.Context, w rows.Work, n window.Node, start int64,
	list []blobs.EncodedDictionary) error {
	return s.writeMissing(ctx, w, s.dayPartition(n.Account, n.ID, dayOf(start)), list,
		func(written []blobs.EncodedDictionary) error {
			return s.recordWritten(ctx, w, n, start, written)
		})
}
