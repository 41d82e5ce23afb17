package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/ringwatch/ringwatch/dev/engines"
)

// testStack is a checkout of its own, on free ports, with engines that die with the test.
func testStack(t *testing.T) (*state, *upCmd) {
	t.Helper()
	st, err := openState(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	st.attached = true
	p := engines.FreePorts(t, 6)
	return st, &upCmd{Wait: time.Minute, Settings: settings{
		APIPort: 9470, IngestPort: 9471, AgentPort: 9472,
		CassandraPort: p[0], CassandraStoragePort: p[1], CassandraJMXPort: p[2], KafkaPort: p[3],
		KafkaControllerPort: p[4], RedisPort: p[5],
		CassandraHeap: "512M", KafkaHeap: "256M", RedisMemory: "64mb", EnginesOnly: true,
		Line: true,
	}}
}

func mustFail(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("got no error")
	}
	t.Log(err)
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q", part)
		}
	}
}

// The engines of a stack through a day: up, up again, one dies, up, down, clean.
func TestStack(t *testing.T) {
	engines.Needed(t, "Cassandra, Kafka and Redis")
	st, up := testStack(t)
	t.Cleanup(func() { _ = (&downCmd{}).Run(context.Background(), st) })
	pids := func() map[string]engines.Identity {
		all := map[string]engines.Identity{}
		for _, s := range services(st, up.Settings) {
			id, runs := st.recorded(s.name)
			if !runs {
				t.Errorf("%s does not run", s.title)
			}
			all[s.name] = id
		}
		return all
	}

	if err := up.Run(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	first := pids()
	began := time.Now()
	if err := up.Run(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	t.Logf("a second up took %v", time.Since(began))
	for name, id := range pids() {
		if id != first[name] {
			t.Errorf("a second up started another %s", name)
		}
	}

	if _, err := first["redis"].Stop(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := up.Run(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	second := pids()
	if second["redis"] == first["redis"] || second["kafka"] != first["kafka"] ||
		second["cassandra"] != first["cassandra"] {
		t.Errorf("after Redis died, %v became %v", first, second)
	}

	other := *up
	other.Settings.RedisMemory = "65mb"
	mustFail(t, other.Run(t.Context(), st), "redis_memory is 64mb, not 65mb", "make down first")
	mustFail(t, (&cleanDataCmd{}).Run(st), "make down first")

	if err := (&downCmd{}).Run(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	for name, id := range second {
		if id.Alive() {
			t.Errorf("%s runs after down", name)
		}
	}
	if err := (&cleanDataCmd{}).Run(st); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(st.data("cassandra")); !os.IsNotExist(err) {
		t.Errorf("the data is still there: %v", err)
	}
}

// A step that fails takes back what the run had started.
func TestUpTakesBack(t *testing.T) {
	engines.Needed(t, "Cassandra")
	st, up := testStack(t)
	up.Settings.CassandraHeap, up.Settings.Line = "1Q", false
	mustFail(t, up.Run(t.Context(), st), "Cassandra ended while starting", "JVM size")
	if anyRuns(st) {
		t.Error("something still runs")
	}
	if left, _ := filepath.Glob(st.path("run", "*.pid")); len(left) > 0 {
		t.Errorf("pid files are left: %v", left)
	}
}

func TestUpRefusesBeforeItStarts(t *testing.T) {
	st, up := testStack(t)
	up.Settings.RedisPort = engines.MustRedis(t).Port
	mustFail(t, up.Run(t.Context(), st), "is taken and Redis needs it", "RINGWATCH_REDIS_PORT")

	st, up = testStack(t)
	up.Settings.CassandraHeap = "99999G"
	mustFail(t, up.Run(t.Context(), st), "GiB of memory is free", "RINGWATCH_CASSANDRA_HEAP")

	st, up = testStack(t)
	up.Settings.EnginesOnly = false
	mustFail(t, up.Run(t.Context(), st), "bin/ringwatch is missing", "make build")

	unlock, err := st.lock()
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	mustFail(t, up.Run(t.Context(), st), "another make up")
}

// Without a line there are two processes, and what they keep is in a directory.
func TestWithoutLine(t *testing.T) {
	st, up := testStack(t)
	up.Settings.Line, up.Settings.EnginesOnly, up.Settings.CassandraHeap = false, false, ""
	if err := up.Settings.AfterApply(); err != nil || up.Settings.CassandraHeap != "512M" {
		t.Errorf("Cassandra's heap is %q, %v", up.Settings.CassandraHeap, err)
	}
	var names []string
	for _, s := range services(st, up.Settings) {
		names = append(names, s.name)
	}
	if !slices.Equal(names, []string{"cassandra", "ringwatch"}) {
		t.Errorf("it starts %q", names)
	}
	if err := st.writeConfig(up.Settings, "rw_key"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(st.path("ringwatch.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := yaml.Unmarshal(text, &content); err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"kafka", "cassandra", "redis"} {
		if content[engine] != nil {
			t.Errorf("the configuration names %s", engine)
		}
	}
	if data, _ := content["data"].(map[string]any); data["dir"] != st.data("ringwatch") {
		t.Errorf("the data is in %v", content["data"])
	}
}

func TestConfigFiles(t *testing.T) {
	st, up := testStack(t)
	key, err := st.apiKey()
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^rw_[0-9A-Za-z]{32}$`).MatchString(key) {
		t.Errorf("the key is %q", key)
	}
	if err := st.writeConfig(up.Settings, key); err != nil {
		t.Fatal(err)
	}
	if again, err := st.apiKey(); again != key || err != nil {
		t.Errorf("the key became %q, %v", again, err)
	}
	if saved, ok := st.savedSettings(); !ok || saved != up.Settings {
		t.Errorf("the settings became %+v", saved)
	}
	for _, name := range []string{"ringwatch.yaml", "agent.yaml", "cli.yaml"} {
		var content map[string]any
		text, err := os.ReadFile(st.path(name))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, &content); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if name != "cli.yaml" && strings.Contains(string(text), key) {
			t.Errorf("%s holds the key itself", name)
		}
	}
	for _, name := range []string{"cli.yaml", "agent.key", "watch.key"} {
		if info, err := os.Stat(st.path(name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s is readable by others: %v", name, info.Mode())
		}
	}
}

func TestHasValues(t *testing.T) {
	for _, c := range []struct {
		answer string
		want   bool
	}{
		{`[]`, false},
		{`[{"payload":[{"metric":"m","values":[]}]}]`, false},
		{`[{"payload":[{"metric":"m","values":[{"value":"1.6"}]}]}]`, true},
		{`{"series":[{"values":[[1,2]]}]}`, true},
		{`{"series":[{"value":0}]}`, true},
		{`{"error":"none"}`, false},
	} {
		var answer any
		if err := yaml.Unmarshal([]byte(c.answer), &answer); err != nil {
			t.Fatal(err)
		}
		if got := hasValues(answer); got != c.want {
			t.Errorf("%s: %v", c.answer, got)
		}
	}
}

func TestHeard(t *testing.T) {
	for _, c := range []struct {
		nodes string
		want  bool
	}{
		{`[]`, false},
		{`[{"id":"other","state":"up"}]`, false},
		{`[{"id":"other","state":"up"},{"id":"ours","state":"down"}]`, false},
		{`[{"id":"other","state":"down"},{"id":"ours","state":"up"}]`, true},
		{`[{"id":"ours","state":"not_serving"}]`, true},
		{`{"error":"none"}`, false},
	} {
		if err := heard([]byte(c.nodes), "ours"); (err == nil) != c.want {
			t.Errorf("%s: %v", c.nodes, err)
		}
	}
}
