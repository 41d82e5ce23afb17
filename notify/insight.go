package notify

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/common/model"
)

// Insight is what is known beside an alert. Both are "" where nothing is.
type Insight struct {
	Host   string // how people call its node
	Advice string // what the numbers beside it suggest
}

// insightTime is how long a message waits for insights: it goes without them then.
const insightTime = 5 * time.Second

// prepared are the alerts of a message, at most bound of them, the gravest, with what is known
// beside those that are listed. The alerts that came are not changed.
func (a *account) prepared(ctx context.Context, alerts []*alert.Alert, bound int) []*alert.Alert {
	list := slices.Clone(alerts)
	slices.SortStableFunc(list, compareGravity)
	more := map[int]map[model.LabelName]string{} // by place in list
	if left := len(list) - bound; left > 0 {
		list = list[:bound]
		more[0] = map[model.LabelName]string{leftOutAnnotation: strconv.Itoa(left)}
	}
	for i, known := range a.insights(ctx, list[:min(len(list), maxListed)]) {
		if more[i] == nil {
			more[i] = map[model.LabelName]string{}
		}
		more[i][hostAnnotation] = known.Host
		if !list[i].Resolved() {
			more[i][adviceAnnotation] = known.Advice
		}
	}
	for i, annotations := range more {
		list[i] = annotated(list[i], annotations)
	}
	return list
}

// insights are in the order of the alerts; none: nothing is known, or not in time. Several
// integrations are told the same at once, and try again, so what is known holds for a while.
func (a *account) insights(ctx context.Context, alerts []*alert.Alert) []Insight {
	if a.options.Insights == nil || len(alerts) == 0 {
		return nil
	}
	unknown, of := a.unknown(alerts)
	if len(of) > 0 {
		known := a.ask(ctx, of)
		a.beside.Lock()
		until := time.Now().Add(insightHolds)
		for i, fp := range unknown {
			one := heldInsight{until: until} // who did not answer is not asked again at once
			if i < len(known) {
				one.Insight = known[i]
			}
			a.beside.of[fp] = one
		}
		a.beside.Unlock()
	}
	a.beside.Lock()
	defer a.beside.Unlock()
	list := make([]Insight, len(alerts))
	for i, one := range alerts {
		list[i] = a.beside.of[one.Fingerprint()].Insight
	}
	return list
}

// unknown are the alerts of which no insight holds, and their labels.
func (a *account) unknown(alerts []*alert.Alert) (list []model.Fingerprint,
	of []map[string]string) {
	a.beside.Lock()
	defer a.beside.Unlock()
	now := time.Now()
	maps.DeleteFunc(a.beside.of, func(_ model.Fingerprint, i heldInsight) bool {
		return now.After(i.until)
	})
	for _, one := range alerts {
		if _, known := a.beside.of[one.Fingerprint()]; !known {
			list, of = append(list, one.Fingerprint()), append(of, a.labelsOf(one))
		}
	}
	return list, of
}

// ask waits for its turn and for an answer: in an outage many groups speak at once.
func (a *account) ask(ctx context.Context, of []map[string]string) []Insight {
	ctx, cancel := context.WithTimeout(ctx, insightTime)
	defer cancel()
	select {
	case a.beside.turns <- struct{}{}:
		defer func() { <-a.beside.turns }()
	case <-ctx.Done():
		return nil
	}
	return a.options.Insights(ctx, a.name, of)
}

// beside is what is known beside an account's alerts.
type beside struct {
	turns chan struct{}
	sync.Mutex
	of map[model.Fingerprint]heldInsight
}

func newBeside() beside {
	return beside{turns: make(chan struct{}, 2), of: map[model.Fingerprint]heldInsight{}}
}

// heldInsight is one that is asked for again after a time.
type heldInsight struct {
	Insight
	until time.Time
}

// insightHolds is how long an insight holds: as long as rules take to look again.
const insightHolds = 30 * time.Second

// labelsOf are an alert's, as its rule made them.
func (a *account) labelsOf(one *alert.Alert) map[string]string {
	labels := textsOf(one.Labels)
	if a.options.NameAccounts && labels["account"] == a.name {
		delete(labels, "account") // see converted
	}
	return labels
}

// annotated is an alert with annotations where it has none of the name.
func annotated(of *alert.Alert, more map[model.LabelName]string) *alert.Alert {
	m := of.Alert
	m.Annotations = maps.Clone(m.Annotations)
	if m.Annotations == nil {
		m.Annotations = model.LabelSet{}
	}
	for name, text := range more {
		if m.Annotations[name] == "" && text != "" {
			m.Annotations[name] = model.LabelValue(text)
		}
	}
	return alert.New(m, of.UpdatedAt, of.Timeout)
}

// compareGravity is compareAlerts for alerts as Alertmanager has them.
func compareGravity(a, b *alert.Alert) int {
	ended := func(a *alert.Alert) int {
		if a.Resolved() {
			return 1
		}
		return 0
	}
	severity := func(a *alert.Alert) int { return rank(string(a.Labels["severity"])) }
	return cmp.Or(ended(a)-ended(b), severity(a)-severity(b), a.StartsAt.Compare(b.StartsAt),
		strings.Compare(a.Fingerprint().String(), b.Fingerprint().String()))
}
