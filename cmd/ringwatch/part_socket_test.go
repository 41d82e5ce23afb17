package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/datadir"
	"github.com/ringwatch/ringwatch/store/rows"
)

// failing is a KeyBook whose disk does what a test wants.
type failing struct{ err error }

func (f *failing) Keys(context.Context) ([]account.StoredKey, error) {
	return nil, f.err
}
func (f *failing) CreateKey(context.Context, account.StoredKey) error             { return f.err }
func (f *failing) RevokeKey(_ context.Context, _ string, _ int64, _ string) error { return f.err }
func (f *failing) Close()                                                         {}

// TestKeySocketSaysWhoseFaultItIs: of the request, of the moment, or of the process.
func TestKeySocketSaysWhoseFaultItIs(t *testing.T) {
	full := &rows.Error{Err: errors.New("no space"), Retryable: true,
		Meaning: "the disk is full: make room"}
	for name, c := range map[string]struct {
		err                error
		method, path, body string
		want               int
		text               string
	}{
		"good": {nil, "POST", "/keys", "{}", http.StatusOK, ""},
		"list": {nil, "GET", "/keys", "", http.StatusOK, ""},
		"no JSON": {nil, "POST", "/keys", "key", http.StatusBadRequest,
			"no request of ringwatch key"},
		"too large": {nil, "POST", "/keys", `{"Name": "` + strings.Repeat("x", datadir.MaxKeyBytes),
			http.StatusRequestEntityTooLarge, "too large"},
		"full": {fmt.Errorf("store: write API keys: %w", full), "POST", "/keys", "{}",
			http.StatusServiceUnavailable, "make room"},
		"full too": {fmt.Errorf("store: write API keys: %w", full), "POST", "/revocations", "{}",
			http.StatusServiceUnavailable, "make room"},
		"slow": {context.DeadlineExceeded, "GET", "/keys", "", http.StatusServiceUnavailable,
			"deadline"},
		"broken": {errors.New("a row names nobody"), "GET", "/keys", "",
			http.StatusInternalServerError, "names nobody"},
		"elsewhere": {nil, "GET", "/else", "", http.StatusNotFound, ""},
		"otherwise": {nil, "DELETE", "/keys", "", http.StatusMethodNotAllowed, ""},
	} {
		w := httptest.NewRecorder()
		datadir.Owner{}.SocketHandler(&failing{c.err}).ServeHTTP(w,
			httptest.NewRequest(c.method, c.path, strings.NewReader(c.body)))
		if w.Code != c.want || !strings.Contains(w.Body.String(), c.text) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
}

// TestRunningProcessIsHeard: what the process that has the directory answers is what ringwatch key
// says, and not that the directory is in use.
func TestRunningProcessIsHeard(t *testing.T) {
	d := &directory{data: t.TempDir(), config: configFile(t, "accounts: [{name: alone}]\n")}
	l, err := datadir.ListenKeys(d.data)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: datadir.Owner{}.SocketHandler(
		&failing{errors.New("a row names nobody")})}
	go server.Serve(l)
	defer server.Close()
	c, _, err := (&settings.DataFlags{RoleFlags: settings.RoleFlags{Config: d.config},
		Data: d.data}).Load()
	if err != nil {
		t.Fatal(err)
	}
	c.Cassandra.Dir = d.data // it is there
	if db, err := datadir.OpenKeys(t.Context(), c, d.keyFlags().Wait); err == nil ||
		err.Error() != "a row names nobody" {
		t.Errorf("%v, %v", db, err)
	}
}
