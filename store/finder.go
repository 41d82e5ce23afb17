package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// finder finds dictionaries in one partition, each always as the same pointer. It is for one
// goroutine. err is why the database could not be asked; that a dictionary is not there is no such
// error.
type finder struct {
	find  window.Dictionaries
	found map[window.Hash]*window.Dictionary
	err   error
}

// finder finds the dictionaries of a node's day, which closed windows refer to.
func (s task) finder(ctx context.Context, account string, node uuid.UUID, day int64) *finder {
	return s.finderIn(ctx, account, node, func(key string, hash window.Hash) rows.Query {
		return rows.Query{Table: s.byName[seriesTable], Key: []any{account, node},
			Equal: []any{day, key, hash[:]}}
	})
}

// rollupFinder finds the dictionaries of a partition of rollups.
func (s task) rollupFinder(ctx context.Context, p spanPartition) *finder {
	return s.finderIn(ctx, p.account, p.node, func(_ string, hash window.Hash) rows.Query {
		return rows.Query{Table: s.byName[p.table], Key: p.key(),
			Equal: []any{"", hash.String(), p.bucket}}
	})
}

// finderIn finds a node's dictionaries in the cache or by a query for the row of one.
func (s task) finderIn(ctx context.Context, account string, node uuid.UUID,
	row func(key string, hash window.Hash) rows.Query) *finder {
	f := &finder{found: map[window.Hash]*window.Dictionary{}}
	f.find = func(key string, hash window.Hash) (*window.Dictionary, error) {
		if d := f.found[hash]; d != nil {
			return d, nil
		}
		k := dictionaryKey{account, node, hash}
		if d, found := s.dictionaries.get(k); found {
			f.found[hash] = d
			return d, nil
		}
		var blob []byte
		query := row(key, hash)
		query.Columns = []string{"blob"}
		err := s.session.Read(ctx, s.work, query, func(scan func(...any) bool) bool {
			return scan(&blob)
		})
		if err != nil {
			f.err = errors.Join(f.err, err)
			return nil, err
		}
		d, err := decodeDictionary(key, hash, blob)
		if err == nil {
			s.dictionaries.put(k, d, dictionaryWeight(d))
			f.found[hash] = d
		}
		return d, err
	}
	return f
}

// decodeDictionary reads a dictionary's blob, nil if there is none, and checks that it is the one
// that the hash names.
func decodeDictionary(key string, hash window.Hash, blob []byte) (*window.Dictionary, error) {
	if blob == nil {
		return nil, fmt.Errorf("%w: %s of type %s", blobs.ErrDictionary, hash, key)
	}
	if window.HashOf(blob) != hash {
		return nil, fmt.Errorf("%w: dictionary %s has other content", blobs.ErrMalformed, hash)
	}
	return blobs.DecodeDictionary(blob)
}

// dictionaryWeight is what a decoded dictionary weighs among dictionaryValues.
func dictionaryWeight(d *window.Dictionary) int {
	return 10 + len(d.Metrics) + len(d.Rows)*(1+len(d.Labels))
}
