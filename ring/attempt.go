package ring

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// kind is why a request is sent.
type kind int

const (
	first kind = iota // nobody was asked for its keys before
	again             // somebody was, and failed
	race              // somebody is late
)

// attempt is one request to a node for one or more keys.
type attempt struct {
	f        *fetch
	host     *host
	items    []int32 // ascending
	part     int     // of the key, in which they differ
	kind     kind
	failures int
	patience time.Duration // 0: as long as the read

	left     int // items that need it
	raced    bool
	refusals time.Duration // times that it could not be raced

	ctx      context.Context
	cancel   context.CancelFunc
	progress atomic.Int64 // when it was sent, or its last page came

	// What came of it, for who takes it out of events.
	rows    [][]Row // by place in items
	err     error
	refused bool // by the throttle
}

// run asks, and hands itself in.
func (a *attempt) run() {
	f := a.f
	defer func() {
		select {
		case f.events <- a:
		case <-f.over:
		}
	}()
	t := f.plan.table
	var done func(time.Duration, error)
	if f.r.admit != nil && a.kind == first {
		if done, a.err = f.r.admit(a.ctx, f.work, t.Keyspace, t.Name, len(a.items)); a.err != nil {
			a.refused = true
			return
		}
	}
	start := f.r.now()
	a.progress.Store(start)
	if a.host != nil {
		a.host.flying.Add(int64(len(a.items)))
		defer a.host.flying.Add(-int64(len(a.items)))
	}
	took := time.Duration(0)
	a.rows, a.err = f.ask(a.ctx, a.host, a.items, a.part, func() {
		now := f.r.now()
		a.progress.Store(now)
		if took == 0 {
			took = max(time.Duration(now-start), 1)
		}
	})
	whole := time.Duration(f.r.now() - start)
	if took == 0 {
		took = whole
	}
	f.r.metrics.keys.Observe(float64(len(a.items)))
	f.r.metrics.seconds.Observe(took.Seconds())
	if a.err == nil || errors.Is(a.err, context.Canceled) && f.ctx.Err() == nil {
		t.latency.add(f.r.now(), took)
	}
	if done != nil {
		err := a.err
		if errors.Is(err, context.Canceled) && f.ctx.Err() == nil {
			err = nil // another replica was faster, or was asked instead
		}
		done(whole, err)
	}
}

// ask reads keys from a node, or from whom the driver likes; page is called when a page has come.
// It returns the rows by place in items.
func (f *fetch) ask(ctx context.Context, h *host, items []int32, part int,
	page func()) ([][]Row, error) {
	columns := len(f.plan.table.Key)
	values := make([]any, 0, f.plan.markers+len(f.args))
	statement := f.plan.single
	key := f.set.routing[f.items[items[0]].key]
	var cuts [8]string
	for i, part := range parts(cuts[:0], key, columns) {
		if f.plan.markers == columns {
			values = append(values, text(part))
		} else {
			values = appendValues(values, f.plan.table.Key[i].Type, []byte(part))
		}
	}
	if len(items) > 1 {
		statement = f.plan.in[part]
		keys := make([]string, len(items))
		for i, item := range items {
			keys[i] = f.set.routing[f.items[item].key]
		}
		values[part] = list{keys, part, columns}
	}
	q := f.r.session.Query(statement, append(values, f.args...)...).Consistency(f.level).Idempotent(
		true).PageState(nil)
	if h != nil {
		q.SetHostID(h.id).RetryPolicy(nil) // otherwise the session's own policies apply
	}
	rows := make([][]Row, len(items))
	var reader *rowReader
	var scratch []byte
	for {
		iter := q.IterContext(ctx)
		for reader == nil || iter.NumRows() > 0 {
			if reader == nil {
				if iter.NumRows() == 0 {
					break
				}
				reader = newRowReader(iter.Columns(), f.plan.answer)
			}
			if !iter.Scan(reader.dest...) {
				break
			}
			at := 0
			if len(items) > 1 {
				scratch = f.routingOf(scratch[:0], reader)
				n, known := f.set.index[string(scratch)]
				if !known {
					return nil, errStray
				}
				if at, known = slices.BinarySearch(items, f.itemOf[n]); !known {
					return nil, errStray
				}
			}
			rows[at] = append(rows[at], reader.take(len(f.plan.columns)))
		}
		state := iter.PageState()
		if err := iter.Close(); err != nil {
			return nil, err
		}
		page()
		if len(state) == 0 {
			return rows, nil
		}
		q.PageState(state)
	}
}

// routingOf is the routing key of the row that was scanned last.
func (f *fetch) routingOf(dst []byte, reader *rowReader) []byte {
	for _, column := range f.plan.keyAt {
		data := reader.cells[reader.at(column)].data
		if len(f.plan.keyAt) == 1 {
			return append(dst, data...)
		}
		dst = appendPart(dst, data)
	}
	return dst
}

// probe is a node that was left alone, and a key that it should have.
type probe struct {
	host *host
	item int32
}

// probeFor is how long a probe is waited for.
const probeFor = 5 * time.Second

// probe asks a node for a key that others are asked for too, to see whether it is as fast as they
// are.
func (r *Reader) probe(f *fetch, p probe) {
	r.metrics.probes.Inc()
	ctx, cancel := context.WithTimeout(r.living, probeFor)
	defer cancel()
	l := f.plan.table.latency
	start := r.now()
	_, err := f.ask(ctx, p.host, []int32{p.item}, 0, func() {})
	now := r.now()
	limit := max(4*f.delay, 50*time.Millisecond, 3*l.percentile(now, 0.99))
	inTime := time.Duration(now-start) <= limit && (err == nil || blameOf(err) == ofData)
	p.host.probed(now, inTime)
}

var _ gocql.Unmarshaler = (*cell)(nil)
