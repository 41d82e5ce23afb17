package notices

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
)

// answers starts an API that says one thing.
func answers(t *testing.T, method, path, text string) client.Flags {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method || r.URL.RequestURI() != path {
			t.Errorf("asked for %s %s", r.Method, r.URL)
		}
		if method == http.MethodPost {
			var body struct{ Receiver string }
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.Receiver != "me" {
				t.Errorf("%+v %v", body, err)
			}
		}
		fmt.Fprint(w, text)
	}))
	t.Cleanup(s.Close)
	return client.Flags{API: s.URL, Key: "rw_x"}
}

func TestTest(t *testing.T) {
	for name, c := range map[string]struct{ answer, out, err string }{
		"delivered": {`{"integration":"email[0]","to":"me@example.org","delivered":true,"seconds":0.123}`,
			"email[0] to me@example.org: delivered in 120ms\n", ""},
		"refused": {`{"integration":"slack[0]","why":"status 403: invalid\u001b_token"}`,
			"slack[0]: not delivered: status 403: invalid\\u001b_token\n",
			"1 of 1 messages were not delivered"},
		"passing": {`{"integration":"slack[0]","why":"429","retried":true}`,
			"slack[0]: not delivered: 429\n  This may pass: an alert would be sent again.\n",
			"1 of 1 messages were not delivered"},
		"fault": {`{"integration":"slack[0]","delivered":true,"fault":"my.tmpl:3: it fails"}`,
			"slack[0]: delivered in 0s\n  my.tmpl:3: it fails\n",
			"a template fails: the first line was sent in its place"},
	} {
		cmd := TestCmd{Receiver: "me", Flags: answers(t, http.MethodPost,
			"/alertmanager/ringwatch/test", `{"receiver":"me","deliveries":[`+c.answer+`]}`)}
		var out strings.Builder
		err := cmd.RunTo(t.Context(), &out)
		if out.String() != c.out || (err == nil) != (c.err == "") ||
			err != nil && err.Error() != c.err {
			t.Errorf("%s: %q %v", name, out.String(), err)
		}
		cmd.JSON = true
		if err := cmd.RunTo(t.Context(), io.Discard); (err == nil) != (c.err == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestShow(t *testing.T) {
	now := time.Date(2026, 3, 5, 14, 14, 0, 0, time.UTC)
	cmd := ShowCmd{Alert: "Down", Flags: answers(t, http.MethodGet,
		"/alertmanager/ringwatch/show?alert=Down", `{"more":2,"notices":[{"receiver":"night",
		"route":["severity=\"critical\"","cluster=\"c\""],"group":{"cluster":"c"},
		"group_wait_seconds":30,"group_interval_seconds":300,"repeat_interval_seconds":14400,
		"muted_by":["weekend"],"more":3,
		"alerts":[{"alert":"Down","line":"Critical: Node db-7 is silent\u202e",
		"silenced_by":[{"id":"1-2","by":"ops","comment":"new disk","ends":"2026-03-05T15:00:00Z"}],
		"inhibited_by":["Critical: 3 nodes"]}],
		"messages":[{"integration":"slack[0]","to":"#night","told":"2026-03-05T14:10:00Z",
		"parts":[{"name":"Title","text":"Critical: Node db-7\nsecond"}]}]},
		{"receiver":"me","route":[],"group":{},"alerts":[{"line":"A"}],"messages":[]}]}`)}
	var out strings.Builder
	if err := cmd.RunTo(t.Context(), &out, now); err != nil {
		t.Fatal(err)
	}
	const want = `Receiver night
  route   severity="critical" → cluster="c"
  group   cluster=c
  when    30s after the first alert, 5m for a change, 4h for the same again
  muted   by the time interval weekend
  alert   Critical: Node db-7 is silent\u202e
          silenced by ops until 2026-03-05T15:00:00Z: new disk (1-2)
          kept quiet by: Critical: 3 nodes
          and 3 more
  slack[0] to #night, told last 4m0s ago
    Title:
      Critical: Node db-7
      second

Receiver me
  route   the first: no other one matches
  group   -
  when    0s after the first alert, 0s for a change, 0s for the same again
  alert   A
  sends   nothing: the receiver has no integration

2 groups more: name an alert
`
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
	none := ShowCmd{Flags: answers(t, http.MethodGet, "/alertmanager/ringwatch/show",
		`{"notices":[]}`)}
	out.Reset()
	if err := none.RunTo(t.Context(), &out, now); err != nil ||
		out.String() != "Nothing fires, so nobody is told of anything.\n" {
		t.Errorf("%q %v", out.String(), err)
	}
}
