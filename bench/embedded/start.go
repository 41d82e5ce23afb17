package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/files"
)

// started is how long starts took.
type started struct {
	Seconds float64   // the median
	All     []float64 // from starting the process until the API answers with the newest value
	GB      float64   // of rows that there were
}

const (
	starts       = 3
	beforeKill   = 90 * time.Second
	hourMillis   = int64(3600_000)
	rollupMillis = 144 * 300_000 // a partition of 5-minute rollups: store's rollupPeriods
)

// The tables that rows are in which live for days, by package store.
var (
	accountColumn = rows.Column{Name: "account", Kind: rows.Text}
	nodeColumn    = rows.Column{Name: "node", Kind: rows.UUID}
	typeColumn    = rows.Column{Name: "entity_type", Kind: rows.Text}
	blobColumn    = rows.Column{Name: "blob", Kind: rows.Blob}
	atColumn      = rows.Column{Name: "at", Kind: rows.Time}

	seriesRows = rows.Table{Name: "series", Partition: []rows.Column{accountColumn, nodeColumn},
		Clustering: []rows.Column{{Name: "day", Kind: rows.Time}, typeColumn,
			{Name: "hash", Kind: rows.Blob}},
		Values: []rows.Column{blobColumn}}
	hourRows   = spans("v3_hours")
	rollupRows = spans("rollup_5m")
	bucketRows = rows.Table{Name: "v3_buckets", Partition: []rows.Column{accountColumn, nodeColumn},
		Clustering: []rows.Column{{Name: "start", Kind: rows.Time},
			{Name: "length", Kind: rows.Int64}}}
)

func spans(name string) rows.Table {
	return rows.Table{Name: name,
		Partition:  []rows.Column{accountColumn, nodeColumn, {Name: "bucket", Kind: rows.Time}},
		Clustering: []rows.Column{typeColumn, {Name: "part", Kind: rows.Text}, atColumn},
		Values:     []rows.Column{blobColumn}}
}

// start gives the directory its days, lets it run, kills it and starts it again.
func (r *report) start(ctx context.Context, n *nodes, us *ours, rest string) error {
	if r.days > 0 {
		if err := r.fill(ctx, n, us, rest); err != nil {
			return err
		}
	}
	if err := us.start(ctx); err != nil {
		return err
	}
	r.Start = &started{}
	for range starts {
		n.again(ctx)
		n.send(0)
		if err := bench.Pass(n.ctx, beforeKill); err != nil {
			return err
		}
		us.kill()
		if err := n.end(); err != nil {
			return err
		}
		s := n.list[0]
		begun := time.Now()
		if err := us.begin(); err != nil {
			return err
		}
		wait, cancel := context.WithTimeout(ctx, time.Minute)
		err := line.Until(wait, "the newest value", func(ctx context.Context) error {
			at, err := us.newest(ctx, s.ID.String())
			if err == nil && at < s.acknowledged {
				err = fmt.Errorf("the newest value is of %d, and a frame of %d was taken", at,
					s.acknowledged)
			}
			return err
		})
		cancel()
		if err != nil {
			return err
		}
		r.Start.All = append(r.Start.All, time.Since(begun).Seconds())
		bench.Progress("started in %.2f s", r.Start.All[len(r.Start.All)-1])
	}
	gb, err := sizeOf(us.rows())
	r.Start.GB = gb / 1e3
	r.Start.Seconds = bench.Quantile(slices.Clone(r.Start.All), 0.5)
	return err
}

// fill writes the rows that days before the run would have left: those of the hour at rest, as
// that of each hour, and each day's dictionaries. They have the right places, sizes and ages, and
// say what the one hour says.
func (r *report) fill(ctx context.Context, n *nodes, us *ours, rest string) error {
	source, err := files.Open(rest, files.Config{})
	if err != nil {
		return err
	}
	defer source.Close()
	var now atomic.Int64
	end := time.Now().UnixMilli() / hourMillis * hourMillis
	first := end - int64(r.days)*24*hourMillis
	now.Store(first)
	clock := func() time.Time { return time.UnixMilli(now.Load()) }
	to, err := files.Open(us.rows(), files.Config{Now: clock})
	if err != nil {
		return err
	}
	defer to.Close()
	list := make([]kept, len(n.list))
	for i, s := range n.list {
		if list[i], err = keptOf(ctx, source, s.ID); err != nil {
			return err
		}
	}
	for at := first; at < end-hourMillis; at += hourMillis {
		now.Store(at + hourMillis*3/2)
		err := bench.AtOnce(ctx, len(list), 32, func(ctx context.Context, i int) error {
			return list[i].put(ctx, to, at)
		})
		if err != nil {
			return err
		}
		if (at-first)%(24*hourMillis) == 0 {
			bench.Progress("%d of %d days of rows are written", (at-first)/(24*hourMillis), r.days)
		}
	}
	if err := to.Flush(ctx); err != nil {
		return err
	}
	now.Store(time.Now().UnixMilli())
	bench.Progress("letting the files be merged")
	return quiet(ctx, to, us.rows())
}

// kept are a node's rows at rest: of an hour, and a day's dictionaries.
type kept struct {
	id                    uuid.UUID
	hour, rollups, series []rows.Row
}

func keptOf(ctx context.Context, e *files.Engine, id uuid.UUID) (k kept, err error) {
	k.id = id
	var buckets []int64
	err = e.Read(ctx, rows.Work{}, rows.Query{Table: &bucketRows, Key: []any{accountName, id},
		Columns: []string{"start"}}, func(scan func(...any) bool) bool {
		var start int64
		ok := scan(&start)
		if ok && !slices.Contains(buckets, start) {
			buckets = append(buckets, start)
		}
		return ok
	})
	for _, bucket := range buckets {
		if err == nil {
			k.hour, err = spansOf(ctx, e, &hourRows, k.hour, id, bucket)
		}
		rolled := bucket / rollupMillis * rollupMillis
		for ; err == nil && len(k.rollups) == 0 &&
			rolled < bucket+24*hourMillis; rolled += rollupMillis {
			k.rollups, err = spansOf(ctx, e, &rollupRows, k.rollups, id, rolled)
		}
	}
	if err != nil {
		return k, err
	}
	err = e.Read(ctx, rows.Work{}, rows.Query{Table: &seriesRows, Key: []any{accountName, id},
		Columns: []string{"entity_type", "hash", "blob"}}, func(scan func(...any) bool) bool {
		var kind string
		var hash, b []byte
		ok := scan(&kind, &hash, &b)
		if ok {
			k.series = append(k.series, rows.Row{Key: []any{accountName, id, int64(0), kind, hash},
				Values: []any{b}})
		}
		return ok
	})
	if err == nil && (len(k.hour) == 0 || len(k.rollups) == 0 || len(k.series) == 0) {
		err = fmt.Errorf("node %s has %d rows of an hour, %d of rollups and %d of dictionaries", id,
			len(k.hour), len(k.rollups), len(k.series))
	}
	return k, err
}

// spansOf appends the rows of one hour in a partition, the first that there is.
func spansOf(
	ctx context.Context, e *files.Engine, t *rows.Table, list []rows.Row, id uuid.UUID,
	bucket int64,
) ([]rows.Row, error) {
	hour := int64(0)
	err := e.Read(ctx, rows.Work{}, rows.Query{Table: t, Key: []any{accountName, id, bucket},
		Columns: []string{"entity_type", "part", "at", "blob"}}, func(scan func(...any) bool) bool {
		var kind, part string
		var at int64
		var b []byte
		if !scan(&kind, &part, &at, &b) {
			return false
		}
		if hour == 0 && kind != "" {
			hour = at / hourMillis * hourMillis
		}
		if kind == "" || at/hourMillis*hourMillis == hour {
			list = append(list,
				rows.Row{Key: []any{accountName, id, bucket, kind, part, at % hourMillis},
					Values: []any{b}})
		}
		return true
	})
	return list, err
}

// put writes them as those of another hour. A day is one partition.
func (k *kept) put(ctx context.Context, e *files.Engine, hour int64) error {
	stamp := (hour + hourMillis*3/2) * 1000
	put := func(t *rows.Table, bucket int64, list []rows.Row) error {
		moved := make([]rows.Row, len(list))
		for i, row := range list {
			key := slices.Clone(row.Key)
			key[2] = bucket
			if len(key) > 5 {
				key[5] = hour + row.Key[5].(int64)
			}
			moved[i] = rows.Row{Key: key, Values: row.Values, Stamp: stamp}
		}
		return e.Put(ctx, rows.Work{}, t, moved...)
	}
	day := hour / (24 * hourMillis) * 24 * hourMillis
	err := put(&hourRows, day, k.hour)
	if err == nil {
		err = put(&rollupRows, hour/rollupMillis*rollupMillis, k.rollups)
	}
	if err == nil && hour == day {
		err = put(&seriesRows, day, k.series)
		if err == nil {
			key := []any{accountName, k.id, day, 24 * hourMillis}
			err = e.Put(ctx, rows.Work{}, &bucketRows, rows.Row{Key: key, Stamp: stamp})
		}
	}
	return err
}
