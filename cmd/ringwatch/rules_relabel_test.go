package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/rulefiles"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

// testRelabel shows what the shipped mapping makes of the live node's disks.
func (w *whole) testRelabel(t *testing.T) {
	var out bytes.Buffer
	ask := rulefiles.RulesRelabelCmd{Flags: client.Flags{API: w.API, Key: w.Key}, Node: w.node}
	if err := ask.RunTo(t.Context(), &out, os.Stderr); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "os_filesystem_") ||
		!strings.Contains(text, `volume="`) ||
		strings.Contains(text, "become the same") {
		t.Error(text)
	}
	t.Log(out.String())
	// What rules see of a disk comes back as recorded series, so PromQL has it by what disks hold.
	for _, name := range []string{"os_filesystem_size_bytes:sum",
		"os_filesystem_available_bytes:sum",
		"os_filesystem_used:ratio"} {
		expr := "volume:" + name + `{volume=~"data|root",node="` + w.node + `"} > 0`
		eventually(t, expr, func(ctx context.Context) error {
			shows, err := w.shows(ctx, "/api/v1/query?query="+url.QueryEscape(expr))
			if err == nil && !shows {
				err = errors.New("it has no value")
			}
			return err
		})
	}
}

// relabelNode is what an API says of a node with two disks.
const relabelNode = `[{"id":"6a1b7c1e-0000-4000-8000-000000000000","payload":[
	{"metric":"os_filesystem_size_bytes","type":"gauge","unit":"bytes","labels":{"device":"sda1","mount":"/"},"values":[]},
	{"metric":"os_filesystem_free_bytes","type":"gauge","unit":"bytes","labels":{"device":"sda1","mount":"/"},"values":[]},
	{"metric":"os_filesystem_size_bytes","type":"gauge","unit":"bytes","labels":{"device":"sdb1","mount":"/data"},"values":[]},
	{"metric":"os_load1","type":"gauge","unit":"","labels":{},"values":[]}]}]`

func TestRulesRelabel(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/nodes" {
			_, _ = w.Write(
				[]byte(
					`[{"id":"6a1b7c1e-0000-4000-8000-000000000000","cluster":"c","datacenter":"d","rack":"r","address":"10.0.0.1"}]`,
				),
			)
			return
		}
		_, _ = w.Write([]byte(relabelNode))
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "own.yaml")
	show := func(rules string) string {
		t.Helper()
		c := rulefiles.RulesRelabelCmd{
			Flags: client.Flags{API: server.URL, Key: "rw_x"},
			Node:  "10.0.0.1",
		}
		if rules != "" {
			if err := os.WriteFile(path, []byte(rules), 0o600); err != nil {
				t.Fatal(err)
			}
			c.File = path
		}
		var out bytes.Buffer
		if err := c.RunTo(t.Context(), &out, os.Stderr); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if text, want := show(""), `os_filesystem_size_bytes and 1 more
  {device="sda1", mount="/"}
  -> {device="sda1", mount="/", volume="root"}
os_filesystem_size_bytes
  {device="sdb1", mount="/data"}
  -> {device="sdb1", mount="/data", volume="data"}
3 series changed, 0 dropped, 1 unchanged
`; text != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
	text := show(
		"- {action: labeldrop, regex: device|mount}\n- {action: drop, source_labels: [__name__], " +
			"regex: os_load1}",
	)
	for _, want := range []string{"os_load1\n  {}\n  dropped\n", "3 series changed, 1 dropped, 0 " +
		"unchanged",
		"several series would become the same: os_filesystem_size_bytes{}\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	var effect rulefiles.Relabelling
	c := rulefiles.RulesRelabelCmd{
		Flags: client.Flags{API: server.URL, Key: "rw_x"},
		Node:  "6a1b",
		JSON:  true,
	}
	var out bytes.Buffer
	if err := c.RunTo(t.Context(), &out, os.Stderr); err != nil ||
		json.Unmarshal(out.Bytes(), &effect) != nil ||
		len(effect.Changed) != 2 ||
		effect.Unchanged != 1 {
		t.Errorf("%v %s", err, out.String())
	}
	if code := run([]string{"rules", "relabel", "--node", "x", "--file",
		filepath.Join(t.TempDir(), "none")}); code != exit.Misused {
		t.Errorf("a file that is not there: %d", code)
	}
}
