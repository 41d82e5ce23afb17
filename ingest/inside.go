package ingest

import (
	"net"
	"sync"
)

// inside is a listener that only this process reaches: whatever address, certificate or network
// the other one asks for, the process can send frames of its own.
type inside struct {
	calls  chan net.Conn
	closed chan struct{}
	close  sync.Once
}

func newInside() *inside {
	return &inside{calls: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *inside) Accept() (net.Conn, error) {
	select {
	case c := <-l.calls:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *inside) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *inside) Addr() net.Addr { return &net.UnixAddr{Name: "inside", Net: "unix"} }
