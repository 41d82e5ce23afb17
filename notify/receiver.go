package notify

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/notify/email"
	"github.com/prometheus/alertmanager/notify/jira"
	"github.com/prometheus/alertmanager/notify/pagerduty"
	"github.com/prometheus/alertmanager/notify/webhook"
	"github.com/prometheus/alertmanager/template"
	"github.com/prometheus/common/model"
)

// completed is a receiver with what cannot be given by the name of a template: webhooks have a
// bound, mail that has our HTML has our text beside it, and PagerDuty our details and severity.
// What somebody has set stays. The configuration is not changed.
func completed(r config.Receiver, limits Limits) config.Receiver {
	r.WebhookConfigs = copies(r.WebhookConfigs, func(w *webhook.WebhookConfig) {
		if w.MaxAlerts == 0 {
			w.MaxAlerts = uint64(limits.MaxMessageAlerts)
		}
	})
	r.EmailConfigs = copies(r.EmailConfigs, func(e *email.EmailConfig) {
		e.Headers = maps.Clone(e.Headers)
		if e.Text == "" && e.HTML == email.DefaultEmailConfig.HTML {
			e.Text = `{{ template "email.default.text" . }}`
		}
	})
	r.PagerdutyConfigs = copies(r.PagerdutyConfigs, func(p *pagerduty.PagerdutyConfig) {
		if p.Severity == "" {
			p.Severity = `{{ template "pagerduty.default.severity" . }}`
		}
		details := map[string]any{"message": `{{ template "pagerduty.default.details" . }}`}
		for name, value := range p.Details {
			// Alertmanager's own are all labels as JSON, which nobody reads at night.
			if text := pagerduty.DefaultPagerdutyDetails[name]; text != value ||
				name == "num_firing" || name == "num_resolved" {
				details[name] = value
			}
		}
		p.Details = details
	})
	return r
}

// copies are a list's elements, each changed and none of it the original.
func copies[T any](list []*T, change func(*T)) []*T {
	all := make([]*T, 0, len(list))
	for _, one := range list {
		c := *one
		change(&c)
		all = append(all, &c)
	}
	return all
}

// kind is a kind of integration: its name, the receiver's list of them, and the fields that are
// the text of its message, in the order in which people read them.
type kind struct {
	name, list string
	fields     []string
}

var kinds = []kind{
	{"email", "EmailConfigs", []string{"Text", "HTML"}},
	{"slack", "SlackConfigs", []string{"MessageText", "Pretext", "Title", "Text"}},
	{"pagerduty", "PagerdutyConfigs", []string{"Description", "Severity"}},
	{"opsgenie", "OpsGenieConfigs", []string{"Message", "Description"}},
	{"msteams", "MSTeamsConfigs", []string{"Title", "Text"}},
	{"msteamsv2", "MSTeamsV2Configs", []string{"Title", "Text"}},
	{"jira", "JiraConfigs", []string{"Summary", "Description"}},
	{"discord", "DiscordConfigs", []string{"Content", "Title", "Message"}},
	{"telegram", "TelegramConfigs", []string{"Message"}},
	{"pushover", "PushoverConfigs", []string{"Title", "Message"}},
	{"sns", "SNSConfigs", []string{"Subject", "Message"}},
	{"victorops", "VictorOpsConfigs", []string{"EntityDisplayName", "StateMessage"}},
	{"webex", "WebexConfigs", []string{"Message"}},
	{"wechat", "WechatConfigs", []string{"Message"}},
	{"mattermost", "MattermostConfigs", []string{"Title", "Text"}},
	{"rocketchat", "RocketchatConfigs", []string{"Title", "Text"}},
	{"webhook", "WebhookConfigs", nil},
	{"incidentio", "IncidentioConfigs", nil},
}

// draft is an integration of a receiver as far as it makes texts.
type draft struct {
	kind  string
	index int
	to    string      // a mail's address or a channel, which may be a template; "": nothing to show
	parts []draftPart // what people read
	// checked are all of its texts that are templates, those included.
	checked []draftPart
}

type draftPart struct {
	name, text string
	html       bool
}

// drafts are a receiver's, which has been completed and built.
func drafts(r *config.Receiver) (list []draft) {
	receiver := reflect.ValueOf(r).Elem()
	for _, k := range kinds {
		configs := receiver.FieldByName(k.list)
		for i := range configs.Len() {
			list = append(list, draftOf(k, i, configs.Index(i).Elem()))
		}
	}
	return list
}

func draftOf(k kind, index int, of reflect.Value) draft {
	d := draft{kind: k.name, index: index}
	switch c := of.Addr().Interface().(type) {
	case *email.EmailConfig:
		d.to = c.To
		subject := c.Headers["Subject"]
		if subject == "" {
			subject = email.DefaultEmailSubject
		}
		d.parts = append(d.parts, draftPart{name: "Subject", text: subject})
	case *pagerduty.PagerdutyConfig:
		if text, is := c.Details["message"].(string); is {
			d.parts = append(d.parts, draftPart{name: "Details", text: text})
		}
	}
	if channel := of.FieldByName("Channel"); channel.IsValid() {
		d.to = channel.String()
	}
	html := func(field string) bool {
		mode := of.FieldByName("ParseMode")
		return k.name == "email" && field == "HTML" || mode.IsValid() && mode.String() == "HTML"
	}
	for _, field := range k.fields {
		v := of.FieldByName(field)
		if v.Kind() == reflect.Struct { // Jira's
			v = v.FieldByName("Template")
		}
		if v.String() != "" {
			d.parts = append(d.parts, draftPart{field, v.String(), html(field)})
		}
	}
	d.checked = templatesOf(of, html)
	return d
}

// templatesOf are the texts of an integration that are templates, by the names of their fields.
func templatesOf(of reflect.Value, html func(field string) bool) (list []draftPart) {
	add := func(name, text string) {
		if strings.Contains(text, "{{") {
			list = append(list, draftPart{name, text, html(name)})
		}
	}
	for i := range of.NumField() {
		f, v := of.Type().Field(i), of.Field(i)
		switch {
		case f.Type == reflect.TypeFor[string]():
			add(f.Name, v.String())
		case f.Type == reflect.TypeFor[jira.JiraFieldConfig]():
			add(f.Name, v.FieldByName("Template").String())
		}
	}
	if mail, is := of.Addr().Interface().(*email.EmailConfig); is {
		for _, name := range slices.Sorted(maps.Keys(mail.Headers)) {
			add("Header "+name, mail.Headers[name])
		}
	}
	return list
}

func kindOf(name string) *kind {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	return &kinds[i]
}

// render executes the template of a part.
func (p *draftPart) render(t *template.Template, data *template.Data) (string, error) {
	if p.html {
		return t.ExecuteHTMLString(p.text, data)
	}
	return t.ExecuteTextString(p.text, data)
}

// badTemplate is a template of a receiver that fails for every alert.
type badTemplate struct {
	receiver, kind, field string
	text                  string
	err                   error
}

func (b *badTemplate) Error() string {
	if b.elsewhere() {
		return fmt.Sprintf("%v (receiver %q, %s, %s)", b.err, b.receiver, b.kind, b.field)
	}
	return fmt.Sprintf("receiver %q, %s, %s: %v", b.receiver, b.kind, b.field, b.err)
}

// elsewhere says whether it stands in a file of its own.
func (b *badTemplate) elsewhere() bool {
	e, is := errors.AsType[*templateError](b.err)
	return is && e.at != ""
}

// check renders each text for a made-up alert: what fails for every one is said before the night.
func (b *built) check() error {
	for _, r := range b.completed {
		data := b.template.Data(r.Name, madeUp.Labels, nil, "", madeUp)
		for _, d := range b.drafts[r.Name] {
			for _, p := range d.checked {
				if _, err := p.render(b.template, data); fails(err) {
					return &badTemplate{r.Name, d.kind, p.name, p.text,
						clearer(err, b.config.parsed.Templates)}
				}
			}
		}
	}
	return nil
}

// madeUp is the alert of that check: it has what alerts have.
var madeUp = alert.New(model.Alert{
	Labels: model.LabelSet{"alertname": "CassandraNodeDown", "severity": "critical",
		"cluster": "c", "datacenter": "dc1", "rack": "r1", "node": "n", "instance": "10.0.0.1:9100",
		"job": "j", "keyspace": "k", "table": "t"},
	Annotations: model.LabelSet{"summary": "s", "description": "d", "address": "10.0.0.1:7000",
		"runbook_url": "https://example.org/"},
	StartsAt: time.Unix(1, 0), EndsAt: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
	GeneratorURL: "https://example.org/",
}, time.Unix(1, 0), false)
