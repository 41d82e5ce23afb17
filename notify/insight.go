package notify

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
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

// insights are in the order of the alerts; none: nothing is known, or not in time.
func (a *account) insights(ctx context.Context, alerts []*alert.Alert) []Insight {
	if a.options.Insights == nil || len(alerts) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, insightTime)
	defer cancel()
	of := make([]map[string]string, len(alerts))
	for i := range alerts {
		of[i] = map[string]string{}
		for name, value := range alerts[i].Labels {
			of[i][string(name)] = string(value)
		}
		if a.options.NameAccounts && of[i]["account"] == a.name {
			delete(of[i], "account") // see converted: the rule does not know it
		}
	}
	list := a.options.Insights(ctx, a.name, of)
	return list[:min(len(list), len(alerts))]
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
