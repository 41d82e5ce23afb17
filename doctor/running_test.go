package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/dev/engines"
)

// TestRunning asks a real Cassandra's process where it has its things.
func TestRunning(t *testing.T) {
	node := engines.MustCassandra(t)
	r, ok := runningIn(fmt.Sprintf("/proc/%d", node.Pid()))
	if !ok || r.conf != node.Dir {
		t.Errorf("its cassandra.yaml is in %q, %t, not in %s", r.conf, ok, node.Dir)
	}
	if !exists(filepath.Join(r.java, "bin/java")) {
		t.Errorf("no Java in %q", r.java)
	}
	if want := filepath.Join(node.Dir, "data"); r.data != want {
		t.Errorf("its data is in %q, not %s", r.data, want)
	}
	if r.pid != node.Pid() || r.config != "" {
		t.Errorf("it is taken for %s with the agent %s", &r, r.jar)
	}
	if r, ok := runningIn(fmt.Sprintf("/proc/%d", os.Getpid())); ok {
		t.Errorf("this test is taken for a Cassandra: %+v", r)
	}
}

// noProcesses has no process run until the test ends, but for those that it shows.
func noProcesses(t *testing.T) {
	before := processes
	processes = t.TempDir()
	t.Cleanup(func() { processes = before })
}

// shows has a Cassandra run in a directory, with these options.
func shows(t *testing.T, pid int, dir string, options ...string) {
	t.Helper()
	process := filepath.Join(processes, fmt.Sprint(pid))
	args := append([]string{"java"}, options...)
	args = append(args, "-cp", "conf:lib/*", daemon, "")
	for _, err := range []error{os.MkdirAll(process, 0o755),
		os.WriteFile(filepath.Join(process, "cmdline"), []byte(strings.Join(args, "\x00")), 0o644),
		os.Symlink(dir, filepath.Join(process, "cwd")),
		os.Symlink("/", filepath.Join(process, "root"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// cassandraIn lays out what doctor looks at, in a tarball's layout.
func cassandraIn(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{"conf/cassandra.yaml": "cluster_name: x\n",
		"lib/apache-cassandra-5.0.9.jar": ""} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestBesideARunningAgent: without flags doctor takes what the one Cassandra here names, whatever
// is in the way of its default. Of several it asks which, and a flag says it.
func TestBesideARunningAgent(t *testing.T) {
	noProcesses(t)
	one, two := cassandraIn(t), cassandraIn(t)
	shows(t, 4001, one, "-javaagent:lib/jamm-0.4.0.jar", "-Dcassandra.storagedir=.",
		"-javaagent:/opt/x/ringwatch-agent.jar=conf/agent.yaml",
		"-javaagent:/opt/x/ringwatch-agent.jar=/second.yaml")
	config := filepath.Join(one, "conf/agent.yaml")
	examined := func(o Options) *Report {
		t.Helper()
		r, err := Examine(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := examined(Options{})
	if r.Process != 0 || !strings.Contains(fmt.Sprint(r.Results), "Cassandra is 5.0.9") {
		t.Errorf("its jar is not there, so that it has no line: %+v", r)
	}
	o := Options{}
	runs, err := o.choose(findRunning())
	if err != nil || runs.config != config || runs.jar != "/opt/x/ringwatch-agent.jar" ||
		runs.home != filepath.Join(one, "lib") || runs.data != filepath.Join(one, "data") {
		t.Errorf("%+v, %v", runs, err)
	}

	// A container's has the same options, and other files.
	shows(t, 4003, two)
	if err := os.Remove(filepath.Join(processes, "4003/root")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(two, filepath.Join(processes, "4003/root")); err != nil {
		t.Fatal(err)
	}
	if list := findRunning(); len(list) != 1 {
		t.Errorf("a container's is taken: %v", list)
	}

	shows(t, 4002, two)
	for want, o := range map[string]Options{
		"several Cassandras run here: name one of 4001 (" + config + "), 4002 (" +
			filepath.Join(two, "conf") + ") with --pid": {},
		"process 7 is no Cassandra: name one of 4001": {PID: 7},
		"several Cassandras run here":                 {AgentConfig: "/none.yaml"},
	} {
		if _, err := Examine(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", o, err, want)
		}
	}
	for pid, list := range map[int][]Options{
		4001: {{PID: 4001}, {CassandraConf: filepath.Join(one, "conf")}, {CassandraHome: one}},
		4002: {{PID: 4002}, {PID: 4002, AgentConfig: config},
			{CassandraConf: filepath.Join(two, "conf")}},
	} {
		for _, o := range list {
			if runs, err := o.choose(findRunning()); err != nil || runs.pid != pid {
				t.Errorf("%+v means %s, %v", o, &runs, err)
			}
		}
	}
	if err := os.WriteFile(config, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	o = Options{AgentConfig: config}
	if runs, err := o.choose(findRunning()); err != nil || runs.pid != 4001 {
		t.Errorf("the configuration means %s, %v", &runs, err)
	}
	o = Options{CassandraConf: t.TempDir()}
	if runs, err := o.choose(findRunning()); err != nil || runs.pid != 0 {
		t.Errorf("a directory of no Cassandra means %s, %v", &runs, err)
	}
}

// TestAgentsFiles looks at a whole agent: with the agent's own code it says what is wrong with
// files of rules, and it knows the line that the Cassandra beside it runs with.
func TestAgentsFiles(t *testing.T) {
	engines.Needed(t, "the agent, and Cassandra's jars")
	noProcesses(t)
	dir, agent := t.TempDir(), "../agent/target/ringwatch-agent.jar"
	if err := engines.LayOutCassandra(t.Context(), dir, nil); err != nil {
		t.Fatal(err)
	}
	jar, err := os.ReadFile(agent)
	if err != nil {
		t.Fatalf("the agent is not built: run `make build` first (%v)", err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{
		"agent.jar": string(jar),
		"good.yaml": "rules: [{pattern: \"a(b)\"}]\n",
		"odd.yaml":  "rules: [{pattern: a, colour: red}]\n",
		"bad.yaml":  "rules: [{pattern: a}, {pattern: \"a(b\"}]\n",
		"own.yaml":  "maxScrapFrequencyInSec: {1: [\"a(b\"]}\n",
		"agent.yaml": fmt.Sprintf("ingest: \n  urls: [\"http://127.0.0.1:1\"]\n  key_file: %s\n"+
			"listen: 127.0.0.1:0\nprofiles: [ringwatch, {jmx_exporter: %s}, {jmx_exporter: %s}, "+
			"{jmx_exporter: %s}, {criteo_exporter: %s}]\n", at("agent.key"), at("good.yaml"),
			at("odd.yaml"), at("bad.yaml"), at("own.yaml")),
		"data/data/x":                    "",
		"lib/apache-cassandra-5.0.9.jar": "", // those of Maven have another name
	} {
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	shows(t, 4001, dir, "-Dcassandra.storagedir=.", "-javaagent:agent.jar=agent.yaml")
	r, err := Examine(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	want(t, r.Results, "config", OK, at("agent.yaml")+" is understood")
	want(t, r.Results, "rules", OK, "the rules of jmx_exporter, jmx_exporter_2 can be used")
	want(t, r.Results, "rules", Warn, "jmx_exporter_2: rule 1: unknown key \"colour\"")
	want(t, r.Results, "rules", Fail,
		"jmx_exporter_3: rule 2: its pattern is no regular expression")
	want(t, r.Results, "rules", Fail, "criteo_exporter: maxScrapFrequencyInSec: \"a(b\"")
	want(t, r.Results, "files", Fail, at("agent.key")+" is not there")
	for _, c := range r.Results {
		if c.Name == "files" && !strings.Contains(c.Remedy, "needs no restart") {
			t.Errorf("a key file that comes later is read: %+v", c)
		}
	}
	line := "-javaagent:" + at("agent.jar") + "=" + at("agent.yaml")
	if r.Line != line || !r.Present || r.Process != 4001 ||
		r.File != "the options of process 4001" {
		t.Errorf("%+v", r)
	}
	// without Cassandra's jars
	if err := os.RemoveAll(at("lib")); err != nil {
		t.Fatal(err)
	}
	if r, err = Examine(t.Context(), Options{}); err != nil {
		t.Fatal(err)
	}
	want(t, r.Results, "rules", Warn, "the rules of jmx_exporter, jmx_exporter_2, jmx_exporter_3, "+
		"criteo_exporter were not read")
}
