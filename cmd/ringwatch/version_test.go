package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/prometheus/common/version"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/setup"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/program"
)

// TestBuilt: the stamp of make dist wins; without one it is what Go knows of the build.
func TestBuilt(t *testing.T) {
	info := &debug.BuildInfo{Main: debug.Module{Version: "v1.3.0-0.20261126120000-0123456789ab"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"},
			{Key: "vcs.time", Value: "2026-11-26T12:00:00Z"}, {Key: "vcs.modified", Value: "true"}}}
	for _, c := range []struct {
		stamp string
		info  *debug.BuildInfo
		want  string
	}{
		{"1.2.3 fedcba987654 2026-11-27T12:00:00Z", info,
			"1.2.3 fedcba987654 2026-11-27T12:00:00Z"},
		{"1.2.3 - 2026-11-27T12:00:00Z", info, "1.2.3  2026-11-27T12:00:00Z"},
		{"1.2.3", info, "1.2.3 0123456789abcdef-changed 2026-11-26T12:00:00Z"},
		{"", info, "1.3.0-0.20261126120000-0123456789ab 0123456789abcdef-changed " +
			"2026-11-26T12:00:00Z"},
		{"", &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "devel  "},
		{"", nil, "devel  "},
	} {
		name, revision, date := program.Built(c.stamp, c.info)
		if got := name + " " + revision + " " + date; got != c.want {
			t.Errorf("of the stamp %q it makes %q, want %q", c.stamp, got, c.want)
		}
	}
}

// TestVersion: the command, in words and in JSON, and what a command says of itself to the API.
func TestVersion(t *testing.T) {
	var out bytes.Buffer
	if err := (&setup.VersionCmd{}).RunTo(&out); err != nil ||
		strings.Count(out.String(), "\n") != 5 ||
		!strings.HasPrefix(out.String(), "ringwatch "+version.Version+"\n") ||
		!strings.Contains(out.String(), "\n  platform  "+version.GoOS+"/"+version.GoArch+"\n") {
		t.Errorf("ringwatch version: %v\n%s", err, &out)
	}
	out.Reset()
	var info setup.VersionInfo
	if err := (&setup.VersionCmd{JSON: true}).RunTo(&out); err != nil {
		t.Error(err)
	} else if err := json.Unmarshal(out.Bytes(), &info); err != nil ||
		info.Version != version.Version || info.GoVersion != version.GoVersion {
		t.Errorf("ringwatch version --json: %v\n%s", err, &out)
	}
	agent := ""
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		agent = r.UserAgent()
	}))
	defer api.Close()
	c, err := (&client.Flags{API: api.URL, Key: "rw_test"}).Client()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(t.Context(), "/v1/nodes", nil); err != nil ||
		agent != "ringwatch/"+version.Version || version.Version == "" {
		t.Errorf("the API is asked by %q: %v", agent, err)
	}
}

// TestRequestsSayTheVersion: each file that makes requests says in them who asks.
func TestRequestsSayTheVersion(t *testing.T) {
	// The socket of a directory is between two processes of one program.
	const local = "cmd/ringwatch/wire/datadir/socket.go"
	found := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(path, filepath.FromSlash("../../")))
		if err != nil || d.IsDir() && (name == "bench" || name == "dev" || name == "docs" ||
			name == "console" || strings.HasPrefix(d.Name(), ".git")) {
			if err == nil {
				err = fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
			strings.Contains(filepath.Base(filepath.Dir(name)), "test") || name == local {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if asks := bytes.Count(text, []byte("http.NewRequest")); asks > 0 {
			found++
			if said := bytes.Count(text, []byte(
				`Set("User-Agent", version.ComponentUserAgent("ringwatch"))`)); said != asks {
				t.Errorf("%s makes %d requests, and says the version in %d", name, asks, said)
			}
		}
		return nil
	})
	if err != nil || found < 5 {
		t.Errorf("%d files make requests: %v", found, err)
	}
}
