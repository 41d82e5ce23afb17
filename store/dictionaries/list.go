package dictionaries

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// Who keeps all dictionaries in memory (package query/index) reads each node's once, and from then
// on only which were written since: series_written has a row per window that brought some, by the
// time of writing. After midnight UTC that is one per node, else there are hardly any.

// TableName is the table of dictionaries.
const TableName = "series"

// WrittenTableName is the table of which dictionaries were written when.
const WrittenTableName = "series_written"

// writtenHour is what a partition of series_written holds, in ms. With 10,000 nodes in one account
// the busiest, the first of a day, has some 10 MB.
const writtenHour = 60 * 60_000

// WrittenFor is how far back DictionariesWritten knows: who has not looked for longer reads every
// node's dictionaries again.
const WrittenFor = 24 * time.Hour

// WrittenLayout is the table of which dictionaries were written when.
func WrittenLayout() *rows.Table {
	return &rows.Table{
		Name: WrittenTableName,
		Comment: "Ringwatch: which dictionaries were written when; whoever keeps them in " +
			"memory looks here for what is new",
		Partition: []rows.Column{rows.TextColumn("account"), rows.TimeColumn("hour")},
		Clustering: []rows.Column{rows.TimeColumn("at"), rows.IDColumn("node"),
			rows.TimeColumn("window")},
		// hashes by entity_type
		Values: []rows.Column{{Name: "dictionaries", Kind: rows.BlobMap}},
		TTL:    WrittenFor, AgeUnit: time.Hour, Grace: 3 * time.Hour,
		Compression: rows.Zip(1, 16),
	}
}

// Layout is the table of dictionaries, of windows that live for ttl.
func Layout(ttl time.Duration) *rows.Table {
	return &rows.Table{
		Name:      TableName,
		Comment:   "Ringwatch: dictionaries by content; closed windows refer to them",
		Partition: []rows.Column{rows.TextColumn("account"), rows.IDColumn("node")},
		Clustering: []rows.Column{rows.TimeColumn("day"), rows.TextColumn("entity_type"),
			{Name: "hash", Kind: rows.Blob}},
		Values: []rows.Column{{Name: "blob", Kind: rows.Blob}},
		TTL:    ttl + 24*time.Hour, AgeUnit: time.Hour, Grace: 3 * time.Hour,
		Compression: rows.Zip(3, 16),
	}
}

// recordWritten writes to series_written that dictionaries of a node's span are there now.
func (s *Table) recordWritten(ctx context.Context, w rows.Work, n window.Node, start int64,
	list []blobs.EncodedDictionary) error {
	if len(list) == 0 {
		return nil
	}
	hashes := make(map[string][]byte, len(list))
	for _, d := range list {
		hashes[d.Key] = d.Hash[:]
	}
	at := s.clock.Millis()
	err := s.engine.Put(ctx, w, s.written,
		rows.Row{Key: []any{n.Account, calendar.Floor(at, writtenHour), at, n.ID, start},
			Values: []any{hashes}})
	if err != nil {
		return fmt.Errorf("store: write which dictionaries are new: %w", err)
	}
	return nil
}

// Since returns the dictionaries that were written since a time (ms), for windows of whatever day.
// What was written more than a day ago is not found here any more.
func (s *Table) Since(ctx context.Context, w rows.Work, account string,
	since int64) ([]window.DictionaryID, error) {
	var list []window.DictionaryID
	now := s.clock.Millis() + calendar.AheadMillis
	since = max(since, now-calendar.AheadMillis-WrittenFor.Milliseconds())
	for hour := calendar.Floor(since, writtenHour); hour <= now; hour += writtenHour {
		query := rows.Query{Table: s.written, Key: []any{account, hour}, From: since,
			Columns: []string{"node", "window", "dictionaries"}}
		err := s.engine.Read(ctx, w, query, func(scan func(...any) bool) bool {
			var node uuid.UUID
			var start int64
			var hashes map[string][]byte
			if !scan(&node, &start, &hashes) {
				return false
			}
			for key, hash := range hashes {
				if id, ok := dictionaryID(node, calendar.Day(start), key, hash); ok {
					list = append(list, id)
				}
			}
			return true
		})
		if err != nil {
			return nil, fmt.Errorf("store: read which dictionaries are new: %w", err)
		}
	}
	return list, nil
}

// IDs returns which dictionaries a node had on the day of a time and on those after it.
func (s *Table) IDs(ctx context.Context, w rows.Work, account string, node uuid.UUID,
	from int64) ([]window.DictionaryID, error) {
	var list []window.DictionaryID
	query := rows.Query{Table: s.series, Key: []any{account, node}, From: calendar.Day(from),
		Columns: []string{"day", "entity_type", "hash"}}
	err := s.engine.Read(ctx, w, query, func(scan func(...any) bool) bool {
		var day int64
		var key string
		var hash []byte
		if !scan(&day, &key, &hash) {
			return false
		}
		if id, ok := dictionaryID(node, day, key, hash); ok {
			list = append(list, id)
		}
		return true
	})
	if err != nil {
		return nil, fmt.Errorf("store: list the dictionaries of node %s: %w", node, err)
	}
	return list, nil
}

func dictionaryID(node uuid.UUID, day int64, key string, hash []byte) (window.DictionaryID, bool) {
	id := window.DictionaryID{Node: node, Day: day, Key: key}
	return id, copy(id.Hash[:], hash) == len(id.Hash) && len(hash) == len(id.Hash)
}

// dictionariesAlone is up to how many dictionaries of a node's day are read one by one; more are
// read with all of that day.
const dictionariesAlone = 2

// Read calls take for those of the named dictionaries, all of one node, that can be read. They do
// not enter the cache.
func (s *Table) Read(ctx context.Context, w rows.Work, account string, node uuid.UUID,
	ids []window.DictionaryID, take func(window.Hash, *window.Dictionary)) error {
	byDay := map[int64]map[window.Hash]string{} // keys
	for _, id := range ids {
		if byDay[id.Day] == nil {
			byDay[id.Day] = map[window.Hash]string{}
		}
		byDay[id.Day][id.Hash] = id.Key
	}
	for day, keys := range byDay {
		read := func(equal ...any) error {
			query := rows.Query{Table: s.series, Key: []any{account, node},
				Equal: append([]any{day}, equal...), Columns: []string{"hash", "blob"}}
			return s.engine.Read(ctx, w, query, func(scan func(...any) bool) bool {
				var hash, blob []byte
				if !scan(&hash, &blob) {
					return false
				}
				if id, ok := dictionaryID(node, day, "", hash); ok && keys[id.Hash] != "" {
					s.take(node, id.Hash, blob, take)
				}
				return true
			})
		}
		var err error
		if len(keys) > dictionariesAlone {
			err = read()
		} else {
			for hash, key := range keys {
				if err == nil {
					err = read(key, hash[:])
				}
			}
		}
		if err != nil {
			return fmt.Errorf("store: read dictionaries of node %s: %w", node, err)
		}
	}
	return nil
}

func (s *Table) take(node uuid.UUID, hash window.Hash, blob []byte,
	take func(window.Hash, *window.Dictionary)) {
	d, err := decodeDictionary("", hash, blob)
	if err == nil && d.Node != node {
		err = fmt.Errorf("%w: it is of node %s", blobs.ErrMalformed, d.Node)
	}
	if err != nil {
		s.metrics.Damaged.Inc()
		s.log.Warn("store: a dictionary cannot be read", "node", node, "hash", hash, "error", err)
		return
	}
	take(hash, d)
}
