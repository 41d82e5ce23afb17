package moving

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/store/cutovers"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/files"
)

// copy copies a part.
func (m *Mover) copy(ctx context.Context, p files.Part) error {
	t := m.tables[p.Table.Name]
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(movedAtOnce)
	err := m.from.Rows(p, movedBytes, func(list []rows.Row) error {
		if err := m.admit(t, list); err != nil {
			return err
		}
		g.Go(func() error { return m.put(ctx, t, list) })
		return ctx.Err()
	})
	if failed := g.Wait(); failed != nil {
		return failed
	}
	return err
}

// admit looks at rows of one partition before they are written.
func (m *Mover) admit(t *rows.Table, list []rows.Row) error {
	if whose, is := list[0].Key[0].(string); is && t.Partition[0].Name == "account" &&
		m.config.Knows != nil &&
		!m.config.Knows(whose) {
		return fmt.Errorf(
			"%w: %s has rows of account %q, which is not among the accounts: add it",
			ErrAccount,
			m.config.Dir,
			whose,
		)
	}
	for i := range list {
		for len(list[i].Values) < len(t.Values) {
			list[i].Values = append(list[i].Values, nil)
		}
		if t.Name == cutovers.TableName {
			m.recordCutover(&list[i])
		}
	}
	return nil
}

// recordCutover remembers a row of the cutover table.
func (m *Mover) recordCutover(r *rows.Row) {
	of, is := r.Values[0].(string)
	if at := r.Key[1].(int64); is && r.Stamp >= m.cutovers[at].stamp {
		m.cutovers[at] = movedCutover{of, r.Stamp}
	}
}

// movedCutover is which generation serves the windows from a time on, as the directory said last.
type movedCutover struct {
	generation string
	stamp      int64
}

// put writes rows of one partition, and reads them back.
func (m *Mover) put(ctx context.Context, t *rows.Table, list []rows.Row) error {
	begun := time.Now()
	bounded, cancel := context.WithTimeout(ctx, m.config.Patience)
	defer cancel()
	err := rows.Retry(bounded, "copy rows", m.to.Retried, func() error {
		if err := m.to.Database.Put(bounded, rows.Work{}, t, list...); err != nil {
			return err
		}
		return m.find(bounded, t, list, begun)
	})
	switch {
	case err == nil:
		m.mu.Lock()
		m.moved[t.Name] += int64(len(list))
		m.mu.Unlock()
		m.report(0, len(list))
		return nil
	case bounded.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("%w: %w", ErrMoving, err)
	}
	return fmt.Errorf("store: copy rows of %s: %w", t.Name, err)
}

// expiring is how long before its end a row need not be found.
const expiring = 10 * time.Second

// find returns an error if one of a list of rows is not there, unless it may have expired since
// they were written.
func (m *Mover) find(ctx context.Context, t *rows.Table, list []rows.Row, since time.Time) error {
	due := map[string]bool{}
	parts := len(t.Partition)
	for i := range list {
		due[rowName(list[i].Key[parts:])] = true
	}
	q := rows.Query{Table: t, Key: list[0].Key[:parts], Columns: []string{t.Partition[0].Name}}
	if n := len(t.Clustering); n > 0 {
		q.Columns = nil
		for _, c := range t.Clustering {
			q.Columns = append(q.Columns, c.Name)
		}
		if first := t.Clustering[0]; first.Kind != rows.UUID { // whose order is the engine's own
			q.From, q.To = list[0].Key[parts], list[len(list)-1].Key[parts]
			if first.Descending {
				q.From, q.To = q.To, q.From
			}
		}
	}
	into, name := scanned(t)
	err := m.to.Database.Read(ctx, rows.Work{}, q, func(scan func(...any) bool) bool {
		if !scan(into...) {
			return false
		}
		delete(due, name())
		return len(due) > 0
	})
	if err != nil {
		return err
	}
	for i := range list {
		left := list[i].TTL
		if due[rowName(list[i].Key[parts:])] && (left == 0 || time.Since(since) < left-expiring) {
			return fmt.Errorf(
				"a row that was written is not found: see whether the clocks of Cassandra's " +
					"nodes are right",
			)
		}
	}
	return nil
}

// scanned returns where the clustering columns of a table are scanned to, and what names the row
// that was scanned last.
func scanned(t *rows.Table) (into []any, name func() string) {
	if len(t.Clustering) == 0 {
		return []any{nil}, func() string { return rowName(nil) }
	}
	for _, c := range t.Clustering {
		switch c.Kind {
		case rows.Text:
			into = append(into, new(string))
		case rows.UUID:
			into = append(into, new(uuid.UUID))
		case rows.Blob:
			into = append(into, new([]byte))
		case rows.Double:
			into = append(into, new(float64))
		case rows.Int32:
			into = append(into, new(int32))
		default:
			into = append(into, new(int64))
		}
	}
	own := slices.Clone(into) // an engine may change what it is given
	return into, func() string {
		key := make([]any, len(own))
		for i, p := range own {
			key[i] = reflect.ValueOf(p).Elem().Interface()
		}
		return rowName(key)
	}
}

// rowName tells rows of a partition apart.
func rowName(key []any) string {
	var b []byte
	for _, v := range key {
		b = fmt.Appendf(b, "%T %[1]x\n", v)
	}
	return string(b)
}
