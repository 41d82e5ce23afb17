package engines

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// Chosen ports lie here: above the well-known ones, below 32768 where the kernel begins to give
// ports to outgoing connections. One from that range could be lost to any client while its engine
// restarts.
const (
	firstChosenPort = 20000
	lastChosenPort  = 32000
)

// portHold keeps ports bound from the moment they are chosen until shortly before the engine
// takes them.
type portHold struct{ listeners []net.Listener }

// take binds port on host, or a free one when *port is 0, and sets *port. need completes the
// sentence "port N on HOST is taken by another process; … needs it".
func (h *portHold) take(host string, port *int, need string) error {
	if *port != 0 {
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(*port)))
		if errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("port %d on %s %w; %s needs it: stop what listens there or choose "+
				"another port", *port, host, ErrPortTaken, need)
		}
		if err != nil {
			return fmt.Errorf("cannot listen on port %d of %s for %s: %w", *port, host, need, err)
		}
		h.listeners = append(h.listeners, l)
		return nil
	}
	var last error
	for range 1000 {
		candidate := chosen.next()
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(candidate)))
		if err == nil {
			h.listeners = append(h.listeners, l)
			*port = candidate
			return nil
		}
		last = err
	}
	return fmt.Errorf("found no free port on %s for %s: %w", host, need, last)
}

// release frees the held ports for the engine.
func (h *portHold) release() {
	for _, l := range h.listeners {
		_ = l.Close() // a listener that was never accepted on has nothing to lose
	}
	h.listeners = nil
}

// PortFree returns nil when port on host can be listened on, and otherwise an error that wraps
// ErrPortTaken and names the port and need, e.g. "Kafka's brokers".
func PortFree(host string, port int, need string) error {
	var hold portHold
	defer hold.release()
	return hold.take(host, &port, need)
}

// FreePort returns a port on host that nothing listens on just now, of those that no outgoing
// connection is given. It is for processes that are told their port and start a moment later.
func FreePort(host string) (port int, err error) {
	var hold portHold
	defer hold.release()
	return port, hold.take(host, &port, "a process")
}
