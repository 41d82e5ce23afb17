package ring

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// plan is how a query is put to replicas: made once for all reads of its shape.
type plan struct {
	table   *table
	columns []Column // of the rows that are given out
	answer  []Column // of an answer: columns, and those of the key that are not among them
	keyAt   []int    // where an answer has the key columns
	single  string   // the statement for one key
	markers int      // how many markers the key has in it
	// The statement for keys that differ in one key column alone, by that column; empty where they
	// cannot be asked for together.
	in      []string
	args    []gocql.TypeInfo
	shape   string // of the query
	kept    string // what its shapes in the row cache begin with
	keptFor time.Duration
}

// inable are the types whose keys can share an IN. Each of their values has exactly one form, so
// a row's key column is, byte for byte, the key that was asked for. A decimal is no such type:
// 1.0 and 1.00 are two keys, and one value to an IN. Nor is a set: its elements come back sorted.
var inable = map[gocql.Type]bool{
	gocql.TypeAscii: true, gocql.TypeText: true, gocql.TypeVarchar: true, gocql.TypeBlob: true,
	gocql.TypeBigInt: true, gocql.TypeInt: true, gocql.TypeSmallInt: true,
	gocql.TypeTinyInt: true, gocql.TypeUUID: true, gocql.TypeTimeUUID: true,
	gocql.TypeTimestamp: true, gocql.TypeDate: true, gocql.TypeTime: true, gocql.TypeInet: true,
	gocql.TypeBoolean: true,
}

// maxPlans bounds what is kept. A caller with more shapes than that writes values into its
// statements, and should pass them as Args.
const maxPlans = 1000

// plan returns how to put a query; the error is about the query.
func (r *Reader) plan(ctx context.Context, q *Query) (*plan, error) {
	t, err := r.table(ctx, q.Keyspace, q.Table)
	if err != nil {
		return nil, err
	}
	var scratch [512]byte
	shape := appendShape(scratch[:0], q)
	r.plans.mu.RLock()
	p := r.plans.known[string(shape)]
	r.plans.mu.RUnlock()
	if p == nil || p.table != t {
		if p, err = r.newPlan(ctx, q, t, string(shape)); err != nil {
			return nil, err
		}
		r.plans.mu.Lock()
		if len(r.plans.known) >= maxPlans {
			clear(r.plans.known)
		}
		r.plans.known[p.shape] = p
		r.plans.mu.Unlock()
	}
	if markers := len(p.args) - boolInt(q.Limit > 0); markers != len(q.Args) {
		return nil, fmt.Errorf("the restriction %q has %d markers for %d values: give one ? "+
			"for each", q.Where, markers, len(q.Args))
	}
	return p, nil
}

func appendShape(dst []byte, q *Query) []byte {
	dst = append(append(dst, q.Keyspace...), 0)
	dst = append(append(dst, q.Table...), 0)
	for _, c := range q.Columns {
		dst = append(append(dst, c...), 0)
	}
	dst = append(append(dst, 0), q.Where...)
	return append(dst, 0, byte(boolInt(q.Limit > 0)))
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (r *Reader) newPlan(ctx context.Context, q *Query, t *table, shape string) (*plan, error) {
	if err := checkWhere(q.Where, len(q.Args)); err != nil {
		return nil, err
	}
	p := &plan{table: t, shape: shape, columns: t.Columns,
		keptFor: r.config.keptFor(t.Keyspace, t.Name)}
	if len(q.Columns) > 0 {
		p.columns = make([]Column, len(q.Columns))
		var errs []error
		for i, name := range q.Columns {
			c, err := t.column(name)
			if err != nil {
				errs = append(errs, err)
			}
			p.columns[i] = c
		}
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
	}
	p.kept = shapePrefix(t.Keyspace, t.Name, t.id, p.columns, q.Where)
	names := make([]string, 0, len(p.columns)+len(t.Key))
	for _, c := range p.columns {
		names = append(names, quoted(c.Name))
	}
	given := len(names)
	p.answer = p.columns[:given:given]
	for _, key := range t.Key {
		at := -1
		for i, name := range names[:given] {
			if name == quoted(key.Name) {
				at = i
			}
		}
		if at < 0 {
			at = len(names)
			names, p.answer = append(names, quoted(key.Name)), append(p.answer, key)
		}
		p.keyAt = append(p.keyAt, at)
	}
	begin := "SELECT " + strings.Join(names, ", ") + " FROM " + quoted(t.Keyspace) + "." +
		quoted(t.Name) + " WHERE "
	end := ""
	if strings.TrimSpace(q.Where) != "" {
		end = " AND " + q.Where
	}
	if q.Limit > 0 {
		end += " PER PARTITION LIMIT ?"
	}
	end += t.tag
	p.single = begin + conditions(t.Key, -1) + end
	for _, c := range t.Key {
		p.markers += strings.Count(marker(c.Type), "?")
	}
	p.in = make([]string, len(t.Key))
	grouped := true
	for _, c := range t.Key {
		grouped = grouped && inable[c.Type.Type()]
	}
	for i := range t.Key {
		if grouped {
			p.in[i] = begin + conditions(t.Key, i) + end
		}
	}
	var info *gocql.QueryInfo
	err := r.askAny(ctx, func(ctx context.Context, id string) (err error) {
		info, err = r.prepareAt(ctx, id, p.single)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot have %s prepared: %w", p.single, err)
	}
	for _, a := range info.Args[p.markers:] {
		p.args = append(p.args, a.TypeInfo)
	}
	return p, nil
}

// conditions is the WHERE of the key: one value for each column, and many for column in, unless
// that is negative.
func conditions(key []Column, in int) string {
	list := make([]string, len(key))
	for i, c := range key {
		list[i] = quoted(c.Name) + " = " + marker(c.Type)
		if i == in {
			list[i] = quoted(c.Name) + " IN ?"
		}
	}
	return strings.Join(list, " AND ")
}

// marker stands for a value: the driver wants a tuple's elements singly.
func marker(typ gocql.TypeInfo) string {
	tuple, ok := typ.(gocql.TupleTypeInfo)
	if !ok {
		return "?"
	}
	list := make([]string, len(tuple.Elems))
	for i, e := range tuple.Elems {
		list[i] = marker(e)
	}
	return "(" + strings.Join(list, ", ") + ")"
}

// appendValues appends what marker stands for.
func appendValues(dst []any, typ gocql.TypeInfo, data []byte) []any {
	tuple, ok := typ.(gocql.TupleTypeInfo)
	if !ok {
		return append(dst, encoded(data))
	}
	elements, _ := cut(data, -1)
	for i, e := range tuple.Elems {
		var element []byte
		if i < len(elements) {
			element = elements[i]
		}
		dst = appendValues(dst, e, element)
	}
	return dst
}

// encoded is a value in Cassandra's form.
type encoded []byte

func (e encoded) MarshalCQL(gocql.TypeInfo) ([]byte, error) { return e, nil }

// bind converts what comes behind the key: the restriction's values and the limit.
func (p *plan) bind(q *Query) ([]any, error) {
	if len(p.args) == 0 {
		return nil, nil
	}
	values := make([]any, 0, len(p.args))
	for i, arg := range q.Args {
		data, err := gocql.Marshal(p.args[i], arg)
		if err != nil {
			return nil, fmt.Errorf("value %d of the restriction: %w", i, err)
		}
		if data == nil {
			return nil, fmt.Errorf("value %d of the restriction is null, and nothing equals null",
				i)
		}
		values = append(values, encoded(data))
	}
	if q.Limit > 0 {
		n := min(q.Limit, 1<<31-1)
		values = append(values, encoded{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
	}
	return values, nil
}
