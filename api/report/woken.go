package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Told is a message that went to a receiver of alerts.
type Told struct {
	At     time.Time
	Alerts []string // names of those in it that fire, each once, as far as it is known of them
	Failed bool     // the receiver did not take it
}

// ErrTooManyTold is what Config.Told returns where it has not all messages.
var ErrTooManyTold = errors.New("there were more messages than a report counts: " +
	"ringwatch notify history has them")

// Woken is an alert that receivers were told of, or that fired and nobody was told of.
type Woken struct {
	Alert string `json:"alert"` // its name
	// Fired counts its alerts of the day, Brief those of them that were over within briefTime.
	Fired int `json:"fired"`
	Brief int `json:"brief"`
	// Told counts messages that a receiver took, Night those of them at night, and Failed those
	// that none took.
	Told   int `json:"told"`
	Night  int `json:"night"`
	Failed int `json:"failed"`
}

// briefTime is how long an alert fires that ends before somebody could have done much.
const briefTime = 10 * time.Minute

// Night is from nightFrom o'clock to nightTo in Config.Zone.
const (
	nightFrom = 22
	nightTo   = 7
)

func (m *maker) atNight(t time.Time) bool {
	hour := t.In(m.Zone).Hour()
	return hour >= nightFrom || hour < nightTo
}

// woken counts by alert. What fired is known by then.
func (m *maker) woken(ctx context.Context) {
	if m.Told == nil || ctx.Err() != nil {
		return
	}
	told, known, err := m.Told(ctx, m.From, m.To)
	if err != nil {
		m.lack("what people were told", err)
	}
	if m.report.ToldKnown = known && err == nil; !m.report.ToldKnown {
		return
	}
	m.report.zone, _ = m.To.In(m.Zone).Zone()
	byName := map[string]*Woken{}
	of := func(name string) *Woken {
		if byName[name] == nil {
			byName[name] = &Woken{Alert: name}
		}
		return byName[name]
	}
	for i := range m.report.Alerts {
		a := &m.report.Alerts[i]
		w := of(a.Name)
		w.Fired++
		if a.Seconds < briefTime.Seconds() && a.Last.Before(m.To.Add(-Step)) {
			w.Brief++
		}
	}
	for i := range told {
		for _, name := range told[i].Alerts {
			switch w := of(name); {
			case told[i].Failed:
				w.Failed++
			case m.atNight(told[i].At):
				w.Night++
				fallthrough
			default:
				w.Told++
			}
		}
	}
	for _, w := range byName {
		m.report.Woken = append(m.report.Woken, *w)
	}
	slices.SortFunc(m.report.Woken, func(a, b Woken) int {
		return firstOf(b.Told-a.Told, b.Failed-a.Failed, b.Fired-a.Fired,
			compareText(a.Alert, b.Alert))
	})
}

// whomTheyWoke shows woken.
func (r *Report) whomTheyWoke() section {
	s := section{ID: "woken", Title: "Whom alerts woke", Columns: []column{{"alert", false},
		{"told", true}, {"at night", true}, {"not taken", true}, {"fired", true},
		{"over in 10 min", true}},
		Note: more(shownAlerts, len(r.Woken))}
	if len(r.Woken) == 0 {
		s.Note = "No alert fired, and nobody was told of one."
	}
	for _, w := range r.Woken[:min(len(r.Woken), shownAlerts)] {
		s.Rows = append(s.Rows, []cell{text(w.Alert), number(w.Told, false),
			number(w.Night, w.Night > 0), number(w.Failed, w.Failed > 0), number(w.Fired, false),
			number(w.Brief, false)})
	}
	if len(s.Rows) > 0 {
		s.Words = append(s.Words, fmt.Sprintf("Messages that a receiver took count as told. Night "+
			"is from %d:00 to %d:00 %s. An alert that is mostly over in 10 minutes wakes people "+
			"for nothing: a longer for: in its rule lets it pass.", nightFrom, nightTo, r.zone))
	}
	return s
}

func number(n int, bad bool) cell { return cell{Text: fmt.Sprint(n), Bad: bad} }
