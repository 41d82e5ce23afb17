// Package advice says in two sentences what the numbers beside a firing alert suggest.
//
// What it says stands in files that have the names of the files of rules: for each alert there are
// cases, as PromQL and as events, and the first case that finds all it asks for gives the words. An
// account may have a file of its own. Begin with Rules, and with Handler for the endpoint. It
// imports query/catalog, window/events, api/report for figures, and what handlers of api stand on.
//
// What it promises: no more queries than Most, the same query once an answer, and no error: where a
// query fails, or nothing is known of events, the case is silent.
//
// What bites: words are about the instant that was asked for, and a statement in them is a node's.
package advice

import (
	"cmp"
	"context"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/ringwatch/ringwatch/api/report"
	"github.com/ringwatch/ringwatch/window/events"
)

// Series is a series of an answer.
type Series struct {
	Labels map[string]string
	Value  float64
}

// Source answers PromQL.
type Source interface {
	Query(ctx context.Context, promql string, at time.Time) ([]Series, error)
}

// Event is something that a node said.
type Event struct {
	At     time.Time
	Node   string // id
	Labels map[string]string
	Text   string
}

// EventQuery asks for an event of a kind.
type EventQuery struct {
	Cluster, Kind string
	Node          string            // id; empty: of any node
	Labels        map[string]string // that it has
	From, To      time.Time
}

// Events finds the newest event; nil: there is none.
type Events interface {
	Newest(ctx context.Context, of EventQuery) (*Event, error)
}

// EventsOf finds the newest event by reading events, the newest first, of clusters that who asks
// owns: an alert's labels may name any.
func EventsOf(owns func(cluster string) bool,
	read func(context.Context, events.Query) (events.Page, error)) Events {
	return eventReader{owns, read}
}

type eventReader struct {
	owns func(cluster string) bool
	read func(context.Context, events.Query) (events.Page, error)
}

// pageOfEvents is how many events are looked at for one that has the labels.
const pageOfEvents = 100

// Newest implements Events.
func (r eventReader) Newest(ctx context.Context, wanted EventQuery) (*Event, error) {
	if !r.owns(wanted.Cluster) {
		return nil, nil
	}
	q := events.Query{Clusters: []string{wanted.Cluster}, Kinds: []string{wanted.Kind},
		From: wanted.From.UnixMilli(), To: wanted.To.UnixMilli(), Limit: pageOfEvents}
	if wanted.Node != "" {
		node, err := uuid.Parse(wanted.Node)
		if err != nil {
			return nil, nil // the alert's label names something else
		}
		q.Nodes = []uuid.UUID{node}
	}
	page, err := r.read(ctx, q)
	if err != nil {
		return nil, err
	}
	for i := range page.Events {
		e := &page.Events[i]
		labels := map[string]string{}
		for _, l := range e.Labels {
			labels[l.Name] = l.Value
		}
		if has(labels, wanted.Labels) {
			return &Event{At: time.UnixMilli(e.At), Node: e.Node.String(), Labels: labels,
				Text: e.Text}, nil
		}
	}
	return nil, nil
}

func has(labels, wanted map[string]string) bool {
	for name, value := range wanted {
		if labels[name] != value {
			return false
		}
	}
	return true
}

// Question is what all alerts of an answer share.
type Question struct {
	Source Source
	Events Events                   // nil: nothing is known of events
	Name   func(node string) string // what people call a node, by id; nil: its id
	At     time.Time
}

// Advice is what was found of an alert.
type Advice struct {
	Alert  string            `json:"alert"`
	Labels map[string]string `json:"labels"` // the alert's
	Case   string            `json:"case"`   // which case spoke
	Text   string            `json:"text"`
}

// Most is how many queries an answer asks at most, and questions for events.
const Most = 200

// eventAge is how old an event may be that explains an alert.
const eventAge = time.Hour

// asking is a question that is being answered.
type asking struct {
	Question
	left    int
	answers map[string][]Series // by query
}

// Ask returns what is to be said of alerts, which are label sets with alertname and cluster. Those
// of which nothing is known are left out. The error is the context's.
func (r *Rules) Ask(ctx context.Context, q Question, alerts []map[string]string) ([]Advice, error) {
	a := &asking{Question: q, left: Most, answers: map[string][]Series{}}
	list := []Advice{}
	for _, labels := range alerts {
		name := labels["alertname"]
		for i := range r.alerts[name] {
			c := &r.alerts[name][i]
			text, speaks := a.words(ctx, c, labels)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if speaks {
				list = append(list, Advice{Alert: name, Labels: labels, Case: c.Name, Text: text})
				break
			}
		}
	}
	return list, nil
}

// words are those of a case, if it applies.
func (a *asking) words(ctx context.Context, c *Case, alert map[string]string) (string, bool) {
	found := map[string]Series{}
	for _, name := range slices.Sorted(maps.Keys(c.Queries)) {
		promql, known := placed(c.Queries[name], alert)
		if !known {
			return "", false
		}
		list := a.query(ctx, promql)
		if len(list) == 0 {
			return "", false
		}
		found[name] = list[0]
	}
	var event *Event
	if c.Event != "" {
		if event = a.event(ctx, c.Event, alert); event == nil {
			return "", false
		}
	}
	return a.sentence(c.Text, alert, found, event), true
}

// query asks, unless that was asked before or too much was. The largest value comes first.
func (a *asking) query(ctx context.Context, promql string) []Series {
	list, known := a.answers[promql]
	if known || a.left == 0 {
		return list
	}
	a.left--
	list, err := a.Source.Query(ctx, promql, a.At)
	if err != nil {
		list = nil
	}
	list = slices.DeleteFunc(list, func(s Series) bool {
		return math.IsNaN(s.Value) || math.IsInf(s.Value, 0)
	})
	slices.SortFunc(list, func(x, y Series) int {
		return cmp.Or(cmp.Compare(y.Value, x.Value), compareLabels(x.Labels, y.Labels))
	})
	a.answers[promql] = list
	return list
}

func compareLabels(x, y map[string]string) int {
	for _, name := range slices.Sorted(maps.Keys(x)) {
		if c := cmp.Compare(x[name], y[name]); c != 0 {
			return c
		}
	}
	return 0
}

// event returns the newest of a kind, of the alert's node and table if it has them.
func (a *asking) event(ctx context.Context, kind string, alert map[string]string) *Event {
	if a.Events == nil || a.left == 0 {
		return nil
	}
	a.left--
	wanted := EventQuery{Cluster: alert["cluster"], Kind: kind, Node: alert["node"],
		Labels: map[string]string{}, From: a.At.Add(-eventAge), To: a.At}
	for _, name := range []string{"keyspace", "table"} {
		if value := alert[name]; value != "" {
			wanted.Labels[name] = value
		}
	}
	event, err := a.Events.Newest(ctx, wanted)
	if err != nil {
		return nil
	}
	return event
}

var variable = regexp.MustCompile(`\$[a-z_]+`)

// places are placeholders that stand for matchers of labels; $cluster is in all of them.
var places = map[string][]string{
	"$cluster": {"cluster"}, "$node": {"cluster", "node"}, "$process": {"cluster", "instance"},
	"$keyspace": {"cluster", "keyspace"}, "$table": {"cluster", "keyspace", "table"},
}

// placed returns an expression with the alert's labels for its placeholders. known is false if the
// alert lacks one.
func placed(promql string, alert map[string]string) (text string, known bool) {
	known = true
	text = variable.ReplaceAllStringFunc(promql, func(name string) string {
		value := func(label string) string {
			known = known && alert[label] != ""
			return strconv.Quote(alert[label])
		}
		labels, matchers := places[name]
		if !matchers { // within quotes
			label := name[1:]
			if label == "id" {
				label = "node"
			}
			quoted := value(label)
			return quoted[1 : len(quoted)-1]
		}
		var list []string
		for _, label := range labels {
			list = append(list, label+"="+value(label))
		}
		return strings.Join(list, ",")
	})
	return text, known
}

// blank is a part of a sentence: what, its label, and a unit.
var blank = regexp.MustCompile(`\{([a-z_]+)(?:\.([a-z_]+))?(?:\|([a-z_]+))?\}`)

// units are those of blanks, beside the catalogue's.
var units = map[string]func(v float64, at time.Time) string{
	"share": func(v float64, _ time.Time) string { return figure(100*v, "percent") },
	"ago":   func(v float64, at time.Time) string { return figure(seconds(at)-v, "seconds") },
}

func seconds(at time.Time) float64 { return float64(at.UnixMilli()) / 1000 }

func figure(v float64, unit string) string { return report.Format(report.Number(v), unit) }

// format writes a number with its unit.
func format(v float64, unit string, at time.Time) string {
	if write := units[unit]; write != nil {
		return write(v, at)
	}
	return figure(v, cmp.Or(unit, "count"))
}

// longestText is how much of a statement or of a log's line stands in a sentence.
const longestText = 300

// sentence fills a text's blanks.
func (a *asking) sentence(text string, alert map[string]string, found map[string]Series,
	event *Event) string {
	labels := func(values map[string]string, name, unit string) string {
		value := values[name]
		if name == "node" && a.Name != nil {
			value = a.Name(value)
		}
		if v, err := strconv.ParseFloat(value, 64); err == nil && unit != "" {
			return format(v, unit, a.At)
		}
		return inner(value)
	}
	return blank.ReplaceAllStringFunc(text, func(part string) string {
		m := blank.FindStringSubmatch(part)
		what, label, unit := m[1], m[2], m[3]
		switch {
		case what == "alert":
			return labels(alert, label, unit)
		case what == "event" && label == "text":
			return inner(event.Text)
		case what == "event" && label == "at":
			return format(seconds(event.At), unit, a.At)
		case what == "event" && label == "node":
			return labels(map[string]string{"node": event.Node}, label, unit)
		case what == "event":
			return labels(event.Labels, label, unit)
		case label != "":
			return labels(found[what].Labels, label, unit)
		}
		return format(found[what].Value, unit, a.At)
	})
}

// inner is a text within a sentence that has its own dot.
func inner(text string) string { return strings.TrimSuffix(short(text), ".") }

// short cuts a text that somebody else wrote, and replaces what a terminal would obey.
func short(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\ufffd"))
	if runes := []rune(text); len(runes) > longestText {
		return string(runes[:longestText-1]) + "…"
	}
	return text
}

// Rules are what is said of alerts. They do not change, so many goroutines may use them.
type Rules struct {
	alerts map[string][]Case
	// None are alerts of which nothing is said, with the reason.
	None map[string]string
}

// Case is one thing that may lie behind an alert.
type Case struct {
	Name    string            `yaml:"name"`
	Queries map[string]string `yaml:"queries"`
	Event   string            `yaml:"event"` // a kind; empty: none is needed
	Text    string            `yaml:"text"`
}
