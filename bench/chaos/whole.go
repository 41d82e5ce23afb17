package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"path/filepath"
	"slices"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/window/blobs"
	"github.com/ringwatch/ringwatch/window/rollup"
)

// recovered waits until something was right after each fault.
func (f *fleet) recovered(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	return line.Until(ctx, "a right answer after the last fault", func(context.Context) error {
		f.mu.Lock()
		defer f.mu.Unlock()
		if n := len(f.recover.waiting); n > 0 {
			return fmt.Errorf("%d faults are waited for", n)
		}
		return nil
	})
}

// whole looks for each acknowledged id when no frame is sent any more: by the API, then in what the
// store reads and rolls up, and of the nodes of the hour before in hours and rollups alone.
func (f *fleet) whole(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	f.Progress("looking for each of them by the API")
	if err := f.until(ctx, "the API", func(ctx context.Context, n *node) (values, error) {
		from, to := n.span()
		a, err := f.valuesBetween(ctx, f.apis[0], n, from, to)
		if err == nil && a.partial {
			err = errors.New("the answer says that it is partial")
		}
		return a.values, err
	}); err != nil {
		return err
	}
	f.Progress("waiting for the hour before to be made")
	if err := line.Until(ctx, "the hour before to be made", f.hoursMade); err != nil {
		return err
	}
	for _, r := range f.roles { // in order, so that nothing is open
		if p := r.take(); p != nil {
			if err := p.Stop(ctx); err != nil {
				return err
			}
		}
	}
	f.Progress("looking for each of them in the store")
	if err := f.stored(ctx, f.nodes); err != nil {
		return err
	}
	if f.Embedded {
		return nil
	}
	f.Progress("looking for those of the hour before in hours and rollups alone")
	if err := f.onlyHours(ctx); err != nil {
		return err
	}
	late := slices.DeleteFunc(slices.Clone(f.nodes), func(n *node) bool { return n.past == 0 })
	f.add(&f.Hours, len(late))
	return f.stored(ctx, late)
}

// span is from a node's first frame to its last one, ms.
func (n *node) span() (from, to int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.at) == 0 {
		return 0, 0
	}
	return slices.Min(n.at), slices.Max(n.at)
}

// until asks for all values of each node until nothing is missing. What is missing at the deadline
// is lost; what is there and was not sent, or is there twice, counts at once.
func (f *fleet) until(ctx context.Context, what string,
	ask func(context.Context, *node) (values, error),
) error {
	for _, n := range f.nodes {
		var missing int
		err := line.Until(ctx, what+" to have all of "+n.name, func(ctx context.Context) error {
			list, err := ask(ctx, n)
			if err != nil {
				return err
			}
			from, to := n.span()
			f.judge(n, what, list, from, to, time.Now(), false)
			if missing = n.missing(list); missing > 0 {
				return fmt.Errorf("%d of %d frames are not there", missing, len(n.at))
			}
			return nil
		})
		if err != nil && missing > 0 {
			f.problem(new(int), "%v", err)
			f.add(&f.Lost, missing)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// missing is how many acknowledged frames a list lacks.
func (n *node) missing(list values) (missing int) {
	there := map[int64]bool{}
	for _, v := range list {
		there[v.at] = true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for number, at := range n.at {
		if !n.acked[number].IsZero() && !there[at] {
			missing++
		}
	}
	return missing
}

// hoursMade says whether all windows that are due are closed, and in their hours. Of a directory it
// knows no more than that hours were made and none is due.
func (f *fleet) hoursMade(ctx context.Context) error {
	var open, hours float64
	for _, base := range f.stores {
		b, _, err := f.get(ctx, base+"/metrics", "")
		if err != nil {
			return err
		}
		m := line.Figures(b)
		// Windows that are due, and hours: those of the present are neither.
		open += m["ringwatch_store_closing_age_seconds"] + m["ringwatch_store_hour_age_seconds"]
		hours += m["ringwatch_store_hours_total"]
	}
	if open > 0 {
		return fmt.Errorf("windows or hours are due for %.0f s", open)
	}
	if f.Embedded {
		if hours == 0 {
			return errors.New("no hour has been made yet")
		}
		return nil
	}
	session, err := f.session()
	if err != nil {
		return err
	}
	defer session.Close()
	made := map[string]bool{}
	before := time.Now().Truncate(time.Hour)
	var of, id string
	var length, changed, at int64
	var start time.Time
	rows := session.Query(`SELECT account, node, start, length, changed, made FROM ringwatch.due`).
		IterContext(ctx)
	var owed int
	var node gocql.UUID
	for rows.Scan(&of, &node, &start, &length, &changed, &at) {
		if length != time.Hour.Milliseconds() || !start.Before(before) {
			continue
		}
		id = of + node.String()
		if made[id] = true; at < changed {
			owed++
		}
	}
	if err := rows.Close(); err != nil {
		return err
	}
	if owed > 0 {
		return fmt.Errorf("%d hours are to be made", owed)
	}
	for _, n := range f.nodes {
		if n.past > 0 && !made[n.account+n.ID.String()] {
			return fmt.Errorf("no hour of %s was ever to be made", n.name)
		}
	}
	return nil
}

func (f *fleet) session() (*gocql.Session, error) {
	c := gocql.NewCluster(f.Cassandra.Host)
	c.Port, c.Timeout, c.ConnectTimeout = f.Cassandra.NativePort, time.Minute, time.Minute
	return c.CreateSession()
}

// onlyHours takes away all but hours and rollups.
func (f *fleet) onlyHours(ctx context.Context) error {
	session, err := f.session()
	if err != nil {
		return err
	}
	defer session.Close()
	for _, table := range []string{"fresh", "late", "late_clusters", "v3_windows", "progress"} {
		if err := session.Query("TRUNCATE ringwatch." + table).ExecContext(ctx); err != nil {
			return err
		}
	}
	return nil
}

// stored looks for all values of nodes in what the store reads, and holds rollups of five minutes
// and hours against them.
func (f *fleet) stored(ctx context.Context, nodes []*node) error {
	c := store.DefaultConfig()
	c.Timeout = time.Minute // a crowded machine is no outage
	if f.Embedded {
		c.Dir = filepath.Join(f.data(), "rows")
	} else {
		c.Hosts = []string{f.Cassandra.Addr()}
	}
	db, err := store.New(c, store.NewMetrics(nil))
	if err != nil {
		return err
	}
	if err := db.Connect(ctx); err != nil {
		return err
	}
	defer db.Close()
	ids := labels.MustNewMatcher(labels.MatchEqual, labels.MetricName, metric)
	for _, n := range nodes {
		reader := db.Reader(store.Dashboard(n.account), memory.Unbounded())
		from, to := n.span()
		series, report, err := reader.Read(ctx, n.account, n.ID, from, to, ids)
		if err != nil {
			return err
		}
		list, err := valuesOf(series)
		if err != nil {
			return err
		}
		f.judge(n, "the store", list, from, to, time.Now(), false)
		if missing := n.missing(list); missing > 0 || report.Partial() {
			f.problem(new(int), "the store lacks %d of %d frames of %s: %v", missing, len(n.at),
				n.name, report.Missing())
			f.add(&f.Lost, missing)
		}
		for _, level := range []rollup.Level{rollup.FiveMinutes, rollup.Hour} {
			got, _, err := reader.ReadRollup(ctx, n.account, n.ID, level, from, to,
				[]blobs.Facet{}, ids)
			if err != nil {
				return err
			}
			f.rolled(n, level, list, got)
		}
	}
	return nil
}

// rolled holds the rollups of a level against the values that they are of: count and sum tell
// whether each is in them once.
func (f *fleet) rolled(n *node, level rollup.Level, list values, got []rollup.Series) {
	type total struct {
		count, sum int64
	}
	want, found := map[int64]total{}, map[int64]total{}
	for _, v := range list {
		t := want[level.Start(v.at)]
		want[level.Start(v.at)] = total{t.count + 1, t.sum + v.id}
	}
	for _, s := range got {
		for i, start := range s.Start {
			sum := s.Sum[i].Big()
			if !sum.IsInt64() {
				sum = big.NewInt(-1)
			}
			t := found[start]
			found[start] = total{t.count + int64(s.Count[i]), t.sum + sum.Int64()}
		}
	}
	for start, t := range want {
		switch is := found[start]; {
		case is.count < t.count:
			f.problem(&f.Lost, "the rollup of %d from %d on of %s has %d of %d values",
				level.Millis, start, n.name, is.count, t.count)
		case is.count > t.count:
			f.problem(&f.Doubled, "the rollup of %d from %d on of %s has %d of %d values",
				level.Millis, start, n.name, is.count, t.count)
		case is.sum != t.sum:
			f.problem(&f.Wrong, "the rollup of %d from %d on of %s has the sum %d, not %d",
				level.Millis, start, n.name, is.sum, t.sum)
		}
		delete(found, start)
	}
	for start := range found {
		f.problem(&f.Wrong, "there is a rollup of %d from %d on of %s, which sent nothing then",
			level.Millis, start, n.name)
	}
}
