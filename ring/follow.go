package ring

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
)

// How the reader keeps up with the cluster. Each second it looks at the nodes that the driver
// knows (which hears of joins, leaves and deaths) and asks one node for its version of the
// schema; it reads the tokens when the nodes have changed, for a while after, and now and then
// besides, since nobody tells of a node that has moved.
const (
	followEvery  = time.Second
	followSoon   = 200 * time.Millisecond // at the least, however much fails
	restlessFor  = 30 * time.Second
	tokensEvery  = 10 * time.Second
	tokensPerSec = 2000 // more nodes and tokens are read more seldom
)

// askFor is how long each node is waited for that is asked about the cluster: all of them in
// turn, and then all again for longer.
var askFor = []time.Duration{500 * time.Millisecond, 2 * time.Second, 8 * time.Second}

// follow runs until the reader is closed.
func (r *Reader) follow() {
	defer close(r.followed)
	ticker := time.NewTicker(followEvery)
	defer ticker.Stop()
	for {
		r.look(r.living)
		select {
		case <-ticker.C:
		case <-r.poked:
			select {
			case <-time.After(followSoon):
			case <-r.living.Done():
			}
		case <-r.living.Done():
		}
		if r.living.Err() != nil {
			return
		}
	}
}

// poke has the reader look soon: something failed.
func (r *Reader) poke() {
	select {
	case r.poked <- struct{}{}:
	default:
	}
}

// look brings the reader up to date. Only one goroutine calls it at a time.
func (r *Reader) look(ctx context.Context) {
	now := r.now()
	if r.hosts.follow(r.session.GetHosts()) {
		r.seen.restless = now + int64(restlessFor)
		r.seen.tokens = 0
	}
	err := r.askAny(ctx, func(ctx context.Context, id string) error {
		var version gocql.UUID
		err := r.control("SELECT schema_version FROM system.local WHERE key = 'local'").SetHostID(
			id).ScanContext(ctx, &version)
		if err == nil && version != r.seen.schema {
			r.seen.schema = version
			r.tables.changed()
		}
		return err
	})
	r.metrics.follow(err)
	t := r.topology.Load()
	again := max(int64(tokensEvery), int64(len(t.ring))*int64(time.Second)/tokensPerSec)
	if err != nil || r.seen.tokens != 0 && now > r.seen.restless && now-r.seen.tokens < again {
		return
	}
	err = r.askAny(ctx, func(ctx context.Context, id string) error {
		next, err := r.readTopology(ctx, id)
		if err == nil && !next.equal(t) {
			r.topology.Store(next)
			r.metrics.topologies.Inc()
		}
		return err
	})
	if err == nil {
		r.seen.tokens = now
	}
	r.metrics.follow(err)
}

// seen is what look saw last.
type seen struct {
	schema   gocql.UUID
	restless int64 // until when the nodes are looked at closely
	tokens   int64 // when they were read; 0: not since something changed
}

// askAny asks nodes in turn, the one that answered last first, until one answers or says what is
// wrong with the question.
func (r *Reader) askAny(ctx context.Context, ask func(ctx context.Context, id string) error) error {
	err := error(gocql.ErrNoConnections)
	for _, bound := range askFor {
		for _, id := range r.whomToAsk() {
			bounded, cancel := context.WithTimeout(ctx, bound)
			err = ask(bounded, id)
			cancel()
			if err == nil {
				r.asked.Store(&id)
				return nil
			}
			if ctx.Err() != nil || errors.Is(err, ErrNoTable) || refused(err) {
				return err
			}
			if id != "" && errors.Is(err, context.DeadlineExceeded) {
				r.hosts.get(id).wasLate(r.now(), 1)
			}
		}
	}
	return err
}

// whomToAsk lists the nodes that are up: the last one that answered, then those of the
// datacenter, then those that are well.
func (r *Reader) whomToAsk() []string {
	last := *r.asked.Load()
	type candidate struct {
		id   string
		rank int
	}
	var list []candidate
	for _, h := range r.hosts.all() {
		info := h.driver.Load()
		if !info.IsUp() {
			continue
		}
		c := candidate{id: h.id}
		if !h.well() {
			c.rank += 4
		}
		if r.config.Datacenter != "" && info.DataCenter() != r.config.Datacenter {
			c.rank += 2
		}
		if h.id != last {
			c.rank++
		}
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.id, b.id))
	})
	ids := make([]string, 0, len(list)+1)
	for _, c := range list {
		ids = append(ids, c.id)
	}
	if len(ids) == 0 {
		ids = append(ids, "") // the driver may find somebody
	}
	return ids
}
