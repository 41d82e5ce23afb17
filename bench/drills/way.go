package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// way leads connections to a server until it is cut for those who come.
type way struct {
	listener net.Listener
	to       string
	who      func(net.Conn) int // the number of the node that connects; nil: nobody asks

	mu   sync.Mutex
	cuts map[int]bool     // by who comes; 0: everybody
	open map[net.Conn]int // both ends, by who comes
}

// newWay begins to listen. to is a host, with the port at which the way itself listens, or a host
// and a port.
func newWay(listen, to string, who func(net.Conn) int) (*way, error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, err
	}
	w := &way{listener: l, to: to, who: who, cuts: map[int]bool{}, open: map[net.Conn]int{}}
	if !strings.Contains(to, ":") {
		w.to = fmt.Sprintf("%s:%d", to, w.port())
	}
	go w.serve()
	return w, nil
}

func (w *way) address() string { return w.listener.Addr().String() }

func (w *way) port() int { return w.listener.Addr().(*net.TCPAddr).Port }

// cut ends the connections of a node, 0 for all, and lets none begin; or lets them begin again.
func (w *way) cut(of int, is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cuts[of] = is
	for c, from := range w.open {
		if is && (of == 0 || of == from) {
			_ = c.Close()
		}
	}
}

func (w *way) serve() {
	for {
		from, err := w.listener.Accept()
		if err != nil {
			return
		}
		go w.lead(from)
	}
}

func (w *way) lead(from net.Conn) {
	who := 0
	if w.who != nil {
		who = w.who(from)
	}
	to, err := net.Dial("tcp", w.to)
	if err != nil || !w.keep(who, from, to) {
		_ = from.Close()
		if to != nil {
			_ = to.Close()
		}
		return
	}
	go w.copy(from, to)
	w.copy(to, from)
}

// keep notes two ends of a connection; false: the way is cut for who comes. Whom the kernel could
// not name may be anybody, and tries again.
func (w *way) keep(who int, ends ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for of, is := range w.cuts {
		if is && (of == 0 || who == 0 || of == who) {
			return false
		}
	}
	for _, c := range ends {
		w.open[c] = who
	}
	return true
}

// copy carries bytes until one of the ends closes.
func (w *way) copy(from, to net.Conn) {
	_, _ = io.Copy(to, from) // either end may close
	_ = from.Close()
	_ = to.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, from)
	delete(w.open, to)
}

// dialer is the number of the node that has opened a connection, which the kernel tells; 0: none.
func (s *scene) dialer(c net.Conn) int {
	socket := socketOf(c.RemoteAddr().(*net.TCPAddr).Port, c.LocalAddr().(*net.TCPAddr).Port)
	if socket == "" {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for number, pid := range s.pids {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, file := range files {
			if target, _ := os.Readlink(file); target == socket {
				return number
			}
		}
	}
	return 0
}

// socketOf is the file of the socket that has these ports, as /proc/PID/fd shows it.
func socketOf(own, other int) string {
	for _, table := range []string{"/proc/net/tcp6", "/proc/net/tcp"} {
		f, err := os.Open(table)
		if err != nil {
			continue
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			words := strings.Fields(lines.Text()) // sl local remote state … inode is the tenth
			if len(words) > 9 && strings.HasSuffix(words[1], fmt.Sprintf(":%04X", own)) &&
				strings.HasSuffix(words[2], fmt.Sprintf(":%04X", other)) {
				return "socket:[" + words[9] + "]"
			}
		}
	}
	return ""
}
