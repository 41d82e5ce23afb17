package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/examine"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/doctor"
)

// stock is a node as Cassandra's Debian package lays it out, below a directory.
type stock struct {
	examine.DoctorCmd
	root    string
	options string // jvm-server.options
	ingest  string
	write   string // keys
	read    string
}

// mustStock lays out a node with an agent.yaml for a real ingest before a real Kafka.
func mustStock(t *testing.T) *stock {
	t.Helper()
	s := &stock{root: t.TempDir(), write: account.NewKey(), read: account.NewKey()}
	broker := engines.SharedKafka(t)
	port := engines.FreePorts(t, 1)[0]
	s.ingest = fmt.Sprintf("http://127.0.0.1:%d", port)
	config := s.file(t, "ringwatch.yaml", fmt.Sprintf(`accounts:
  - {name: default, clusters: ["*"], keys: [{name: w, sha256: %s, scopes: [write]}, {name: r, sha256: %s, scopes: [read]}]}
keys: {stored: false}
kafka: {brokers: [%q], topic: doctor-%d}
ingest: {listen: "127.0.0.1:%d"}
`, account.Hash(s.write), account.Hash(s.read), broker.Addr(), port, port), 0o600)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := engines.StartProcess(engines.ProcessConfig{Name: "ingest", Path: self,
		Args: []string{"ingest", "--config", config}, Env: []string{asRingwatch},
		Log: filepath.Join(s.root, "ingest.log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Kill() })
	eventually(t, "ingest", func(context.Context) error {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			conn.Close()
		}
		return err
	})

	jar, err := os.ReadFile("../../agent/target/ringwatch-agent.jar")
	if err != nil {
		t.Fatalf("the agent is not built: run `make build` first (%v)", err)
	}
	s.Jar = s.file(t, "usr/share/ringwatch/ringwatch-agent.jar", string(jar), 0o644)
	s.AgentConfig = s.agent(t, "")
	s.CassandraHome = filepath.Join(s.root, "usr/share/cassandra")
	s.CassandraConf = filepath.Join(s.root, "etc/cassandra")
	s.file(t, "usr/share/cassandra/apache-cassandra-5.0.9.jar", "", 0o644)
	s.file(t, "etc/cassandra/cassandra.yaml", "cluster_name: stock\ndata_file_directories:\n    - "+
		s.root+"/var/lib/cassandra/data\n", 0o644)
	s.options = s.file(t, "etc/cassandra/jvm-server.options",
		"# options\n-ea\n#-javaagent:/old/ringwatch-agent.jar=/x\n", 0o644)
	for i := range 20 {
		s.file(t, fmt.Sprintf("var/lib/cassandra/data/ks%d/t%d-%032x/nb-1-big-Data.db", i%3, i, i),
			"", 0o644)
	}
	// Dropped and created again, and a file beside: one table more.
	s.file(t, fmt.Sprintf("var/lib/cassandra/data/ks0/t0-%032x/nb-1-big-Data.db", 99), "", 0o644)
	s.file(t, "var/lib/cassandra/data/ks0/notes.txt", "", 0o644)
	return s
}

func (s *stock) file(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(s.root, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), mode)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// agent writes agent.yaml, with a key file.
func (s *stock) agent(t *testing.T, more string) string {
	t.Helper()
	key := s.file(t, "etc/ringwatch/key", s.write+"\n", 0o600)
	return s.file(t, "etc/ringwatch/agent.yaml",
		fmt.Sprintf("ingest:\n  urls: [%q]\n  key_file: %s\n%s", s.ingest, key, more), 0o644)
}

// examine runs the command with --json.
func (s *stock) examine(t *testing.T) (doctor.Report, error) {
	t.Helper()
	var out bytes.Buffer
	s.JSON = true
	err := s.RunTo(t.Context(), &out)
	var r doctor.Report
	if jsonErr := json.Unmarshal(out.Bytes(), &r); jsonErr != nil {
		t.Fatalf("%v in %s", jsonErr, out.Bytes())
	}
	if strings.Contains(out.String(), s.write) {
		t.Error("the key is printed")
	}
	if r.OK != (err == nil) || err != nil && !errors.Is(err, examine.ErrUnwell) {
		t.Errorf("the report says ok=%t and the command returns %v", r.OK, err)
	}
	return r, err
}

// find returns whether a check came out so.
func find(r doctor.Report, name string, status doctor.Status, says string) bool {
	for _, c := range r.Results {
		if c.Name == name && c.Status == status && strings.Contains(c.Message+" → "+c.Remedy,
			says) && (status == doctor.OK) == (c.Remedy == "") {
			return true
		}
	}
	return false
}

// TestDoctor follows what a person does: looks, adds the line that is printed, looks again; then
// what goes wrong, one thing at a time.
func TestDoctor(t *testing.T) {
	s := mustStock(t)
	r, err := s.examine(t)
	if err != nil {
		t.Fatalf("a good node is unwell: %+v", r.Results)
	}
	for _, c := range r.Results {
		if c.Status != doctor.OK {
			t.Errorf("%+v", c)
		}
	}
	for name, says := range map[string]string{"cassandra": "Cassandra is 5.0.9",
		"config": "is understood by agent", "ingest": "accepts this key", "clock": "agree",
		"files":  "may read",
		"series": "about 3260 series and 0.5 MB an hour when idle, at most about 3.1 MB",
		"port":   "not configured", "spool": "wait in memory", "java": "is Java"} {
		if !find(r, name, doctor.OK, says) {
			t.Errorf("no %s with %q in %+v", name, says, r.Results)
		}
	}
	if r.Present || r.File != s.options || r.Line != "-javaagent:"+s.Jar+"="+s.AgentConfig ||
		!strings.Contains(r.Remove, s.options) {
		t.Errorf("%+v", r)
	}

	var text bytes.Buffer
	s.JSON = false
	if err := s.RunTo(t.Context(), &text); err != nil {
		t.Error(err)
	}
	if !strings.Contains(text.String(),
		"\nAdd this line to "+s.options+" and restart Cassandra:\n\n  "+r.Line+
			"\n\nTo remove the agent again: remove the line from "+s.options) {
		t.Errorf("%s", &text)
	}
	s.file(t, "etc/cassandra/jvm-server.options", "-ea\n"+r.Line+"\n", 0o644)
	if r, err := s.examine(t); err != nil || !r.Present ||
		!find(r, "line", doctor.OK, "has the line") {
		t.Errorf("%v %+v", err, r)
	}

	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	closed := engines.FreePorts(t, 1)[0]
	good := *s
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T)
		check   string
		status  doctor.Status
		says    string
	}{
		{"UnknownKey", func(t *testing.T) {
			s.file(t, "etc/ringwatch/key", account.NewKey(), 0o600)
		}, "key", doctor.Fail, "unknown API key"},
		{"ReadKey", func(t *testing.T) { s.file(t, "etc/ringwatch/key", s.read, 0o600) }, "key",
			doctor.Fail, "key r may not write"},
		{"NoIngest", func(t *testing.T) {
			s.file(t, "etc/ringwatch/agent.yaml",
				fmt.Sprintf("ingest:\n  urls: [\"http://127.0.0.1:%d\"]\n  key: x\n", closed),
				0o600)
		}, "ingest", doctor.Fail, "does not answer"},
		{"OpenSecret", func(t *testing.T) {
			s.file(t, "etc/ringwatch/agent.yaml", fmt.Sprintf("ingest:\n  urls: [%q]\n  key: %s\n",
				s.ingest, s.write), 0o644)
		}, "files", doctor.Warn, "holds a secret and everyone may read it → chmod o-r"},
		{"BadConfig", func(t *testing.T) { s.agent(t, "colour: red\n") }, "config", doctor.Fail,
			`unknown key "colour"`},
		{"Paused", func(t *testing.T) { s.agent(t, "paused: true\n") }, "paused", doctor.Warn,
			"ingest hears only that it is paused"},
		{"NoEnvironment", func(t *testing.T) { s.agent(t, "cluster: ${RINGWATCH_TEST_NOT_SET}\n") },
			"config", doctor.Fail, "with the environment that Cassandra will have"},
		{"NoConfig", func(t *testing.T) { s.AgentConfig = filepath.Join(s.root, "none.yaml") },
			"config", doctor.Fail, "there is no such file"},
		{"BusyPort", func(t *testing.T) { s.agent(t, "listen: "+busy.Addr().String()+"\n") },
			"port", doctor.Fail, "stop the program that uses it"},
		{"OpenPort", func(t *testing.T) { s.agent(t, fmt.Sprintf("listen: 0.0.0.0:%d\n", closed)) },
			"port", doctor.Warn, "has no password"},
		{"LossyOrder", func(t *testing.T) {
			s.agent(t,
				fmt.Sprintf("listen: 127.0.0.1:%d\nprofiles: [ringwatch, jmx_exporter, "+
					"instaclustr_exporter]\n", closed))
		}, "profiles", doctor.Warn, "cassandra_cache_entries"},
		{"WholeOrder", func(t *testing.T) {
			s.agent(t, fmt.Sprintf("listen: 127.0.0.1:%d\nprofiles: [ringwatch, criteo_exporter]\n",
				closed))
		}, "profiles", doctor.OK, "no profile loses a name"},
		{"OwnRules", func(t *testing.T) {
			rules := s.file(t, "etc/ringwatch/rules.yaml", "rules: []\n", 0o644)
			s.agent(t,
				fmt.Sprintf("listen: 127.0.0.1:%d\nprofiles: [ringwatch, {jmx_exporter: %s}]\n",
					closed, rules))
		}, "profiles", doctor.Warn, "what jmx_exporter shows is not known before the agent runs"},
		{"NoJar", func(t *testing.T) { s.Jar = filepath.Join(s.root, "none.jar") }, "jar",
			doctor.Fail, "Cassandra does not start"},
		{"OtherJar", func(t *testing.T) { s.Jar = s.file(t, "other.jar", "PK", 0o644) }, "jar",
			doctor.Fail, "copy it here again"},
		{"NoJava", func(t *testing.T) { s.JavaHome = s.root }, "java", doctor.Fail, "--java-home"},
		{"OldJava", func(t *testing.T) {
			// the words of one
			s.file(t, "java8/bin/java", "#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\n",
				0o755)
			s.JavaHome = filepath.Join(s.root, "java8")
		}, "java", doctor.Fail, "run Cassandra on Java 11"},
		{"OldCassandra", func(t *testing.T) {
			s.CassandraHome = filepath.Dir(
				filepath.Dir(s.file(t, "old/lib/apache-cassandra-3.11.19.jar", "", 0o644)))
		}, "cassandra", doctor.Fail, "the agent stays off"},
		{"NoCassandra", func(t *testing.T) { s.CassandraHome = filepath.Join(s.root, "none") },
			"cassandra", doctor.Warn, "--cassandra-home"},
		{"Twice", func(t *testing.T) {
			s.file(t, "etc/cassandra/jvm-server.options", r.Line+"\n"+r.Line+"\n", 0o644)
		}, "line", doctor.Warn, "name the agent 2 times"},
		{"OtherLine", func(t *testing.T) {
			s.file(t, "etc/cassandra/cassandra-env.sh",
				"JVM_OPTS=\"$JVM_OPTS -javaagent:/old/ringwatch-agent.jar=/x\"\n", 0o644)
		}, "line", doctor.Warn, "replace it by the one below"},
	} {
		t.Run(c.name, func(t *testing.T) {
			*s = good
			s.agent(t, "")
			s.file(t, "etc/cassandra/jvm-server.options", "-ea\n", 0o644)
			c.prepare(t)
			if r, _ := s.examine(t); !find(r, c.check, c.status, c.says) {
				t.Errorf("no %s %s with %q in %+v", c.check, c.status, c.says, r.Results)
			}
		})
	}
}

// TestDoctorAsksWhich: of several Cassandras that run it asks which, and --pid says it.
func TestDoctorAsksWhich(t *testing.T) {
	const main = "org.apache.cassandra.service.CassandraDaemon"
	var pids []int
	for _, name := range []string{"one", "two"} {
		// a shell that is called as a Cassandra with an agent is
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "read line", "java",
			"-javaagent:/opt/ringwatch-agent.jar=/none/"+name+".yaml", main)
		if _, err := cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
		pids = append(pids, cmd.Process.Pid)
	}
	err := (&examine.DoctorCmd{}).RunTo(t.Context(), io.Discard)
	if !errors.As(err, new(exit.UsageError)) || !strings.Contains(err.Error(), " with --pid") ||
		!strings.Contains(err.Error(), fmt.Sprintf("%d (/none/one.yaml)", pids[0])) ||
		!strings.Contains(err.Error(), fmt.Sprintf("%d (/none/two.yaml)", pids[1])) {
		t.Errorf("it does not ask: %v", err)
	}
	var out bytes.Buffer
	if err := (&examine.DoctorCmd{PID: pids[1]}).RunTo(t.Context(), &out); !errors.Is(err,
		examine.ErrUnwell) ||
		!strings.Contains(out.String(), "/none/two.yaml") {
		t.Errorf("the second one's configuration is not looked at: %v\n%s", err, &out)
	}
}

// TestDoctorSeesOtherUsers needs root to give the data away, as Cassandra's packages do.
func TestDoctorSeesOtherUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("not root, so Cassandra's user is this one; nothing to tell apart")
		return
	}
	s := mustStock(t)
	if err := os.Chown(filepath.Join(s.root, "var/lib/cassandra/data"), 65534, 65534); err != nil {
		t.Fatal(err)
	}
	for dir := s.root; dir != filepath.Dir(dir) && dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	r, err := s.examine(t)
	if err == nil ||
		!find(r, "files", doctor.Fail, "may not read "+filepath.Join(s.root, "etc/ringwatch/key")) {
		t.Errorf("%v %+v", err, r.Results)
	}
	if err := os.Chown(filepath.Join(s.root, "etc/ringwatch/key"), 65534, 0); err != nil {
		t.Fatal(err)
	}
	if r, err := s.examine(t); err != nil ||
		!find(r, "files", doctor.OK, "may read what the agent needs") {
		t.Errorf("%v %+v", err, r.Results)
	}
}

// TestDoctorFollowed does literally what doctor says, on a Cassandra: adds its line to the JVM's
// options and starts.
func TestDoctorFollowed(t *testing.T) {
	s := mustStock(t)
	port := engines.FreePorts(t, 1)[0]
	s.agent(t, fmt.Sprintf("interval: 1s\nlisten: 127.0.0.1:%d\n", port))
	r, err := s.examine(t)
	if err != nil {
		t.Fatalf("%+v", r.Results)
	}
	engines.MustCassandra(t, func(c *engines.CassandraConfig) {
		c.JVMArgs = []string{r.Line}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	err = line.Until(ctx, "an agent that sends", func(ctx context.Context) error {
		// The port is the agent's own now, which is as it should be.
		r, err := s.examine(t)
		if err == nil && !find(r, "port", doctor.OK, "in use by an agent that runs now") {
			err = fmt.Errorf("%+v", r.Results)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
