package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"testing"
	"time"
)

// TestWay: a way is cut for who comes by it, whom the kernel names, and for nobody else.
func TestWay(t *testing.T) {
	server := mustListen(t)
	go func() {
		for {
			c, err := server.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(c, "welcome")
		}
	}()
	who := make(chan int, 1)
	s := &scene{pids: map[int]int{2: os.Getpid()}}
	w, err := newWay("127.0.0.1:0", server.Addr().String(), func(c net.Conn) int {
		who <- s.dialer(c)
		return 2
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.listener.Close()
	come := func() (*bufio.Reader, error) {
		c, err := net.Dial("tcp", w.address())
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { c.Close() })
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		r := bufio.NewReader(c)
		_, err = r.ReadString('\n')
		if found := <-who; found != 2 {
			t.Errorf("the kernel names node %d", found)
		}
		return r, err
	}
	open, err := come()
	if err != nil {
		t.Fatal(err)
	}
	w.cut(1, true) // somebody else
	if _, err := come(); err != nil {
		t.Errorf("it is cut for another one: %v", err)
	}
	w.cut(2, true)
	if _, err := open.ReadByte(); err == nil {
		t.Error("what was open stays open")
	}
	if _, err := come(); err == nil {
		t.Error("it lets connections begin")
	}
	w.cut(2, false)
	if _, err := come(); err != nil {
		t.Errorf("it stays cut: %v", err)
	}
}

func mustListen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}
