package rules

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/listener"
)

// TestRemoveInUse: a file whose records another one needs stays until that one is gone.
func TestRemoveInUse(t *testing.T) {
	applied := map[string][]byte{
		"base.yaml": []byte(
			`groups: [{name: g, rules: [{record: "cluster:up:sum", expr: sum by (cluster) (up)}]}]`),
		"top.yaml": []byte(
			`groups: [{name: g, rules: [{alert: Few, expr: sum(cluster:up:sum) < 3}]}]`),
	}
	c := DefaultConfig()
	c.Shipped = false
	board, err := NewStatus(c, Deps{Applied: func() map[string]map[string][]byte {
		return map[string]map[string][]byte{"acme": applied}
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := routes{board, func(_ context.Context, _, name string, text []byte) error {
		if text != nil {
			t.Errorf("%s is applied", name)
		}
		delete(applied, name)
		return nil
	}}
	remove := func(name string) int {
		t.Helper()
		req := httptest.NewRequest(http.MethodDelete, "/v1/rules/"+name, nil)
		req.SetPathValue("file", name)
		err := r.remove(httptest.NewRecorder(), req, account.Principal{Account: "acme"})
		said, is := errors.AsType[*listener.Error](err)
		switch {
		case err == nil:
			return http.StatusOK
		case !is:
			t.Fatal(err)
		}
		return said.Status
	}
	if status := remove("base.yaml"); status != http.StatusConflict || len(applied) != 2 {
		t.Errorf("base.yaml: %d, %d files are left", status, len(applied))
	}
	for _, name := range []string{"top.yaml", "base.yaml"} {
		if status := remove(name); status != http.StatusOK {
			t.Errorf("%s: %d", name, status)
		}
	}
	// What is broken already can be removed.
	applied["top.yaml"] = []byte(`groups: [{name: g, rules: [{alert: Few, expr: sum(up) < 3}]}]`)
	applied["base.yaml"] = []byte(`groups: []`)
	if status := remove("base.yaml"); status != http.StatusOK {
		t.Errorf("beside a broken file: %d", status)
	}
}
