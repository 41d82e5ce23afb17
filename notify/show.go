package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/alertmanager/dispatch"
	"github.com/prometheus/alertmanager/marker"
	"github.com/prometheus/alertmanager/nflog"
	"github.com/prometheus/alertmanager/nflog/nflogpb"
	"github.com/prometheus/alertmanager/silence"
	"github.com/prometheus/alertmanager/template"
	"github.com/prometheus/common/model"
)

// Notice is what one receiver is told of a group of firing alerts, and why not, where it is not.
type Notice struct {
	Receiver string            `json:"receiver"`
	Route    []string          `json:"route"` // the matchers on the way, from the top
	Group    map[string]string `json:"group"` // the labels that all its alerts have
	// Wait is how long a new group waits, Interval how long until it tells of a change, and
	// Repeat until it tells the same again. In seconds.
	Wait     float64        `json:"group_wait_seconds"`
	Interval float64        `json:"group_interval_seconds"`
	Repeat   float64        `json:"repeat_interval_seconds"`
	MutedBy  []string       `json:"muted_by,omitempty"` // time intervals that hold now
	Alerts   []NoticedAlert `json:"alerts"`             // the gravest first
	More     int            `json:"more,omitempty"`     // how many alerts are not listed
	Messages []Message      `json:"messages"`           // as they would be sent now
}

// NoticedAlert is an alert of a group.
type NoticedAlert struct {
	Alert       string            `json:"alert"`
	Line        string            `json:"line"` // as messages list it
	Labels      map[string]string `json:"labels"`
	Fingerprint string            `json:"fingerprint"`
	SilencedBy  []Silenced        `json:"silenced_by,omitempty"`
	InhibitedBy []string          `json:"inhibited_by,omitempty"` // the other alert's line
}

// Silenced is a silence that keeps an alert quiet.
type Silenced struct {
	ID      string    `json:"id"`
	By      string    `json:"by"`
	Comment string    `json:"comment"`
	Ends    time.Time `json:"ends"`
}

// Message is what an integration sends.
type Message struct {
	Integration string        `json:"integration"`  // such as slack[0]
	To          string        `json:"to,omitempty"` // a mail's address, or a channel
	Told        *time.Time    `json:"told,omitempty"`
	Parts       []MessagePart `json:"parts"` // none: all labels and annotations, as JSON
	Fails       string        `json:"fails,omitempty"`
}

// MessagePart is a text of a message.
type MessagePart struct {
	Name string `json:"name"` // such as Title
	Text string `json:"text"`
}

// UnknownAlertError is returned where nothing fires that has a name or fingerprint.
type UnknownAlertError struct {
	Name   string
	Alerts []string // names of those that fire
}

func (e *UnknownAlertError) Error() string { return fmt.Sprintf("no alert %q fires", e.Name) }

// maxNotices is how many groups an answer has.
const maxNotices = 50

// Show says who is told of an account's firing alerts, or of those of a name or fingerprint: by
// which route, when, and with which words; and what keeps them quiet. more is how many groups are
// left out. Nothing is sent, and no secret is in it. Errors are UnknownAlertError, ErrClosed, the
// context's, or of the account's directory.
func (n *Notifier) Show(ctx context.Context, account, name string) (list []Notice, more int,
	err error) {
	a, err := n.account(account)
	if err != nil {
		return nil, 0, err
	}
	s := &showing{account: a, running: a.running.Load(), now: time.Now()}
	names := map[string]bool{}
	if err := s.walk(ctx, s.running.built.routes, nil, func(route *dispatch.Route, path []string,
		g *dispatch.AlertGroup) {
		wanted := false
		for _, a := range g.Alerts {
			names[string(a.Labels["alertname"])] = true
			wanted = wanted || name == "" || string(a.Labels["alertname"]) == name ||
				a.Fingerprint().String() == name
		}
		if !wanted {
			return
		}
		if len(list) == maxNotices {
			more++
			return
		}
		list = append(list, s.notice(ctx, route, path, g))
	}); err != nil {
		return nil, 0, err
	}
	if len(list) == 0 && name != "" {
		return nil, 0, &UnknownAlertError{name, sorted(names)}
	}
	return list, more, nil
}

func sorted(names map[string]bool) []string {
	var list []string
	for name := range names {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// showing is one answer that is being made.
type showing struct {
	account *account
	running *running
	now     time.Time
}

// walk visits the groups of firing alerts of a route and those below it.
func (s *showing) walk(ctx context.Context, route *dispatch.Route, path []string,
	visit func(*dispatch.Route, []string, *dispatch.AlertGroup)) error {
	if text := strings.Trim(route.Matchers.String(), "{}"); text != "" {
		path = append(slices.Clone(path), text)
	}
	groups, _, err := s.running.dispatcher.Groups(ctx,
		func(r *dispatch.Route) bool { return r == route },
		func(a *alert.Alert, now time.Time) (alert.AlertStatus, bool) {
			if a.ResolvedAt(now) {
				return alert.AlertStatus{}, false
			}
			return s.status(ctx, a), true
		})
	if err != nil {
		return err
	}
	for _, g := range groups {
		visit(route, path, g)
	}
	for _, r := range route.Routes {
		if err := s.walk(ctx, r, path, visit); err != nil {
			return err
		}
	}
	return nil
}

// status is what keeps an alert quiet now.
func (s *showing) status(ctx context.Context, a *alert.Alert) alert.AlertStatus {
	noted := &quieted{}
	ctx = marker.WithContext(ctx, noted)
	s.running.inhibitor.Mutes(ctx, a.LabelSet())
	s.account.silencer.Mutes(ctx, a.LabelSet())
	return noted.AlertStatus
}

// quieted is what keeps one alert quiet, as inhibitor and silencer say it.
type quieted struct{ alert.AlertStatus }

// SetInhibited and the others implement marker.AlertMarker.
func (q *quieted) SetInhibited(_ model.Fingerprint, by []string) { q.InhibitedBy = by }

func (q *quieted) SetSilenced(_ model.Fingerprint, by []string) { q.SilencedBy = by }

func (q *quieted) Status(model.Fingerprint) alert.AlertStatus { return q.AlertStatus }

func (q *quieted) Delete(...model.Fingerprint) { *q = quieted{} }

func (s *showing) notice(ctx context.Context, route *dispatch.Route, path []string,
	g *dispatch.AlertGroup) Notice {
	o := &route.RouteOpts
	n := Notice{Receiver: g.Receiver, Route: append([]string{}, path...), Group: textsOf(g.Labels),
		Wait: o.GroupWait.Seconds(), Interval: o.GroupInterval.Seconds(),
		Repeat: o.RepeatInterval.Seconds(), MutedBy: g.MutedBy()}
	alerts := slices.Clone(g.Alerts)
	slices.SortStableFunc(alerts, compareGravity)
	var loud []*alert.Alert
	for _, a := range alerts {
		status := g.AlertStatuses[a.Fingerprint()]
		if len(status.SilencedBy)+len(status.InhibitedBy) == 0 {
			loud = append(loud, a)
		}
		if len(n.Alerts) == maxListed {
			n.More++
			continue
		}
		n.Alerts = append(n.Alerts, s.noticed(ctx, a, status))
	}
	n.Messages = s.messages(ctx, g, loud, len(n.MutedBy) > 0)
	return n
}

func textsOf(set model.LabelSet) map[string]string {
	m := make(map[string]string, len(set))
	for name, value := range set {
		m[string(name)] = string(value)
	}
	return m
}

func (s *showing) noticed(ctx context.Context, a *alert.Alert,
	status alert.AlertStatus) NoticedAlert {
	n := NoticedAlert{Alert: string(a.Labels["alertname"]), Line: s.line(a),
		Labels: textsOf(a.Labels), Fingerprint: a.Fingerprint().String()}
	if len(status.SilencedBy) > 0 {
		found, _, err := s.account.silences.Query(ctx, silence.QIDs(status.SilencedBy...))
		if err != nil { // it has just been removed
			found = nil
		}
		for _, one := range found {
			n.SilencedBy = append(n.SilencedBy, Silenced{ID: one.Id, By: one.CreatedBy,
				Comment: one.Comment, Ends: one.EndsAt.AsTime()})
		}
	}
	for _, id := range status.InhibitedBy {
		fp, err := model.ParseFingerprint(id)
		if err != nil {
			continue
		}
		if source, err := s.account.board.Get(fp); err == nil {
			n.InhibitedBy = append(n.InhibitedBy, s.line(source))
		}
	}
	return n
}

func (s *showing) line(a *alert.Alert) string {
	data := s.running.built.template.Data("", nil, nil, "", a)
	return lineOf(&data.Alerts[0], s.now)
}

// messages are what would be sent of the alerts that nothing keeps quiet.
func (s *showing) messages(ctx context.Context, g *dispatch.AlertGroup, loud []*alert.Alert,
	muted bool) []Message {
	list := []Message{}
	var data *template.Data
	if len(loud) > 0 && !muted {
		loud = s.account.prepared(ctx, loud, s.account.options.Limits.MaxMessageAlerts)
		data = s.running.built.template.Data(g.Receiver, g.Labels, g.RouteLabels, "", loud...)
	}
	for _, d := range s.running.built.drafts[g.Receiver] {
		m := Message{Integration: fmt.Sprintf("%s[%d]", d.kind, d.index), To: oneLine(d.to, 200),
			Told: s.told(g, d), Parts: []MessagePart{}}
		for _, p := range d.parts {
			if data == nil || p.html && len(m.Parts) > 1 { // a mail's text says the same
				continue
			}
			text, err := p.render(s.running.built.template, data)
			if err != nil {
				m.Fails = cmp.Or(m.Fails, whyNot(clearer(err,
					s.running.built.config.parsed.Templates)))
				continue
			}
			var decoded string
			if json.Unmarshal([]byte(text), &decoded) == nil {
				text = decoded
			}
			if text = strings.TrimSpace(text); text != "" {
				m.Parts = append(m.Parts, MessagePart{p.name, text})
			}
		}
		list = append(list, m)
	}
	return list
}

// told is when an integration was last told of a group; nil: never, or it is forgotten.
func (s *showing) told(g *dispatch.AlertGroup, d draft) *time.Time {
	found, err := s.account.told.Query(nflog.QGroupKey(g.GroupKey), nflog.QReceiver(
		&nflogpb.Receiver{GroupName: g.Receiver, Integration: d.kind, Idx: uint32(d.index)}))
	if err != nil || len(found) == 0 {
		return nil
	}
	at := found[0].Timestamp.AsTime()
	return &at
}
