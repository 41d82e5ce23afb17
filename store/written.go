package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/window"
)

// A node has some 40 dictionaries, in its day's partition of series and in each rollup's partition again. They hardly ever change,
// so closing a window must know which are there, and write only what is not. A process knows that of what it has written itself.
// Of what others wrote, or it forgot, it asks Cassandra once a partition: for the receipt.
//
// The receipt is a row beside the dictionaries that names those a quorum has acknowledged; it is written after that. The rows
// themselves would prove less: with read repair off a quorum read also finds a row that a process which died left on one replica,
// and the next read may miss it.
//
// What a receipt names lives long enough. A partition's dictionaries are written with one time to live (series: RawTTL and a day;
// rollups: the table's TTL and the partition's length), none before the partition begins, so that they outlive what is answered of
// its last window. A receipt of a shorter time to live, from before somebody raised it, does not count. If a receipt is lost, or two
// processes replace each other's, dictionaries are written once more, which does no harm.

// writtenKey is a partition that has dictionaries.
type writtenKey struct {
	table, account string
	node           uuid.UUID
	start          int64 // of its day or bucket
}

// writtenBytes bounds what a process knows of what is written. A partition takes 200 bytes and 8 for each dictionary, so 500; a node
// has four that are in use (its day's, and one for each level of rollups). Half of the bound is always kept, which is enough for
// 16,000 nodes; with more, what was not used for longest is forgotten, and a receipt read again.
const (
	writtenBytes     = 64 << 20
	writtenPartition = 200
)

// shelf is one partition that has dictionaries, and how to write and read there.
type shelf struct {
	writtenKey
	ttl     int64                                              // seconds
	insert  string                                             // of a row
	row     func(key string, hash window.Hash, b []byte) []any // a dictionary's values for insert
	receipt func(b []byte) []any                               // the receipt's
	find    string                                             // reads the receipt
	at      []any                                              // values for find
}

// receiptName is the receipt's hash, which no dictionary has: theirs are 8 bytes long.
var receiptName = []byte("receipt")

func (s *Store) dayShelf(account string, node uuid.UUID, day int64) shelf {
	at := []any{account, gocql.UUID(node), day}
	row := func(key string, hash, b []byte) []any { return append(slices.Clone(at), key, hash, b) }
	return shelf{
		writtenKey: writtenKey{seriesTable, account, node, day},
		ttl:        seconds(s.config.RawTTL) + dayMillis/1000, // the table's own
		insert:     "INSERT INTO " + s.table(seriesTable) + " (account, node, day, entity_type, hash, blob) VALUES (?, ?, ?, ?, ?, ?)",
		row:        func(key string, hash window.Hash, b []byte) []any { return row(key, hash[:], b) },
		receipt:    func(b []byte) []any { return row("", receiptName, b) },
		find:       "SELECT blob FROM " + s.table(seriesTable) + " WHERE account = ? AND node = ? AND day = ? AND entity_type = '' AND hash = ?",
		at:         append(slices.Clone(at), receiptName),
	}
}

func (s *Store) rollupShelf(t *rollupTable, account string, node uuid.UUID, bucket int64) shelf {
	at := []any{account, gocql.UUID(node), bucket}
	ttl := seconds(t.ttl) + t.bucket/1000
	row := func(part string, b []byte) []any { return append(slices.Clone(at), "", part, bucket, b, ttl) }
	return shelf{
		writtenKey: writtenKey{t.name, account, node, bucket},
		ttl:        ttl,
		insert:     "INSERT INTO " + s.table(t.name) + " (account, node, bucket, entity_type, part, at, blob) VALUES (?, ?, ?, ?, ?, ?, ?) USING TTL ?",
		row:        func(_ string, hash window.Hash, b []byte) []any { return row(hash.String(), b) },
		receipt:    func(b []byte) []any { return row(string(receiptName), b) },
		find:       "SELECT blob FROM " + s.table(t.name) + " WHERE account = ? AND node = ? AND bucket = ? AND entity_type = '' AND part = ? AND at = ?",
		at:         append(slices.Clone(at), string(receiptName), bucket),
	}
}

// fill writes what a shelf lacks of a list of dictionaries, in as few batches as their size allows, and the receipt after that. tell, which may be nil, is called in
// between with what was written.
func (s *Store) fill(ctx context.Context, h shelf, list []window.EncodedDictionary, tell func([]window.EncodedDictionary) error) error {
	known, err := s.knownOn(ctx, h)
	if err != nil {
		return err
	}
	var missing []window.EncodedDictionary
	for _, d := range list {
		if _, found := slices.BinarySearchFunc(known, d.Hash, compareHashes); !found {
			missing = append(missing, d)
		}
	}
	s.metrics.DictionariesKnown.Add(float64(len(list) - len(missing)))
	if len(missing) == 0 {
		return nil
	}
	session, err := s.cql()
	if err != nil {
		return err
	}
	for rest := missing; len(rest) > 0; {
		batch := session.Batch(gocql.UnloggedBatch)
		n, size := 0, 0
		for n < len(rest) && (n == 0 || size+len(rest[n].Blob) <= spanBatchBytes) {
			batch.Query(h.insert, h.row(rest[n].Key, rest[n].Hash, rest[n].Blob)...)
			size += len(rest[n].Blob)
			n++
		}
		if err := s.run(ctx, h.table, batch.ExecContext); err != nil {
			return fmt.Errorf("store: write dictionaries: %w", err)
		}
		s.metrics.DictionariesWritten.Add(float64(n))
		rest = rest[n:]
	}
	if tell != nil {
		if err := tell(missing); err != nil {
			return err
		}
	}
	known = slices.Clone(known) // others read it
	for _, d := range missing {
		known = append(known, d.Hash)
	}
	slices.SortFunc(known, compareHashes)
	known = slices.Compact(known)
	if err := s.exec(ctx, h.insert, h.receipt(appendReceipt(nil, h.ttl, known))...); err != nil {
		return fmt.Errorf("store: write which dictionaries are there: %w", err)
	}
	s.remember(h, known)
	return nil
}

// knownOn returns the dictionaries that are certainly on a shelf, in order.
func (s *Store) knownOn(ctx context.Context, h shelf) ([]window.Hash, error) {
	if known, found := s.written.get(h.writtenKey); found {
		return known, nil
	}
	var b []byte
	if err := s.each(ctx, func(scan func(...any) bool) bool { return scan(&b) }, h.find, h.at...); err != nil {
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

func (s *Store) remember(h shelf, known []window.Hash) {
	s.written.put(h.writtenKey, known, writtenPartition+len(known)*len(window.Hash{}))
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

// writeDictionaries writes those of the dictionaries of a node's span that are not there, and then that it did: see dictionaries.go.
func (s *Store) writeDictionaries(ctx context.Context, n window.Node, start int64, list []window.EncodedDictionary) error {
	return s.fill(ctx, s.dayShelf(n.Account, n.ID, dayOf(start)), list, func(written []window.EncodedDictionary) error {
		return s.tellWritten(ctx, n, start, written)
	})
}
