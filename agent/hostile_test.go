package agent_test

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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
)

// hostile is an ingest that treats one request as told and takes all others.
type hostile struct {
	listener net.Listener

	mu   sync.Mutex
	next string // how to treat the next request; empty: well
	met  map[string]int
	open map[net.Conn]bool
}

// The ways to treat a request. What an agent takes for success must not be among them.
var badManners = []string{"garbage", "huge headers", "huge body", "close", "half", "redirect",
	"unauthorized", "busy", "hang", "drip"}

func startHostile(t *testing.T, address string) *hostile {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	h := &hostile{listener: l, met: map[string]int{}, open: map[net.Conn]bool{}}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			h.mu.Lock()
			h.open[c] = true
			h.mu.Unlock()
			go h.serve(c)
		}
	}()
	t.Cleanup(h.stop)
	return h
}

func (h *hostile) stop() {
	h.listener.Close()
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.open {
		c.Close()
	}
}

func (h *hostile) serve(c net.Conn) {
	defer func() {
		c.Close()
		h.mu.Lock()
		delete(h.open, c)
		h.mu.Unlock()
	}()
	in := bufio.NewReader(c)
	for {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		h.mu.Lock()
		manner := h.next
		h.next = ""
		h.mu.Unlock()
		goOn := treat(c, manner)
		h.mu.Lock()
		h.met[manner]++
		h.mu.Unlock()
		if !goOn {
			return
		}
	}
}

// treat answers a request and reports whether the connection goes on.
func treat(c net.Conn, manner string) bool {
	endless := func(head string, pause time.Duration, piece []byte) {
		for _, err := io.WriteString(c, head); err == nil; _, err = c.Write(piece) {
			time.Sleep(pause)
		}
	}
	switch manner {
	case "":
		_, err := io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
		return err == nil
	case "garbage":
		io.WriteString(c, "\x00\xff\x16\x03 \r\n\r\n220 mail ready\r\n")
	case "huge headers":
		endless("HTTP/1.1 200 OK\r\n", 0, bytes.Repeat([]byte("X-More: more\r\n"), 1000))
	case "huge body":
		endless("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 99999999999\r\n\r\n", 0,
			make([]byte, 64<<10))
	case "close":
	case "half":
		io.WriteString(c, "HTTP/1.1 2")
	case "redirect":
		io.WriteString(c,
			"HTTP/1.1 307 Temporary Redirect\r\nLocation: "+
				"http://127.0.0.1:1/v1/frames\r\nContent-Length: 0\r\n\r\n")
		return true
	case "unauthorized":
		io.WriteString(c,
			"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Negotiate\r\nContent-Length: 0\r\n\r\n")
		return true
	case "busy":
		io.WriteString(c, "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: "+
			"0\r\n\r\n")
		return true
	case "hang":
		c.Read(make([]byte, 1)) // until the agent has had enough
	case "drip":
		endless("HTTP/1.1 200 OK\r\nX: ", time.Second, []byte("x"))
	}
	return false
}

func (h *hostile) treatNext(manner string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next = manner
}

func (h *hostile) count(manner string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.met[manner]
}

// TestHostileIngest lets ingest misbehave in every way there is and then go away for good:
// Cassandra serves, passes go on, the agent's threads and memory stay what they were, and frames
// flow again as soon as ingest is well.
func TestHostileIngest(t *testing.T) {
	t.Parallel()
	twoAtOnce <- struct{}{}
	defer func() { <-twoAtOnce }()
	dir := t.TempDir()
	ports := engines.FreePorts(t, 2)
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	server := startHostile(t, address)
	config := filepath.Join(dir, "agent.yaml")
	mustWrite(t, config,
		fmt.Sprintf("ingest:\n  urls: [\"http://%s\"]\n  key: rw_secret\ninterval: "+
			"1s\nqueue_bytes: 64KiB\nlisten: 127.0.0.1:%d\n", address, ports[1]))
	node := mustBareNode(t, "-javaagent:"+mustJar(t)+"="+config)
	mustMetric(t, ports[1], "frames that arrive", `ringwatch_agent_state_info{value="sending"}`)
	for _, manner := range badManners {
		passes := value(t, scrape(ports[1]), "ringwatch_agent_passes_total")
		server.treatNext(manner)
		eventually.Nil(t, "a request that meets "+manner, func() error {
			return more(server.count(manner), 0)
		})
		well := server.count("")
		eventually.Nil(t, "a frame after "+manner, func() error {
			return more(server.count(""), well)
		})
		eventually.Nil(t, "passes after "+manner, func() error {
			return more(int(value(t, scrape(ports[1]), "ringwatch_agent_passes_total")),
				int(passes))
		})
	}
	mustServeCQL(t, node)

	server.stop()
	mustMetric(t, ports[1], "the state", `ringwatch_agent_state_info{value="unreachable"}`)
	threads, objects := agentThreads(t, node), agentObjects(t, node)
	passes := value(t, scrape(ports[1]), "ringwatch_agent_passes_total")
	const soak = 20
	eventually.Nil(t, "passes without ingest", func() error {
		return more(int(value(t, scrape(ports[1]), "ringwatch_agent_passes_total")),
			int(passes)+soak)
	})
	if queued := value(t, scrape(ports[1]), "ringwatch_agent_queue_bytes"); queued > 64<<10 {
		t.Errorf("%g bytes are queued where 65536 are allowed", queued)
	}
	if now := agentThreads(t, node); now > threads || now > 4 {
		t.Errorf("%d threads of the agent's became %d, want at most one that samples, one that "+
			"sends, one that serves and one for what is read rarely", threads, now)
	}
	// A frame that waits is one object with its bytes, until the queue is full, which is not
	// waited for here; so much may come, and a little for what has happened for the first time.
	if now := agentObjects(t, node); now > objects+4*soak+50 {
		t.Errorf("%d objects of the agent's classes became %d in %d passes without ingest", objects,
			now, soak)
	}
	mustServeCQL(t, node)

	server = startHostile(t, address)
	mustMetric(t, ports[1], "frames that arrive again",
		`ringwatch_agent_state_info{value="sending"}`)
	if text := scrape(ports[1]); strings.Contains(text, "ringwatch_agent_trouble_info{") {
		t.Error("the trouble is over and still told")
	}
	said := map[string]int{}
	for _, line := range stderrLines(t, node) {
		said[line]++
		if strings.Contains(line, "rw_secret") {
			t.Errorf("the key is told: %s", line)
		}
	}
	for line, times := range said {
		if times != 1 {
			t.Errorf("%d times: %s", times, line)
		}
	}
	unreachable := regexp.MustCompile(
		`ringwatch-agent: (unreachable: )?frames do not reach ingest .*; check ingest.urls and the network to it`)
	text := mustRead(t, node.LogFile())
	if n := len(regexp.MustCompile(`(?m)^`+unreachable.String()).FindAllString(text, -1)); n != 1 {
		t.Errorf("%d lines on stderr like %s, want 1", n, unreachable)
	}
	// once more each time that it happens, a minute apart
	if !regexp.MustCompile(`(?m)^WARN .*` + unreachable.String()).MatchString(text) {
		t.Errorf("no line like %s in Cassandra's log", unreachable)
	}
	t.Logf("%d threads, %d objects, %d frames taken, said %v", threads, objects, server.count(""),
		said)
}

// TestSpool gives the agent a spool that cannot be written, and ingest away for good: frames wait
// in memory, and Cassandra serves.
func TestSpool(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		full  bool // OutageTest has it without a Cassandra
		spool func(t *testing.T) string
		says  string
	}{
		// root may write anywhere, but not below a file
		{"Unwritable", true, func(t *testing.T) string {
			file := filepath.Join(t.TempDir(), "file")
			mustWrite(t, file, "")
			return filepath.Join(file, "spool")
		}, "is off, frames wait in memory only"},
		{"FullDisk", false, mustFullDisk, "is off, frames wait in memory only"},
	} {
		if c.full && os.Getenv("RINGWATCH_TEST_FULL") == "" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			twoAtOnce <- struct{}{}
			defer func() { <-twoAtOnce }()
			ports := engines.FreePorts(t, 2)
			spool, config := c.spool(t), filepath.Join(t.TempDir(), "agent.yaml")
			mustWrite(t, config,
				fmt.Sprintf("ingest:\n  urls: [\"http://127.0.0.1:%d\"]\n  key: "+
					"rw_secret\ninterval: 1s\nqueue_bytes: 64KiB\nlisten: "+
					"127.0.0.1:%d\nspool:\n  directory: %s\n", ports[0], ports[1], spool))
			node := mustBareNode(t, "-javaagent:"+mustJar(t)+"="+config)
			mustServeCQL(t, node)
			mustMetric(t, ports[1], "a spool that is off", "\nringwatch_agent_spool_off 1\n")
			mustMetric(t, ports[1], "the state", `ringwatch_agent_state_info{value="unreachable"}`)
			passes := value(t, scrape(ports[1]), "ringwatch_agent_passes_total")
			eventually.Nil(t, "passes without a spool", func() error {
				return more(int(value(t, scrape(ports[1]), "ringwatch_agent_passes_total")),
					int(passes)+1)
			})
			mustServeCQL(t, node)
			line := regexp.MustCompile(`ringwatch-agent: the spool in ` + regexp.QuoteMeta(spool) +
				` ` + c.says + `: .*; make room, or let the user of this process write there`)
			for _, where := range []*regexp.Regexp{regexp.MustCompile(`(?m)^` + line.String()),
				regexp.MustCompile(`(?m)^WARN .*` + line.String())} {
				if n := len(where.FindAllString(mustRead(t, node.LogFile()), -1)); n != 1 {
					t.Errorf("%d lines like %s, want 1; the agent said %q", n, where,
						stderrLines(t, node))
				}
			}
			t.Logf("the agent said %q", stderrLines(t, node))
		})
	}
}

// mustFullDisk mounts a small disk and fills it. That needs the right to mount, which root has
// unless it is fenced in; elsewhere the kernel's own /sys, a file system that takes no file from
// anybody, stands in for it.
func mustFullDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Logf("no right to mount a disk (%v): /sys stands in for it", err)
		return "/sys/ringwatch-spool"
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	spool := filepath.Join(dir, "spool")
	if err := os.Mkdir(spool, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "full"), make([]byte, 1<<20), 0o644); !errors.Is(err,
		syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	return spool
}

func more(have, than int) error {
	if have > than {
		return nil
	}
	return errors.New("still " + strconv.Itoa(have))
}

// agentObjects counts the living objects of the agent's classes, after a collection.
func agentObjects(t *testing.T, node *engines.Cassandra) (count int) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "jcmd", strconv.Itoa(node.Pid()),
		"GC.class_histogram").CombinedOutput()
	if err != nil {
		t.Fatalf("%v %s", err, out)
	}
	for _, found := range regexp.MustCompile(`(?m)^\s*\d+:\s+(\d+)\s+\d+\s+\[?L?dev\.ringwatch\.`).
		FindAllStringSubmatch(string(out), -1) {
		n, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		count += n
	}
	if count == 0 {
		t.Fatalf("no object of the agent's in %d bytes of histogram", len(out))
	}
	return count
}
