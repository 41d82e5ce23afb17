package ingest

import (
	"bytes"
	"compress/flate"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/stream/kafka"
)

// topic is a topic of the test's own, with what comes out of it.
type topic struct {
	config   stream.Config
	producer *stream.Producer

	mu      sync.Mutex
	records []stream.Record
}

func (c *topic) Handle(_ context.Context, records []stream.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.records = append(c.records, records...)
	return nil
}
func (c *topic) Tick(context.Context, time.Time) error { return nil }
func (c *topic) LowWater(int32) (int64, bool)          { return 0, false }
func (c *topic) Revoke(int32)                          {}

func (c *topic) taken() []stream.Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]stream.Record(nil), c.records...)
}

func mustTopic(t *testing.T, broker *engines.Kafka, publishTimeout time.Duration) *topic {
	t.Helper()
	c := &topic{config: stream.DefaultConfig()}
	at := kafka.DefaultConfig()
	at.Brokers = []string{broker.Addr()}
	k, err := kafka.New(at, quiet)
	if err != nil {
		t.Fatal(err)
	}
	c.config.Topic, c.config.Partitions = fmt.Sprintf("%s.%d", t.Name(), time.Now().UnixNano()), 1
	c.config.PublishTimeout = publishTimeout
	if err := stream.EnsureTopic(t.Context(), k, c.config); err != nil {
		t.Fatal(err)
	}
	if c.producer, err = stream.NewProducer(k, c.config, prometheus.NewRegistry()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.producer.Close)
	consumer, err := stream.NewConsumer(k, stream.DefaultConsumerConfig(c.config.Topic,
		c.config.Topic), c, prometheus.NewRegistry(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- consumer.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return c
}

// bomb returns 60 MiB of zeros, packed.
func bomb(t *testing.T, compression frame.Compression, withSize bool) []byte {
	t.Helper()
	zeros := make([]byte, 60<<20)
	var out bytes.Buffer
	if compression == frame.Deflate {
		z, _ := flate.NewWriter(&out, flate.BestSpeed)
		_, _ = z.Write(zeros)
		_ = z.Close()
		return out.Bytes()
	}
	z, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if withSize {
		return z.EncodeAll(zeros, nil)
	}
	_, _ = z.Write(zeros)
	_ = z.Close()
	return out.Bytes()
}

func edited(b []byte, edit func(b []byte) []byte) []byte { return edit(bytes.Clone(b)) }

func withKey(key string) func(*http.Request) {
	return func(q *http.Request) { q.Header.Set("Authorization", "Bearer "+key) }
}

func withHeader(name, value string) func(*http.Request) {
	return func(q *http.Request) { q.Header.Set(name, value) }
}

func sentAt(at time.Time) func(*http.Request) {
	return withHeader(SentHeader, strconv.FormatInt(at.UnixMilli(), 10))
}

// Every bad input gets its own answer and goes nowhere, and the next good frame arrives as it was
// sent.
func TestBadInput(t *testing.T) {
	c := mustTopic(t, engines.SharedKafka(t), time.Minute)
	s := mustServe(t, c.producer.Publish, func(config *Config, _ *Deps) {
		config.MaxFrameBytes, config.MaxSeries = 1<<20, 1000
	})
	good := node{}.mustKey(t)
	now := time.Now()
	old := node{at: now.Add(-time.Hour)}.mustKey(t)
	for _, input := range []struct {
		name   string
		body   []byte
		change []func(*http.Request)
		status int
		reason string
	}{
		{"no key", good,
			[]func(*http.Request){func(q *http.Request) { q.Header.Del("Authorization") }}, 401,
			"no_key"},
		{"wrong key", good, []func(*http.Request){withKey("rw_nobodys")}, 401, "wrong_key"},
		{"expired key", good, []func(*http.Request){withKey(expired)}, 401, "expired_key"},
		{"reader's key", good, []func(*http.Request){withKey(reader)}, 403, "scope"},
		{"GET", nil, []func(*http.Request){func(q *http.Request) { q.Method = "GET" }}, 405,
			"method"},
		{"JSON", []byte("{}"),
			[]func(*http.Request){withHeader("Content-Type", "application/json")}, 415,
			"content_type"},
		{"no type", good,
			[]func(*http.Request){func(q *http.Request) { q.Header["Content-Type"] = nil }}, 415,
			"content_type"},
		{"gzip around", good, []func(*http.Request){withHeader("Content-Encoding", "gzip")}, 415,
			"content_encoding"},
		{"empty", nil, nil, 400, "truncated"},
		{"truncated", good[:len(good)-1], nil, 400, "truncated"},
		{"two at once", append(bytes.Clone(good), good...), nil, 400, "truncated"},
		{"no frame", []byte("GET / HTTP/1.1 and more"), nil, 400, "magic"},
		{"version 2", edited(good, func(b []byte) []byte { b[3] = 2; return b }), nil, 400,
			"version"},
		{"flipped in the header", edited(good, func(b []byte) []byte { b[30] ^= 1; return b }), nil,
			400, "checksum"},
		{"flipped in the payload",
			edited(good, func(b []byte) []byte { b[len(b)-1] ^= 128; return b }), nil, 400,
			"checksum"},
		{"malformed and sealed", edited(good, func(b []byte) []byte { return seal(append(b, 0)) }),
			nil, 400, "malformed"},
		{"payload is noise", rawFrame(frame.None, 5, []byte("noise")), nil, 400, "malformed"},
		{"oversized", make([]byte, 1<<20+1), nil, 413, "too_large"},
		{"oversized in chunks", make([]byte, 1<<20+1),
			[]func(*http.Request){func(q *http.Request) { q.ContentLength = -1 }}, 413,
			"too_large"},
		{"says it is oversized", edited(good, func(b []byte) []byte { b[11] = 0x7f; return b }),
			nil, 413, "too_large"},
		{"honest deflate bomb", rawFrame(frame.Deflate, 60<<20, bomb(t, frame.Deflate, false)), nil,
			413, "raw_too_large"},
		{"lying deflate bomb", rawFrame(frame.Deflate, 1000, bomb(t, frame.Deflate, false)), nil,
			413, "raw_too_large"},
		{"honest zstd bomb", rawFrame(frame.Zstd, 60<<20, bomb(t, frame.Zstd, true)), nil, 413,
			"raw_too_large"},
		{"lying zstd bomb", rawFrame(frame.Zstd, 1000, bomb(t, frame.Zstd, false)), nil, 413,
			"raw_too_large"},
		{"zstd bomb with two sizes", rawFrame(frame.Zstd, 1000, bomb(t, frame.Zstd, true)), nil,
			413, "raw_too_large"},
		{"too many series", node{rows: 501}.mustKey(t), nil, 413, "too_many_series"},
		{"frame an hour ahead", node{at: now.Add(time.Hour)}.mustKey(t), nil, 400, "clock_ahead"},
		{"clock an hour ahead", node{at: now.Add(time.Hour)}.mustKey(t),
			[]func(*http.Request){sentAt(now.Add(time.Hour))}, 400, "clock_skew"},
		{"clock an hour behind", old, []func(*http.Request){sentAt(now.Add(-time.Hour))}, 400,
			"clock_skew"},
		{"clock is no number", good, []func(*http.Request){withHeader(SentHeader, "noon")}, 400,
			"bad_header"},
		{"clock beyond all numbers", good,
			[]func(*http.Request){withHeader(SentHeader, "9223372036854775807")}, 400,
			"clock_skew"},
		{"clock before all numbers", good,
			[]func(*http.Request){withHeader(SentHeader, "-9223372036854775808")}, 400,
			"clock_skew"},
		{"too old", node{at: now.Add(-15 * 24 * time.Hour)}.mustKey(t),
			[]func(*http.Request){sentAt(now)}, 400, "too_old"},
		{"another account's cluster", node{cluster: "zeta-1"}.mustKey(t), nil, 403,
			"foreign_cluster"},
		{"another account's key", good, []func(*http.Request){withKey(zetas)}, 403,
			"foreign_cluster"},
	} {
		t.Run(input.name, func(t *testing.T) {
			before := s.counts(t, "frames_dropped_total")[input.reason]
			wantRefusal(t, post(t, s.url, bytes.NewReader(input.body), input.change...),
				input.status, input.reason)
			eventually.True(t, "it is counted", func() bool {
				return s.counts(t, "frames_dropped_total")[input.reason] == before+1
			})
			if answer := post(t, s.url, bytes.NewReader(good)); answer.StatusCode != 204 {
				t.Errorf("the next good frame: %s", answer.Status)
			}
		})
	}
	refused := len(s.counts(t, "frames_dropped_total"))
	if refused < 15 {
		t.Errorf("only %d different reasons", refused)
	}
	goods := int(s.counts(t, "frames_forwarded_total")[""])

	// Frames of every sort arrive as they were sent.
	sent := [][]byte{old}
	for _, compression := range []frame.Compression{frame.None, frame.Deflate, frame.Zstd} {
		n := node{compression: compression, rows: 300, cluster: "prod-" + compression.String()}
		sent = append(sent, n.mustKey(t))
	}
	sent = append(sent, node{}.mustDelta(t))
	for i, b := range sent {
		change := []func(*http.Request){sentAt(time.Now())}
		switch i {
		case 1:
			change = append(change, func(q *http.Request) { q.ContentLength = -1 })
		case 2:
			change = append(change, func(q *http.Request) { q.SetBasicAuth("acme", writer) })
		case 3:
			change = append(change, withHeader("Content-Type", "application/octet-stream"))
		}
		if answer := post(t, s.url, bytes.NewReader(b), change...); answer.StatusCode != 204 {
			t.Errorf("good frame %d: %s", i, answer.Status)
		}
	}
	eventually.True(t, "all good frames are in Kafka", func() bool {
		return len(c.taken()) >= goods+len(sent)
	})
	for i, r := range c.taken() {
		want := good
		if i >= goods {
			want = sent[i-goods]
		}
		if !bytes.Equal(r.Value, want) || r.Account != "acme" ||
			!strings.HasPrefix(r.Cluster, "prod-") {
			t.Errorf("record %d of %s/%s is not what was sent", i, r.Account, r.Cluster)
		}
	}
	if n := len(c.taken()); n != goods+len(sent) {
		t.Errorf("%d records, %d good frames", n, goods+len(sent))
	}
	s.ledger(t)
}

func TestKafkaStopped(t *testing.T) {
	broker := engines.MustKafka(t)
	c := mustTopic(t, broker, time.Second)
	s := mustServe(t, c.producer.Publish, func(_ *Config, d *Deps) { d.Ready = c.producer.Ready })
	get := func(path string) int {
		t.Helper()
		answer, err := http.Get(s.url + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer.StatusCode
	}
	good := node{}.mustKey(t)
	eventually.True(t, "frames are taken", func() bool {
		return post(t, s.url, bytes.NewReader(good)).StatusCode == 204 && get("/-/ready") == 200
	})
	if err := broker.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		began := time.Now()
		wantRefusal(t, post(t, s.url, bytes.NewReader(good)), 503, "kafka")
		// without a bound it would wait for the broker
		if took := time.Since(began); took > c.config.PublishTimeout+time.Minute {
			t.Errorf("the answer took %s", took)
		}
	}
	if healthy, ready, metrics := get("/-/healthy"), get("/-/ready"),
		get("/metrics"); healthy != 200 || ready != 503 || metrics != 200 {
		t.Errorf("healthy %d, ready %d, metrics %d", healthy, ready, metrics)
	}
	if err := broker.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "frames are taken again", func() bool {
		return post(t, s.url, bytes.NewReader(good)).StatusCode == 204
	})
	eventually.True(t, "ready again", func() bool { return get("/-/ready") == 200 })
	forwarded := int(s.counts(t, "frames_forwarded_total")[""])
	eventually.True(t, "what was answered 2xx is in Kafka", func() bool {
		return len(c.taken()) >= forwarded
	})
	s.ledger(t)
}
