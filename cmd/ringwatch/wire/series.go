package wire

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/query/index"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/blobs"
)

// seriesParts makes the index of series and what fills it from the store.
func seriesParts(p *Process, db *store.Store) (*index.Index, *index.Loader, error) {
	c := p.Config.Series
	c.Keep, c.Log = p.Config.Cassandra.RawTTL, p.Log
	c.Accounts = func() []string {
		names := make([]string, len(p.Config.Accounts))
		for i, a := range p.Config.Accounts {
			names[i] = a.Name
		}
		return names
	}
	idx := index.New(c.MaxBytes)
	loader, err := index.NewLoader(c, seriesSource(db), idx, p.Metrics)
	return idx, loader, err
}

// seriesSource is what the index is filled from. It reads for no request, and without a budget: the
// index has its own bound.
func seriesSource(db *store.Store) index.Source {
	reader := func(account string) store.Reader {
		return db.Reader(store.Dashboard(account), memory.Unbounded())
	}
	return index.Source{
		Nodes: func(ctx context.Context, account string) ([]uuid.UUID, error) {
			known, err := reader(account).Nodes(ctx, account)
			// one that changed its cluster's name is there twice, which does no harm
			ids := make([]uuid.UUID, len(known))
			for i := range known {
				ids[i] = known[i].ID
			}
			return ids, err
		},
		Dictionaries: func(ctx context.Context, account string, node uuid.UUID,
			from int64) ([]window.DictionaryID, error) {
			return reader(account).DictionariesOf(ctx, account, node, from)
		},
		Written: func(ctx context.Context, account string,
			since int64) ([]window.DictionaryID, error) {
			return reader(account).DictionariesWritten(ctx, account, since)
		},
		WrittenFor: store.WrittenFor,
		Read: func(ctx context.Context, account string, node uuid.UUID, ids []window.DictionaryID,
			take func(window.Hash, *window.Dictionary)) error {
			return reader(account).ReadDictionaries(ctx, account, node, ids, take)
		},
	}
}

// The index learns of a node when its first window is closed, some minutes after its first frame.
// Until then its newest state says what series it has: who has just installed Ringwatch opens a
// label browser at once.
const (
	youngEvery = 10 * time.Second
	maxYoung   = 64 // nodes that are looked at each time
)

// indexYoung is a part that puts nodes into the index of which that knows nothing yet.
func indexYoung(p *Process, db *store.Store, reader *read.Reader, idx *index.Index) Part {
	return func(ctx context.Context) error {
		for every := time.NewTicker(youngEvery); ; {
			for _, a := range p.Config.Accounts {
				if err := addYoung(ctx, a.Name, db, reader, idx); err != nil && ctx.Err() == nil {
					p.Log.Debug("the series of new nodes will be loaded later", "account", a.Name,
						"error", err)
				}
			}
			select {
			case <-ctx.Done():
				every.Stop()
				return nil
			case <-every.C:
			}
		}
	}
}

func addYoung(
	ctx context.Context, account string, db *store.Store, reader *read.Reader, idx *index.Index,
) error {
	nodes, err := APIStore{db}.Nodes(ctx, account)
	if err != nil {
		return err
	}
	now := clock.Now().UnixMilli()
	found, err := idx.Select(account, index.Query{Context: ctx, From: now, To: now})
	if err != nil {
		return err // it is being loaded, or there are no nodes
	}
	known := map[uuid.UUID]bool{}
	for _, id := range found.Nodes() {
		known[id] = true
	}
	looked := 0
	for i := range nodes {
		if known[nodes[i].ID] || looked == maxYoung {
			continue
		}
		looked++
		if err := addNewest(ctx, account, &nodes[i], reader, idx); err != nil {
			return err
		}
	}
	return nil
}

// addNewest puts what a node's newest state has into the index.
func addNewest(
	ctx context.Context, account string, n *window.Node, reader *read.Reader, idx *index.Index,
) error {
	ctx, end := reader.Shared.Scope(ctx, account)
	defer end()
	state, err := reader.Latest(ctx, account, n)
	if err != nil || state.Window == nil {
		return err
	}
	var ids []window.DictionaryID
	dictionaries := map[window.Hash]*window.Dictionary{}
	for _, d := range blobs.Encode(state.Window, window.Report{}).Dictionaries {
		if dictionaries[d.Hash], err = blobs.DecodeDictionary(d.Blob); err != nil {
			return err
		}
		day := state.Start - state.Start%(24*60*60_000)
		ids = append(ids, window.DictionaryID{Node: n.ID, Day: day, Key: d.Key, Hash: d.Hash})
	}
	idx.Add(account, n.ID, ids, dictionaries)
	return nil
}
