package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal is a pseudo terminal: what is written to program appears in shown.
type terminal struct {
	program *os.File
	keys    *os.File

	mu    sync.Mutex
	shown bytes.Buffer
	ended chan struct{}
}

func mustTerminal(t *testing.T) *terminal {
	t.Helper()
	main, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(main.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(main.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(main.Fd()), unix.TIOCSWINSZ,
			&unix.Winsize{Row: 24, Col: 120})
	}
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{program: program, keys: main, ended: make(chan struct{})}
	go func() {
		defer close(term.ended)
		b := make([]byte, 4096)
		for {
			n, err := main.Read(b)
			term.mu.Lock()
			term.shown.Write(b[:n])
			term.mu.Unlock()
			if err != nil { // nobody has the other end any more
				return
			}
		}
	}()
	t.Cleanup(func() {
		program.Close()
		<-term.ended
		main.Close()
	})
	return term
}

func (t *terminal) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.shown.String()
}

// TestLiveCommandsEndAtASignal has ringwatch top, qps and tasks ended by what ends a process or its
// terminal, while the API answers and while it does not.
func TestLiveCommandsEndAtASignal(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	hang := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/hang") {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
			return
		}
		fmt.Fprintln(w, "[]")
	}))
	defer server.Close()
	defer close(hang)
	for _, command := range []string{"top", "qps", "tasks --live"} {
		for path, shows := range map[string]string{"": "no", "/hang": "asking"} {
			for _, end := range []string{"SIGTERM", "SIGINT", "ctrl+c", "q"} {
				t.Run(command+path+" "+end, func(t *testing.T) {
					term := mustTerminal(t)
					cmd := exec.Command(self, append(strings.Fields(command), "--every", "100ms",
						"--api", server.URL+path, "--key", "rw_any0000000000000000")...)
					cmd.Env = append(os.Environ(), asRingwatch, "TERM=xterm-256color")
					cmd.Stdin, cmd.Stdout, cmd.Stderr = term.program, term.program, term.program
					cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
					if err := cmd.Start(); err != nil {
						t.Fatal(err)
					}
					ended := make(chan error, 1)
					go func() { ended <- cmd.Wait() }()
					defer func() { _ = cmd.Process.Kill() }() // if it has not ended
					deadline := time.NewTimer(time.Minute)
					defer deadline.Stop()
					for tick := time.NewTicker(10 * time.Millisecond); !strings.Contains(
						strings.ToLower(term.text()), shows); {
						select {
						case <-tick.C:
						case err := <-ended:
							t.Fatalf("it ended: %v\n%q", err, term.text())
						case <-deadline.C:
							t.Fatalf("it shows %q", term.text())
						}
					}
					began := time.Now()
					switch end {
					case "SIGTERM":
						err = cmd.Process.Signal(syscall.SIGTERM)
					case "SIGINT":
						err = cmd.Process.Signal(syscall.SIGINT)
					case "ctrl+c":
						_, err = term.keys.Write([]byte{3})
					case "q":
						_, err = term.keys.Write([]byte("q"))
					}
					if err != nil {
						t.Fatal(err)
					}
					select {
					case err := <-ended:
						if err != nil {
							t.Errorf("it ended with %v\n%q", err, term.text())
						}
						t.Logf("after %v", time.Since(began))
					case <-deadline.C:
						t.Fatalf("it has not ended\n%q", term.text())
					}
					term.program.Close()
					<-term.ended
					if text := term.text(); strings.LastIndex(text, "\x1b[?1049l") <
						strings.LastIndex(text, "\x1b[?1049h") ||
						strings.LastIndex(text, "\x1b[?25h") < strings.LastIndex(text,
							"\x1b[?25l") {
						t.Errorf("the terminal is left as it was: %q", text)
					}
				})
			}
		}
	}
}
