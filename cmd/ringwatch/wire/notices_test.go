package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	people "github.com/ringwatch/ringwatch/notify"
	"github.com/ringwatch/ringwatch/rules/notify"
)

// askNotices asks one of the routes of the Alertmanager's API as a key with these scopes.
func askNotices(p *Process, method, path, body string,
	scopes ...account.Scope) (status int, said string, err error) {
	mux := http.NewServeMux()
	for _, route := range alertmanagerAPI(p) {
		mux.HandleFunc(route.Pattern, func(w http.ResponseWriter, r *http.Request) {
			who := account.Inside("acme")
			who.Scopes = scopes
			if scope := route.Scope; scope != "" && !who.Can(scope) {
				err = fmt.Errorf("the scope %s is needed", scope)
				return
			}
			err = route.Handle(w, r, who)
		})
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	return w.Code, w.Body.String(), err
}

// TestNotices: a test is sent and shown by who may, and what does not exist names what does.
func TestNotices(t *testing.T) {
	posts := make(chan string, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Alerts []struct{ Annotations map[string]string }
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		posts <- body.Alerts[0].Annotations["summary"]
	}))
	t.Cleanup(hook.Close)
	p, part, _ := toldProcess(t, `
route: {receiver: me, group_by: [cluster], group_wait: 1h}
receivers: [{name: me, webhook_configs: [{url: "`+hook.URL+`/sesame"}]}, {name: nothing}]
`)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- part(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	_, said, err := askNotices(p, http.MethodPost, testPath, `{"receiver": "me"}`,
		account.Rules)
	if err != nil || !strings.Contains(said, `"delivered":true`) {
		t.Errorf("%s %v", said, err)
	}
	if got := <-posts; !strings.HasPrefix(got, "This is a test") {
		t.Error(got)
	}
	if _, _, err := askNotices(p, http.MethodPost, testPath, `{"receiver": "me"}`,
		account.Read, account.Write); err == nil {
		t.Error("an agent's key sends tests")
	}
	tellPeople(p, p.people, []notify.Alert{{Account: "acme", State: notify.Firing,
		Labels: labels.FromStrings("alertname", "Down", "cluster", "shop"), File: "a.yaml",
		Group: "g", StartsAt: time.Now(), ValidUntil: time.Now().Add(time.Hour)}})
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		_, said, err = askNotices(p, http.MethodGet, showPath+"?alert=Down", "", account.Read)
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	if strings.Contains(said, "sesame") || !strings.Contains(said, `"receiver":"me"`) ||
		!strings.Contains(said, "Alert: Down in cluster shop, since ") {
		t.Error(said)
	}
	for _, c := range []struct {
		method, path, body, reason, says string
	}{
		{http.MethodPost, testPath, `{"receiver": "mee"}`, "unknown_receiver", "did you mean me?"},
		{http.MethodPost, testPath, `{"receiver": "nothing"}`, "sends_nothing", "email_configs"},
		{http.MethodPost, testPath, `{}`, "bad_body", "receiver"},
		{http.MethodGet, showPath + "?alert=Up", "", "unknown_alert", "use Down, the only one"},
		{http.MethodGet, showPath + "?alerts=Up", "", "unknown_parameter", "alert"},
	} {
		_, _, err := askNotices(p, c.method, c.path, c.body, account.Rules)
		refused, is := errors.AsType[*listener.Error](err)
		if !is || refused.Reason != c.reason || !strings.Contains(refused.Message, c.says) {
			t.Errorf("%s %s: %v", c.method, c.path, err)
		}
	}
}

// TestBesideAlerts: before the role api is there nothing is known, and nothing fails.
func TestBesideAlerts(t *testing.T) {
	var list []people.Insight = (&Process{}).besideAlerts(t.Context(), "acme",
		[]map[string]string{{"alertname": "A"}})
	if list != nil {
		t.Error(list)
	}
}
