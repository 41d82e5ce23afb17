package report

import (
	"fmt"
	"strings"
	"time"
)

// What is shown of long lists; JSON has all.
const (
	shownNodes    = 10
	shownBreaches = 30
	shownDisks    = 15
	shownTables   = 5
	shownChanges  = 40
	shownAlerts   = 30
)

// section is a part of the report as text and HTML show it: a table, or a sentence.
type section struct {
	ID, Title string
	Note      string // a sentence instead of rows, or below them
	Columns   []column
	Rows      [][]cell
	Words     []string // paragraphs below the rows
}

type column struct {
	Name  string
	Right bool // numbers
}

type cell struct {
	Text string
	Bad  bool
	// Part is what HTML shows as a bar, of 100; 0: none.
	Part float64
}

func text(s string) cell { return cell{Text: clean(s)} }

func figure(n Number, unit string) cell { return cell{Text: Format(n, unit)} }

// more says how many rows are not shown.
func more(shown, all int) string {
	if all <= shown {
		return ""
	}
	return fmt.Sprintf("And %d more; the report's JSON has all.", all-shown)
}

// clockOf writes an instant in as few characters as the report's time needs.
func (r *Report) clockOf(t time.Time) string {
	if t.Equal(r.To) && r.To.Sub(r.From) == 24*time.Hour && t.Truncate(24*time.Hour).Equal(t) {
		return "24:00"
	}
	if r.To.Sub(r.From) <= 24*time.Hour && t.YearDay() == r.To.Add(-time.Minute).YearDay() {
		return t.Format("15:04")
	}
	return t.Format("Jan 2 15:04")
}

// sections are those of which something is to be said: those about tables only where Cassandra is.
func (r *Report) sections() []section {
	list := []section{r.worst(), r.outOfRange()}
	if r.cassandra {
		list = append(list, r.fullness(), r.busiest(), r.slowest(), r.tombstones(), r.partitions(),
			r.unevenness())
	} else if len(r.Disks) > 0 {
		list = append(list, r.fullness())
	}
	list = append(list, r.alerts())
	if r.ToldKnown {
		list = append(list, r.whomTheyWoke())
	}
	return append(list, r.changed())
}

func (r *Report) worst() section {
	s := section{ID: "nodes", Title: "Worst nodes", Columns: []column{{"node", false},
		{"datacenter", false}, {"rack", false}, {"version", false}, {"values out of range", true},
		{"added up", true}, {"at the end", false}}}
	bad := 0
	for _, n := range r.Nodes {
		if n.BreachedSeconds == 0 && n.Up && !n.Paused {
			continue
		}
		if bad++; bad > shownNodes {
			continue
		}
		state := cell{Text: "up"}
		if n.Paused {
			state.Text = "paused"
		}
		if !n.Up {
			state = cell{Text: "silent", Bad: true}
			if n.watched {
				state.Text = "no answer"
			}
		}
		s.Rows = append(s.Rows, []cell{text(n.Name()), text(n.Datacenter), text(n.Rack),
			text(n.Version), {Text: fmt.Sprint(n.Breached)},
			{Text: length(n.BreachedSeconds), Part: 100 * n.BreachedSeconds /
				max(r.Nodes[0].BreachedSeconds, 1)}, state})
	}
	s.Note = more(shownNodes, bad)
	switch {
	case len(r.Nodes) == 0:
		s.Note = "All nodes had left at the end."
	case bad == 0:
		s.Note = "All nodes were healthy, all of the time."
	}
	return s
}

func (r *Report) outOfRange() section {
	s := section{
		ID:    "ranges",
		Title: "Out of their healthy ranges",
		Columns: []column{{"what", false},
			{"of", false}, {"healthy", true}, {"worst", true}, {"how long", true}, {"from", true},
			{"to", true}},
		Note: more(shownBreaches, len(r.Breaches)),
	}
	if len(r.Breaches) == 0 {
		s.Note = "Nothing left its healthy range."
	}
	all := r.To.Sub(r.From).Seconds()
	for _, b := range r.Breaches[:min(len(r.Breaches), shownBreaches)] {
		s.Rows = append(s.Rows, []cell{text(b.what()), text(b.where()),
			{Text: formatRange(b.Healthy, b.Unit)}, {Text: Format(b.Worst, b.Unit), Bad: true},
			{Text: length(b.Seconds), Part: 100 * b.Seconds / all}, {Text: r.clockOf(b.First)},
			{Text: r.clockOf(b.Last)}})
	}
	return s
}

func (r *Report) fullness() section {
	s := section{ID: "disks", Title: "Disks", Columns: []column{{"node", false}, {"mount", false},
		{"size", true}, {"used", true}, {"growth", true}, {"full in", true}},
		Note: more(shownDisks, len(r.Disks))}
	if len(r.Disks) == 0 {
		s.Note = "No disks are known."
	}
	for i := range r.Disks[:min(len(r.Disks), shownDisks)] {
		d := &r.Disks[i]
		mount := d.Mount
		if d.Volume != "" {
			mount += " (" + d.Volume + ")"
		}
		s.Rows = append(s.Rows, []cell{text(d.Address), text(mount), figure(d.Size, "bytes"),
			{Text: Format(d.Used, "percent"), Bad: d.Used > 75, Part: float64(d.Used)},
			{Text: d.growth()}, {Text: d.full(), Bad: d.Full.Known() && d.Full < 30}})
	}
	return s
}

// top makes a section of the tables that have the most of something.
func (r *Report) top(id, title, none string, figure func(*Table) float64, columns []column,
	cells func(*Table) []cell) section {
	s := section{ID: id, Title: title, Columns: append([]column{{"table", false}}, columns...)}
	for _, t := range r.Top(shownTables, figure) {
		s.Rows = append(s.Rows, append([]cell{text(t.Name())}, cells(&t)...))
	}
	if len(s.Rows) == 0 {
		s.Note = none
	}
	return s
}

// What is said where there are no tables but Cassandra's own, which a report leaves out.
const (
	noTable     = "No table but Cassandra's own was read or written."
	noPartition = "No table but Cassandra's own has partitions on disk."
)

func (r *Report) busiest() section {
	return r.top("busiest", "Busiest tables", noTable, (*Table).rate,
		[]column{{"reads", true}, {"writes", true}, {"on disk", true}}, func(t *Table) []cell {
			return []cell{figure(t.Reads, "per_second"), figure(t.Writes, "per_second"),
				figure(t.Disk, "bytes")}
		})
}

func (r *Report) slowest() section {
	return r.top(
		"slowest",
		"Slowest tables",
		noTable,
		func(t *Table) float64 {
			slow := 0.0
			for _, n := range []Number{t.ReadP99, t.WriteP99} {
				if n.Known() {
					slow = max(slow, float64(n))
				}
			}
			return slow
		},
		[]column{{"read p99", true}, {"write p99", true}, {"reads", true}},
		func(t *Table) []cell {
			return []cell{figure(t.ReadP99, "microseconds"), figure(t.WriteP99, "microseconds"),
				figure(t.Reads, "per_second")}
		},
	)
}

func (r *Report) tombstones() section {
	return r.top("tombstones", "Tombstones", "Reads met no tombstones.",
		func(t *Table) float64 {
			if t.Tombs < 1 { // the lowest bucket is from 0 to 1
				return 0
			}
			return float64(t.Tombs)
		},
		[]column{{"in a read, p99", true}, {"reads", true}}, func(t *Table) []cell {
			return []cell{{Text: Format(t.Tombs, "count"), Bad: t.Tombs > 1000},
				figure(t.Reads, "per_second")}
		})
}

func (r *Report) partitions() section {
	return r.top("partitions", "Large partitions", noPartition,
		func(t *Table) float64 { return float64(t.Partition) },
		[]column{{"largest", true}, {"on disk", true}}, func(t *Table) []cell {
			return []cell{{Text: Format(t.Partition, "bytes"), Bad: t.Partition > 100<<20},
				figure(t.Disk, "bytes")}
		})
}

func (r *Report) unevenness() section {
	s := section{ID: "balance", Title: "Balance between nodes", Columns: []column{{"what", false},
		{"median", true}, {"most", true}, {"has", false}, {"least", true}, {"has", false}}}
	for i := range r.Balance {
		b := &r.Balance[i]
		s.Rows = append(s.Rows, []cell{{Text: b.Entry, Bad: b.Uneven}, figure(b.Median, b.Unit),
			{Text: Format(b.MostHas, b.Unit), Bad: b.Uneven && b.MostHas > unevenMore*b.Median},
			text(b.Most),
			{Text: Format(b.LeastHas, b.Unit), Bad: b.Uneven && b.LeastHas < unevenLess*b.Median},
			text(b.Least)})
	}
	if len(s.Rows) == 0 {
		s.Note = "A single node cannot be compared with others."
	}
	return s
}

func (r *Report) alerts() section {
	s := section{ID: "alerts", Title: "Alerts", Columns: []column{{"alert", false},
		{"severity", false}, {"of", false}, {"how long", true}, {"from", true}, {"to", true}},
		Note: more(shownAlerts, len(r.Alerts))}
	switch {
	case !r.AlertsRecorded:
		s.Note = "No alerts are recorded: alerting rules would record them as the series ALERTS."
	case len(r.Alerts) == 0:
		s.Note = "No alert fired."
	}
	for _, a := range r.Alerts[:min(len(r.Alerts), shownAlerts)] {
		s.Rows = append(s.Rows, []cell{{Text: clean(a.Name), Bad: true}, text(a.Severity),
			text(a.Node), {Text: length(a.Seconds)}, {Text: r.clockOf(a.First)},
			{Text: r.clockOf(a.Last)}})
		if a.Advice != "" {
			name := a.Name
			if a.Node != "" {
				name += " of " + a.Node
			}
			s.Words = append(s.Words, clean(name+": "+a.Advice))
		}
	}
	return s
}

func (r *Report) changed() section {
	s := section{
		ID:      "changes",
		Title:   "What changed",
		Columns: []column{{"at", false}, {"", false}},
		Note:    more(shownChanges, len(r.Changes)),
	}
	if len(r.Changes) == 0 {
		s.Note = "Nothing changed."
		if r.cassandra {
			s.Note = "Nothing changed: no restarts, versions, schemas or tables."
		}
	}
	for _, c := range r.Changes[:min(len(r.Changes), shownChanges)] {
		s.Rows = append(s.Rows, []cell{{Text: r.clockOf(c.At)},
			{Text: clean(c.Text), Bad: c.Kind == "down" || c.Kind == "restart"}})
	}
	return s
}

// title says of what and of when the report is.
func (r *Report) title() (what, when string) {
	when = fmt.Sprintf(
		"%s to %s UTC",
		r.From.Format("2006-01-02 15:04"),
		r.To.Format("2006-01-02 15:04"),
	)
	if r.From.Truncate(24*time.Hour).Equal(r.From) && r.To.Sub(r.From) == 24*time.Hour {
		when = r.From.Format("Monday, 2 January 2006") + " (UTC)"
	}
	if r.Since.After(r.From.Add(Step)) {
		when += ", heard of since " + r.clockOf(r.Since)
	}
	return "Cluster " + clean(r.Cluster), when
}

// lacks says what is missing in the report.
func (r *Report) lacks() string {
	if len(r.Lacks) == 0 {
		return ""
	}
	return clean("Not everything could be asked: " + strings.Join(r.Lacks, "; ") + ".")
}

// whomTheyWoke shows woken.
func (r *Report) whomTheyWoke() section {
	s := section{ID: "woken", Title: "Whom alerts woke", Columns: []column{{"alert", false},
		{"told", true}, {"at night", true}, {"not taken", true}, {"fired", true},
		{"over in 10 min", true}, {"nothing failed", true}},
		Note: more(shownAlerts, len(r.Woken))}
	if len(r.Woken) == 0 {
		s.Note = "No alert fired, and nobody was told of one."
	}
	for _, w := range r.Woken[:min(len(r.Woken), shownAlerts)] {
		s.Rows = append(s.Rows, []cell{text(w.Alert), number(w.Told, false),
			number(w.Night, w.Night > 0), number(w.Failed, w.Failed > 0), number(w.Fired, false),
			number(w.Brief, false), number(w.Unhurt, false)})
	}
	if len(s.Rows) > 0 {
		s.Words = append(s.Words, fmt.Sprintf("Messages that a receiver took count as told. Night "+
			"is from %d:00 to %d:00 %s. An alert that is mostly over in 10 minutes wakes people "+
			"for nothing: a longer for: in its rule lets it pass. Where nothing failed, no "+
			"request of a user did while it fired: it warned in time, or of nothing.", nightFrom, nightTo,
			r.zone))
	}
	return s
}

func number(n int, bad bool) cell { return cell{Text: fmt.Sprint(n), Bad: bad} }
