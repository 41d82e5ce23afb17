package notify

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/alertmanager/template"
	"github.com/prometheus/common/model"
)

// Annotations that this package gives to alerts on their way to receivers, where they lack them.
// Templates of others may use them, too.
const (
	hostAnnotation    = "host"               // how people call the node
	adviceAnnotation  = "advice"             // what the numbers beside the alert suggest
	ruleAnnotation    = "ringwatch_rule"     // FILE/GROUP of the rule, both escaped
	leftOutAnnotation = "ringwatch_left_out" // how many alerts the message lacks
	testAnnotation    = "ringwatch_test"     // "true": somebody asked for it
)

// How much a message says.
const (
	maxListed      = 10  // alerts
	maxSummary     = 200 // characters, as the next two
	maxDescription = 400
	maxAdvice      = 400
	maxLink        = 1800 // bytes; a link that is longer is left out, since a cut one leads nowhere
)

// message is what the templates of this package say: `message .` makes one of what Alertmanager
// gives to templates. Its texts are one line each, bounded, and not escaped for any medium.
type message struct {
	Headline string // what, where, since when and how bad
	Severity string // of the gravest alert; "": it has none
	Test     bool   // somebody asked for it
	Count    int    // of alerts, those that are not listed included
	Notices  []notice
	More     int    // how many alerts are not listed
	Page     string // where the console shows this; "": nowhere
	Links    []link // about all of it
}

// notice is one alert in a message.
type notice struct {
	Line        string // what, where, since when and how bad
	Ended       bool
	Description string
	Advice      string
	Links       []link
}

type link struct{ Text, URL string }

// messenger makes messages.
type messenger struct {
	console string // the address of the console without a slash at its end; "": nobody knows it
	now     func() time.Time
}

func newMessenger(console *url.URL, now func() time.Time) *messenger {
	m := &messenger{now: now}
	if console != nil && console.Host != "" {
		m.console = strings.TrimRight(console.String(), "/")
	}
	return m
}

// message makes one of what Alertmanager gives to a template.
func (m *messenger) message(of any) (message, error) {
	data, ok := of.(*template.Data)
	if !ok {
		return message{}, errors.New("message is for all that a template is given: write message $")
	}
	if len(data.Alerts) == 0 {
		return message{Headline: "No alert", Count: 1, Notices: []notice{{Line: "No alert"}},
			Page: m.page("alerts")}, nil
	}
	now := m.now()
	alerts := slices.Clone(data.Alerts)
	slices.SortStableFunc(alerts, compareAlerts)
	first := &alerts[0]
	r := message{Severity: first.Labels["severity"], Test: first.Annotations[testAnnotation] != "",
		Count: len(alerts)}
	for i := range alerts {
		r.Count += number(alerts[i].Annotations[leftOutAnnotation])
	}
	for i := range alerts[:min(len(alerts), maxListed)] {
		r.Notices = append(r.Notices, m.notice(&alerts[i], now))
	}
	r.More = r.Count - len(r.Notices)
	r.Headline = headline(first, r.Count, len(data.Alerts.Resolved()), now)
	if r.Count == 1 {
		r.Links = r.Notices[0].Links
		r.Page = cmp.Or(m.rulePage(first), m.page("alerts"))
	} else {
		r.Page = m.page("alerts")
		r.Links = m.groupLinks(data, first.Status == string(model.AlertFiring))
	}
	return r, nil
}

// compareAlerts puts what fires first, then what is grave, then what is old.
func compareAlerts(a, b template.Alert) int {
	ended := func(a *template.Alert) int {
		if a.Status == string(model.AlertResolved) {
			return 1
		}
		return 0
	}
	return cmp.Or(ended(&a)-ended(&b), rank(a.Labels["severity"])-rank(b.Labels["severity"]),
		a.StartsAt.Compare(b.StartsAt), strings.Compare(a.Fingerprint, b.Fingerprint))
}

// headline says what the first alert does for all of them.
func headline(first *template.Alert, count, ended int, now time.Time) string {
	if first.Annotations[testAnnotation] != "" {
		return what(first)
	}
	if first.Status == string(model.AlertResolved) {
		ended = 0 // all have, which the line says
	}
	more := ""
	if others := count - ended - 1; others > 0 {
		more = fmt.Sprintf(", and %d more", others)
	}
	if ended > 0 {
		more += fmt.Sprintf("; %d ended", ended)
	}
	return lineOf(first, now) + more
}

// lineOf is an alert in one line.
func lineOf(a *template.Alert, now time.Time) string {
	if a.Annotations[testAnnotation] != "" {
		return what(a)
	}
	if a.Status == string(model.AlertResolved) {
		return fmt.Sprintf("Ended after %s: %s", lasted(a.EndsAt.Sub(a.StartsAt)), what(a))
	}
	severity := oneLine(cmp.Or(a.Labels["severity"], "alert"), 20)
	return fmt.Sprintf("%s: %s, %s", capital(severity), what(a), since(a.StartsAt, now))
}

// what is what an alert is about and where: its summary, with the host and the cluster if the
// summary names neither.
func what(a *template.Alert) string {
	text := oneLine(cmp.Or(a.Annotations["summary"], a.Annotations["message"]), maxSummary)
	if text == "" {
		text = oneLine(cmp.Or(a.Labels["alertname"], "An alert without a name")+others(a.Labels),
			maxSummary)
	}
	if a.Annotations[testAnnotation] != "" {
		return text
	}
	host, node := hostOf(a), oneLine(a.Labels["node"], 80)
	if len(node) >= minNodeID && host != "" {
		text = strings.ReplaceAll(text, node, host)
	}
	if host == "" && a.Annotations["summary"] == "" {
		host = node
	}
	if host != "" && !mentions(text, host, a.Annotations["address"], a.Labels["instance"]) {
		text += " on " + host
	}
	cluster := oneLine(a.Labels["cluster"], 80)
	if !strings.Contains(text, cluster) {
		text += " in cluster " + cluster
	}
	return text
}

// minNodeID is how long a label node is at least that a text can only have as that.
const minNodeID = 8

// hostOf is how people call what an alert is about; "": it is about no node, or nobody knows.
func hostOf(a *template.Alert) string {
	return oneLine(cmp.Or(a.Annotations[hostAnnotation], a.Annotations["address"],
		a.Labels["instance"]), 80)
}

var port = regexp.MustCompile(`:\d+$`)

// mentions says whether a text has one of the names, or a word of one such as
// "db-7 (10.0.0.7:7000)", with its port or without.
func mentions(text string, names ...string) bool {
	for _, name := range names {
		for word := range strings.FieldsFuncSeq(name, func(r rune) bool {
			return strings.ContainsRune(" ()", r)
		}) {
			if strings.Contains(text, port.ReplaceAllString(word, "")) {
				return true
			}
		}
	}
	return false
}

// placeLabels say where an alert is, or what of it stands elsewhere.
var placeLabels = []string{"alertname", "severity", "cluster", "datacenter", "rack", "node",
	"instance", "account"}

// others are the labels of an alert that has no words of its own.
func others(labels template.KV) string {
	var list []string
	for _, p := range labels.SortedPairs() {
		if !slices.Contains(placeLabels, p.Name) && len(list) < 5 {
			list = append(list, p.Name+"="+oneLine(p.Value, 60))
		}
	}
	if list == nil {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}

func (m *messenger) notice(a *template.Alert, now time.Time) notice {
	n := notice{Line: lineOf(a, now), Ended: a.Status == string(model.AlertResolved),
		Links: m.links(a)}
	if !n.Ended { // the others say what was so, and what to do about it
		n.Description = oneLine(a.Annotations["description"], maxDescription)
		n.Advice = oneLine(a.Annotations[adviceAnnotation], maxAdvice)
	}
	return n
}

// links are of one alert, each only if it leads somewhere.
func (m *messenger) links(a *template.Alert) (list []link) {
	add := func(text, address string) {
		if address = safeLink(address); address != "" {
			list = append(list, link{text, address})
		}
	}
	add("Explore", a.GeneratorURL)
	if a.Annotations[testAnnotation] != "" {
		add("Console", m.page("alerts"))
		return list
	}
	if node := a.Labels["node"]; node != "" {
		add("Node", m.page("node", node))
	} else if cluster := a.Labels["cluster"]; cluster != "" {
		add("Cluster", m.page("cluster", cluster))
	}
	if runbook := a.Annotations["runbook_url"]; runbook != "" {
		page := m.rulePage(a)
		if safeLink(page) == "" {
			page = runbook
		}
		add("Runbook", page)
	}
	if a.Status != string(model.AlertResolved) {
		add("Quiet for 1 h", m.quiet(a.Labels))
	}
	return list
}

// groupLinks are of several alerts.
func (m *messenger) groupLinks(data *template.Data, fires bool) (list []link) {
	add := func(text, address string) {
		if address = safeLink(address); address != "" {
			list = append(list, link{text, address})
		}
	}
	add("All alerts", m.page("alerts"))
	if node := data.CommonLabels["node"]; node != "" {
		add("Node", m.page("node", node))
	} else if cluster := data.CommonLabels["cluster"]; cluster != "" {
		add("Cluster", m.page("cluster", cluster))
	}
	// Not a cluster: that would hide what comes next.
	if fires && cmp.Or(data.CommonLabels["node"], data.CommonLabels["alertname"]) != "" {
		add("Quiet for 1 h", m.quiet(data.CommonLabels))
	}
	return list
}

// page is the address of a page of the console; "": nobody knows where the console is.
func (m *messenger) page(path ...string) string {
	if m.console == "" {
		return ""
	}
	address := m.console + "/#"
	for _, one := range path {
		address += "/" + url.PathEscape(one)
	}
	return address
}

// quiet is the address of the form that silences alerts with these labels; "": it would be all.
func (m *messenger) quiet(labels template.KV) string {
	values := url.Values{}
	for name, label := range map[string]string{"cluster": "cluster", "node": "node",
		"alert": "alertname"} {
		if labels[label] != "" {
			values.Set(name, labels[label])
		}
	}
	if m.console == "" || len(values) == 0 {
		return ""
	}
	return m.page("quiet") + "?" + values.Encode()
}

// rulePage is where the console shows an alert's rule, its graph and its runbook with the names of
// the alert in the commands; "": not known.
func (m *messenger) rulePage(a *template.Alert) string {
	file, group, known := strings.Cut(a.Annotations[ruleAnnotation], "/")
	name := a.Labels["alertname"]
	if m.console == "" || !known || name == "" {
		return ""
	}
	var labels bytes.Buffer
	e := json.NewEncoder(&labels)
	e.SetEscapeHTML(false) // the console compares it as text
	if e.Encode(a.Labels) != nil {
		return ""
	}
	return m.page("alerts") + "/" + file + "/" + group + "/" + url.PathEscape(name) + "?" +
		url.Values{"alert": {strings.TrimSpace(labels.String())}}.Encode()
}

// ruleOf is the annotation that rulePage reads.
func ruleOf(file, group string) string { return url.PathEscape(file) + "/" + url.PathEscape(group) }

// safeLink is an address that may stand in any medium; "": it is none, or too long.
func safeLink(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" ||
		len(address) > maxLink || oneLine(address, maxLink) != address {
		return ""
	}
	return linkEscapes.Replace(address)
}

// linkEscapes are for what ends or breaks a link in some medium.
var linkEscapes = strings.NewReplacer(" ", "%20", "\"", "%22", "'", "%27", "(", "%28", ")", "%29",
	"*", "%2A", "<", "%3C", ">", "%3E", "[", "%5B", "\\", "%5C", "]", "%5D", "`", "%60", "{", "%7B",
	"|", "%7C", "}", "%7D", "~", "%7E")
