package store

import (
	"cmp"
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/fresh"
	"github.com/ringwatch/ringwatch/store/generations"
	"github.com/ringwatch/ringwatch/store/nodes"
	"github.com/ringwatch/ringwatch/store/reading"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/window"
	"github.com/ringwatch/ringwatch/window/building"
	"github.com/ringwatch/ringwatch/window/selecting"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

func asIs(err, target error) bool { return errors.Is(err, target) }

// read returns what Read answers for all times, as samples.
func read(t *testing.T, s *Store, node uuid.UUID, from, to int64,
	m ...*labels.Matcher) (windowtest.Samples, reading.Report) {
	t.Helper()
	series, report, err := answers(s).Read(t.Context(), "acme", node, from, to, m...)
	if err != nil {
		t.Fatal(err)
	}
	got, err := windowtest.Of(series)
	if err != nil {
		t.Fatal(err)
	}
	return got, report
}

func checkRead(t *testing.T, s *Store, n *windowtest.Node, want windowtest.Samples) reading.Report {
	t.Helper()
	name := labels.MustNewMatcher(labels.MatchRegexp, labels.MetricName, ".*[01]")
	// of some metrics there is then more at hand than of others
	read(t, s, n.ID, base, base+2*calendar.WindowMillis, name)
	got, report := read(t, s, n.ID, 0, 1<<50)
	if d := windowtest.Diff(got, want); d != "" {
		t.Fatalf("report %+v\n%s", report, d)
	}
	if report.Partial() || report.Lost > 0 {
		t.Fatalf("report %+v", report)
	}
	return report
}

// checkInstants compares the report's instants with those of sent that are from from to to.
func checkInstants(t *testing.T, report reading.Report, sent []int64, from, to int64) {
	t.Helper()
	want := slices.DeleteFunc(slices.Clone(sent), func(at int64) bool {
		return at < from || at > to
	})
	if !slices.Equal(report.Instants, want) {
		t.Fatalf("%d instants from %d to %d, not %d:\n%v\n%v", len(report.Instants), from, to,
			len(want), report.Instants, want)
	}
}

// readableAt returns when those of the frames were sent that can be read with the others.
func readableAt(t *testing.T, frames [][]byte) (instants []int64) {
	t.Helper()
	groups := map[int64][][]byte{}
	for _, b := range frames {
		start := header(t, b).Window()
		groups[start] = append(groups[start], b)
	}
	for _, group := range groups {
		w, _, err := building.Window(window.Node{}, group)
		if err == nil {
			instants = append(instants, w.Times...)
		}
	}
	slices.Sort(instants)
	return instants
}

// consumer is a consumer of two partitions that is killed now and then.
type consumer struct {
	t         *testing.T
	pick      windowtest.Pick
	clock     *clock
	store     *Store
	writer    *Writer
	records   [2][]stream.Record
	position  [2]int
	committed [2]int
	kills     int
	zombie    *Writer // was killed, or so the others think, and goes on closing windows
}

func (s *consumer) step() {
	var records []stream.Record
	for p := range s.records {
		n := min(s.pick(12), len(s.records[p])-s.position[p])
		records = append(records, s.records[p][s.position[p]:s.position[p]+n]...)
		s.position[p] += n
	}
	for _, r := range records {
		h, _, _ := frame.Parse(r.Value)
		s.clock.millis.Store(max(s.clock.millis.Load(), h.At+200))
	}
	if err := s.writer.Handle(s.t.Context(), records); err != nil {
		s.t.Fatal(err)
	}
	if s.pick(3) == 0 { // time passes
		s.clock.millis.Store(min(s.clock.millis.Load()+int64(s.pick(40_000)),
			base+3*frame.WindowMillis-40_000))
	}
	if s.pick(2) == 0 {
		s.tick()
	}
	for p := range s.records {
		if s.pick(2) == 0 {
			s.commit(p)
		}
	}
	if s.pick(8) == 0 {
		s.kill()
	}
}

func (s *consumer) tick() {
	if s.zombie != nil && s.pick(2) == 0 {
		if err := s.zombie.CloseDue(s.t.Context(), s.clock.now()); err != nil {
			s.t.Fatal(err)
		}
	}
	if err := s.writer.CloseDue(s.t.Context(), s.clock.now()); err != nil {
		s.t.Fatal(err)
	}
}

func (s *consumer) commit(p int) {
	s.committed[p] = s.position[p]
	if low, ok := s.writer.LowWater(int32(p)); ok {
		s.committed[p] = int(low)
	}
}

// kill forgets everything but what is committed. The new process knows nothing that the old one had
// cached.
func (s *consumer) kill() {
	s.kills++
	if s.zombie = nil; s.pick(2) == 0 {
		s.zombie = s.writer
	}
	// a connection is no state, and making one is slow; time goes on where the clock stands still
	s.store = newStore(s.store.session, s.store.config, s.store.clock, s.store.metrics)
	s.writer = NewWriter(s.store)
	s.writer.Assign(0)
	s.writer.Assign(1)
	s.position = s.committed
}

// TestContract: whatever comes in which order, twice, late, with kills in between, Read answers
// every sample exactly once, from closed and open windows.
func TestContract(t *testing.T) {
	few, many := uint64(2), uint64(4)
	if os.Getenv("RINGWATCH_TEST_FULL") != "" {
		few, many = 40, 40
	}
	onEach(t, func(t *testing.T, open opener) {
		for _, generation := range generations.Names() {
			seeds := few // of what new keyspaces no longer begin with
			if generation == generations.Default {
				seeds = many
			}
			t.Run(generation, func(t *testing.T) { contract(t, open, generation, seeds) })
		}
		// All three, each for one window.
		t.Run("cutover", func(t *testing.T) { contract(t, open, "", many+many/4) })
	})
}

// contract holds of one generation; of none, of all that take each other's place from window to
// window.
func contract(t *testing.T, open opener, generation string, seeds uint64) {
	c := newClock(base)
	first := open(t, c, func(config *Config) { config.Generation = cmp.Or(generation, "v1") })
	if generation == "" {
		c.millis.Store(base - CutoverLead.Milliseconds())
		for i, to := range []string{"v2", "v3"} {
			if _, err := first.Cutover(t.Context(), to,
				time.UnixMilli(base+int64(i)*frame.WindowMillis+1), "the test"); err != nil {
				t.Fatal(err)
			}
		}
	}
	for seed := range seeds {
		pick := seeded(t, seed)
		c.millis.Store(base)
		s := &consumer{t: t, pick: pick, clock: c, store: another(first, first.config)}
		s.writer = NewWriter(s.store)
		var nodes []*windowtest.Node
		var wants []windowtest.Samples
		var sent [][]int64 // when, by node
		var newest []windowtest.Sent
		bad := 0
		for p := range 3 {
			n := windowtest.NewNode(pick)
			n.Cluster = []string{"c1", "c2", "c3"}[p]
			n.Compression = frame.Compression(pick(3))
			nodes = append(nodes, n)
			want, when := windowtest.Samples{}, []int64(nil)
			list := &s.records[p%2]
			var last windowtest.Sent
			at := base + int64(pick(5000))
			for at < base+3*frame.WindowMillis-frame.WindowMillis/4 {
				last = n.Step(at, pick(12) == 0)
				want.Add(last.Samples)
				when = append(when, at)
				for range 1 + pick(6)/5 {
					*list = append(*list, stream.Record{Account: "acme", Value: last.Bytes})
				}
				at += 20_000 + int64(pick(30))
				if pick(10) == 0 {
					at += 60_000
				}
			}
			wants, sent, newest = append(wants, want), append(sent, when), append(newest, last)
		}
		for p := range s.records {
			list := s.records[p]
			// In order of time with all nodes mixed, then some a little late and some very late.
			slices.SortStableFunc(list, func(a, b stream.Record) int { return int(at(a) - at(b)) })
			for i := range list {
				if pick(4) == 0 {
					j := min(len(list)-1, i+pick(5))
					list[i], list[j] = list[j], list[i]
				}
				if pick(30) == 0 {
					j := i + pick(len(list)-i)
					list[i], list[j] = list[j], list[i]
				}
			}
			if pick(2) == 0 {
				list = slices.Insert(list, pick(len(list)),
					stream.Record{Account: "acme", Value: []byte("no frame")})
				bad++
			}
			for i := range list {
				list[i].Partition, list[i].Offset = int32(p), int64(i)
			}
			s.records[p] = list
		}
		for steps := 0; s.position[0] < len(s.records[0]) ||
			s.position[1] < len(s.records[1]); steps++ {
			s.step()
			if steps%10 == 0 { // nothing wrong on the way, though some may not be there yet
				i := pick(len(nodes))
				got, _ := read(t, s.store, nodes[i].ID, 0, 1<<50)
				for series, values := range got {
					for at, v := range values {
						if wants[i][series][at] != v {
							t.Fatalf("on the way: %s at %d = %s", series, at, v)
						}
					}
				}
			}
		}
		// Two windows closed, the third open.
		c.millis.Store(base + 3*frame.WindowMillis - 1000)
		s.tick()
		var report reading.Report
		for i, n := range nodes {
			if report = checkRead(t, s.store, n, wants[i]); report.Raw+report.Kept != 2 ||
				report.Fresh != 1 {
				t.Fatalf("two windows should be closed and one open: %+v", report)
			}
			checkInstants(t, report, sent[i], 0, math.MaxInt64)
			nameless := labels.MustNewMatcher(labels.MatchEqual, "__name__", "")
			_, bare := read(t, s.store, n.ID, 0, 1<<50, nameless)
			checkInstants(t, bare, sent[i], 0, math.MaxInt64)
			frames, _, _, err := answers(s.store).LatestFrames(t.Context(), "acme", n.ID)
			if err != nil {
				t.Fatal(err)
			}
			w, _, err := building.Window(window.Node{}, frames)
			if err != nil || len(frames) > 2 {
				t.Fatal(len(frames), err)
			}
			got, err := windowtest.Of(selecting.Latest(w))
			if d := windowtest.Diff(got, newest[i].Samples); d != "" || err != nil {
				t.Fatalf("latest: %v %s", err, d)
			}
			if seen, err := answers(s.store).LastSeen(t.Context(), "acme",
				[]uuid.UUID{n.ID, uuid.New()}); err != nil || len(seen) != 1 ||
				seen[n.ID] != newest[i].At {
				t.Fatalf("last seen %d, %v, want %d", seen, err, newest[i].At)
			}
		}
		opened := s.store.openWindows()
		// All closed.
		c.millis.Store(base + 4*frame.WindowMillis)
		s.tick()
		for p := range s.records {
			if low, ok := s.writer.LowWater(int32(p)); ok {
				t.Fatalf("partition %d still has an open window at %d", p, low)
			}
		}
		for i, n := range nodes {
			closed := checkRead(t, s.store, n, wants[i])
			if closed.Fresh != 0 {
				t.Fatalf("closed windows answered from fresh: %+v", closed)
			}
			checkInstants(t, closed, sent[i], 0, math.MaxInt64)
			// A part of time, and one metric.
			m := labels.MustNewMatcher(labels.MatchEqual, "__name__", "table_1")
			from, to := base+int64(pick(900_000)), base+int64(pick(900_000))
			if from > to {
				from, to = to, from
			}
			got, part := read(t, s.store, n.ID, from, to, m)
			checkInstants(t, part, sent[i], from, to)
			for _, name := range []string{"there_is_none", ""} { // each metric has a name
				none := labels.MustNewMatcher(labels.MatchEqual, "__name__", name)
				if got, report := read(t, s.store, n.ID, from, to, none); len(got) > 0 {
					t.Fatalf("%d series that there are not", len(got))
				} else {
					checkInstants(t, report, sent[i], from, to)
				}
			}
			all, _, err := answers(s.store).Read(t.Context(), "acme", n.ID, 0, 1<<50)
			if err != nil {
				t.Fatal(err)
			}
			var some []window.Series
			for _, series := range all {
				if m.Matches(series.Labels.Get("__name__")) {
					some = append(some, series)
				}
			}
			want, _ := windowtest.Of(some)
			for series, values := range want {
				for at := range values {
					if at < from || at > to {
						delete(want[series], at)
					}
				}
			}
			if d := windowtest.Diff(got, want); d != "" {
				t.Fatalf("%d … %d of %v:\n%s", from, to, m, d)
			}
			if other, _, _ := answers(s.store).Read(t.Context(), "other", n.ID, 0,
				1<<50); len(other) > 0 {
				t.Fatal("another account sees it")
			}
		}
		known, err := answers(s.store).Nodes(t.Context(), "acme")
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range nodes {
			if !slices.ContainsFunc(known, func(k storedNode) bool {
				return k.ID == n.ID && k.Cluster == n.Cluster && k.Rack == n.Rack &&
					k.Fact("os") == "Linux" && k.LastKey >= base && k.Interval == n.Interval
			}) {
				t.Fatalf("node %s is not in %+v", n.ID, known)
			}
		}
		m := s.store.metrics
		accepted, written := number(m.frames.accepted), number(m.frames.written)
		dropped := number(m.frames.dropped.WithLabelValues("corrupt")) +
			number(m.frames.dropped.WithLabelValues("too_large"))
		if accepted != written+dropped || number(m.frames.pending) != 0 || dropped < float64(bad) {
			t.Fatalf("ledger: accepted %v, written %v, dropped %v", accepted, written, dropped)
		}
		t.Logf("records %d, kills %d, open %v then 0, %+v, closed: written %v, merged %v, "+
			"unchanged %v", len(s.records[0])+len(s.records[1]), s.kills, opened, report,
			number(m.closing.Closed.WithLabelValues("written")),
			number(m.closing.Closed.WithLabelValues("merged")),
			number(m.closing.Closed.WithLabelValues("unchanged")))
	}
}

// number returns a counter's or a gauge's value.
func number(c prometheus.Collector) float64 {
	reg := prometheus.NewRegistry()
	reg.MustRegister(c)
	families, err := reg.Gather()
	if err != nil || len(families) != 1 {
		return -1
	}
	m := families[0].GetMetric()[0]
	return m.GetCounter().GetValue() + m.GetGauge().GetValue()
}

func (s *Store) openWindows() float64 { return number(s.metrics.closing.OpenWindows) }

func at(r stream.Record) int64 {
	h, _, _ := frame.Parse(r.Value)
	return h.At
}

// TestHandleGivesBackWhatItCannotWrite: when its context ends, what is not written is counted as
// returned, and LowWater stays before it.
func TestHandleGivesBackWhatItCannotWrite(t *testing.T) {
	s, err := New(testConfig(t, "127.0.0.1:1", newClock(base)), nil) // never connected
	if err != nil {
		t.Fatal(err)
	}
	w, n := NewWriter(s), windowtest.NewNode(seeded(t, 1))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	err = w.Handle(ctx,
		[]stream.Record{{Account: "acme", Partition: 3, Offset: 41,
			Value: n.Step(base, true).Bytes},
			{Account: "acme", Partition: 3, Offset: 42, Value: []byte("no frame")},
			{Account: "acme", Partition: 3, Offset: 43, Value: n.Step(base+5000, false).Bytes}})
	if !asIs(err, ErrNotConnected) {
		t.Errorf("got %v", err)
	}
	m := s.metrics
	if number(m.frames.accepted) != 3 || number(m.frames.written) != 0 ||
		number(m.frames.returned) != 2 ||
		number(m.frames.dropped.WithLabelValues("corrupt")) != 1 || number(m.frames.pending) != 0 {
		t.Errorf("accepted %v, written %v, returned %v, pending %v", number(m.frames.accepted),
			number(m.frames.written), number(m.frames.returned), number(m.frames.pending))
	}
	if low, ok := w.LowWater(3); !ok || low != 41 {
		t.Errorf("low water %d, %v", low, ok)
	}
	w.Revoke(3)
	if _, ok := w.LowWater(3); ok {
		t.Error("a revoked partition has an open window")
	}
}

// closedWindow returns a store with one closed window and the frames it was made of.
func closedWindow(t *testing.T, open opener, seed uint64) (*Store, *clock, *windowtest.Node,
	[]windowtest.Sent) {
	c := newClock(base + frame.WindowMillis + 60_000)
	s := open(t, c)
	n := windowtest.NewNode(seeded(t, seed))
	var sent []windowtest.Sent
	for i := range int64(14) {
		sent = append(sent, n.Step(base+i*20_000, i == 7))
	}
	return s, c, n, sent
}

func write(t *testing.T, s *Store, sent ...windowtest.Sent) windowtest.Samples {
	t.Helper()
	all := windowtest.Samples{}
	for _, f := range sent {
		if err := writing(s).WriteFrame(t.Context(), "acme", f.Bytes); err != nil {
			t.Fatal(err)
		}
		all.Add(f.Samples)
	}
	return all
}

func closeIt(t *testing.T, s *Store, n *windowtest.Node) {
	t.Helper()
	if err := writing(s).CloseWindow(t.Context(), memory.Unbounded(), "acme", n.ID,
		base); err != nil {
		t.Fatal(err)
	}
}

// TestLateAfterFreshExpired: a frame that comes when the other frames of its window have expired is
// added to the columns.
func TestLateAfterFreshExpired(t *testing.T) {
	for seed := range uint64(5) {
		s, _, n, sent := closedWindow(t, mustStore, 100+seed)
		want := write(t, s, slices.Concat(sent[:3], sent[4:11])...)
		closeIt(t, s, n)
		empty(t, s, fresh.TableName)
		closeIt(t, s, n) // nothing to read must not be nothing to keep
		checkRead(t, s, n, want)
		want.Add(write(t, s, sent[0], sent[3], sent[12], sent[7]))
		closeIt(t, s, n)
		checkRead(t, s, n, want)
		if merged := number(s.metrics.closing.Closed.WithLabelValues("merged")); merged != 1 {
			t.Fatalf("%v merges", merged)
		}
		closeIt(t, s, n)
		checkRead(t, s, n, want)
	}
}

// TestSlowCloserLosesAgainstALaterOne: a process that lost its partition while it closed a window
// writes what it read, after the next owner has read and written more.
func TestSlowCloserLosesAgainstALaterOne(t *testing.T) {
	s, _, n, sent := closedWindow(t, mustStore, 200)
	write(t, s, sent[:6]...)
	stamp := s.clock.Now().UnixMicro()
	frames, err := s.fresh.InWindow(t.Context(), rows.Work{}, memory.Unbounded(), "acme",
		n.ID, base)
	if err != nil {
		t.Fatal(err)
	}
	old, rep, err := building.Window(window.Node{Account: "acme"}, frames)
	if err != nil {
		t.Fatal(err)
	}
	want := write(t, s, sent...)
	closeIt(t, s, n)
	gen, err := s.generations.At(t.Context(), unbounded(s), base)
	if err != nil {
		t.Fatal(err)
	}
	old.Node.ID = n.ID
	if err := gen.Write(t.Context(), old, rep, stamp); err != nil {
		t.Fatal(err)
	}
	checkRead(t, s, n, want)
}

// unbounded is the store at work that the throttle is not asked for, and nobody bounds.
func unbounded(s *Store) spans.Task { return s.task(rows.Work{}, memory.Unbounded()) }

// answers reads as the API does, without a bound.
func answers(s *Store) Reader { return s.Reader(Dashboard("acme"), memory.Unbounded()) }

// writing does what needs no Writer that goes on.
func writing(s *Store) *Writer { return &Writer{store: s} }

// storedNode is what is known of a node.
type storedNode = nodes.Node
