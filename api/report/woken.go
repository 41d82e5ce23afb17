package report

import (
	"cmp"
	"context"
	"slices"
	"time"
)

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
		return cmp.Or(b.Told-a.Told, b.Failed-a.Failed, b.Fired-a.Fired,
			cmp.Compare(a.Alert, b.Alert))
	})
}
