package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// firstVersion and nextVersion have as many letters, so that one program has both stamps.
const firstVersion, nextVersion = "1.0.0-test", "1.0.1-test"

// builtIn is where built builds.
var builtIn string

// built builds the program once for all tests, with a stamp, and without C as make dist does: the
// image has no C library, and a bare Debian no compiler.
var built = sync.OnceValues(func() (string, error) {
	var err error
	if builtIn, err = os.MkdirTemp("", "dist"); err != nil {
		return "", err
	}
	name := filepath.Join(builtIn, "ringwatch")
	cmd := exec.Command("go", "build", "-ldflags=-s -X main.release="+firstVersion, "-o", name,
		"./cmd/ringwatch")
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return name, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(builtIn)
	os.Exit(code)
}

// program is the program that tests pack.
func program(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it links the program")
	}
	name, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// nextProgram is the same with the next version's stamp.
func nextProgram(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(program(t))
	name := filepath.Join(t.TempDir(), "ringwatch")
	if err == nil {
		err = os.WriteFile(name, bytes.ReplaceAll(text, []byte(firstVersion),
			[]byte(nextVersion)), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// testRelease is a version that is made in a folder of the test.
func testRelease(t *testing.T, version string) *release {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	return &release{version: version, commit: "0123456789ab", root: root, out: out,
		at: time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC), work: filepath.Join(out, "work")}
}

// testParts are parts around a program. The agent is what it takes to be a file.
func testParts(t *testing.T, native, packed string) *parts {
	t.Helper()
	jar := filepath.Join(t.TempDir(), "ringwatch-agent.jar")
	if err := os.WriteFile(jar, []byte("a jar"), 0o644); err != nil {
		t.Fatal(err)
	}
	return &parts{programs: map[string]string{runtime.GOARCH: packed}, native: native, jar: jar,
		bundled: &inventory{[]component{{name: "example.org/of/others", version: "v1.2.3",
			url:      "pkg:golang/example.org/of/others@v1.2.3",
			licences: []string{"BSD-3-Clause", "MIT"}, texts: []string{"Do as you like.", "Do."}}}}}
}

// debs makes Debian's packages of a version, and returns the server's and the agent's.
func debs(t *testing.T, r *release, p *parts) (server, agent string) {
	t.Helper()
	m, err := r.gather(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.packages(formats[0], p, m); err != nil {
		t.Fatal(err)
	}
	list, err := filepath.Glob(filepath.Join(r.out, "*.deb"))
	if err != nil || len(list) != 2 {
		t.Fatalf("there are %d packages: %v", len(list), err)
	}
	return list[1], list[0] // ringwatch_ sorts after ringwatch-
}

// both are what bothVersions has made.
var both []string

// bothVersions are the packages of the first version, the server's and the agent's, and of the
// next. They are made once: packing takes longer than what is tested with them.
func bothVersions(t *testing.T) []string {
	t.Helper()
	if both != nil {
		return both
	}
	var list []string
	for _, v := range [][2]string{{firstVersion, program(t)}, {nextVersion, nextProgram(t)}} {
		r := testRelease(t, v[0])
		r.out = filepath.Join(builtIn, v[0])
		if err := os.Mkdir(r.out, 0o755); err != nil {
			t.Fatal(err)
		}
		server, agent := debs(t, r, testParts(t, v[1], v[1]))
		list = append(list, server, agent)
	}
	both = list
	return both
}

// systemctl stands for systemd's: it notes what it is told, and says that Ringwatch runs when it
// does.
const systemctl = `#!/bin/sh
echo "$@" >>/var/log/systemctl
case "$*" in
list-units*\ ringwatch.service*)
	if [ -e /run/ringwatch.active ]; then
		echo "ringwatch.service loaded active running Ringwatch"
	fi
	;;
esac
`

// installed is a Debian with a package, whose process runs.
type installed struct {
	*debian
	api, ingest string
	process     *process
	said        *bytes.Buffer
}

// TestPackages installs, starts, upgrades, removes and purges the packages as an administrator
// does, in this order.
func TestPackages(t *testing.T) {
	list := bothVersions(t)
	before, agent, after, nextAgent := list[0], list[1], list[2], list[3]

	in := &installed{debian: newDebian(t), api: freePort(t), ingest: freePort(t)}
	t.Cleanup(func() { in.stop() })
	in.write("usr/bin/systemctl", systemctl)
	in.run("chmod", "755", "/usr/bin/systemctl")
	in.run("mkdir", "-p", "/run/systemd/system", "/etc/cassandra")
	key := ""
	for _, step := range []struct {
		name string
		do   func(*testing.T)
	}{
		{"install", func(t *testing.T) { in.install(t, before) }},
		{"start", func(t *testing.T) { key = in.begin(t, firstVersion) }},
		{"a key while it is stopped", func(t *testing.T) { key = in.stoppedKey(t) }},
		{"upgrade while it runs", func(t *testing.T) { in.upgrade(t, after, key) }},
		{"a configuration that is not taken", func(t *testing.T) { in.refused(t, after, key) }},
		{"agent", func(t *testing.T) { in.agent(t, agent, nextAgent) }},
		{"remove", in.remove},
		{"purge", in.purge},
	} {
		if !t.Run(step.name, func(t *testing.T) {
			in.t = t
			step.do(t)
		}) {
			return // what follows needs it
		}
	}
}

func (in *installed) install(t *testing.T, deb string) {
	out, err := in.dpkg(deb)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(out, "systemctl enable --now ringwatch") {
		t.Errorf("dpkg does not say how to start it:\n%s", out)
	}
	for name, want := range map[string]string{
		"usr/bin/ringwatch":                                    "755 root root",
		"etc/ringwatch":                                        "755 root root",
		"etc/ringwatch/ringwatch.yaml":                         "640 root ringwatch",
		"var/lib/ringwatch":                                    "700 ringwatch ringwatch",
		"usr/share/man/man1/ringwatch.1.gz":                    "644 root root",
		"usr/share/bash-completion/completions/ringwatch":      "644 root root",
		"usr/share/ringwatch/rules/cassandra.yaml":             "644 root root",
		"usr/share/ringwatch/dashboards/fleet.json":            "644 root root",
		"usr/share/doc/ringwatch/THIRD-PARTY.txt.gz":           "644 root root",
		"usr/share/doc/ringwatch/examples/ringwatch-line.yaml": "644 root root",
	} {
		if got := in.owned(name); got != want {
			t.Errorf("/%s is %s, want %s", name, got, want)
		}
	}
	if user := in.run("getent", "passwd", "ringwatch"); !regexp.MustCompile(
		`^ringwatch:x:\d{3}:\d{3}::/nonexistent:/usr/sbin/nologin\n$`).MatchString(user) {
		t.Errorf("the user is %s", user)
	}
	if out := in.run("sh", "-c", "cat /var/log/systemctl; dpkg --audit"); out != "daemon-reload\n" {
		t.Errorf("systemctl was told, or dpkg says: %s", out)
	}
}

// begin starts it as the unit says, and makes a key.
func (in *installed) begin(t *testing.T, version string) (key string) {
	// as an administrator changes it
	in.write("etc/ringwatch/ringwatch.yaml", in.read("etc/ringwatch/ringwatch.yaml")+fmt.Sprintf(
		"ingest: {listen: %q}\napi: {listen: %q}\n", in.ingest, in.api))
	in.start(t)
	if out := in.run("ringwatch", "--version"); !strings.HasPrefix(out, version+" ") {
		t.Errorf("ringwatch --version says %q", out)
	}
	key = in.makeKey(t, "me")
	in.answers(t, key)
	in.tellsOfItself(t, key)
	return key
}

// makeKey makes a key as root.
func (in *installed) makeKey(t *testing.T, name string) string {
	t.Helper()
	out := in.run("ringwatch", "key", "create", name, "--scopes", "operator", "--config",
		"/etc/ringwatch/ringwatch.yaml")
	key := regexp.MustCompile(`rw_\w+`).FindString(out)
	if key == "" {
		t.Fatalf("ringwatch key create says %s", out)
	}
	return key
}

// stoppedKey has root make a key while nothing runs: the directory stays its owner's.
func (in *installed) stoppedKey(t *testing.T) string {
	in.stop()
	key := in.makeKey(t, "stopped")
	if out := in.run("find", "/var/lib/ringwatch", "!", "-user", "ringwatch"); out != "" {
		t.Errorf("these are not its own: %s", out)
	}
	in.start(t)
	in.answers(t, key)
	return key
}

// launch starts what the unit starts, as the user that it names.
func (in *installed) launch(t *testing.T) {
	t.Helper()
	unit := in.read("usr/lib/systemd/system/ringwatch.service")
	user := regexp.MustCompile(`(?m)^User=(.*)$`).FindStringSubmatch(unit)
	does := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindStringSubmatch(unit)
	if user == nil || does == nil {
		t.Fatalf("the unit is\n%s", unit)
	}
	in.said = &bytes.Buffer{}
	cmd := in.command(user[1]+":"+user[1], strings.Fields(does[1])...)
	cmd.Stdout, cmd.Stderr = in.said, in.said
	var err error
	if in.process, err = startProcess(cmd); err != nil {
		t.Fatal(err)
	}
	in.write("run/ringwatch.active", "")
}

// start does so, and waits until the process is ready.
func (in *installed) start(t *testing.T) {
	t.Helper()
	in.launch(t)
	if err := in.process.becomesReady(in.api); err != nil {
		in.stop()
		t.Fatalf("%v\n%s", err, in.said)
	}
}

// patience is for machines on which everything takes ten times as long.
const patience = 10 * time.Minute

// process is one that runs until it is told to end.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// startProcess starts one.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd, make(chan struct{})}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// becomes waits until something is so, as long as the process runs.
func (p *process) becomes(is func() error) error {
	for began := time.Now(); ; {
		err := is()
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("the process has ended: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
		if time.Since(began) > patience {
			return fmt.Errorf("after %v: %w", patience, err)
		}
	}
}

// becomesReady waits until the process, whose API has that address, can do its work.
func (p *process) becomesReady(api string) error {
	return p.becomes(func() error {
		_, err := get("http://"+api+"/-/ready", "")
		return err
	})
}

// end ends it as systemd does.
func (p *process) end() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	<-p.ended
}

// stop ends Ringwatch.
func (in *installed) stop() {
	if in.process != nil {
		in.process.end()
		in.process = nil
		_ = os.Remove(filepath.Join(in.root, "run/ringwatch.active"))
	}
}

// answers is whether the process answers who has the key, which is in its directory.
func (in *installed) answers(t *testing.T, key string) {
	t.Helper()
	if _, err := get("http://"+in.api+"/v1/nodes", key); err != nil {
		t.Errorf("it does not answer: %v\n%s", err, in.said)
	}
}

// tellsOfItself waits until the process's own metrics can be asked for, which nobody has set up.
func (in *installed) tellsOfItself(t *testing.T, key string) {
	t.Helper()
	if err := in.process.becomes(func() error {
		body, err := get("http://"+in.api+"/api/v1/query?query=ringwatch_process_up", key)
		if err == nil && !strings.Contains(body, `"cluster":"ringwatch-self"`) {
			err = errors.New(body)
		}
		return err
	}); err != nil {
		t.Errorf("it does not send its own metrics: %v\n%s", err, in.said)
	}
}

// get reads an address; anything but 200 is an error. It dials in the goroutine that calls it,
// which may have a network of its own.
func get(url, key string) (string, error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	conn, err := net.Dial("tcp", request.URL.Host)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := errors.Join(conn.SetDeadline(time.Now().Add(patience)),
		request.Write(conn)); err != nil {
		return "", err
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, body)
	}
	return string(body), err
}

// upgrade puts the next version over a process that runs: configuration and data stay, and it is
// started again.
func (in *installed) upgrade(t *testing.T, deb, key string) {
	before := in.read("etc/ringwatch/ringwatch.yaml")
	config := strings.Replace(before, "self: {",
		"self: {cluster: \"${SELF}\", interval: \"${EVERY}\", ", 1)
	in.write("etc/ringwatch/ringwatch.yaml", config)
	// as systemd takes it, which is no shell
	in.write("etc/ringwatch/environment", "# of ours\nSELF=a(b; $c\n  EVERY=\"20s\"\nA-B=c")
	in.write("var/log/systemctl", "")
	out, err := in.dpkg(deb)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	in.answers(t, key) // systemctl restarts nothing here
	if told := in.read("var/log/systemctl"); !strings.Contains(told,
		"try-restart ringwatch.service\n") || strings.Contains(told, "disable") {
		t.Errorf("systemctl was told\n%s\nand dpkg says\n%s", told, out)
	}
	if in.read("etc/ringwatch/ringwatch.yaml") != config {
		t.Errorf("the configuration changed:\n%s", out)
	}
	if got := in.owned("etc/ringwatch/ringwatch.yaml"); got != "640 root ringwatch" {
		t.Errorf("the configuration is %s", got)
	}
	in.write("etc/ringwatch/ringwatch.yaml", before)
	in.run("rm", "/etc/ringwatch/environment")
	in.stop()
	in.start(t)
	in.answers(t, key)
	if out := in.run("ringwatch", "--version"); !strings.HasPrefix(out, nextVersion+" ") {
		t.Errorf("ringwatch --version says %q", out)
	}
}

// refused upgrades to a version that does not know a key of the configuration.
func (in *installed) refused(t *testing.T, deb, key string) {
	config := in.read("etc/ringwatch/ringwatch.yaml")
	in.write("etc/ringwatch/ringwatch.yaml", config+"gone: {since: 1.0}\n")
	in.write("var/log/systemctl", "")
	out, err := in.dpkg(deb)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"gone", "does not take /etc/ringwatch/ringwatch.yaml",
		"The version before goes on running"} {
		if !strings.Contains(out, want) {
			t.Errorf("dpkg does not say %q:\n%s", want, out)
		}
	}
	if told := in.read("var/log/systemctl"); strings.Contains(told, "restart") {
		t.Errorf("systemctl was told\n%s", told)
	}
	in.answers(t, key)
	in.write("etc/ringwatch/ringwatch.yaml", config)
}

// agent installs the agent beside it.
func (in *installed) agent(t *testing.T, deb, next string) {
	const line = "-javaagent:/opt/ringwatch/ringwatch-agent.jar=/etc/ringwatch/agent.yaml"
	in.run("groupadd", "--system", "cassandra")
	out, err := in.dpkg(deb)
	if err != nil || !strings.Contains(out, "\n"+line+"\n") {
		t.Fatalf("dpkg does not say the line: %v\n%s", err, out)
	}
	for name, want := range map[string]string{
		"opt/ringwatch/ringwatch-agent.jar": "644 root root",
		"etc/ringwatch/agent.yaml":          "640 root cassandra",
	} {
		if got := in.owned(name); got != want {
			t.Errorf("/%s is %s, want %s", name, got, want)
		}
	}
	if out, err = in.dpkg(next); err != nil || !strings.Contains(out, "once it is restarted") {
		t.Errorf("the upgrade: %v\n%s", err, out)
	}
	for _, options := range []string{"/etc/cassandra/jvm-server.options",
		"/opt/cassandra/conf/jvm-server.options"} {
		in.write(options, "-Xmx1G\n"+line+"\n")
		out, err = in.try("dpkg", "--remove", "ringwatch-agent")
		if err == nil || !strings.Contains(out, "out of "+options+" first") {
			t.Errorf("the agent went while Cassandra needs it: %v\n%s", err, out)
		}
		in.write(options, "-Xmx1G\n# "+line+"\n")
	}
	out = in.run("dpkg", "--purge", "ringwatch-agent")
	if in.read("opt/ringwatch/ringwatch-agent.jar") != "" ||
		in.read("etc/ringwatch/agent.yaml") != "" {
		t.Errorf("something of it is left:\n%s", out)
	}
	if got := in.owned("etc/ringwatch/ringwatch.yaml"); got != "640 root ringwatch" {
		t.Errorf("the other package's configuration is %s", got)
	}
}

// remove leaves the configuration and the data.
func (in *installed) remove(t *testing.T) {
	in.write("var/log/systemctl", "")
	out := in.run("dpkg", "--remove", "ringwatch")
	if told := in.read("var/log/systemctl"); !strings.Contains(told,
		"disable --now ringwatch.service\n") || !strings.HasSuffix(told, "daemon-reload\n") {
		t.Errorf("systemctl was told\n%s", told)
	}
	in.stop()
	if !strings.Contains(out, "stays in /var/lib/ringwatch") {
		t.Errorf("dpkg says\n%s", out)
	}
	if in.read("usr/bin/ringwatch") != "" || in.read("etc/ringwatch/ringwatch.yaml") == "" {
		t.Error("the program is there, or the configuration is not")
	}
	if list := in.run("ls", "-A", "/var/lib/ringwatch"); strings.TrimSpace(list) == "" {
		t.Error("the data is gone")
	}
}

// purge takes what is its own, and says so.
func (in *installed) purge(t *testing.T) {
	in.write("etc/ringwatch/tls.key", "mine")
	out := in.run("dpkg", "--purge", "ringwatch")
	for _, want := range []string{"/var/lib/ringwatch goes, ", "all samples and all API keys",
		"what else is in /etc/ringwatch stays"} {
		if !strings.Contains(out, want) {
			t.Errorf("dpkg does not say %q:\n%s", want, out)
		}
	}
	if out := in.run("sh", "-c",
		"ls -A /etc/ringwatch; ls -d /var/lib/ringwatch /usr/share/ringwatch "+
			"/usr/share/doc/ringwatch 2>/dev/null || true; dpkg --audit"); out != "tls.key\n" {
		t.Errorf("what is left: %s", out)
	}
}

// freePort is an address on this machine that nobody listens at.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
