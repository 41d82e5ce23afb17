package store

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/memory"
	"github.com/ringwatch/ringwatch/store/calendar"
	"github.com/ringwatch/ringwatch/store/columns"
	"github.com/ringwatch/ringwatch/store/cutovers"
	"github.com/ringwatch/ringwatch/store/generations"
	"github.com/ringwatch/ringwatch/store/rows"
	"github.com/ringwatch/ringwatch/store/spans"
	"github.com/ringwatch/ringwatch/window/windowtest"
)

// windowsOf returns the numbers of a node's closed windows in a generation's table.
func windowsOf(t *testing.T, s *Store, n *windowtest.Node, generation string) []int64 {
	t.Helper()
	g, err := s.generations.Named(generation, unbounded(s))
	if err != nil {
		t.Fatal(err)
	}
	var list []int64
	found := make(chan int64, 1000)
	if err := g.Read(t.Context(), spans.Query{Account: "acme", Node: n.ID,
		From: base - 100*calendar.WindowMillis,
		To:   base + 100*calendar.WindowMillis, HeadsOnly: true}, func(k spans.Span) {
		found <- k.Start
	}); err != nil {
		t.Fatal(err)
	}
	for close(found); ; {
		start, ok := <-found
		if !ok {
			slices.Sort(list)
			return list
		}
		list = append(list, (start-base)/calendar.WindowMillis)
	}
}

func TestCutoverMustLieAhead(t *testing.T) {
	c := newClock(base + 1)
	s := mustStore(t, c)
	// base + lead is too early by a millisecond
	first := base + CutoverLead.Milliseconds() + calendar.WindowMillis
	for _, bad := range []struct {
		to  string
		at  int64
		say string
	}{
		{"v1", base, calendar.Text(first)},
		{"v1", first - calendar.WindowMillis, calendar.Text(first)},
		{"v9", first, "v3"}, {"none", first, "v3"},
	} {
		if _, err := s.Cutover(t.Context(), bad.to, time.UnixMilli(bad.at),
			"the test"); !asIs(err, ErrCutover) || !strings.Contains(err.Error(), bad.say) {
			t.Errorf("to %s at %s: %v", bad.to, calendar.Text(bad.at), err)
		} else {
			t.Log(err)
		}
	}
	list, err := s.Cutovers(t.Context(), base)
	if err != nil || len(list) != 1 || list[0].At != 0 ||
		list[0].Generation != generations.Default {
		t.Fatalf("%+v, %v", list, err)
	}
	// Rounded up; and changed while it lies ahead.
	for _, to := range []string{"v1", "v2"} {
		if cut, err := s.Cutover(t.Context(), to, time.UnixMilli(first-calendar.WindowMillis+1),
			"the test"); err != nil || cut.At != first {
			t.Fatalf("%+v, %v", cut, err)
		}
	}
	c.millis.Add(cutovers.Refresh.Milliseconds())
	list, err = s.Cutovers(t.Context(), base)
	if err != nil || len(list) != 2 || list[1].At != first || list[1].Generation != "v2" ||
		list[1].By != "the test" {
		t.Fatalf("%+v, %v", list, err)
	}
	if _, err := s.generations.Routes(t.Context(), unbounded(s), first,
		first); !asIs(err, ErrCutovers) {
		t.Errorf("so far ahead nobody can know: %v", err)
	}
	c.millis.Store(first - 60_000)
	routes, err := s.generations.Routes(t.Context(), unbounded(s), first-2*calendar.WindowMillis,
		first)
	if err != nil || len(routes) != 2 || routes[0].To != first-calendar.WindowMillis ||
		routes[1].From != first || routes[1].To != first {
		t.Fatalf("%+v, %v", routes, err)
	}
}

// TestWhoCannotReadTheCutoverTable goes on with what it knows to be true, and refuses what it
// cannot know; nothing lands in the wrong generation.
func TestWhoCannotReadTheCutoverTable(t *testing.T) {
	c := newClock(base)
	s := mustCassandra(t, c, func(config *Config) { config.Generation = "v1" })
	other := mustOpen(t, s.config)
	n := windowtest.NewNode(seeded(t, 500))
	want := windowtest.Samples{}
	for w := range int64(5) {
		for i := range int64(4) {
			want.Add(write(t, s, n.Step(base+w*calendar.WindowMillis+i*60_000, false)))
		}
	}
	if _, err := s.Cutovers(t.Context(), base); err != nil {
		t.Fatal(err)
	}
	// A moment after it has read the table another one writes a cutover, as early as may be: window
	// 2.
	c.millis.Add(1)
	cut, err := other.Cutover(t.Context(), "v2", time.UnixMilli(base+CutoverLead.Milliseconds()+1),
		"the test")
	if err != nil || cut.At != base+3*calendar.WindowMillis {
		t.Fatalf("%+v, %v", cut, err)
	}
	list, err := other.cutovers.All(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.change(t.Context(), "DROP TABLE "+s.table(cutovers.TableName)); err != nil {
		t.Fatal(err)
	}
	c.millis.Store(base + 6*calendar.WindowMillis)
	for w := range int64(5) {
		err := writing(s).CloseWindow(t.Context(), memory.Unbounded(), "acme", n.ID,
			base+w*calendar.WindowMillis)
		if known := w < 2; known != (err == nil) ||
			!known && (!asIs(err, ErrCutovers) || !Retryable(err)) {
			t.Errorf("window %d: %v", w, err)
		}
	}
	if err := s.Ready(t.Context()); !asIs(err, ErrCutovers) {
		t.Errorf("readiness: %v", err)
	} else {
		t.Log(err)
	}
	if _, _, err := answers(s).Read(t.Context(), "acme", n.ID, base,
		base+5*calendar.WindowMillis); !asIs(
		err, ErrCutovers) {
		t.Errorf("a read beyond: %v", err)
	}
	if _, _, err := answers(s).Read(t.Context(), "acme", n.ID, base,
		base+calendar.WindowMillis); err != nil {
		t.Errorf("a read of what it knows: %v", err)
	}
	// The table comes back, and the writer that waited goes on.
	if err := s.session.Create(t.Context(), cutovers.Layout()); err != nil {
		t.Fatal(err)
	}
	for _, row := range list {
		if err := s.exec(t.Context(),
			"INSERT INTO "+s.table(cutovers.TableName)+" (scope, at, generation) VALUES (?, ?, ?)",
			cutovers.Scope, row.At, row.Generation); err != nil {
			t.Fatal(err)
		}
	}
	for w := range int64(5) {
		if err := writing(s).CloseWindow(t.Context(), memory.Unbounded(), "acme", n.ID,
			base+w*calendar.WindowMillis); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	if a, b := windowsOf(t, s, n, "v1"), windowsOf(t, s, n,
		"v2"); !slices.Equal(a, []int64{0, 1, 2}) || !slices.Equal(b, []int64{3, 4}) {
		t.Errorf("windows in v1 %v, in v2 %v", a, b)
	}
	checkRead(t, s, n, want)
}

// TestAGenerationOfANewerProgram: its time is refused, all else is answered.
func TestAGenerationOfANewerProgram(t *testing.T) {
	s, c, n, sent := closedWindow(t, mustCassandra, 510)
	want := write(t, s, sent...)
	closeIt(t, s, n)
	if err := s.exec(t.Context(),
		"INSERT INTO "+s.table(cutovers.TableName)+" (scope, at, generation) VALUES (?, ?, 'v4')",
		cutovers.Scope, base+calendar.WindowMillis); err != nil {
		t.Fatal(err)
	}
	c.millis.Add(cutovers.Refresh.Milliseconds())
	if _, _, err := answers(s).Read(t.Context(), "acme", n.ID, base,
		base+calendar.WindowMillis); !asIs(err,
		ErrGeneration) {
		t.Errorf("%v", err)
	}
	got, _ := read(t, s, n.ID, base, base+calendar.WindowMillis-1)
	if windowtest.Diff(got, want) != "" {
		t.Error(windowtest.Diff(got, want))
	}
}

func TestDrop(t *testing.T) {
	c := newClock(base)
	s := mustCassandra(t, c, func(config *Config) { config.Generation = "v1" })
	n := windowtest.NewNode(seeded(t, 520))
	write(t, s, n.Step(base, true))
	refused := func(name, say string) {
		t.Helper()
		if err := s.Drop(t.Context(), name); !asIs(err, ErrDrop) ||
			!strings.Contains(err.Error(), say) {
			t.Fatalf("%v, want %q", err, say)
		} else {
			t.Log(err)
		}
	}
	refused("v1", "cut over")
	refused("v2", "no tables")
	refused("v7", "v3")
	cut, err := s.Cutover(t.Context(), "v3", time.UnixMilli(base).Add(time.Hour), "the test")
	if err != nil {
		t.Fatal(err)
	}
	c.millis.Store(base + calendar.WindowMillis + 60_000)
	closeIt(t, s, n)
	expires := cut.At + s.config.RawTTL.Milliseconds()
	c.millis.Store(expires - 1000)
	refused("v1", calendar.Text(expires))
	c.millis.Store(expires)
	if err := s.Drop(t.Context(), "v1"); err != nil {
		t.Fatal(err)
	}
	if _, found, err := s.session.TTL(t.Context(), "v1_samples"); err != nil || found {
		t.Fatalf("the table is there: %v, %v", found, err)
	}
	if err := s.Apply(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused("v1", "no tables")
	if _, _, err := answers(s).Read(t.Context(), "acme", n.ID, 0, 1<<50); err != nil {
		t.Error(err)
	}
	// A frame of that time that comes now has nowhere to go, and harms nothing.
	write(t, s, n.Step(base+20_000, false))
	closeIt(t, s, n)
	o, err := s.Show(t.Context())
	if err != nil || len(o.Ranges) != 2 || o.Ranges[0].Generation != cutovers.NoGeneration ||
		o.Ranges[1].Generation != "v3" || o.Nodes != 1 || o.Away != 0 {
		t.Fatalf("%+v, %v", o, err)
	}
	if i := slices.IndexFunc(o.Tables, func(u rows.TableUse) bool {
		return u.Name == columns.HoursTable
	}); i < 0 || o.Tables[i].TTL != s.config.RawTTL {
		t.Errorf("%+v", o.Tables)
	}
	if _, err := s.Cutover(t.Context(), "v1", time.UnixMilli(expires).Add(time.Hour),
		"the test"); err != nil {
		t.Fatal(err)
	}
	if _, found, err := s.session.TTL(t.Context(), "v1_samples"); err != nil || !found {
		t.Fatalf("the table is not there: %v, %v", found, err)
	}
}

// TestLostKeyFrame: a window whose key frame never came is there from its next key frame on, and
// what is lost is counted.
func TestLostKeyFrame(t *testing.T) {
	for i, generation := range generations.Names() {
		c := newClock(base + frame.WindowMillis + 60_000)
		s := mustStore(t, c, func(config *Config) { config.Generation = generation })
		n := windowtest.NewNode(seeded(t, 530+uint64(i)))
		want := windowtest.Samples{}
		for i := range int64(14) {
			sent := n.Step(base+i*20_000, i == 7)
			switch {
			case i == 0: // lost
			case i < 7:
				write(t, s, sent)
			default:
				want.Add(write(t, s, sent))
			}
		}
		for _, layer := range []string{"fresh", "raw"} {
			got, report := read(t, s, n.ID, 0, 1<<50)
			if d := windowtest.Diff(got, want); d != "" || report.Lost != 6 ||
				layer == "fresh" && report.Keyless != 6 ||
				report.Partial() != (report.Keyless > 0) {
				t.Fatalf("%s, %s: %+v\n%s", generation, layer, report, d)
			}
			closeIt(t, s, n)
			closeIt(t, s, n)
		}
		if lost := number(s.metrics.closing.LostFrames.WithLabelValues("missing_key")); lost != 6 {
			t.Errorf("%s: %v frames counted", generation, lost)
		}
	}
}
