package doctor

import (
	"archive/zip"
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// agentConfig is what the agent understands of agent.yaml.
type agentConfig struct {
	version               string
	urls                  []string
	key, keyFile          string
	caFile, certFile      string
	certKeyFile           string
	listen                string
	spool                 string
	interval              time.Duration
	paused                bool
	queueBytes, spoolSize int64
	profiles              []string // in order
	files                 []string // those of them that are files of rules

	rulesRead    []string // profiles whose rules are right
	rulesUnread  []string // those whose rules could not be read for want of SnakeYAML
	rulesWrong   []string // what is wrong with others', which stay empty
	rulesIgnored []string // what of rules is ignored
}

var javaVersion = regexp.MustCompile(`version "(?:1\.)?(\d+)[^"]*"`)

func (n *node) checkJava(ctx context.Context) {
	home := n.JavaHome
	if home == "" {
		home = os.Getenv("JAVA_HOME")
	}
	n.java = filepath.Join(home, "bin", "java")
	if home == "" || !exists(n.java) {
		found, err := exec.LookPath("java")
		if err != nil || n.JavaHome != "" {
			n.java = ""
			n.add("java", Fail, "name the Java that runs Cassandra with --java-home",
				"no Java was found")
			return
		}
		n.java = found
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, n.java, "-version").CombinedOutput()
	found := javaVersion.FindSubmatch(out)
	if err != nil || found == nil {
		n.add("java", Fail, "name the Java that runs Cassandra with --java-home",
			"%s does not tell its version (%v)", n.java, err)
		n.java = ""
		return
	}
	major, _ := strconv.Atoi(string(found[1]))
	switch {
	case major < 11:
		n.add("java", Fail, "run Cassandra on Java 11 or later; on this one the agent stays off",
			"%s is Java %d", n.java, major)
	case strings.HasPrefix(n.version, "4.") && major > 11:
		n.add("java", Warn, "if Cassandra runs on another Java than this one, name it with "+
			"--java-home", "%s is Java %d and Cassandra %s runs on 11", n.java, major, n.version)
	default:
		n.add("java", OK, "", "%s is Java %d", n.java, major)
	}
}

func (n *node) checkJar() {
	if n.Jar == "" {
		const name = "ringwatch-agent.jar"
		dirs := []string{filepath.Dir(n.AgentConfig), "/usr/share/ringwatch", "/opt/ringwatch"}
		if self, err := os.Executable(); err == nil {
			dirs = append(dirs, filepath.Dir(self),
				filepath.Join(filepath.Dir(self), "../share/ringwatch"),
				filepath.Join(filepath.Dir(self), "../agent/target"))
		}
		if dir := firstDir(name, dirs...); dir != "" {
			n.Jar = filepath.Join(dir, name)
		}
	}
	if n.Jar == "" {
		n.add("jar", Fail, "name ringwatch-agent.jar with --jar", "the agent's jar was not found")
		return
	}
	jar, err := filepath.Abs(n.Jar)
	if err == nil {
		n.Jar = jar
		err = isAgent(jar)
	}
	if err != nil {
		n.add("jar", Fail, "copy it here again: Cassandra does not start with a broken jar in "+
			"its options", "%v", err)
		n.Jar = ""
		return
	}
	n.add("jar", OK, "", "%s is an agent", n.Jar)
}

func isAgent(path string) error {
	jar, err := zip.OpenReader(path)
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w", path, err)
	}
	defer jar.Close()
	manifest, err := fs.ReadFile(jar, "META-INF/MANIFEST.MF")
	if err != nil || !strings.Contains(string(manifest), "Premain-Class: dev.ringwatch.agent.") {
		return fmt.Errorf("%s is not Ringwatch's agent", path)
	}
	return nil
}

// checkConfig lets the agent's own code read agent.yaml: a second parser would disagree with it
// some day.
func (n *node) checkConfig(ctx context.Context) {
	if config, err := filepath.Abs(n.AgentConfig); err == nil {
		n.AgentConfig = config
	}
	if n.Jar == "" || n.java == "" {
		n.add("config", Fail, "correct the jar and Java first",
			"%s cannot be checked: the agent's own code reads it", n.AgentConfig)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, n.java, "-Xmx64m", "-XX:TieredStopAtLevel=1", "-cp",
		n.classPath(), "dev.ringwatch.agent.Check", "--secrets", n.AgentConfig)
	cmd.Env = withoutOptions(os.Environ())
	out, err := cmd.Output()
	problem := n.agent.parse(string(out))
	switch {
	case problem != "":
		remedy := "correct the file; the agent stays off until then"
		if strings.Contains(problem, "environment variable") {
			remedy = "run doctor with the environment that Cassandra will have, or correct the file"
		} else if strings.Contains(problem, "there is no such file") {
			remedy = "create it, or name another one with --agent-config"
		}
		n.add("config", Fail, remedy, "%s", problem)
	case err != nil:
		n.add("config", Fail, "check that the jar is complete and that Java is 11 or later",
			"the agent's code could not read it: %v", err)
	default:
		n.parsed = true
		n.add("config", OK, "", "%s is understood by agent %s", n.AgentConfig, n.agent.version)
		if n.agent.paused {
			n.add("paused", Warn, "remove the line when the agent should work",
				"%s says paused: true: nothing will be read, and ingest hears only that it is "+
					"paused", n.AgentConfig)
		}
	}
}

// classPath is the agent's jar and the SnakeYAML of Cassandra, by which the agent reads files of
// rules.
func (n *node) classPath() string {
	path := []string{n.Jar}
	for _, dir := range []string{under(n.CassandraHome, "lib"), n.CassandraHome} {
		if dir != "" {
			found, _ := filepath.Glob(filepath.Join(dir, "snakeyaml-*.jar")) // the pattern is ours
			path = append(path, found...)
		}
	}
	return strings.Join(path, string(filepath.ListSeparator))
}

// withoutOptions keeps agents that stand in the environment out of our own JVM.
func withoutOptions(environment []string) (kept []string) {
	for _, e := range environment {
		if name, _, _ := strings.Cut(e, "="); name != "JAVA_TOOL_OPTIONS" &&
			name != "JDK_JAVA_OPTIONS" {
			kept = append(kept, e)
		}
	}
	return kept
}

// parse takes what dev.ringwatch.agent.Check prints and returns the error it found.
func (a *agentConfig) parse(out string) (problem string) {
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		number, _ := strconv.ParseInt(value, 10, 64)
		switch name {
		case "error":
			problem = value
		case "version":
			a.version = value
		case "url":
			a.urls = append(a.urls, value)
		case "key":
			a.key = value
		case "key_file":
			a.keyFile = value
		case "ca_file":
			a.caFile = value
		case "cert_file":
			a.certFile = value
		case "cert_key_file":
			a.certKeyFile = value
		case "listen":
			a.listen = value
		case "spool":
			a.spool = value
		case "spool_bytes":
			a.spoolSize = number
		case "queue_bytes":
			a.queueBytes = number
		case "interval_ms":
			a.interval = time.Duration(number) * time.Millisecond
		case "profile", "profile_of_file":
			a.profiles = append(a.profiles, value)
			if name == "profile_of_file" {
				a.files = append(a.files, value)
			}
		case "rules_read":
			a.rulesRead = append(a.rulesRead, value)
		case "rules_unread":
			a.rulesUnread = append(a.rulesUnread, value)
		case "rules_error":
			a.rulesWrong = append(a.rulesWrong, value)
		case "rules_ignore":
			a.rulesIgnored = append(a.rulesIgnored, value)
		case "paused":
			a.paused = value == "true"
		}
	}
	return problem
}

func (n *node) checkPort(ctx context.Context) {
	if n.agent.listen == "" {
		n.add("port", OK, "", "/metrics is not configured")
		return
	}
	l, err := net.Listen("tcp", n.agent.listen)
	if err != nil {
		if servesAgent(ctx, n.agent.listen) {
			n.add("port", OK, "", "%s is in use by an agent that runs now", n.agent.listen)
			return
		}
		n.add("port", Fail, "stop the program that uses it, or set another listen",
			"cannot listen on %s: %v", n.agent.listen, err)
		return
	}
	l.Close()
	if host, _, err := net.SplitHostPort(n.agent.listen); err == nil && host != "localhost" &&
		!net.ParseIP(host).IsLoopback() {
		n.add("port", Warn, "listen on 127.0.0.1, or let a firewall choose who may scrape",
			"%s is free, and /metrics there has no password", n.agent.listen)
		return
	}
	n.add("port", OK, "", "%s is free", n.agent.listen)
}

func servesAgent(ctx context.Context, listen string) bool {
	answer := ask(ctx, &http.Client{Timeout: 10 * time.Second}, http.MethodGet,
		"http://"+listen+"/metrics", "")
	return answer.err == nil && strings.Contains(answer.body, "ringwatch_agent_")
}
