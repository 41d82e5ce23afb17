package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// conn speaks just enough of the native protocol, version 4, to measure a server: a driver would
// take more of the two cores than the server does, and the ratio would be the driver's.
type conn struct {
	net.Conn
	in  *bufio.Reader
	out []byte
}

const (
	opError, opStartup, opReady, opResult, opPrepare, opExecute = 0x00, 0x01, 0x02, 0x08, 0x09, 0x0a
	consistencyOne                                              = 1
	hasValues, skipMetadata, withPageSize, withPagingState      = 0x01, 0x02, 0x04, 0x08
	morePages                                                   = 0x0002
)

func dial(ctx context.Context, addr string) (*conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if deadline, ok := ctx.Deadline(); ok {
		c.SetDeadline(deadline) //nolint:errcheck // it has one
	}
	w := &conn{Conn: c, in: bufio.NewReaderSize(c, 1<<20)}
	body := append([]byte{0, 1}, text("CQL_VERSION")...)
	w.request(0, opStartup, append(body, text("3.0.0")...))
	if err := w.flush(); err != nil {
		return nil, err
	}
	if _, op, body, err := w.response(); err != nil || op != opReady {
		return nil, fmt.Errorf("%s does not become ready: opcode %d %q %v", addr, op, body, err)
	}
	return w, nil
}

func text(s string) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(s))), s...)
}

func (c *conn) request(stream uint16, op byte, body []byte) {
	c.out = append(c.out, 4, 0, byte(stream>>8), byte(stream), op)
	c.out = binary.BigEndian.AppendUint32(c.out, uint32(len(body)))
	c.out = append(c.out, body...)
}

func (c *conn) flush() error {
	_, err := c.Write(c.out)
	c.out = c.out[:0]
	return err
}

func (c *conn) response() (stream uint16, op byte, body []byte, err error) {
	var h [9]byte
	if _, err = io.ReadFull(c.in, h[:]); err != nil {
		return 0, 0, nil, err
	}
	body = make([]byte, binary.BigEndian.Uint32(h[5:]))
	_, err = io.ReadFull(c.in, body)
	if err == nil && h[4] == opError {
		err = fmt.Errorf("the server answers %q", body)
	}
	return binary.BigEndian.Uint16(h[2:]), h[4], body, err
}

func (c *conn) prepare(statement string) ([]byte, error) {
	c.request(0, opPrepare, append(binary.BigEndian.AppendUint32(nil, uint32(len(statement))),
		statement...))
	if err := c.flush(); err != nil {
		return nil, err
	}
	_, _, body, err := c.response()
	if err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint16(body[4:])
	return body[4 : 6+n], nil // with its length
}

// lookups executes a statement for one name after another, with inFlight of them under way on
// each of some connections, for a while. Each answer must have a row.
func lookups(ctx context.Context, addr, statement string, names []string, connections, inFlight int,
	long time.Duration) (perSecond float64, err error) {
	var done atomic.Int64
	var wg sync.WaitGroup
	failed := make(chan error, connections)
	began := time.Now()
	for k := range connections {
		wg.Add(1)
		go func() {
			defer wg.Done()
			n, err := lookupsOn(ctx, addr, statement, names, k*len(names)/connections, inFlight,
				began.Add(long))
			if done.Add(n); err != nil {
				failed <- err
			}
		}()
	}
	wg.Wait()
	took := time.Since(began)
	select {
	case err = <-failed:
	default:
	}
	return float64(done.Load()) / took.Seconds(), err
}

func lookupsOn(ctx context.Context, addr, statement string, names []string, at, inFlight int,
	until time.Time) (done int64, err error) {
	c, err := dial(ctx, addr)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	id, err := c.prepare(statement)
	if err != nil {
		return 0, err
	}
	next := func(stream uint16) {
		name := names[at%len(names)]
		at += 7919 // a prime: neighbours in time are not neighbours in the table
		body := append(append([]byte(nil), id...), 0, consistencyOne, hasValues|skipMetadata, 0, 1)
		body = append(binary.BigEndian.AppendUint32(body, uint32(len(name))), name...)
		c.request(stream, opExecute, body)
	}
	for s := range inFlight {
		next(uint16(s))
	}
	for underWay := inFlight; underWay > 0; {
		if err := c.flush(); err != nil {
			return done, err
		}
		goOn := time.Now().Before(until)
		for first := true; underWay > 0 && (first || c.in.Buffered() >= 9); first = false {
			stream, _, body, err := c.response()
			if err != nil {
				return done, err
			}
			if rows, _, err := page(body); err != nil || rows != 1 {
				return done, fmt.Errorf("a lookup gave %d rows: %v", rows, err)
			}
			done++
			if underWay--; goOn {
				next(stream)
				underWay++
			}
		}
	}
	return done, nil
}

// scan reads all rows of a statement in pages and returns how many there were.
func scan(ctx context.Context, addr, statement string,
	pageSize uint32) (rows int, took time.Duration, err error) {
	c, err := dial(ctx, addr)
	if err != nil {
		return 0, 0, err
	}
	defer c.Close()
	id, err := c.prepare(statement)
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	for state := []byte(nil); ; {
		flags := byte(skipMetadata | withPageSize)
		if state != nil {
			flags |= withPagingState
		}
		body := append(append([]byte(nil), id...), 0, consistencyOne, flags)
		body = binary.BigEndian.AppendUint32(body, pageSize)
		if state != nil {
			body = append(binary.BigEndian.AppendUint32(body, uint32(len(state))), state...)
		}
		c.request(0, opExecute, body)
		if err := c.flush(); err != nil {
			return rows, 0, err
		}
		_, _, answer, err := c.response()
		if err != nil {
			return rows, 0, err
		}
		n, more, err := page(answer)
		if rows += n; err != nil || more == nil {
			return rows, time.Since(began), err
		}
		state = more
	}
}

// page takes a result of rows without metadata apart: how many there are and where the next page
// begins.
func page(body []byte) (rows int, state []byte, err error) {
	if len(body) < 16 || binary.BigEndian.Uint32(body) != 2 {
		return 0, nil, errors.New("the answer is not rows")
	}
	flags, rest := binary.BigEndian.Uint32(body[4:]), body[12:]
	if flags&morePages != 0 {
		n := binary.BigEndian.Uint32(rest)
		state, rest = rest[4:4+n], rest[4+n:]
	}
	return int(binary.BigEndian.Uint32(rest)), state, nil
}
