package cassandra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/store/rows"
)

// A mutation has at most that many bytes and rows: a batch of one partition is one mutation, and
// Cassandra takes half of a segment of its commit log, 16 MiB. Its batch size limits are for
// batches of several partitions. A larger row goes alone.
const (
	batchBytes = 512 << 10
	batchRows  = 10_000
)

// Put writes rows of one partition; see rows.Engine.
func (s *Session) Put(ctx context.Context, w rows.Work, t *rows.Table, list ...rows.Row) error {
	session, err := s.CQL()
	if err != nil {
		return err
	}
	for len(list) > 0 {
		n, size := 0, 0
		for n < len(list) && n < batchRows {
			if len(list[n].Key) != len(t.Partition)+len(t.Clustering) ||
				len(list[n].Values) != len(t.Values) {
				return fmt.Errorf("rows: a row of %s has %d values in its key and %d others, "+
					"which is not the table's number", t.Name, len(list[n].Key),
					len(list[n].Values))
			}
			more := weight(&list[n])
			if n > 0 && size+more > batchBytes {
				break
			}
			size += more
			n++
		}
		write := mutation(session, s.Name(t.Name), t, list[:n])
		if err := s.Run(ctx, w, t.Name, write); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// mutation returns what writes rows of a table, whose full name it is, at once.
func mutation(session *gocql.Session, name string, t *rows.Table,
	list []rows.Row) func(context.Context) error {
	stamp := list[0].Stamp
	if len(list) == 1 {
		f := formOf(&list[0], false)
		q := session.Query(insert(name, t, f, ""), f.values(&list[0])...)
		if stamp != 0 {
			q = q.WithTimestamp(stamp)
		}
		if t.Everywhere {
			q = q.Consistency(gocql.EachQuorum)
		}
		return q.ExecContext
	}
	stamped := slices.ContainsFunc(list, func(r rows.Row) bool { return r.Stamp != stamp })
	batch := session.Batch(gocql.UnloggedBatch)
	if !stamped && stamp != 0 {
		batch = batch.WithTimestamp(stamp)
	}
	if t.Everywhere {
		batch = batch.Consistency(gocql.EachQuorum)
	}
	var last form
	var statement string
	for i := range list {
		f := formOf(&list[i], stamped)
		if statement == "" || f != last {
			last, statement = f, insert(name, t, f, "")
		}
		batch.Query(statement, f.values(&list[i])...)
	}
	return batch.ExecContext
}

// form is what rows have in common that one statement can write.
type form struct {
	present      uint64 // which value columns are written, by number
	stamped, ttl bool   // the statement has a write time, a time to live
}

func formOf(r *rows.Row, stamped bool) form {
	f := form{stamped: stamped && r.Stamp != 0, ttl: r.TTL > 0}
	for i, v := range r.Values {
		if !rows.Absent(v) {
			f.present |= 1 << i
		}
	}
	return f
}

// insert returns the statement that writes a row. Columns that are not written are not in it.
func insert(name string, t *rows.Table, f form, condition string) string {
	var names []string
	for _, c := range t.Keys() {
		names = append(names, c.Name)
	}
	for i, c := range t.Values {
		if f.present&(1<<i) != 0 {
			names = append(names, c.Name)
		}
	}
	statement := "INSERT INTO " + name + " (" + strings.Join(names, ", ") +
		") VALUES (?" + strings.Repeat(", ?", len(names)-1) + ")" + condition
	switch {
	case f.stamped && f.ttl:
		return statement + " USING TIMESTAMP ? AND TTL ?"
	case f.stamped:
		return statement + " USING TIMESTAMP ?"
	case f.ttl:
		return statement + " USING TTL ?"
	}
	return statement
}

// values returns a row's values for the statement of its form.
func (f form) values(r *rows.Row) []any {
	args := make([]any, 0, len(r.Key)+len(r.Values)+2)
	for _, v := range r.Key {
		args = append(args, driverValue(v))
	}
	for i, v := range r.Values {
		if f.present&(1<<i) != 0 {
			args = append(args, driverValue(v))
		}
	}
	if f.stamped {
		args = append(args, r.Stamp)
	}
	if f.ttl {
		args = append(args, int(seconds(r.TTL)))
	}
	return args
}

// PutNew writes a row if there is none with its key; see rows.Engine.
func (s *Session) PutNew(ctx context.Context, w rows.Work, t *rows.Table, row rows.Row,
	columns []string, into ...any) (bool, error) {
	if row.Stamp != 0 || len(row.Key) != len(t.Partition)+len(t.Clustering) ||
		len(row.Values) != len(t.Values) || len(columns) != len(into) {
		return false, fmt.Errorf("rows: a new row of %s has a write time, or another number of "+
			"values than it should", t.Name)
	}
	session, err := s.CQL()
	if err != nil {
		return false, err
	}
	f := formOf(&row, false)
	// All datacenters take part, and the answer says what its columns are: it has those of a row
	// that is there.
	statement := insert(s.Name(t.Name), t, f, " IF NOT EXISTS")
	q := session.Query(statement, f.values(&row)...).SerialConsistency(gocql.Serial).
		NoSkipMetadata()
	done := false
	err = s.Run(ctx, w, t.Name, func(ctx context.Context) error {
		iter := q.IterContext(ctx)
		answer := iter.Columns()
		dest := make([]any, len(answer))
		into := driverTargets(slices.Clone(into))
		for i, c := range answer {
			if c.Name == "[applied]" {
				dest[i] = &done
			} else if at := slices.Index(columns, c.Name); at >= 0 {
				dest[i] = into[at]
			}
		}
		scanned := iter.Scan(dest...)
		if err := iter.Close(); err != nil {
			return err
		}
		if !scanned {
			return errors.New("store: Cassandra does not say whether it wrote")
		}
		return nil
	})
	return done, err
}

// weight is about what a row takes in a mutation.
func weight(r *rows.Row) int {
	n := 40
	for _, list := range [][]any{r.Key, r.Values} {
		for _, v := range list {
			switch v := v.(type) {
			case string:
				n += len(v)
			case []byte:
				n += len(v)
			case []string:
				for _, s := range v {
					n += 4 + len(s)
				}
			case map[string]string:
				for k, s := range v {
					n += 8 + len(k) + len(s)
				}
			case map[string][]byte:
				for k, b := range v {
					n += 8 + len(k) + len(b)
				}
			}
			n += 16
		}
	}
	return n
}

// seconds is how Cassandra counts times to live.
func seconds(d time.Duration) int64 { return int64(d / time.Second) }
