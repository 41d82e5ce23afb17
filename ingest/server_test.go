package ingest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/access/limit"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/stream"
)

func TestValidate(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
	err := Config{Listen: "nowhere", MaxSkew: -1, MaxAge: -2, DrainTimeout: -1,
		MaxInFlightBytes: -1}.Validate()
	for _, want := range []string{"listen", "max_frame_bytes", "max_raw_bytes", "max_series",
		"max_skew", "max_age", "frames_per_second", "frames_burst", "max_in_flight_bytes",
		"max_nodes", "new_nodes_per_hour", "new_series_per_hour", "account_share", "address_share",
		"body_timeout", "body_grace", "body_bytes_per_second", "drain_timeout"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s is missing in: %v", want, err)
		}
	}
	s := mustServe(t, nil)
	c := DefaultConfig()
	c.Listen = s.Addr().String()
	d := s.deps
	if _, err := New(c, d); err == nil {
		t.Error("metrics registered twice: no error")
	}
	if _, err := New(c, Deps{}); err == nil {
		t.Error("no dependencies: no error")
	}
}

// held is a Publish that waits until it is let go.
type held struct{ entered, release chan struct{} }

func newHeld() *held { return &held{make(chan struct{}, 100), make(chan struct{})} }

func (h *held) publish(ctx context.Context, _, _ string, _ []byte) error {
	h.entered <- struct{}{}
	select {
	case <-h.release:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestInFlightAndDrain(t *testing.T) {
	h := newHeld()
	s := mustServe(t, h.publish, func(c *Config, _ *Deps) {
		c.MaxFrameBytes, c.MaxRawBytes, c.MaxInFlightBytes = minReserved, minReserved,
			2*minReserved+1000
		c.AccountShare, c.AddressShare = 1, 1
	})
	good := node{}.mustKey(t)
	answers := make(chan int, 2)
	for range 2 {
		go func() { answers <- post(t, s.url, bytes.NewReader(good)).StatusCode }()
		<-h.entered
	}
	if pending := s.counts(t, "frames_pending")[""]; pending != 2 {
		t.Errorf("%v are pending", pending)
	}
	wantRefusal(t, post(t, s.url, bytes.NewReader(good)), 503, "overloaded")
	ended := make(chan struct{})
	go func() { s.stop(); close(ended) }()
	eventually.True(t, "new connections are refused", func() bool {
		c, err := net.Dial("tcp", s.Addr().String())
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	close(h.release)
	for range 2 {
		if got := <-answers; got != 204 {
			t.Errorf("a request under way got %d", got)
		}
	}
	<-ended
	s.ledger(t)
}

func TestDrainIsBounded(t *testing.T) {
	h := newHeld()
	s := mustServe(t, h.publish, func(c *Config, _ *Deps) {
		c.DrainTimeout = 50 * time.Millisecond
	})
	good := node{}.mustKey(t)
	cut := make(chan error, 1)
	go func() {
		q, _ := http.NewRequest(http.MethodPost, s.url+FramesPath, bytes.NewReader(good))
		withKey(writer)(q)
		q.Header.Set("Content-Type", frame.ContentType)
		_, err := http.DefaultClient.Do(q)
		cut <- err
	}()
	<-h.entered
	s.stop()
	if <-cut == nil {
		t.Error("a request that was cut off has an answer")
	}
	eventually.True(t, "the request is over", func() bool {
		return s.counts(t, "frames_pending")[""] == 0
	})
	s.ledger(t)
	if s.counts(t, "frames_dropped_total")["cancelled"] != 1 {
		t.Error("it is not counted as cancelled")
	}
}

// TestRate: two processes that share a Redis let an account's frames through as one would.
func TestRate(t *testing.T) {
	redis := engines.SharedRedis(t)
	var servers []*running
	for range 2 {
		servers = append(servers, mustServe(t, func(context.Context, string, string, []byte) error {
			return nil
		}, func(c *Config, d *Deps) {
			c.FramesPerSecond, c.FramesBurst = 0.01, 3
			rc := recent.DefaultConfig()
			rc.Addresses, rc.DialTimeout = []string{redis.Addr()}, 10*time.Second
			reader, err := recent.NewReader(rc, d.Registry)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(reader.Close)
			limiter, err := limit.New(limit.Config{Of: "frames-" + t.Name(),
				RequestsPerSecond: c.FramesPerSecond, Burst: c.FramesBurst,
				NodeRequestsPerSecond: 1, NodeBurst: 1, Timeout: time.Minute,
				Backoff: time.Nanosecond}, reader.Redis(), d.Registry)
			if err != nil {
				t.Fatal(err)
			}
			d.Limit = func(ctx context.Context, account string) time.Duration {
				after, _ := limiter.Take(ctx, account, "")
				return after
			}
		}))
	}
	for i := range 3 {
		if answer := post(t, servers[i%2].url,
			bytes.NewReader(node{}.mustKey(t))); answer.StatusCode != 204 {
			t.Fatal(answer.Status)
		}
	}
	for _, s := range servers {
		answer := post(t, s.url, bytes.NewReader(node{}.mustKey(t)))
		wantRefusal(t, answer, 429, "rate")
		if after, err := strconv.Atoi(answer.Header.Get("Retry-After")); err != nil || after < 1 ||
			after > 100 {
			t.Errorf("Retry-After %s", answer.Header.Get("Retry-After"))
		}
	}
	if answer := post(t, servers[0].url, bytes.NewReader(node{cluster: "zeta-1"}.mustKey(t)),
		withKey(zetas)); answer.StatusCode != 204 {
		t.Errorf("another account: %s", answer.Status)
	}
	for _, s := range servers {
		s.ledger(t)
	}
}

func TestGuessing(t *testing.T) {
	s := mustServe(t, nil)
	for i := range 30 {
		answer := post(t, s.url, nil, withKey(fmt.Sprint("rw_guess", i)))
		if answer.StatusCode == 429 {
			wantRefusal(t, answer, 429, "too_many_wrong_keys")
			s.ledger(t)
			return
		}
	}
	t.Error("30 guesses were let through")
}

func TestOddFailures(t *testing.T) {
	good := node{}.mustKey(t)
	s := mustServe(t, func(context.Context, string, string, []byte) error {
		return stream.ErrRefused
	})
	wantRefusal(t, post(t, s.url, bytes.NewReader(good)), 413, "kafka_limit")
	s.ledger(t)
	s = mustServe(t, nil, func(_ *Config, d *Deps) {
		d.Admit = func(*http.Request) (account.Principal, error) {
			return account.Principal{}, errors.New("the registry is away")
		}
	})
	wantRefusal(t, post(t, s.url, bytes.NewReader(good)), 503, "key_check")
	s.ledger(t)
}

// dial opens a raw connection and sends text.
func dial(t *testing.T, s *running, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

// answerTo reads an answer and checks that the connection ends after it.
func answerTo(t *testing.T, c net.Conn, status int, reason string) {
	t.Helper()
	b := bufio.NewReader(c)
	answer, err := http.ReadResponse(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, answer, status, reason)
	answer.Body.Close()
	if _, err := b.ReadByte(); err == nil {
		t.Error("the connection goes on")
	}
}

func TestSlowAndBrokenSenders(t *testing.T) {
	t.Parallel() // it waits for the end of a header's time
	take := func(context.Context, string, string, []byte) error { return nil }
	s, slow := mustServe(t, take), mustServe(t, take, func(c *Config, _ *Deps) {
		c.BodyTimeout = 200 * time.Millisecond
	})
	head := "POST " + FramesPath + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + writer +
		"\r\nContent-Type: " + frame.ContentType + "\r\n"
	slowHead := dial(t, s, "POST "+FramesPath+" HTTP/1.1\r\nHost:")
	answerTo(t, dial(t, slow, head+"Content-Length: 1000\r\n\r\nRWF"), 503, "slow_body")
	answerTo(t, dial(t, slow, head+"Transfer-Encoding: chunked\r\n\r\n3\r\nRWF\r\n"), 503,
		"slow_body")
	answerTo(t, dial(t, s, head+"Transfer-Encoding: chunked\r\n\r\nzz\r\n"), 400, "broken_body")
	if half, ok := dial(t, s, head+"Content-Length: 1000\r\n\r\nRWF").(*net.TCPConn); !ok ||
		half.CloseWrite() != nil {
		t.Error("cannot close one direction")
	} else {
		answerTo(t, half, 400, "broken_body")
	}
	if answer := post(t, s.url, bytes.NewReader(node{}.mustKey(t))); answer.StatusCode != 204 {
		t.Errorf("the next good frame: %s", answer.Status)
	}
	if n, err := io.Copy(io.Discard, slowHead); err != nil {
		t.Errorf("after %d bytes: %v", n, err) // the server closes it
	}
	s.ledger(t)
	slow.ledger(t)
}

// A deadline for the body must not fire while Kafka is slow.
func TestSlowKafkaAfterQuickBody(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	s := mustServe(t, func(ctx context.Context, _, _ string, _ []byte) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-done:
			return nil
		}
	}, func(c *Config, _ *Deps) { c.BodyTimeout = time.Second })
	time.AfterFunc(1500*time.Millisecond, func() { close(done) })
	if answer := post(t, s.url, bytes.NewReader(node{}.mustKey(t))); answer.StatusCode != 204 {
		t.Errorf("got %s", answer.Status)
	}
	s.ledger(t)
}
