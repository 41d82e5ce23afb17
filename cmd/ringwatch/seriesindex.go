package main

import (
	"context"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/series"
	"github.com/ringwatch/ringwatch/store"
)

// seriesParts makes the index of series and what fills it from the store.
func (p *process) seriesParts(db *store.Store) (*series.Index, *series.Loader, error) {
	c := p.Series
	c.Keep, c.Log = p.Cassandra.RawTTL, p.log
	c.Accounts = func() []string {
		names := make([]string, len(p.config.Accounts))
		for i, a := range p.config.Accounts {
			names[i] = a.Name
		}
		return names
	}
	index := series.NewIndex(c.MaxBytes)
	loader, err := series.NewLoader(c, seriesSource(db), index, p.metrics)
	return index, loader, err
}

// seriesSource is store.Store in the words of series.
func seriesSource(db *store.Store) series.Source {
	return series.Source{
		Nodes: func(ctx context.Context, account string) ([]uuid.UUID, error) {
			known, err := db.Nodes(ctx, account)
			ids := make([]uuid.UUID, len(known)) // one that changed its cluster's name is there twice, which does no harm
			for i := range known {
				ids[i] = known[i].ID
			}
			return ids, err
		},
		Of:         db.DictionariesOf,
		Written:    db.DictionariesWritten,
		WrittenFor: store.WrittenFor,
		Read:       db.ReadDictionaries,
	}
}
