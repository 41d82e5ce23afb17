package store

import (
	"cmp"
	"context"
	"math"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/fresh"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/rows/cassandra"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/rollup"
	"github.com/ringwatch/ringwatch/window/rollup/rolluptest"
	"github.com/ringwatch/ringwatch/window/selecting"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// eve is the last hour and ten minutes of the day before yesterday, so that histories cross the
// beginning of hours and of a day.
var eve = rollup.Day.Start(time.Now().UnixMilli()-calendar.DayMillis) - 70*60_000

// killer cancels a context after so many calls to whoever keeps rows.
type killer struct {
	mu     sync.Mutex
	left   int
	cancel context.CancelFunc
}

func (k *killer) arm(calls int, cancel context.CancelFunc) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.left, k.cancel = calls, cancel
}

func (k *killer) called() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left--; k.left == 0 {
		k.cancel()
	}
}

// of returns a store whose calls it counts.
func (k *killer) of(t *testing.T, s *Store) *Store {
	if s.config.Dir != "" {
		return newStore(killed{s.session, k}, s.config, calendar.NewClock(s.config.Now), s.metrics)
	}
	cluster := s.config.cluster()
	cluster.Observed = k.called // each mutation and page
	session := cassandra.New(cluster)
	if err := session.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return newStore(session, s.config, calendar.NewClock(s.config.Now), s.metrics)
}

// killed tells a killer of each call.
type killed struct {
	database
	by *killer
}

func (k killed) Put(ctx context.Context, w rows.Work, t *rows.Table, list ...rows.Row) error {
	defer k.by.called()
	return k.database.Put(ctx, w, t, list...)
}

func (k killed) PutNew(ctx context.Context, w rows.Work, t *rows.Table, row rows.Row,
	columns []string, into ...any) (bool, error) {
	defer k.by.called()
	return k.database.PutNew(ctx, w, t, row, columns, into...)
}

func (k killed) Read(ctx context.Context, w rows.Work, q rows.Query,
	row func(scan func(into ...any) bool) bool) error {
	defer k.by.called()
	return k.database.Read(ctx, w, q, row)
}

func (k killed) ReadMany(ctx context.Context, w rows.Work, q rows.Query, keys [][]any,
	take func(i int, scan func(into ...any) bool, err error)) error {
	defer k.by.called()
	return k.database.ReadMany(ctx, w, q, keys, take)
}

// fleet is two store processes that share two partitions, are killed between any two calls to
// whoever keeps their rows, and take partitions from each other.
type fleet struct {
	t       *testing.T
	pick    windowtest.Pick
	clock   *clock
	base    *Store
	killer  *killer
	store   [2]*Store
	writer  [2]*Writer
	zombies []*Writer // have lost their partitions and do not know it
	owner   [2]int    // by partition

	records   [2][]stream.Record
	position  [2]int
	committed [2]int

	kills, moves, again int
}

func (f *fleet) start(process int) {
	// a connection is no state, and making one is slow; time goes on where the clock stands still
	s := newStore(f.base.session, f.base.config, f.base.clock, f.base.metrics)
	defer func() {
		for p, owner := range f.owner {
			if owner == process {
				f.writer[process].Assign(int32(p))
			}
		}
	}()
	f.store[process], f.writer[process] = s, NewWriter(s)
}

// lose takes a partition from its owner: the next one begins where was committed.
func (f *fleet) lose(p int) { f.position[p] = f.committed[p] }

// commit keeps how far a partition's owner says that it may be read from.
func (f *fleet) commit(p int) {
	f.committed[p] = f.position[p]
	if low, ok := f.writer[f.owner[p]].LowWater(int32(p)); ok {
		f.committed[p] = int(low)
	}
}

// do lets a process work; now and then it is killed in the middle, perhaps when it has just
// committed.
func (f *fleet) do(process int, commits bool, work func(ctx context.Context) error) {
	ctx, cancel := context.WithCancel(f.t.Context())
	defer cancel()
	killed := f.pick(6) == 0
	if killed {
		f.killer.arm(1+f.pick(40), cancel)
	}
	err := work(ctx)
	f.killer.arm(0, nil)
	// the role gives its partitions back, and reads them again from the low water
	if asIs(err, ErrExpired) && !killed {
		f.again++
		for p, owner := range f.owner {
			if owner == process {
				f.commit(p)
				f.writer[process].Revoke(int32(p))
				f.writer[process].Assign(int32(p))
				f.lose(p)
			}
		}
		return
	}
	if err == nil {
		return
	}
	if !killed {
		f.t.Fatal(err)
	}
	f.kills++
	for p, owner := range f.owner {
		if owner == process && commits && f.pick(2) == 0 {
			f.commit(p)
		}
	}
	if f.pick(3) == 0 {
		f.zombies = append(f.zombies, f.writer[process])
	}
	f.start(process)
	for p, owner := range f.owner {
		if owner == process {
			f.lose(p)
		}
	}
}

func (f *fleet) step() {
	for p := range f.records {
		n := min(f.pick(12), len(f.records[p])-f.position[p])
		records := f.records[p][f.position[p] : f.position[p]+n]
		f.position[p] += n
		for _, r := range records {
			f.clock.millis.Store(max(f.clock.millis.Load(), at(r)+200))
		}
		f.do(f.owner[p], false, func(ctx context.Context) error {
			return f.writer[f.owner[p]].Handle(ctx, records)
		})
	}
	f.tick()
	for p := range f.records {
		if f.pick(2) == 0 {
			f.commit(p)
		}
		if f.pick(25) == 0 {
			f.moves++
			if f.pick(2) == 0 {
				f.writer[f.owner[p]].Revoke(int32(p)) // else it is told late, and goes on closing
			}
			f.owner[p] = 1 - f.owner[p]
			f.writer[f.owner[p]].Assign(int32(p))
			f.lose(p)
		}
	}
}

func (f *fleet) tick() {
	for process := range f.writer {
		f.do(process, true, func(ctx context.Context) error {
			return f.writer[process].CloseDue(ctx, f.clock.now())
		})
	}
	for _, z := range f.zombies {
		if f.pick(3) == 0 {
			// it may remember an hour that another has made
			if err := z.CloseDue(f.t.Context(), f.clock.now()); err != nil &&
				!asIs(err, ErrExpired) {
				f.t.Fatal(err)
			}
		}
	}
}

// drain reads the streams to their ends and lets time pass until nothing is open.
func (f *fleet) drain() {
	for f.position[0] < len(f.records[0]) || f.position[1] < len(f.records[1]) {
		f.step()
	}
	f.clock.millis.Add(10 * 60_000)
	for range 100 {
		f.clock.millis.Add(30_000)
		f.tick()
		behind := false
		for p := range f.records {
			behind = behind || f.position[p] < len(f.records[p])
		}
		if behind { // killed once more
			f.step()
			continue
		}
		_, a := f.writer[f.owner[0]].LowWater(0)
		_, b := f.writer[f.owner[1]].LowWater(1)
		if !a && !b && f.writer[0].schedule.Due()+f.writer[1].schedule.Due() == 0 {
			f.end()
			return
		}
	}
	f.t.Fatal("windows stay open, or hours are not made")
}

// end lets the hour and the day end, so that both are made.
func (f *fleet) end() {
	for _, level := range rollup.Levels[1:] {
		now := f.clock.millis.Load()
		f.clock.millis.Store(level.Start(now) + level.Millis + 10*60_000)
		for _, w := range f.writer { // a zombie may have noted something
			w.schedule.LookAgain()
		}
		// time must not leap while an hour is to be made: its windows expire
		for f.owed(rollup.Hour) || f.owed(level) {
			f.tick()
			f.clock.millis.Add(10_000)
		}
	}
}

// owed reports whether a process knows of spans of a level that are to be made.
func (f *fleet) owed(level rollup.Level) bool {
	for _, w := range f.writer {
		if w.schedule.Owed(level.Millis) > 0 {
			return true
		}
	}
	return false
}

// checkRollups compares all levels with what samples give directly.
func checkRollups(t *testing.T, s *Store, node uuid.UUID, samples []window.Series, when string) {
	t.Helper()
	for _, level := range rollup.Levels {
		series, report, err := answers(s).ReadRollup(t.Context(), "acme", node, level, 0,
			math.MaxInt64, nil)
		if err != nil {
			t.Fatal(when, err)
		}
		if report.Partial() {
			t.Fatalf("%s, level %s: %v", when, level.Name, report.Damage)
		}
		got, err := rolluptest.Of(series)
		if err != nil {
			t.Fatal(when, err)
		}
		want := rolluptest.Direct(samples, level)
		if d := rolluptest.Diff(got, want); d != "" || len(want) == 0 {
			t.Fatalf("%s, level %s, %d series:\n%s", when, level.Name, len(want), d)
		}
	}
}

// checkSamples compares what is read with the samples that there are.
func checkSamples(t *testing.T, s *Store, node uuid.UUID, samples []window.Series, when string) {
	t.Helper()
	got, report := read(t, s, node, 0, math.MaxInt64)
	want, err := windowtest.Of(samples)
	if err != nil {
		t.Fatal(when, err)
	}
	if d := windowtest.Diff(got, want); d != "" || report.Partial() {
		t.Fatalf("%s, %+v:\n%s", when, report, d)
	}
}

// direct returns the samples of frames, without a store.
func direct(t *testing.T, frames [][]byte) []window.Series {
	t.Helper()
	windows := map[int64][][]byte{}
	for _, b := range frames {
		h, _, err := frame.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		windows[h.Window()] = append(windows[h.Window()], b)
	}
	var parts [][]window.Series
	for _, list := range windows {
		w, _, err := building.Window(window.Node{}, list)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, selecting.Select(w, 0, math.MaxInt64))
	}
	slices.SortFunc(parts, func(a, b []window.Series) int {
		switch {
		case len(a) == 0 || len(b) == 0:
			return cmp.Compare(len(a), len(b))
		}
		return cmp.Compare(a[0].At[0], b[0].At[0])
	})
	return selecting.Join(parts...)
}

// TestRollupsEqualDirectComputation: whatever is lost, late, repeated, shuffled or killed on the
// way, all levels equal what the samples that were stored give directly; and still do when frames
// come that are so late that their window is only in raw.
func TestRollupsEqualDirectComputation(t *testing.T) {
	c := newClock(eve)
	// time leaps here, but nothing expires
	base := mustStore(t, c, func(c *Config) { c.FreshTTL, c.HourSpread = c.RawTTL, 10*time.Second })
	k := &killer{}
	base = k.of(t, base)
	seeds := uint64(4)
	if os.Getenv("RINGWATCH_TEST_FULL") != "" {
		seeds = 40
	}
	kills, moves := 0, 0
	for seed := range seeds {
		pick := seeded(t, seed)
		c.millis.Store(eve)
		base.metrics = NewMetrics(nil)
		f := &fleet{t: t, pick: pick, clock: c, base: base, killer: k, owner: [2]int{0, 1}}
		f.start(0)
		f.start(1)
		var nodes []*windowtest.Node
		frames := map[uuid.UUID][][]byte{}
		late := map[uuid.UUID][]stream.Record{}
		for i := range 3 {
			n := windowtest.NewNode(pick)
			n.Cluster = []string{"c1", "c2", "c3"}[i]
			nodes = append(nodes, n)
			type due struct {
				stream.Record
				at int64
			}
			var list []due
			for at := eve + int64(pick(60_000)); at < eve+130*60_000; at += 30_000 +
				int64(pick(60_000)) {
				sent := n.Step(at, pick(12) == 0)
				switch pick(60) {
				case 0: // away for a while
					at += int64(pick(50 * 60_000))
				case 1, 2: // lost, and if it is a key frame what needs it is, too
					continue
				}
				// hours late; it needs no other frame, as those will have expired
				if sent.Key && pick(12) == 0 {
					late[n.ID] = append(late[n.ID],
						stream.Record{Account: "acme", Value: sent.Bytes})
					continue
				}
				frames[n.ID] = append(frames[n.ID], sent.Bytes)
				arrives := at
				if pick(15) == 0 {
					arrives += int64(pick(15 * 60_000))
				}
				for range 1 + pick(6)/5 {
					list = append(list, due{stream.Record{Account: "acme", Value: sent.Bytes},
						arrives})
				}
			}
			for _, d := range list {
				f.records[i%2] = append(f.records[i%2], d.Record)
			}
			order := map[*byte]int64{}
			for _, d := range list {
				order[&d.Value[0]] = max(order[&d.Value[0]], d.at)
			}
			slices.SortStableFunc(f.records[i%2], func(a, b stream.Record) int {
				when := func(r stream.Record) int64 {
					if o, found := order[&r.Value[0]]; found {
						return o
					}
					return at(r)
				}
				return cmp.Compare(when(a), when(b))
			})
		}
		for p := range f.records {
			for i := range f.records[p] {
				f.records[p][i].Partition, f.records[p][i].Offset = int32(p), int64(i)
			}
		}
		f.drain()
		end := c.millis.Load()
		check := func(when string, samples func(n *windowtest.Node) []window.Series) {
			s := newStore(base.session, base.config, calendar.NewClock(base.config.Now),
				NewMetrics(nil))
			for _, n := range nodes {
				want := samples(n)
				c.millis.Store(end)
				checkRollups(t, s, n.ID, want, when)
				checkSamples(t, s, n.ID, want, when)
				c.millis.Store(end + 3*calendar.DayMillis) // only what is stored
				checkRollups(t, s, n.ID, want, when+", from rows")
				checkSamples(t, s, n.ID, want, when+", from rows")
			}
			c.millis.Store(end)
		}
		check("in time", func(n *windowtest.Node) []window.Series {
			return direct(t, frames[n.ID])
		})

		// Much later, when fresh has expired.
		empty(t, base, fresh.TableName)
		added := 0
		for i, n := range nodes {
			for _, r := range late[n.ID] {
				r.Partition, r.Offset = int32(i%2), int64(len(f.records[i%2]))
				f.records[i%2] = append(f.records[i%2], r)
				added++
			}
		}
		f.drain()
		end = c.millis.Load()
		check("after late frames", func(n *windowtest.Node) []window.Series {
			series, _, err := answers(base).Read(t.Context(), "acme", n.ID, 0, math.MaxInt64)
			if err != nil {
				t.Fatal(err)
			}
			return series
		})
		kills, moves = kills+f.kills, moves+f.moves
		t.Logf("records %d, later %d, kills %d, moves %d, hours written %v, days written %v, "+
			"unchanged %v", len(f.records[0])+len(f.records[1]), added, f.kills, f.moves,
			number(base.metrics.hours.Hours.WithLabelValues("written")),
			number(base.metrics.hours.Days.WithLabelValues("written")),
			number(base.metrics.hours.Hours.WithLabelValues("unchanged")))
	}
	if kills < int(seeds) || moves < int(seeds) {
		t.Fatalf("only %d kills and %d moves", kills, moves)
	}
}
