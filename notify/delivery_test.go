package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ringwatch/ringwatch/notify/notifytest"
)

// service stands in for a service that is posted JSON: it checks what comes against what the
// service has published, and answers as it is told.
type service struct {
	URL    string
	check  func(body map[string]any) error
	answer http.HandlerFunc // nil: as the service does when all is well

	mu     sync.Mutex
	bodies []map[string]any
	at     []time.Time
	faults []error
}

func mustService(t *testing.T, check func(map[string]any) error, well http.HandlerFunc) *service {
	t.Helper()
	s := &service{check: check}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		var body map[string]any
		if err == nil {
			err = json.Unmarshal(text, &body)
		}
		if err == nil && r.Header.Get("Content-Type") != "application/json" {
			err = fmt.Errorf("content type %s", r.Header.Get("Content-Type"))
		}
		if err == nil {
			err = s.check(body)
		}
		s.mu.Lock()
		s.bodies, s.at = append(s.bodies, body), append(s.at, time.Now())
		if err != nil {
			s.faults = append(s.faults, fmt.Errorf("%w\n%s", err, text))
		}
		answer := s.answer
		s.mu.Unlock()
		if answer == nil {
			answer = well
		}
		answer(w, r)
	}))
	s.URL = server.URL
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		for _, err := range s.faults {
			t.Error(err)
		}
	})
	return s
}

func (s *service) posted() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bodies)
}

// fields says which of an object's fields are not allowed, or are missing.
func fields(of map[string]any, needed, allowed []string) error {
	for _, name := range needed {
		if text, is := of[name].(string); is && text == "" || of[name] == nil {
			return fmt.Errorf("no %s", name)
		}
	}
	for name := range of {
		if !slices.Contains(needed, name) && !slices.Contains(allowed, name) {
			return fmt.Errorf("there is no field %s", name)
		}
	}
	return nil
}

// asSlack: https://api.slack.com/reference/messaging/attachments.
func asSlack(body map[string]any) error {
	if err := fields(body, []string{"attachments"}, []string{"channel", "username", "icon_emoji",
		"icon_url", "link_names", "text", "ts", "thread_ts"}); err != nil {
		return err
	}
	list, _ := body["attachments"].([]any)
	if len(list) != 1 {
		return errors.New("no attachment")
	}
	a, _ := list[0].(map[string]any)
	if err := fields(a, []string{"fallback", "title"}, []string{"title_link", "pretext", "text",
		"color", "mrkdwn_in", "callback_id", "footer", "image_url", "thumb_url", "fields",
		"actions"}); err != nil {
		return err
	}
	if color := a["color"]; color != "good" && color != "warning" && color != "danger" {
		return fmt.Errorf("color %v", color)
	}
	if text := fmt.Sprint(a["title"], a["text"]); utf8.RuneCountInString(text) > 8000 ||
		strings.ContainsAny(strings.NewReplacer("<http", "", "|Explore>", "", "|Node>", "",
			"|Quiet for 1 h>", "", "|Cluster>", "", "|All alerts>", "",
			"|Console>", "").Replace(text), "<>") {
		return fmt.Errorf("text %s", text)
	}
	return nil
}

func slackWell(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") }

// asPagerDuty: https://developer.pagerduty.com/docs/events-api-v2-overview.
func asPagerDuty(body map[string]any) error {
	if err := fields(body, []string{"routing_key", "event_action", "dedup_key", "payload"},
		[]string{"client", "client_url", "links", "images"}); err != nil {
		return err
	}
	if key := fmt.Sprint(body["dedup_key"]); len(key) > 255 {
		return fmt.Errorf("key %s", key)
	}
	if a := body["event_action"]; a != "trigger" && a != "resolve" {
		return fmt.Errorf("action %v", a)
	}
	p, _ := body["payload"].(map[string]any)
	if err := fields(p, []string{"summary", "source", "severity"}, []string{"timestamp",
		"component", "group", "class", "custom_details"}); err != nil {
		return err
	}
	if !slices.Contains([]any{"critical", "error", "warning", "info"}, p["severity"]) {
		return fmt.Errorf("severity %v", p["severity"])
	}
	if utf8.RuneCountInString(fmt.Sprint(p["summary"])) > 1024 {
		return errors.New("the summary is too long")
	}
	details, _ := p["custom_details"].(map[string]any)
	if _, is := details["message"].(string); !is {
		return fmt.Errorf("details %v", details)
	}
	return nil
}

func pagerDutyWell(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprint(w, `{"status":"success","message":"Event processed","dedup_key":"x"}`)
}

func slackTo(url string) string {
	return fmt.Sprintf(`
route: {receiver: me, group_by: [cluster], group_wait: 500ms, group_interval: 1s}
receivers: [{name: me, slack_configs: [{api_url: %q, channel: "#ops", send_resolved: true}]}]
`, url+"/services/T0/B0/sesame")
}

func pagerDutyTo(url string) string {
	return fmt.Sprintf(`
route: {receiver: me, group_by: [cluster], group_wait: 500ms, group_interval: 1s}
receivers: [{name: me, pagerduty_configs: [{routing_key: sesame, url: %q}]}]
`, url+"/v2/enqueue")
}

// TestServices: alerts, hostile ones, and their ends are what Slack and PagerDuty take.
func TestServices(t *testing.T) {
	for name, c := range map[string]struct {
		check  func(map[string]any) error
		well   http.HandlerFunc
		config func(string) string
		first  func(map[string]any) any
	}{
		"slack": {asSlack, slackWell, slackTo, func(b map[string]any) any {
			return b["attachments"].([]any)[0].(map[string]any)["title"]
		}},
		"pagerduty": {asPagerDuty, pagerDutyWell, pagerDutyTo, func(b map[string]any) any {
			return b["payload"].(map[string]any)["summary"]
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mustService(t, c.check, c.well)
			n := mustOpen(t, options(t.TempDir(), mustParse(t, c.config(s.URL))))
			a := firing("<b>\n*A*_b & c", "severity", "page")
			mustPut(t, n, a)
			heard := func(count int, what string) {
				t.Helper()
				eventually(t, func() bool { return len(s.posted()) == count },
					func() string { return fmt.Sprint(len(s.posted()), " requests") })
				if got := fmt.Sprint(c.first(s.posted()[count-1])); !strings.HasPrefix(got, what) {
					t.Error(got)
				}
			}
			heard(1, "Page: ")
			mustPut(t, n, ended(a))
			heard(2, "Ended after ")
			if list, err := n.Test(t.Context(), "shop", "me"); err != nil || !list[0].Delivered {
				t.Errorf("%+v %v", list, err)
			}
			heard(3, "This is a test")
		})
	}
}

// TestServicesFail: a test says why it was not taken, in the service's words and without a secret.
func TestServicesFail(t *testing.T) {
	answer := func(status int, header, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if header != "" {
				w.Header().Set("Retry-After", header)
			}
			w.WriteHeader(status)
			fmt.Fprint(w, text)
		}
	}
	hangs := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	cuts := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	for _, c := range []struct {
		what    string
		answer  http.HandlerFunc
		why     string
		retried bool
	}{
		{"too many", answer(429, "7", "rate_limited"), "429", true},
		{"an error", answer(500, "", "<h1>\noops</h1>"), "500", true},
		{"refused", answer(400, "", "invalid_payload"), "400", false},
		{"hangs", hangs, "no answer within 300ms", true},
		{"cuts", cuts, "EOF|reset by peer", true},
	} {
		for name, s := range map[string]*service{"slack": mustService(t, asSlack, slackWell),
			"pagerduty": mustService(t, asPagerDuty, pagerDutyWell)} {
			s.answer = c.answer
			config := slackTo(s.URL)
			if name == "pagerduty" {
				config = pagerDutyTo(s.URL)
			}
			d := mustTest(t, config, 300*time.Millisecond)
			if c.what != "hangs" {
				d = mustTest(t, config, 0)
			}
			if d.Delivered || d.Retried != c.retried ||
				!regexp.MustCompile(c.why).MatchString(d.Why) ||
				strings.Contains(d.Why, "sesame") || strings.Contains(d.Why, "\n") {
				t.Errorf("%s %s: %+v", name, c.what, d)
			}
			if c.what == "too many" && name == "slack" && !strings.Contains(d.Why, "7s") {
				t.Errorf("it does not say for how long: %s", d.Why)
			}
		}
	}
}

// TestRetryAfter: who asks to be left alone for a while is, and then hears it once.
func TestRetryAfter(t *testing.T) {
	s := mustService(t, asSlack, slackWell)
	s.answer = func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		s.answer = nil
		s.mu.Unlock()
		w.Header().Set("Retry-After", "2")
		w.WriteHeader(http.StatusTooManyRequests)
	}
	n := mustOpen(t, options(t.TempDir(), mustParse(t, slackTo(s.URL))))
	mustPut(t, n, firing("A"))
	eventually(t, func() bool { return len(s.posted()) == 2 },
		func() string { return fmt.Sprint(len(s.posted()), " requests") })
	s.mu.Lock()
	defer s.mu.Unlock()
	if wait := s.at[1].Sub(s.at[0]); wait < 2*time.Second {
		t.Errorf("asked again after %s", wait)
	}
}

// TestTestRefuses: of receivers that are not there, or send nothing.
func TestTestRefuses(t *testing.T) {
	n := mustOpen(t, options(t.TempDir(), mustParse(t,
		"route: {receiver: ops}\nreceivers: [{name: ops}, {name: night}]\n")))
	_, err := n.Test(t.Context(), "shop", "opps")
	unknown, is := errors.AsType[*UnknownReceiverError](err)
	if !is || !slices.Equal(unknown.Receivers, []string{"ops", "night"}) {
		t.Errorf("%v", err)
	}
	if _, err := n.Test(t.Context(), "shop", "ops"); !errors.Is(err, ErrSendsNothing) {
		t.Errorf("%v", err)
	}
}

// TestTemplateFails: who is to wake is woken where a template fails, and a test says which.
func TestTemplateFails(t *testing.T) {
	s := mustService(t, asSlack, slackWell)
	config := strings.Replace(slackTo(s.URL), `channel: "#ops"`, `channel: "#ops", username: `+
		`'{{ (index .Alerts 5).Labels.y }}', title: '{{ (index .Alerts 5).Labels.x }}'`, 1)
	d := mustTest(t, config, 0)
	if !d.Delivered || !strings.HasPrefix(d.Fault, "the template fails: <index .Alerts 5>") {
		t.Errorf("%+v", d)
	}
	n := mustOpen(t, options(t.TempDir(), mustParse(t, config)))
	mustPut(t, n, firing("A"))
	eventually(t, func() bool { return len(s.posted()) == 2 },
		func() string { return fmt.Sprint(len(s.posted()), " requests") })
	a := s.posted()[1]["attachments"].([]any)[0].(map[string]any)
	if !strings.HasPrefix(fmt.Sprint(a["title"]), "Alert: A in cluster c, since ") {
		t.Errorf("%v", a)
	}
	m := notifytest.MustMail(t, false, false)
	d = mustTest(t, mailTo(m, `, headers: {Subject: '{{ (index .Alerts 5).Labels.x }}', `+
		`X-Y: '{{ (index .Alerts 5).Labels.x }}'}`), 0)
	if got := m.Got(); !d.Delivered || d.Fault == "" || len(got) != 1 ||
		got[0].Subject != "This is a test of the receiver me: nothing is wrong" {
		t.Errorf("%+v %+v", d, got)
	}
}
