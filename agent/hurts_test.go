// Package agent_test starts real Cassandras with the agent in them.
package agent_test

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
)

// twoAtOnce bounds the Cassandras of this file that run at the same time.
var twoAtOnce = make(chan struct{}, 2)

// hurt is one way to go wrong.
type hurt struct {
	name string
	// yaml is the agent's configuration; $DIR is a directory of the test's own.
	yaml string
	// jvm are more JVM arguments, $DIR replaced.
	jvm []string
	// says is what the agent's only line on stderr holds: what is wrong, and the remedy.
	says []string
	// listens is the port of /metrics where the agent can still say its state.
	listens int
	// unknown: this version's internals are left alone, so no virtual table.
	unknown bool
	// again: another error like BadYAML. ConfigTest has them all, and make test-full starts a
	// Cassandra for each.
	again   bool
	prepare func(t *testing.T, dir string)
}

// TestNeverHurts starts Cassandra with an agent that cannot work: each time it comes up and
// serves CQL, and the agent says why it stays off, once on stderr, once in Cassandra's log, in
// its virtual table, and in /metrics where it listens.
func TestNeverHurts(t *testing.T) {
	t.Parallel()
	busy := mustListen(t)
	port := engines.FreePorts(t, 1)[0]
	const ingest = "ingest:\n  urls: [http://127.0.0.1:9]\n  key: rw_x\n"
	for _, h := range []hurt{
		{name: "BadYAML", yaml: "ingest:\n\turls: {\n",
			says: []string{"agent.yaml: line 2: indent with blanks", "correct it"}},
		{name: "UnknownKey", again: true, yaml: ingest + "colour: red\n",
			says: []string{`unknown key "colour": there are ingest,`, "correct it"}},
		{name: "MissingConfig", says: []string{"agent.yaml: cannot be read: there is no such file",
			"correct it"}},
		{name: "NoKey", again: true, yaml: "ingest:\n  urls: [http://127.0.0.1:9]\n",
			says: []string{"set ingest.key or ingest.key_file", "ringwatch key create"}},
		{name: "MissingKeyFile", again: true,
			yaml: "ingest:\n  urls: [http://127.0.0.1:9]\n  key_file: $DIR/none\n",
			says: []string{"key_file $DIR/none cannot be read", "create it"}},
		{name: "BusyPort", yaml: "listen: " + busy + "\n",
			says: []string{"cannot listen on " + busy, "or set another listen in $DIR/agent.yaml"}},
		{
			// Cassandra reads its version from a resource of its jar. The boot class path comes
			// first, so this real Cassandra 5.0.9 believes and tells everyone that it is 7.0.9;
			// nothing in the agent is told to pretend.
			name: "UnsupportedVersion", yaml: fmt.Sprintf("listen: 127.0.0.1:%d\n", port),
			listens: port, unknown: true, jvm: []string{"-Xbootclasspath/a:$DIR/boot"},
			says: []string{"Cassandra 7.0.9 is not supported, only 4.0 to 6.x",
				"use an agent that knows it"},
			prepare: func(t *testing.T, dir string) {
				mustWrite(t,
					filepath.Join(dir, "boot/org/apache/cassandra/config/version.properties"),
					"CassandraVersion=7.0.9\n")
			},
		},
	} {
		if h.again && os.Getenv("RINGWATCH_TEST_FULL") == "" {
			continue
		}
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			twoAtOnce <- struct{}{}
			defer func() { <-twoAtOnce }()
			h.run(t)
		})
	}
}

func (h *hurt) run(t *testing.T) {
	dir := t.TempDir()
	in := func(text string) string { return strings.ReplaceAll(text, "$DIR", dir) }
	if h.yaml != "" {
		mustWrite(t, filepath.Join(dir, "agent.yaml"), in(h.yaml))
	}
	if h.prepare != nil {
		h.prepare(t, dir)
	}
	args := []string{"-javaagent:" + mustJar(t) + "=" + filepath.Join(dir, "agent.yaml")}
	for _, arg := range h.jvm {
		args = append(args, in(arg))
	}
	node := mustBareNode(t, args...)
	mustServeCQL(t, node)
	if !h.unknown {
		mustSayInTable(t, node, h.says[0], dir)
	}
	if h.listens != 0 {
		m := mustMetric(t, h.listens, "the state", `ringwatch_agent_state_info{value="off"}`)
		if !strings.Contains(m, "ringwatch_agent_trouble_info{value=\""+h.says[0]) {
			t.Errorf("/metrics does not say why:\n%s", m)
		}
	}
	logged := regexp.MustCompile(`(?m)^WARN .* ringwatch-agent: off: .*$`)
	eventually.Nil(t, "a line in Cassandra's log", func() error {
		if !logged.MatchString(mustRead(t, node.LogFile())) {
			return fmt.Errorf("none in %s", node.LogFile())
		}
		return nil
	})
	said := stderrLines(t, node)
	if len(said) != 1 || !strings.HasPrefix(said[0], "ringwatch-agent: off: ") {
		t.Fatalf("the agent said %q, want one line that it is off", said)
	}
	for _, part := range h.says {
		if !strings.Contains(said[0], in(part)) {
			t.Errorf("the agent said %q, want %q in it", said[0], in(part))
		}
	}
	if !strings.Contains(logged.FindString(mustRead(t, node.LogFile())),
		strings.TrimPrefix(said[0], "ringwatch-agent: off: ")) {
		t.Error("Cassandra's log says something else than stderr")
	}
}

// TestOneMetricThrows puts the agent into the options twice, occupies its port, and registers
// metrics that throw: each is lost alone.
func TestOneMetricThrows(t *testing.T) {
	t.Parallel()
	twoAtOnce <- struct{}{}
	defer func() { <-twoAtOnce }()
	dir := t.TempDir()
	port := engines.FreePorts(t, 1)[0]
	config := filepath.Join(dir, "agent.yaml")
	mustWrite(t, config, fmt.Sprintf("listen: 127.0.0.1:%d\ninterval: 1s\n", port))
	second := filepath.Join(dir, "copy.jar")
	mustWrite(t, second, mustRead(t, mustJar(t)))
	node := mustBareNode(t, "-javaagent:"+mustJar(t)+"="+config, "-javaagent:"+second+"="+config,
		"-javaagent:"+mustAgent(t, "target/test-classes", "dev.ringwatch.agent.ThrowingMetrics"))
	mustServeCQL(t, node)

	mustMetric(t, port, "the gauge that recovers",
		`cassandra_table_live_sstables{keyspace="recovers",table="t"} 42`)
	text := mustMetric(t, port, "what stands beside",
		`cassandra_table_pending_flushes{keyspace="throws",table="t"} 7`)
	for _, lost := range []string{"cassandra_table_live_sstables",
		"cassandra_table_flushed_bytes_total", "cassandra_table_read_latency_seconds_count"} {
		if strings.Contains(text, lost+`{keyspace="throws"`) {
			t.Errorf("%s of a source that throws is there", lost)
		}
		if !strings.Contains(text, lost+`{keyspace="system",table="local"}`) {
			t.Errorf("%s is missing of another table", lost)
		}
	}
	for _, there := range []string{
		`cassandra_table_flushed_bytes_total{keyspace="recovers",table="t"} 9`,
		"jvm_heap_used_bytes ", "os_load1 ",
	} {
		if !strings.Contains(text, there) {
			t.Errorf("%s is missing", there)
		}
	}
	errors, passes := value(t, text, "ringwatch_agent_read_errors_total"), value(t, text,
		"ringwatch_agent_passes_total")
	eventually.Nil(t, "more passes with more errors", func() error {
		text := scrape(port)
		if value(t, text, "ringwatch_agent_passes_total") > passes+1 &&
			value(t, text, "ringwatch_agent_read_errors_total") > errors {
			return nil
		}
		return fmt.Errorf("%g errors, then %g", errors,
			value(t, text, "ringwatch_agent_read_errors_total"))
	})
	if said := stderrLines(t, node); len(said) != 2 ||
		!strings.Contains(said[0], "twice, and the second one is ignored: remove one") ||
		!strings.Contains(said[1], "version ") {
		t.Errorf("the agent said %q, want that it is there twice, and its greeting", said)
	}
	if n := agentThreads(t, node); n != 3 {
		t.Errorf("%d threads of the agent's, want one that samples, one that serves and one for "+
			"what is read rarely", n)
	}
}

// TestTools runs Cassandra's own tools with the agent in the flags they inherit: not a word, no
// thread, one class loaded.
func TestTools(t *testing.T) {
	t.Parallel()
	twoAtOnce <- struct{}{}
	defer func() { <-twoAtOnce }()
	node := mustBareNode(t)
	classPath := mustClassPath(t, node)
	for _, tool := range [][]string{
		{"NodeTool", "-p", strconv.Itoa(node.JMXPort), "info"},
		{"NodeTool", "-p", strconv.Itoa(node.JMXPort), "flush", "system_schema"},
		{"SSTableMetadataViewer", "$SSTABLE"},
		{"StandaloneSSTableUtil", "system_schema", "tables"},
	} {
		classes := filepath.Join(t.TempDir(), "classes.log")
		if tool[1] == "$SSTABLE" {
			files, err := filepath.Glob(filepath.Join(node.Dir,
				"data/system_schema/tables-*/*-Data.db"))
			if err != nil || len(files) == 0 {
				t.Fatalf("nothing was flushed: %v, %v", files, err)
			}
			tool[1] = files[0]
		}
		args := []string{"-XX:TieredStopAtLevel=1", "-Dcassandra.storagedir=" + node.Dir}
		for property, file := range map[string]string{"cassandra.config": "cassandra.yaml",
			"cassandra-rackdc.properties": "cassandra-rackdc.properties",
			"logback.configurationFile":   "logback.xml"} {
			args = append(args, "-D"+property+"=file:"+filepath.Join(node.Dir, file))
		}
		for open := range strings.FieldsSeq("java.base/java.lang java.base/java.io " +
			"java.base/sun.nio.ch java.base/jdk.internal.ref java.base/jdk.internal.misc " +
			"java.base/java.util java.base/java.nio") {
			args = append(args, "--add-opens="+open+"=ALL-UNNAMED")
		}
		java, err := engines.JavaHome(t.Context(), engines.CassandraVersion, nil)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), filepath.Join(java, "bin", "java"),
			append(append(args, "-cp", classPath, "org.apache.cassandra.tools."+tool[0]),
				tool[1:]...)...)
		cmd.Env = append(os.Environ(), "JAVA_TOOL_OPTIONS=-javaagent:"+mustJar(t)+
			"=/does/not/exist -Xlog:class+load:file="+classes)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", tool, err, out)
		}
		for line := range strings.Lines(string(out)) {
			// The JVM itself repeats JAVA_TOOL_OPTIONS.
			if strings.Contains(line, "ringwatch-agent") &&
				!strings.HasPrefix(line, "Picked up JAVA_TOOL_OPTIONS") {
				t.Errorf("%v said %q", tool, line)
			}
		}
		if loaded := regexp.MustCompile(`dev\.ringwatch\.\S+`).FindAllString(mustRead(t, classes),
			-1); len(loaded) != 1 {
			t.Errorf("%v loaded %v, want the one class that sees it is not meant", tool, loaded)
		}
	}
	if said := stderrLines(t, node); len(said) != 0 {
		t.Errorf("a Cassandra without the agent said %q", said)
	}
}

// TestOldJava checks what a JVM of Java 8 would do with the jar: a class it cannot load, or an
// exception, in -javaagent ends it before Cassandra has begun. There is no Java 8 to start here,
// so this looks at the class file's version, and starts a JVM whose properties another agent,
// before ours, has set to what Java 8 says.
func TestOldJava(t *testing.T) {
	jar, err := zip.OpenReader(mustJar(t))
	if err != nil {
		t.Fatal(err)
	}
	defer jar.Close()
	manifest, err := fs.ReadFile(jar, "META-INF/MANIFEST.MF")
	if err != nil ||
		!strings.Contains(string(manifest), "Premain-Class: dev.ringwatch.agent.Premain\r\n") {
		t.Fatalf("%s %v", manifest, err)
	}
	class, err := fs.ReadFile(jar, "dev/ringwatch/agent/Premain.class")
	if err != nil || len(class) < 8 || class[7] != 52 {
		t.Fatalf("Premain is of class file version %v, want 52, Java 8's (%v)", class[7:8], err)
	}
	dir := t.TempDir()
	mustWrite(t, filepath.Join(dir, "org/apache/cassandra/service/CassandraDaemon.java"),
		`package org.apache.cassandra.service;
public class CassandraDaemon {
	public static void premain(String arguments) { System.setProperty("java.specification.version", "1.8"); }
	public static void main(String[] arguments) { System.out.println("up"); }
}`)
	if out, err := exec.CommandContext(t.Context(), "javac", "-d", dir,
		filepath.Join(dir, "org/apache/cassandra/service/CassandraDaemon.java")).
		CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	old := mustAgent(t, dir, "org.apache.cassandra.service.CassandraDaemon")
	out, err := exec.CommandContext(t.Context(), "java", "-javaagent:"+old,
		"-javaagent:"+mustJar(t)+"=/x", "-cp", dir, "org.apache.cassandra.service.CassandraDaemon").
		CombinedOutput()
	if want := "ringwatch-agent: off: this is Java 1.8 and the agent needs 11: run this " +
		"software on Java 11 or later\nup\n"; err != nil || string(out) != want {
		t.Errorf("%v, %q, want %q", err, out, want)
	}
}

// mustAgent packs a class of a directory, with what is nested in it, as an agent.
func mustAgent(t *testing.T, classes, class string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "agent.jar")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	jar := zip.NewWriter(f)
	add := func(name, content string) {
		w, err := jar.Create(name)
		if err == nil {
			_, err = io.WriteString(w, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	add("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\r\nPremain-Class: "+class+"\r\n")
	files, err := filepath.Glob(filepath.Join(classes,
		strings.ReplaceAll(class, ".", "/")+"*.class"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s in %s: run make build first (%v)", class, classes, err)
	}
	for _, file := range files {
		name, err := filepath.Rel(classes, file)
		if err != nil {
			t.Fatal(err)
		}
		add(name, mustRead(t, file))
	}
	if err := jar.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// mustJar returns the agent's jar.
func mustJar(t *testing.T) string {
	t.Helper()
	jar, err := filepath.Abs("target/ringwatch-agent.jar")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(jar); err != nil {
		t.Fatalf("the agent is not built: run make build first (%v)", err)
	}
	return jar
}

// mustBareNode starts a Cassandra that spends as little as it can on its own start.
func mustBareNode(t *testing.T, args ...string) *engines.Cassandra {
	t.Helper()
	return engines.MustCassandra(t, func(c *engines.CassandraConfig) {
		c.JVMArgs = append([]string{"-Dcassandra.superuser_setup_delay_ms=0"}, args...)
	})
}

// mustClassPath returns the class path that a running node was started with.
func mustClassPath(t *testing.T, node *engines.Cassandra) string {
	t.Helper()
	args := strings.Split(mustRead(t, fmt.Sprintf("/proc/%d/cmdline", node.Pid())), "\x00")
	for i, arg := range args {
		if arg == "-cp" {
			return args[i+1]
		}
	}
	t.Fatal("no -cp")
	return ""
}

func mustServeCQL(t *testing.T, node *engines.Cassandra) {
	t.Helper()
	session := mustSession(t, node)
	var key string
	if err := session.Query("SELECT key FROM system.local").ScanContext(t.Context(),
		&key); err != nil || key != "local" {
		t.Fatalf("%q, %v", key, err)
	}
}

// mustSayInTable waits until the agent's virtual table says that it is off and why.
func mustSayInTable(t *testing.T, node *engines.Cassandra, why, dir string) {
	t.Helper()
	session := mustSession(t, node)
	why = strings.ReplaceAll(why, "$DIR", dir)
	eventually.Nil(t, "the virtual table", func() error {
		rows := map[string]string{}
		var name, value string
		iter := session.Query("SELECT name, value FROM system_ringwatch.agent").IterContext(
			t.Context())
		for iter.Scan(&name, &value) {
			rows[name] = value
		}
		if err := iter.Close(); err != nil {
			return err
		}
		if rows["ringwatch_agent_state_info"] != "off" ||
			!strings.Contains(rows["ringwatch_agent_trouble_info"], why) {
			return fmt.Errorf("it says %q", rows)
		}
		return nil
	})
}

func mustSession(t *testing.T, node *engines.Cassandra) *gocql.Session {
	t.Helper()
	host, port, _ := net.SplitHostPort(node.Addr())
	cluster := gocql.NewCluster(host)
	cluster.Port, _ = strconv.Atoi(port)
	cluster.DisableInitialHostLookup, cluster.NumConns, cluster.Timeout,
		cluster.ConnectTimeout = true, 1, time.Minute, time.Minute
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	return session
}

// stderrLines returns what the agent said on stderr. Cassandra's own log is in the same file, but
// its lines begin with a level.
func stderrLines(t *testing.T, node *engines.Cassandra) []string {
	t.Helper()
	var said []string
	for line := range strings.Lines(mustRead(t, node.LogFile())) {
		if strings.HasPrefix(line, "ringwatch-agent:") {
			said = append(said, strings.TrimSuffix(line, "\n"))
		}
	}
	return said
}

// agentThreads counts the agent's threads by name, of which the kernel keeps 15 bytes.
func agentThreads(t *testing.T, node *engines.Cassandra) int {
	t.Helper()
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", node.Pid()))
	if err != nil || len(names) == 0 {
		t.Fatalf("%v, %v", names, err)
	}
	count := 0
	for _, name := range names {
		comm, err := os.ReadFile(name)
		// else it has just ended
		if err == nil && strings.HasPrefix(string(comm), "ringwatch-agent") {
			count++
		}
	}
	return count
}

// scrape returns /metrics, or what went wrong.
func scrape(port int) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		fmt.Sprintf("http://127.0.0.1:%d/metrics", port), nil)
	if err != nil {
		return err.Error()
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

// mustMetric waits until /metrics holds want and returns all of it.
func mustMetric(t *testing.T, port int, what, want string) (text string) {
	t.Helper()
	eventually.Nil(t, what, func() error {
		if text = scrape(port); !strings.Contains(text, want) {
			return fmt.Errorf("no %s in %d bytes: %.300s", want, len(text), text)
		}
		return nil
	})
	return text
}

// value returns the value of a metric without labels, 0 when it is not there.
func value(t *testing.T, text, name string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)`).FindStringSubmatch(text)
	if found == nil {
		return 0
	}
	v, err := strconv.ParseFloat(found[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// mustListen occupies a port until the test ends.
func mustListen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

func mustRead(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func mustWrite(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
