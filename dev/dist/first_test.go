package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestFirstMinute does what docs/INSTALL.md says under "The first minute", word for word, up to the
// console's first chart, and logs the seconds that it takes.
func TestFirstMinute(t *testing.T) {
	p := testParts(t, program(t), program(t))
	p.jar = "../../agent/target/ringwatch-agent.jar"
	if _, err := os.Stat(p.jar); err != nil {
		t.Fatalf("%v: make build makes it", err)
	}
	server, agent := debs(t, testRelease(t, firstVersion), p)
	firstMinute(t, server, agent)
}

// firstMinute does so with packages, in a root of Debian's files that has a Cassandra in a
// tarball's layout, and a Java, and in a network where nobody else has the page's ports.
func firstMinute(t *testing.T, packages ...string) {
	t.Helper()
	in := &installed{debian: newDebian(t), api: "127.0.0.1:9470"}
	t.Cleanup(in.stop)
	in.write("usr/bin/systemctl", systemctl) // no systemd runs there: start does what it would
	in.run("chmod", "755", "/usr/bin/systemctl")
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	in.write("etc/hosts", "127.0.0.1 localhost\n127.0.1.1 "+host+"\n") // as the installer makes it
	in.cassandra()                                                     // it may be fetched
	apart(t)
	for _, file := range packages {
		in.bring(file, "/root")
	}
	blocks := commands(t, "The first minute")
	if len(blocks) != 3 {
		t.Fatalf("the page has %d blocks of commands, want the server's, the keys' and the "+
			"agent's: %q",
			len(blocks), blocks)
	}
	began := time.Now()
	last := began
	took := func(what string) {
		t.Logf("%5.1f s  %s", time.Since(last).Seconds(), what)
		last = time.Now()
	}

	in.typed(blocks[0])
	if told := in.read("var/log/systemctl"); !strings.HasSuffix(told, "enable --now ringwatch\n") {
		t.Fatalf("systemctl was told\n%s", told)
	}
	took("install the packages")
	in.launch(t) // systemctl, too, waits for nothing
	key := regexp.MustCompile(`rw_\w+`).FindString(in.typed(blocks[1]))
	took("start Ringwatch and make the keys")
	in.typed(blocks[2])
	cmd := in.command("cassandra:cassandra", "/opt/cassandra/bin/cassandra")
	log, err := os.Create(filepath.Join(in.root, "var/log/cassandra"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	cassandra, err := startProcess(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer cassandra.end()
	if err := cassandra.becomes(func() error { return in.firstChart(key) }); err != nil {
		t.Fatalf("%v\n%s\n%s", err, in.read("var/log/cassandra"), in.said)
	}
	took("start Cassandra with the agent, until the first chart has data")
	t.Logf("%5.1f s  all of it", time.Since(began).Seconds())
}

// cassandra lays out what whoever monitors a Cassandra has: it, its user, and a Java.
func (in *installed) cassandra() {
	in.t.Helper()
	here := func(name string, args ...string) string {
		cmd := exec.Command(name, args...)
		cmd.Dir = "../.."
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			in.t.Fatalf("%v: %v", cmd.Args, err)
		}
		return strings.TrimSpace(string(out))
	}
	here("go", "run", "./dev/engines/tarball", filepath.Join(in.root, "opt/cassandra"))
	java := here("go", "run", "./dev/engines/javahome")
	// Debian's has links to what other packages configure; what it lacks it says
	_ = exec.Command("cp", "-rL", java, filepath.Join(in.root, "opt/java")).Run()
	in.run("ln", "-s", "/opt/java/bin/java", "/usr/bin/java")
	in.run("java", "-version")
	in.run("useradd", "--system", "--home-dir", "/opt/cassandra", "cassandra")
	in.run("chown", "-R", "cassandra:cassandra", "/opt/cassandra")
}

// typed runs a block of commands as root, in root's folder, and returns what they print.
func (in *installed) typed(block string) string {
	in.t.Helper()
	return in.run("bash", "-c", "set -e; cd /root\n"+block)
}

// commands are the blocks of a section of docs/INSTALL.md, as they stand there but for the
// processor.
func commands(t *testing.T, title string) (blocks []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/INSTALL.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## "+title+"\n")
	if !found {
		t.Fatalf("docs/INSTALL.md has no section %q", title)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for i, part := range strings.Split(section, "```") {
		if i%2 == 1 {
			blocks = append(blocks, strings.ReplaceAll(part, "amd64", runtime.GOARCH))
		}
	}
	return blocks
}

// firstChart asks for the first chart of the console's page of a cluster, as the console does for
// the last hour.
func (in *installed) firstChart(key string) error {
	specs, err := os.ReadFile("../../console/src/specs.ts")
	if err != nil {
		return err
	}
	const chart = "sum by (request) (rate(${latency}_count{$scope}[$w]))"
	if !strings.Contains(string(specs), chart) {
		return fmt.Errorf("console/src/specs.ts has no chart of %s", chart)
	}
	question := strings.NewReplacer("${latency}", "cassandra_client_request_latency_seconds",
		"$scope", `cluster="Test Cluster"`, "$w", "80s").Replace(chart)
	now := time.Now().Unix() / 10 * 10
	body, err := get("http://"+in.api+"/api/v1/query_range?"+url.Values{"query": {question},
		"start": {fmt.Sprint(now - 3600)}, "end": {fmt.Sprint(now)}, "step": {"10"}}.Encode(), key)
	if err != nil {
		return err
	}
	var answer struct {
		Data struct {
			Result []struct{ Values [][2]any }
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		return err
	}
	for _, series := range answer.Data.Result {
		if len(series.Values) > 0 {
			return nil
		}
	}
	return errors.New("the first chart is empty")
}

// apart gives the goroutine of a test a network of its own, with nothing but loopback, and mounts
// of its own. What it starts, asks and mounts from then on is there, and goes with the test.
func apart(t *testing.T) {
	t.Helper()
	runtime.LockOSThread() // for good: the thread ends with the goroutine
	err := unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS)
	if err == nil {
		err = unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	}
	if err != nil {
		t.Fatalf("a network and mounts of one's own, which the kernel must allow root: %v", err)
	}
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}
	loopback.SetUint16(unix.IFF_UP)
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback)
		_ = unix.Close(socket)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestFullDisk upgrades on a disk that has no room, and on one that has too little: dpkg fails, the
// process of the version before runs on, and its data is whole. With room it can be upgraded.
func TestFullDisk(t *testing.T) {
	list := bothVersions(t)
	before, after := list[0], list[2]
	apart(t)
	root := t.TempDir()
	room := func(flags uintptr, bytes uint64) error {
		return unix.Mount("none", root, "tmpfs", flags, fmt.Sprintf("size=%d", bytes))
	}
	const enough = 2 << 30
	if err := room(0, enough); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(root, unix.MNT_DETACH) })
	in := &installed{debian: debianIn(t, root), api: freePort(t), ingest: freePort(t)}
	t.Cleanup(in.stop)
	in.write("usr/bin/systemctl", systemctl)
	in.run("chmod", "755", "/usr/bin/systemctl")
	in.run("mkdir", "-p", "/run/systemd/system")
	if out, err := in.dpkg(before); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	key := in.begin(t, firstVersion)
	file := in.bring(after, "/tmp")
	for _, free := range []uint64{0, 20 << 20} {
		for began := time.Now(); ; { // the process writes meanwhile
			var now unix.Statfs_t
			err := unix.Statfs(root, &now)
			if err == nil {
				err = room(unix.MS_REMOUNT, (now.Blocks-now.Bfree)*uint64(now.Bsize)+free)
			}
			if err == nil {
				break
			}
			if !errors.Is(err, unix.EINVAL) || time.Since(began) > patience {
				t.Fatal(err)
			}
		}
		out, err := in.try("dpkg", "--install", file)
		if err == nil || !strings.Contains(out, "No space left on device") {
			t.Errorf("with %d bytes of room: %v\n%s", free, err, out)
		}
		in.answers(t, key)
		if out := in.run("ringwatch", "--version"); !strings.HasPrefix(out, firstVersion+" ") {
			t.Errorf("afterwards there is %s", out)
		}
		if err := room(unix.MS_REMOUNT, enough); err != nil {
			t.Fatal(err)
		}
	}
	if told := in.read("var/log/systemctl"); strings.Contains(told, "restart") {
		t.Errorf("systemctl was told\n%s", told)
	}
	in.stop()
	in.run("ringwatch", "data", "check", "/var/lib/ringwatch")
	in.start(t)
	in.answers(t, key)
	if out, err := in.try("dpkg", "--install", file); err != nil {
		t.Errorf("with room: %v\n%s", err, out)
	}
	in.answers(t, key)
	if out := in.run("sh", "-c", "ringwatch --version; dpkg --audit"); strings.Count(out, "\n") !=
		1 || !strings.HasPrefix(out, nextVersion+" ") {
		t.Errorf("afterwards there is %s", out)
	}
}
