package ingest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame"
)

// begun opens a connection from an address of this machine and sends the head of a request that
// announces a body, and the first bytes of that.
func begun(t *testing.T, s *running, from, key string, announced, sent int) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := dialer.DialContext(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(10 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	head := fmt.Sprintf(
		"POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: "+
			"%s\r\nContent-Length: %d\r\n\r\n", FramesPath, key, frame.ContentType, announced)
	if _, err := io.WriteString(c, head+strings.Repeat("R", sent)); err != nil {
		t.Fatal(err)
	}
	return c
}

// accepts checks that frames of zeta, sent from another address, are all taken.
func accepts(t *testing.T, s *running, frames int) {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP("127.0.0.2")}}
	client := http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}}
	defer client.CloseIdleConnections()
	for i := range frames {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+FramesPath,
			bytes.NewReader(node{cluster: "zeta-1"}.mustKey(t)))
		if err != nil {
			t.Fatal(err)
		}
		withKey(zetas)(q)
		q.Header.Set("Content-Type", frame.ContentType)
		answer, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusNoContent {
			t.Fatalf("zeta's frame %d: %s", i, answer.Status)
		}
	}
}

func taken(context.Context, string, string, []byte) error { return nil }

// patient lets slow senders be slow, so that an attack goes on for as long as a test needs.
func patient(c *Config, _ *Deps) { c.BodyTimeout, c.BodyGrace = 10*time.Minute, 10*time.Minute }

// TestAnnouncedBodies is the attack that took ingest from all accounts, at ten times the size: 640
// connections announce 8 MiB each, send a byte, and stay.
func TestAnnouncedBodies(t *testing.T) {
	s := mustServe(t, taken, patient)
	var attack []net.Conn
	for range 640 {
		attack = append(attack, begun(t, s, "127.0.0.1", writer, 8<<20, 1))
	}
	eventually.True(t, "all 640 are under way", func() bool {
		return s.counts(t, "frames_pending")[""] == 640
	})
	accepts(t, s, 200)
	if held := s.counts(t, "in_flight_bytes")[""]; held != 640*minReserved {
		t.Errorf("%v bytes are held for 640 bytes that came", held)
	}
	if dropped := s.counts(t, "frames_dropped_total"); len(dropped) != 0 ||
		s.counts(t, "frames_pending")[""] != 640 {
		t.Errorf("the attack did not go on: %v", dropped)
	}
	for _, c := range attack {
		c.Close()
	}
	eventually.True(t, "nothing is held", func() bool {
		return s.counts(t, "in_flight_bytes")[""] == 0
	})
	s.ledger(t)
}

// TestShares: who does send what it announces, and then nothing more, gets its share and no more,
// from one address and from many.
func TestShares(t *testing.T) {
	const announced, sent = 1 << 20, 1<<20 - 1
	for _, c := range []struct {
		name, reason string
		addresses    int
	}{{"address", "address_share", 1}, {"account", "account_share", 16}} {
		t.Run(c.name, func(t *testing.T) {
			s := mustServe(t, taken, patient, func(c *Config, _ *Deps) {
				c.MaxFrameBytes, c.MaxRawBytes, c.MaxInFlightBytes = announced, 1<<20, 32<<20
			})
			for i := range 320 {
				conn := begun(t, s, fmt.Sprintf("127.0.1.%d", 1+i%c.addresses), writer, announced,
					0)
				// The server may refuse it before its end.
				go func() { _, _ = conn.Write(bytes.Repeat([]byte("R"), sent)) }()
			}
			eventually.True(t, "320 requests came", func() bool {
				return s.counts(t, "frames_accepted_total")[""] == 320
			})
			eventually.True(t, "the share is used up", func() bool {
				return s.counts(t, "frames_dropped_total")[c.reason] > 200
			})
			accepts(t, s, 50)
			dropped := s.counts(t, "frames_dropped_total")
			share := map[string]float64{"address": s.config.AddressShare,
				"account": s.config.AccountShare}[c.name]
			if held := s.counts(t, "in_flight_bytes")[""]; dropped["overloaded"] > 0 ||
				held > share*float64(s.config.MaxInFlightBytes) {
				t.Errorf("%v bytes are held, refused were %v", held, dropped)
			}
		})
	}
}

// TestRefusedByShare: the refusal names the share, says when to come back and waits for no body.
func TestRefusedByShare(t *testing.T) {
	s := mustServe(t, taken, patient, func(c *Config, _ *Deps) {
		c.MaxFrameBytes, c.MaxRawBytes, c.MaxInFlightBytes = 1<<20, 1<<20, 8<<20
	})
	for range 32 { // the address's 2 MiB
		begun(t, s, "127.0.0.1", writer, 1<<20, 1)
	}
	eventually.True(t, "the share is used up", func() bool {
		return s.counts(t, "in_flight_bytes")[""] == 2<<20
	})
	answerTo(t, begun(t, s, "127.0.0.1", writer, 1<<20, 1), 429, "address_share")
	for range 32 { // the account's other 2 MiB
		begun(t, s, "127.0.0.3", writer, 1<<20, 1)
	}
	eventually.True(t, "the share is used up", func() bool {
		return s.counts(t, "in_flight_bytes")[""] == 4<<20
	})
	answerTo(t, begun(t, s, "127.0.0.4", writer, 1<<20, 1), 429, "account_share")
	accepts(t, s, 10)
}

// TestBodiesMustComeOn: a body that stands still is given up long before body_timeout.
func TestBodiesMustComeOn(t *testing.T) {
	s := mustServe(t, taken, func(c *Config, _ *Deps) {
		c.BodyTimeout, c.BodyGrace, c.BodyBytesPerSecond = 100*time.Hour, 100*time.Millisecond,
			1<<20
	})
	answerTo(t, begun(t, s, "127.0.0.1", writer, 8<<20, 1), 503, "slow_body")
	answerTo(t, begun(t, s, "127.0.0.1", writer, 8<<20, 100_000), 503, "slow_body")
	s.ledger(t)
	eventually.True(t, "nothing is held", func() bool {
		return s.counts(t, "in_flight_bytes")[""] == 0
	})
}

// TestClaimsGrowWithWhatArrives: what is held is never more than twice what came, and a step.
func TestClaimsGrowWithWhatArrives(t *testing.T) {
	c := DefaultConfig()
	all := newShares(&c)
	for _, announced := range []int64{-1, 0, 1, readStep - 1, readStep, 300_000, 8 << 20} {
		size := int(max(announced, 0))
		if announced < 0 {
			size = 5 << 20
		}
		held, e := all.begin("acme", someone)
		if e != nil {
			t.Fatal(e)
		}
		came := 0
		in := readerFunc(func(p []byte) (int, error) {
			if held.held > int64(2*came+readStep) {
				t.Fatalf("%d bytes are held for %d of %d", held.held, came, announced)
			}
			n := min(len(p), size-came, 10_000)
			if came += n; n == 0 {
				return 0, io.EOF
			}
			return n, nil
		})
		b, refused, err := readAll(in, announced, held)
		if err != nil || refused != nil || len(b) != size ||
			int64(cap(b)) > max(held.held, readStep) {
			t.Errorf("%d announced: %d of %d bytes, %d held, %v %v", announced, len(b), size,
				held.held, refused, err)
		}
		held.end()
	}
	if all.bytes() != 0 || len(all.accounts)+len(all.addresses) != 0 {
		t.Errorf("left: %d bytes, %v, %v", all.bytes(), all.accounts, all.addresses)
	}
}

// someone is an address.
var someone = netip.MustParsePrefix("192.0.2.1/32")

type readerFunc func([]byte) (int, error)

// Read implements io.Reader.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
