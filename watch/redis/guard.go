package redis

import (
	"errors"
	"fmt"
	"net"
)

// What one answer may have. INFO of a busy server with 400 commands takes 60 KiB.
const (
	maxBytes  = 4 << 20
	maxValues = 1 << 18 // in arrays, all together
	maxDepth  = 16
)

var (
	errTooLong = fmt.Errorf("its answer has more than %d MiB", maxBytes>>20)
	errTooMany = fmt.Errorf("its answer has more than %d values", maxValues)
	errTooDeep = errors.New("its answer has lists in lists without end")
	errNoRedis = errors.New("it does not speak Redis's protocol")
)

// guard is a connection that breaks off an answer which is too big or no Redis's. It looks at the
// bytes before the library does: that allocates what lengths say, and panics at some.
type guard struct {
	net.Conn
	err error // why it broke off

	bytes, values int   // what is left of this answer's
	lists         []int // values that are still to come of each open list
	skip          int   // bytes of the string under way, with its end
	head          []byte
	kind          byte // of the value whose first line this is; 0: it begins
}

// Write begins the answer to what it writes: one command is under way at a time.
func (g *guard) Write(b []byte) (int, error) {
	g.bytes, g.values = maxBytes, maxValues
	return g.Conn.Write(b)
}

func (g *guard) Read(b []byte) (int, error) {
	if g.err != nil {
		return 0, g.err
	}
	n, err := g.Conn.Read(b)
	if g.bytes -= n; g.bytes < 0 {
		g.err = errTooLong
	} else {
		g.err = g.look(b[:n])
	}
	if g.err != nil {
		return 0, g.err
	}
	return n, err
}

// look follows RESP2 through the next bytes.
func (g *guard) look(b []byte) error {
	for len(b) > 0 {
		if g.skip > 0 {
			n := min(g.skip, len(b))
			if g.skip -= n; g.skip == 0 {
				g.ends()
			}
			b = b[n:]
			continue
		}
		c := b[0]
		b = b[1:]
		switch {
		case g.kind == 0:
			switch c {
			case '+', '-', ':', '$', '*':
				g.kind, g.head = c, g.head[:0]
			default:
				return errNoRedis
			}
		case c != '\n':
			// Only numbers are looked at: a few digits and the return.
			if g.kind != '+' && g.kind != '-' && len(g.head) > 24 {
				return errNoRedis
			}
			if len(g.head) < 32 {
				g.head = append(g.head, c)
			}
		default:
			if err := g.line(); err != nil {
				return err
			}
		}
	}
	return nil
}

// line takes a value's first line.
func (g *guard) line() error {
	kind, head := g.kind, g.head
	g.kind = 0
	if kind == '+' || kind == '-' {
		g.ends()
		return nil
	}
	if len(head) < 2 || head[len(head)-1] != '\r' {
		return errNoRedis
	}
	head = head[:len(head)-1]
	if kind == '$' || kind == '*' {
		if string(head) == "-1" { // nothing
			g.ends()
			return nil
		}
	} else if head[0] == '-' {
		head = head[1:]
	}
	n, err := number(head)
	switch {
	case err != nil:
		return err
	case kind == ':' || kind == '*' && n == 0:
		g.ends()
	case kind == '$':
		if n > maxBytes {
			return errTooLong
		}
		g.skip = n + 2
	default:
		if g.values -= n; n > maxValues || g.values < 0 {
			return errTooMany
		}
		if len(g.lists) == maxDepth {
			return errTooDeep
		}
		g.lists = append(g.lists, n)
	}
	return nil
}

// ends is called when a value has ended, which may be the last one of its list.
func (g *guard) ends() {
	for last := len(g.lists) - 1; last >= 0; last-- {
		if g.lists[last]--; g.lists[last] > 0 {
			return
		}
		g.lists = g.lists[:last]
	}
}

// number reads digits. What is too big for a length is as big as can be.
func number(digits []byte) (n int, err error) {
	if len(digits) == 0 {
		return 0, errNoRedis
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, errNoRedis
		}
		if n < 1<<40 {
			n = n*10 + int(c-'0')
		}
	}
	return n, nil
}
