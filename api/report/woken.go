package report

import (
	"cmp"
	"context"
	"fmt"
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

// hurt says whether requests of users failed, timed out or were refused at some time. What nobody
// knows counts as hurt: an alert is not blamed for it.
func (m *maker) hurt(ctx context.Context) func(first, last time.Time) bool {
	failed := func(how string) string {
		return fmt.Sprintf("sum by (cluster) (increase(cassandra_client_request_%s_total"+
			"{cluster=%q}[5m]))", how, m.Cluster)
	}
	found := m.over(ctx, "failed requests", failed("failures")+" + "+failed("timeouts")+" + "+
		failed("unavailables"), m.From.Add(Step), Step)
	steps := map[int64]bool{} // at whose end some had failed, or none
	for _, s := range found {
		for _, p := range s.Points {
			steps[p.At] = steps[p.At] || p.Value > 0
		}
	}
	return func(first, last time.Time) bool {
		for at := m.From.Add(Step); !at.After(m.To); at = at.Add(Step) {
			failed, known := steps[at.UnixMilli()]
			if at.After(first) && !at.After(last.Add(Step)) && (failed || !known) {
				return true
			}
		}
		return false
	}
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
	hurt := m.hurt(ctx)
	for i := range m.report.Alerts {
		a := &m.report.Alerts[i]
		w := of(a.Name)
		w.Fired++
		if !hurt(a.First, a.Last) {
			w.Unhurt++
		}
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
