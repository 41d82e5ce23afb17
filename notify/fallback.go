package notify

import (
	"context"
	"log/slog"
	"reflect"
	"strings"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/config/receiver"
	amnotify "github.com/prometheus/alertmanager/notify"
	"github.com/prometheus/alertmanager/notify/email"
	"github.com/prometheus/alertmanager/template"
)

// headlineText stands in place of a text whose template fails.
const headlineText = `{{ (message .).Headline }}`

// faulty is a template of an integration that fails for some alerts.
type faulty struct {
	field string // of the configuration; "Header NAME": of a mail
	err   error
}

// faults are the templates of an integration that fail for a message. Some integrations give up
// for one, and others send what is empty.
func (d *draft) faults(t *template.Template, data *template.Data) (list []faulty) {
	for _, p := range d.checked {
		if _, err := p.render(t, data); err != nil {
			list = append(list, faulty{p.name, err})
		}
	}
	return list
}

// withoutFaults is an integration that says the headline where a text fails, and nothing where
// something else does, so that whoever is to wake is woken.
func (b *built) withoutFaults(name string, d *draft, list []faulty,
	log *slog.Logger) (amnotify.Integration, error) {
	one := config.Receiver{Name: name}
	for i := range b.completed {
		if b.completed[i].Name != name {
			continue
		}
		k := kindOf(d.kind)
		from := reflect.ValueOf(&b.completed[i]).Elem().FieldByName(k.list)
		c := reflect.New(from.Type().Elem().Elem())
		c.Elem().Set(from.Index(d.index).Elem())
		for _, f := range list {
			without(k, c, f.field)
		}
		reflect.ValueOf(&one).Elem().FieldByName(k.list).Set(
			reflect.Append(reflect.Zero(from.Type()), c))
	}
	built, err := receiver.BuildReceiverIntegrations(one, b.template, log)
	if err != nil {
		return amnotify.Integration{}, err
	}
	return built[0], nil
}

func without(k *kind, c reflect.Value, field string) {
	text := ""
	for _, shown := range k.fields {
		if shown == field {
			text = headlineText
		}
	}
	if header, is := strings.CutPrefix(field, "Header "); is {
		mail := c.Interface().(*email.EmailConfig)
		headers := map[string]string{}
		for name, value := range mail.Headers {
			headers[name] = value
		}
		if delete(headers, header); header == "Subject" {
			headers[header] = headlineText
		}
		mail.Headers = headers
		return
	}
	v := c.Elem().FieldByName(field)
	if v.Kind() == reflect.Struct { // Jira's
		v = v.FieldByName("Template")
	}
	v.SetString(text)
}

// speak lets an integration of a receiver say a message. What fails of its templates is left out,
// and returned.
func (b *built) speak(ctx context.Context, name string, in amnotify.Integration, log *slog.Logger,
	alerts ...*alert.Alert) (v amnotify.NotifyVerdict, fault error) {
	for _, d := range b.drafts[name] {
		if d.kind != in.Name() || d.index != in.Index() {
			continue
		}
		list := d.faults(b.template, amnotify.GetTemplateData(ctx, b.template, alerts, log))
		if len(list) == 0 {
			break
		}
		fault = clearer(list[0].err, b.config.parsed.Templates)
		if other, err := b.withoutFaults(name, &d, list, log); err == nil {
			in = other
		}
	}
	v = said(ctx, in, alerts...)
	if err := v.Err(); err != nil && !v.ShouldRetry() {
		v = amnotify.Unrecoverable(clearer(err, b.config.parsed.Templates), v.Reason())
	}
	return v, fault
}
