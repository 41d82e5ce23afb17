package cassandra

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/ringwatch/ringwatch/ring"
	"github.com/ringwatch/ringwatch/store/rows"
)

// Read reads rows of a partition; see rows.Engine.
func (s *Session) Read(ctx context.Context, w rows.Work, q rows.Query,
	row func(scan func(into ...any) bool) bool) error {
	if len(q.Key) != len(q.Table.Partition) {
		return fmt.Errorf("rows: a query of %s has %d values in its key, and the "+
			"partition's has %d", q.Table.Name, len(q.Key), len(q.Table.Partition))
	}
	if len(q.Columns) == 0 {
		return fmt.Errorf("rows: a query of %s reads no column", q.Table.Name)
	}
	where, more, err := restrictions(&q)
	if err != nil {
		return err
	}
	session, err := s.CQL()
	if err != nil {
		return err
	}
	if q.In != nil && reflect.ValueOf(q.In).Len() == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("SELECT ")
	for i, c := range q.Columns {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c)
	}
	if q.Written != "" {
		b.WriteString(", WRITETIME(" + q.Written + ")")
	}
	b.WriteString(" FROM " + s.Name(q.Table.Name) + " WHERE ")
	for i, c := range q.Table.Partition {
		if i > 0 {
			b.WriteString(" AND ")
		}
		b.WriteString(c.Name + " = ?")
	}
	if where != "" {
		b.WriteString(" AND " + where)
	}
	args := append(driverValues(q.Key), more...)
	if q.Limit > 0 {
		b.WriteString(" LIMIT ?")
		args = append(args, q.Limit)
	}
	statement := session.Query(b.String(), args...)
	if q.Page > 0 {
		statement = statement.PageSize(q.Page)
	}
	return s.Scan(ctx, w, q.Table.Name, statement, row)
}

// restrictions returns a query's restrictions of clustering columns, and their values.
func restrictions(q *rows.Query) (string, []any, error) {
	need, err := q.Restricted()
	if err != nil || need == 0 {
		return "", nil, err
	}
	var b strings.Builder
	args := make([]any, 0, need+1)
	add := func(column int, operator string, v any) {
		if len(args) > 0 {
			b.WriteString(" AND ")
		}
		b.WriteString(q.Table.Clustering[column].Name + operator + "?")
		args = append(args, driverValue(v))
	}
	for i, v := range q.Equal {
		add(i, " = ", v)
	}
	next := len(q.Equal)
	if q.In != nil {
		add(next, " IN ", q.In)
		next++
	}
	if q.From != nil {
		add(next, " >= ", q.From)
	}
	if q.To != nil {
		add(next, " <= ", q.To)
	}
	return b.String(), args, nil
}

// Partitions tells which of a list of partitions have rows; see rows.Engine.
func (s *Session) Partitions(ctx context.Context, w rows.Work, t *rows.Table, key []any, last any,
	found func(scan func(into ...any) bool) bool) error {
	if len(key)+1 != len(t.Partition) {
		return fmt.Errorf("rows: partitions of %s are named by %d values beside the list, and it "+
			"takes %d", t.Name, len(key), len(t.Partition)-1)
	}
	session, err := s.CQL()
	if err != nil {
		return err
	}
	var names, where []string
	for i, c := range t.Partition {
		names = append(names, c.Name)
		if i < len(key) {
			where = append(where, c.Name+" = ?")
		} else {
			where = append(where, c.Name+" IN ?")
		}
	}
	statement := "SELECT DISTINCT " + strings.Join(names, ", ") + " FROM " + s.Name(t.Name) +
		" WHERE " + strings.Join(where, " AND ")
	list := reflect.ValueOf(last)
	skipped := make([]any, len(key), len(key)+1)
	for from := 0; from < list.Len(); from += partitionsInQuery {
		some := list.Slice(from, min(from+partitionsInQuery, list.Len())).Interface()
		ended := false
		q := session.Query(statement, append(driverValues(key), driverValue(some))...)
		err := s.Scan(ctx, w, t.Name, q, func(scan func(...any) bool) bool {
			return found(func(into ...any) bool {
				ended = !scan(append(skipped[:len(key):len(key)], into...)...)
				return !ended
			})
		})
		if err != nil || !ended {
			return err
		}
	}
	return nil
}

// partitionsInQuery bounds how many partitions one query names.
const partitionsInQuery = 48

// unthrottled is the class of calls for which the ring does not ask the throttle.
const unthrottled = "unasked"

// grouped reads many partitions at once, grouped by replica. It is made when it is first asked for.
type grouped struct {
	mu     sync.Mutex
	reader *ring.Reader // nil: nobody has asked
}

func (g *grouped) of(ctx context.Context, s *Session) (*ring.Reader, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	session, err := s.CQL()
	if err != nil || g.reader != nil {
		return g.reader, err
	}
	c := &s.config
	options := c.Ring
	// what was just written must be found
	options.Datacenter, options.Consistency, options.CacheBytes, options.CacheTTL = c.Datacenter,
		c.Consistency, 0, nil
	// others wait for it too
	reader, err := ring.Connect(context.WithoutCancel(ctx), session, options, c.ringAdmit(),
		c.Registerer)
	if err == nil {
		g.reader = reader
	}
	return reader, err
}

func (g *grouped) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.reader != nil {
		g.reader.Close()
		g.reader = nil
	}
}

// ReadMany reads many partitions at once; see rows.Engine. Keys are grouped by the replicas that
// have them.
func (s *Session) ReadMany(ctx context.Context, w rows.Work, q rows.Query, keys [][]any,
	take func(i int, scan func(into ...any) bool, err error)) error {
	where, args, err := restrictions(&q)
	if err == nil && (q.In != nil || q.Written != "" || len(q.Columns) == 0) {
		err = fmt.Errorf("rows: a query of many partitions of %s has a list or asks for write "+
			"times, or reads no column", q.Table.Name)
	}
	if err != nil {
		return err
	}
	reader, err := s.grouped.of(ctx, s)
	if err != nil {
		return err
	}
	if w.Class == "" {
		w.Class = unthrottled
	}
	list := make([]ring.Key, len(keys))
	for i, key := range keys {
		list[i] = driverValues(key)
	}
	about := ring.Query{Keyspace: s.config.Keyspace, Table: q.Table.Name, Columns: q.Columns,
		Where: where, Args: args, Limit: q.Limit, Work: ring.Work{Class: w.Class, Client: w.Client}}
	var failed error // of a key, first
	var broken error // a value that is not what the caller scans it into
	err = reader.Stream(ctx, about, list, func(i int, r ring.Result) {
		if err := asRowsError(r.Err); err != nil {
			if failed == nil {
				failed = err
			}
			take(i, nil, err)
			return
		}
		left := r.Rows
		take(i, func(into ...any) bool {
			if len(left) == 0 || broken != nil {
				return false
			}
			broken = left[0].Scan(driverTargets(into)...)
			left = left[1:]
			return broken == nil
		}, nil)
	})
	if err = asRowsError(err); err != nil {
		s.record(err)
		return err
	}
	if failed != nil && !throttled(failed) {
		s.record(failed)
	}
	return broken
}
