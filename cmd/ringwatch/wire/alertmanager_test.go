package wire

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/rules/notify"
)

// toldProcess tells the people of the account acme by a file, which is read again at once.
func toldProcess(t *testing.T, config string) (p *Process, part Part, file string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "am.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _, err := settings.Parse(filepath.Join(dir, "ringwatch.yaml"), []byte(
		"accounts: [{name: acme}]\nnotify: {config_file: "+file+", dir: "+
			filepath.Join(dir, "told")+"}\nrules: {reload: 1s}\n"))
	if err != nil {
		t.Fatal(err)
	}
	p = &Process{Config: c, Metrics: prometheus.NewRegistry(),
		Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	n, part, err := openPeople(p)
	if err != nil || n == nil {
		t.Fatal(err)
	}
	return p, part, file
}

const tellHook = `
route: {receiver: me, group_by: [cluster], group_wait: 100ms, group_interval: 1s}
receivers: [{name: me, webhook_configs: [{url: "HOOK"}]}]
`

// logLines are what a process logs.
type logLines chan string

func (l logLines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// wait waits for a line that contains a text.
func (l logLines) wait(t *testing.T, text string) {
	t.Helper()
	for deadline := time.After(time.Minute); ; {
		select {
		case line := <-l:
			if strings.Contains(line, text) {
				return
			}
		case <-deadline:
			t.Fatalf("nobody logs %q", text)
		}
	}
}

// TestPeopleAreTold: what rules tell of reaches a webhook, the API needs its scopes, and a changed
// file is read again.
func TestPeopleAreTold(t *testing.T) {
	got := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- string(b)
	}))
	defer hook.Close()
	p, part, file := toldProcess(t, strings.Replace(tellHook, "HOOK", hook.URL+"/first", 1))
	lines := make(logLines, 100)
	p.Log = slog.New(slog.NewTextHandler(lines, nil))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- part(ctx) }()
	say := func(name string) {
		tellPeople(p, p.people, []notify.Alert{{Account: "acme", State: notify.Firing,
			Labels:   labels.FromStrings("alertname", name, "cluster", name),
			StartsAt: time.Now(), ValidUntil: time.Now().Add(time.Hour)}})
	}
	hear := func(want string) {
		t.Helper()
		for {
			select {
			case b := <-got:
				if strings.Contains(b, want) {
					return
				}
			case <-time.After(time.Minute):
				t.Fatalf("nobody is told of %s", want)
			}
		}
	}
	say("A")
	hear(`"A"`)
	kind := "application/json"
	ask := func(method, path, body string, scopes ...account.Scope) (int, error) {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		if kind != "" {
			r.Header.Set("Content-Type", kind)
		}
		mux, failed := http.NewServeMux(), error(nil)
		for _, route := range alertmanagerAPI(p) {
			mux.HandleFunc(route.Pattern, func(w http.ResponseWriter, r *http.Request) {
				who := account.Principal{Account: "acme", Scopes: scopes}
				scope := route.Scope
				if !who.Can(scope) {
					failed = errors.New("no scope")
					return
				}
				failed = route.Handle(w, r, who)
			})
		}
		mux.ServeHTTP(w, r)
		return w.Code, failed
	}
	if status, err := ask(http.MethodGet, "/alertmanager/api/v2/alerts", "", account.Read); err !=
		nil || status != http.StatusOK {
		t.Errorf("%d %v", status, err)
	}
	silence := `{"matchers": [{"name": "alertname", "value": "Quiet", "isRegex": false}],
		"startsAt": "2026-01-01T00:00:00Z", "endsAt": "2099-01-01T00:00:00Z", "createdBy": "me",
		"comment": "a test"}`
	if _, err := ask(http.MethodPost, "/alertmanager/api/v2/silences", silence, account.Read,
		account.Write); err == nil {
		t.Error("an agent's key may silence")
	}
	if status, err := ask(http.MethodPost, "/alertmanager/api/v2/silences", silence,
		account.Rules); err != nil || status != http.StatusOK {
		t.Errorf("%d %v", status, err)
	}
	// what another site's page may send without asking: its browser may know a password
	for _, kind = range []string{"text/plain", "application/x-www-form-urlencoded", ""} {
		if status, err := ask(http.MethodPost, "/alertmanager/api/v2/silences", silence,
			account.Rules); err != nil || status != http.StatusUnsupportedMediaType {
			t.Errorf("%q: %d %v", kind, status, err)
		}
	}
	kind = "application/json"
	// a wrong file changes nothing, a right one does
	for _, c := range []struct{ name, text, said string }{
		{"Wrong", "route: {receiver: nobody}\n", "the receivers of alerts are wrong"},
		{"Right", strings.Replace(tellHook, "HOOK", hook.URL, 1) + "# changed\n",
			"the receivers of alerts have changed"},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		lines.wait(t, c.said)
		say(c.name)
		hear(c.name)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	say("C") // nobody panics
	var e *listener.Error
	if _, err := ask(http.MethodGet, "/alertmanager/api/v2/alerts", "", account.Read); !errors.As(
		err, &e) || e.Status != http.StatusServiceUnavailable {
		t.Errorf("after the end: %v", err)
	}
}
