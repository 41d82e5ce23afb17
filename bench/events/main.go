// Command events measures what an event takes at rest, in a directory and in Cassandra: a cluster's
// nodes say what happened over some days, through the store's writer as the role store does it.
// Then what is in memory goes to files, Cassandra compacts, and the table's files are counted.
//
// Events are made up, of all kinds, with texts and labels as long as Cassandra's: no recording has
// enough of them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/store"
)

type options struct {
	nodes, days, perDay int
	heap                string
}

func main() {
	var o options
	flag.IntVar(&o.nodes, "nodes", 30, "nodes of the cluster")
	flag.IntVar(&o.days, "days", 28, "days of events, 29 at most: the store keeps them for 30")
	flag.IntVar(&o.perDay, "per-day", 100, "events of a node a day")
	bench.Heap(&o.heap, "1G")
	bench.Main("bench-events", func(ctx context.Context, r *bench.Result) error {
		return run(ctx, o, r)
	}, func() error {
		if min(o.nodes, o.days, o.perDay) < 1 {
			return errors.New("-nodes, -days and -per-day must be at least 1")
		}
		if o.days > 29 {
			return errors.New("-days must be 29 at most: what happened earlier expires meanwhile")
		}
		return nil
	})
}

const keyspace = "bench_events"

func run(ctx context.Context, o options, r *bench.Result) error {
	dir, err := os.MkdirTemp("", "ringwatch-events-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	raw := 0
	r.Add("events", o.nodes*o.days*o.perDay)
	directory := store.DefaultConfig()
	directory.Dir, directory.DirMemory = filepath.Join(dir, "rows"), memory
	bytes, err := measure(ctx, o, directory, &raw, func() (int64, error) {
		return sizeOf(filepath.Join(directory.Dir, "rows"), "events-")
	})
	if err != nil {
		return err
	}
	r.Add("said_bytes_per_event", raw)
	r.Add("directory_bytes_per_event", bytes)
	cassandra, err := engines.StartCassandra(ctx, engines.CassandraConfig{
		Dir: filepath.Join(dir, "cassandra"), Heap: o.heap, Progress: bench.Say})
	if err != nil {
		return err
	}
	defer cassandra.Kill()
	line := store.DefaultConfig()
	line.Hosts, line.Keyspace, line.Timeout = []string{cassandra.Addr()}, keyspace, time.Minute
	bytes, err = measure(ctx, o, line, &raw, func() (int64, error) {
		for _, word := range []string{"flush", "compact"} {
			if err := node.Tool(ctx, cassandra, word, keyspace); err != nil {
				return 0, err
			}
		}
		if err := node.Settled(ctx, cassandra, keyspace); err != nil {
			return 0, err
		}
		root, err := node.Keyspace(cassandra.Dir, keyspace)
		if err != nil {
			return 0, err
		}
		return sizeOf(root, "events-")
	})
	if err != nil {
		return err
	}
	r.Add("cassandra_bytes_per_event", bytes)
	r.Notes = fmt.Sprintf(
		"Made-up events of all kinds: %d nodes of one cluster, %d a day each, for "+
			"%d days, in frames of what happened in three minutes. said is texts, "+
			"labels and kinds "+
			"before anything is compressed; the others are the files of the table events, "+
			"with their "+
			"index, of one copy.", o.nodes, o.perDay, o.days)
	return nil
}

const (
	// memory is what rows of the directory may take in memory.
	memory = 8 << 20
	// step is what happened between two writings. It is less than events.LateAfter: what comes
	// later than that is written twice.
	step = 3 * time.Minute
)

// measure writes all events into a store and returns the bytes that one takes in the size that
// settle returns.
func measure(ctx context.Context, o options, c store.Config, raw *int,
	settle func() (int64, error)) (float64, error) {
	random := rand.New(rand.NewPCG(1, 2)) // both engines get the same
	began := time.Now().Add(-time.Duration(o.days) * 24 * time.Hour).Truncate(time.Hour)
	now := began
	c.Now = func() time.Time { return now }
	c.Log = slog.New(slog.DiscardHandler)
	db, err := store.New(c, nil)
	if err != nil {
		return 0, err
	}
	if err := db.Connect(ctx); err != nil {
		return 0, err
	}
	defer db.Close()
	if err := db.Apply(ctx); err != nil {
		return 0, err
	}
	ids := make([]uuid.UUID, o.nodes)
	for i := range ids {
		ids[i] = uuid.NewSHA1(uuid.Nil, fmt.Append(nil, i))
	}
	count, said := o.nodes*o.days*o.perDay, 0
	whens := make([]time.Duration, count) // when, and on which node: by their place
	for i := range whens {
		whens[i] = time.Duration(random.Int64N(int64(o.days) * int64(24*time.Hour)))
	}
	slices.Sort(whens)
	writer := store.NewWriter(db)
	write := func(ctx context.Context, id uuid.UUID, list []frame.Event) error {
		f := frame.Frame{Header: frame.Header{Node: id, Cluster: "production", Started: 1,
			At: now.UnixMilli(), Interval: 5000}, Events: list}
		b, err := f.Append(nil, nil)
		if err != nil {
			return err
		}
		return writer.WriteFrame(ctx, "acme", b)
	}
	for i := 0; i < count; {
		now = now.Add(step)
		by := map[uuid.UUID][]frame.Event{}
		for ; i < count && !began.Add(whens[i]).After(now); i++ {
			id := ids[random.IntN(o.nodes)]
			e := anEvent(random, began.Add(whens[i]).UnixMilli())
			said += len(e.Kind) + len(e.Text)
			for _, l := range e.Labels {
				said += len(l.Name) + len(l.Value)
			}
			by[id] = append(by[id], e)
		}
		g, ctx := errgroup.WithContext(ctx)
		for id, list := range by {
			g.Go(func() error { return write(ctx, id, list) })
		}
		if err := g.Wait(); err != nil {
			return 0, err
		}
	}
	*raw = said / count
	large := frametest.New("large", 1, 1000)
	for sent := 0; c.Dir != "" && sent < 4*memory; { // so that all events go to files
		now = now.Add(5 * time.Minute)
		b := large.Frame(now.UnixMilli())
		if err := writer.WriteFrame(ctx, "acme", b); err != nil {
			return 0, err
		}
		sent += len(b)
	}
	bytes, err := settle()
	return float64(bytes) / float64(count), err
}

// sizeOf sums up the files below a folder whose path has a name's beginning.
func sizeOf(root, table string) (sum int64, err error) {
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		if err != nil || e.IsDir() || !strings.HasPrefix(rel, table) ||
			strings.Contains(rel, "snapshots") {
			return err
		}
		info, err := e.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	return sum, err
}
