package query_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/query"
	"github.com/ringwatch/ringwatch/query/querytest"
	"github.com/ringwatch/ringwatch/query/read"
	"github.com/ringwatch/ringwatch/query/selector"
)

// countedRecent counts how often newest frames are read.
type countedRecent struct {
	read.Recent
	reads int
}

func (c *countedRecent) Latest(ctx context.Context, account string, node uuid.UUID) (
	[][]byte, int64, error) {
	c.reads++
	return c.Recent.Latest(ctx, account, node)
}

// TestNewestStatesAreKept: who asks again before a node has sent gets what was read, who asks later
// or as another account does not, and all get the same as without.
func TestNewestStatesAreKept(t *testing.T) {
	f := newFixture(t)
	sources := f.withRecent(f.store.Sources())
	counted := &countedRecent{Recent: sources.Recent}
	sources.Recent = counted
	const expr = `{__name__=~"node_.*|cassandra_table_.*",node!=""}`
	engine := func(kept int64) *query.Engine {
		f.config.KeptBytes = kept
		c := query.DefaultConfig()
		c.Clock = f.clock
		p, err := selector.New(selector.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		e, err := query.NewEngine(c, f.reader(sources), nil, p, nil, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	keeps, without, small := engine(1<<20), engine(0), engine(1)
	who := f.principal()
	ask := func(e *query.Engine, account string) (text string, reads int) {
		before := counted.reads
		p := who
		if account != "" {
			p = querytest.Principal(t, account)
		}
		a, err := e.Instant(t.Context(), p, expr, f.clock(), query.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		if len(a.Warnings) > 0 {
			t.Error(a.Warnings)
		}
		return a.String(), counted.reads - before
	}
	f.fill(time.Minute, func(int64) bool { return false })
	for _, c := range []struct {
		what    string
		account string
		reads   int
		before  func()
	}{
		{"the first time", "", 1, func() {}},
		{"again", "", 0, func() {}},
		{"a second later", "", 0, func() { f.now.Add(1000) }},
		{"another account", "query-other", 0, func() {}},
		{"after a frame", "", 1, func() {
			f.now.Add(4000)
			f.node.Step()
			b := f.node.Frame(f.now.Load())
			f.frames[f.now.Load()] = b
			f.store.Put(f.account(), b)
			f.write(b)
		}},
		{"again after it", "", 0, func() {}},
	} {
		c.before()
		got, reads := ask(keeps, c.account)
		want, _ := ask(without, c.account)
		if got != want || (got == "") != (c.account != "") {
			t.Errorf("%s: the answers differ, or are of another account:\n%s\n%s", c.what,
				got, want)
		}
		if reads != c.reads {
			t.Errorf("%s: %d states were read, not %d", c.what, reads, c.reads)
		}
		if got, reads := ask(small, c.account); got != want || c.account == "" && reads != 1 {
			t.Errorf("%s, where nothing can be kept: %d states were read", c.what, reads)
		}
	}
}
