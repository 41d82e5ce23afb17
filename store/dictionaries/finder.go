package dictionaries

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// Finder finds dictionaries in one partition, each always as the same pointer. It is for one
// goroutine. err is why the database could not be asked; that a dictionary is not there is no such
// error.
type Finder struct {
	Find  window.Dictionaries
	found map[window.Hash]*window.Dictionary
	Err   error
}

// Finder finds the dictionaries of a node's day, which closed windows refer to.
func (s *Table) Finder(ctx context.Context, w rows.Work, account string, node uuid.UUID,
	day int64) *Finder {
	return s.FinderIn(ctx, w, account, node, func(key string, hash window.Hash) rows.Query {
		return rows.Query{Table: s.series, Key: []any{account, node},
			Equal: []any{day, key, hash[:]}}
	})
}

// RollupFinder finds the dictionaries of a partition of rollups.
func (s *Table) RollupFinder(ctx context.Context, w rows.Work, table *rows.Table,
	account string, node uuid.UUID, bucket int64) *Finder {
	return s.FinderIn(ctx, w, account, node, func(_ string, hash window.Hash) rows.Query {
		return rows.Query{Table: table, Key: []any{account, node, bucket},
			Equal: []any{"", hash.String(), bucket}}
	})
}

// FinderIn finds a node's dictionaries in the cache or by a query for the row of one.
func (s *Table) FinderIn(ctx context.Context, w rows.Work, account string, node uuid.UUID,
	row func(key string, hash window.Hash) rows.Query) *Finder {
	f := &Finder{found: map[window.Hash]*window.Dictionary{}}
	f.Find = func(key string, hash window.Hash) (*window.Dictionary, error) {
		if d := f.found[hash]; d != nil {
			return d, nil
		}
		k := dictionaryKey{account, node, hash}
		if d, found := s.decoded.Get(k); found {
			f.found[hash] = d
			return d, nil
		}
		var blob []byte
		query := row(key, hash)
		query.Columns = []string{"blob"}
		err := s.engine.Read(ctx, w, query, func(scan func(...any) bool) bool {
			return scan(&blob)
		})
		if err != nil {
			f.Err = errors.Join(f.Err, err)
			return nil, err
		}
		d, err := decodeDictionary(key, hash, blob)
		if err == nil {
			s.decoded.Put(k, d, dictionaryWeight(d))
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

type dictionaryKey struct {
	account string
	node    uuid.UUID
	hash    window.Hash
}

// dictionaryValues bounds decoded dictionaries, which weigh what they have of labels.
const dictionaryValues = 4_000_000
