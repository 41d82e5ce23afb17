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

// guard is a connection that breaks off an answer which is too big, no Redis's, or to nothing that
// was asked. It looks at the bytes before the library does. That allocates what lengths say, panics
// at some, and at an answer too many in a goroutine of its own, which nobody can catch.
type guard struct {
	net.Conn
	err     error // why it broke off
	asked   resp
	said    resp
	pending int // answers to come
	bytes   int // that they may still have
}

// Write begins the answers to what it writes. One who writes waits for the answers.
func (g *guard) Write(b []byte) (int, error) {
	g.bytes, g.said.values, g.asked.values = maxBytes, maxValues, maxValues
	commands, err := g.asked.look(b)
	if err != nil {
		return 0, err
	}
	g.pending += commands
	return g.Conn.Write(b)
}

func (g *guard) Read(b []byte) (int, error) {
	if g.err != nil {
		return 0, g.err
	}
	n, err := g.Conn.Read(b)
	if n == 0 {
		return 0, err
	}
	if g.err = g.take(b[:n]); g.err != nil {
		return 0, g.err
	}
	return n, err
}

func (g *guard) take(b []byte) error {
	if g.bytes -= len(b); g.bytes < 0 {
		return errTooLong
	}
	answers, err := g.said.look(b)
	if g.pending -= answers; err == nil && (g.pending < 0 || g.pending == 0 && g.said.within()) {
		err = errNoRedis
	}
	return err
}

// resp follows a stream of RESP2.
type resp struct {
	values int   // that are left for lists, all together
	lists  []int // values that are still to come of each open list
	skip   int   // bytes of the string under way, with its end
	head   []byte
	kind   byte // of the value whose first line this is; 0: it begins
	whole  int  // values that have ended, those in lists aside
}

// within reports whether a value has begun and not ended.
func (s *resp) within() bool { return s.kind != 0 || s.skip > 0 || len(s.lists) > 0 }

// look takes the next bytes and returns how many values have ended.
func (s *resp) look(b []byte) (whole int, err error) {
	s.whole = 0
	for len(b) > 0 {
		if s.skip > 0 {
			n := min(s.skip, len(b))
			if s.skip -= n; s.skip == 0 {
				s.ends()
			}
			b = b[n:]
			continue
		}
		c := b[0]
		b = b[1:]
		switch {
		case s.kind == 0:
			switch c {
			case '+', '-', ':', '$', '*':
				s.kind, s.head = c, s.head[:0]
			default:
				return s.whole, errNoRedis
			}
		case c != '\n':
			// Only numbers are looked at: a few digits and the return.
			if s.kind != '+' && s.kind != '-' && len(s.head) > 24 {
				return s.whole, errNoRedis
			}
			if len(s.head) < 32 {
				s.head = append(s.head, c)
			}
		default:
			if err := s.line(); err != nil {
				return s.whole, err
			}
		}
	}
	return s.whole, nil
}

// line takes a value's first line.
func (s *resp) line() error {
	kind, head := s.kind, s.head
	s.kind = 0
	if kind == '+' || kind == '-' {
		s.ends()
		return nil
	}
	if len(head) < 2 || head[len(head)-1] != '\r' {
		return errNoRedis
	}
	head = head[:len(head)-1]
	if kind == '$' || kind == '*' {
		if string(head) == "-1" { // nothing
			s.ends()
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
		s.ends()
	case kind == '$':
		if n > maxBytes {
			return errTooLong
		}
		s.skip = n + 2
	default:
		if s.values -= n; n > maxValues || s.values < 0 {
			return errTooMany
		}
		if len(s.lists) == maxDepth {
			return errTooDeep
		}
		s.lists = append(s.lists, n)
	}
	return nil
}

// ends is called when a value has ended, which may be the last one of its list.
func (s *resp) ends() {
	for last := len(s.lists) - 1; last >= 0; last-- {
		if s.lists[last]--; s.lists[last] > 0 {
			return
		}
		s.lists = s.lists[:last]
	}
	s.whole++
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
