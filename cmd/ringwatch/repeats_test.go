package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/logs"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// said is a log on a clock that the test sets.
type said struct {
	*logs.Repeats
	*slog.Logger
	out  bytes.Buffer
	at   time.Time
	tick func() // what is due when the time has come
}

func newSaid() *said {
	s := &said{Repeats: logs.NewRepeats(), at: time.Unix(1_800_000_000, 0)}
	s.Now = func() time.Time { return s.at }
	s.After = func(_ time.Duration, f func()) { s.tick = f }
	leave := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	s.Logger = slog.New(
		s.Wrap(slog.NewTextHandler(&s.out, &slog.HandlerOptions{ReplaceAttr: leave})))
	return s
}

// pass lets time pass and what is due happen.
func (s *said) pass(d time.Duration) {
	s.at = s.at.Add(d)
	if f := s.tick; f != nil {
		s.tick = nil
		f()
	}
}

// want holds what was written since the last time to lines.
func (s *said) want(t *testing.T, lines ...string) {
	t.Helper()
	var want string
	for _, l := range lines {
		want += l + "\n"
	}
	if got := s.out.String(); got != want {
		t.Errorf("the log has\n%s\nwant\n%s", got, want)
	}
	s.out.Reset()
}

func TestRepeatedLinesAreCounted(t *testing.T) {
	s := newSaid()
	store := s.With("group", "store")
	for i := range 1234 {
		s.at = s.at.Add(10 * time.Millisecond)
		s.Warn("a frame could not be forwarded", "request", i)
		s.Info("access", "request", i%2)
		if i%2 == 0 {
			s.Warn("a request failed", "reason", []string{"store", "timeout"}[i/2%2],
				"error", errors.New(fmt.Sprint(i)))
			store.Error("consuming begins again", "after", i)
		}
	}
	if got := strings.Count(s.out.String(), "msg=access"); got != 1234 {
		t.Errorf("%d lines of the access log for 1234 requests", got)
	}
	var others []string
	for line := range strings.Lines(s.out.String()) {
		if !strings.Contains(line, "access") {
			others = append(others, line)
		}
	}
	s.out.Reset()
	s.out.WriteString(strings.Join(others, ""))
	s.want(t, `level=WARN msg="a frame could not be forwarded" request=0`,
		`level=WARN msg="a request failed" reason=store error=0`,
		`level=ERROR msg="consuming begins again" group=store after=0`,
		`level=WARN msg="a request failed" reason=timeout error=2`)
	s.pass(47670 * time.Millisecond) // all have begun a minute ago or a hundredth of a second less
	s.want(t, `level=WARN msg="a request failed" reason=store error=1232 repeated=308 over=1m0s`,
		`level=ERROR msg="consuming begins again" group=store after=1232 repeated=616 over=1m0s`,
		`level=WARN msg="a frame could not be forwarded" request=1233 repeated=1233 over=1m0s`)
	s.pass(time.Second)
	s.want(t, `level=WARN msg="a request failed" reason=timeout error=1230 repeated=307 over=1m1s`)
	s.pass(30 * time.Second)
	s.Warn("a frame could not be forwarded", "request", "later")
	s.want(t)
	s.pass(30 * time.Second)
	s.want(t, `level=WARN msg="a frame could not be forwarded" request=later repeated=1 over=1m1s`)
	s.pass(time.Minute)
	s.pass(time.Minute)
	s.want(t)
	if len(s.Kinds) != 0 || s.tick != nil {
		t.Errorf("%d kinds are remembered of a quiet log", len(s.Kinds))
	}
	s.Warn("a frame could not be forwarded", "request", "new")
	s.want(t, `level=WARN msg="a frame could not be forwarded" request=new`)
	s.Warn("a frame could not be forwarded", "request", "last")
	s.pass(3 * time.Second)
	s.Flush() // the process ends
	s.want(t, `level=WARN msg="a frame could not be forwarded" request=last repeated=1 over=3s`)
	s.Flush()
	s.want(t)
}

func TestKindsOfLinesAreBounded(t *testing.T) {
	s := newSaid()
	for i := range 10_000 {
		s.Warn(fmt.Sprintf("a library says %d", i))
	}
	if n := strings.Count(s.out.String(), "\n"); n != logs.MaxKinds+1 ||
		len(s.Kinds) != logs.MaxKinds+1 {
		t.Errorf("%d lines, %d kinds", n, len(s.Kinds))
	}
	s.out.Reset()
	s.pass(time.Minute)
	s.want(t,
		fmt.Sprintf(
			`level=WARN msg="more lines of various kinds, the last: a library says 9999" repeated=%d over=1m0s`, 10_000-logs.MaxKinds-1))
}

// TestNothingSaidIsLost has many write while time passes, and adds up.
func TestNothingSaidIsLost(t *testing.T) {
	var mu sync.Mutex
	var total atomic.Int64
	r := logs.NewRepeats()
	r.After = func(_ time.Duration, f func()) {}
	log := slog.New(r.Wrap(handlerFunc(func(line slog.Record) {
		mu.Lock()
		defer mu.Unlock()
		n := int64(1)
		line.Attrs(func(a slog.Attr) bool {
			if a.Key == "repeated" {
				n = a.Value.Int64()
			}
			return true
		})
		total.Add(n)
	})))
	g, ctx := errgroup.WithContext(t.Context())
	for i := range 8 {
		g.Go(func() error {
			for j := range 2000 {
				log.ErrorContext(ctx, "again", "reason", i%3, "n", j)
				if j%50 == 0 {
					r.Flush()
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	r.Flush()
	if total.Load() != 16_000 {
		t.Errorf("of 16000 lines %d are written or counted", total.Load())
	}
}

// handlerFunc is a slog.Handler that is called with each line.
type handlerFunc func(slog.Record)

func (handlerFunc) Enabled(context.Context, slog.Level) bool { return true }

func (f handlerFunc) Handle(_ context.Context, line slog.Record) error {
	f(line)
	return nil
}

func (f handlerFunc) WithAttrs([]slog.Attr) slog.Handler { return f }

func (f handlerFunc) WithGroup(string) slog.Handler { return f }

// TestRefusedFramesAreAFewLines sends 1,000 frames to an ingest whose Kafka is gone, and reads
// its log after it was told to end.
func TestRefusedFramesAreAFewLines(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	kafka, redis := engines.MustKafka(t), engines.SharedRedis(t)
	dir, port := t.TempDir(), engines.FreePorts(t, 1)[0]
	config := filepath.Join(dir, "ringwatch.yaml")
	text := fmt.Sprintf(`accounts:
  - {name: default, clusters: ["*"], keys: [{name: agents, sha256: %s, scopes: [write]}]}
keys: {stored: false}
kafka: {brokers: [%q], publish_timeout: 1s}
redis: {addresses: [%q]}
ingest: {listen: "127.0.0.1:%d"}
`, account.Hash("rw_agents00000000000000"), kafka.Addr(), redis.Addr(), port)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(dir, "ingest.log")
	p, err := engines.StartProcess(engines.ProcessConfig{Name: "ingest", Path: self,
		Args: []string{"ingest", "--config", config}, Env: []string{asRingwatch}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill() })
	base := fmt.Sprintf("http://127.0.0.1:%d", port)
	eventually(t, "ingest is ready", func(ctx context.Context) error {
		answer, err := http.Get(base + "/-/ready")
		if err != nil {
			return err
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return errors.New(answer.Status)
		}
		return nil
	})
	if err := kafka.Kill(); err != nil {
		t.Fatal(err)
	}
	node := frametest.New("fleet", 1, 1)
	b := node.Frame(time.Now().UnixMilli())
	var g errgroup.Group
	g.SetLimit(100)
	for range 1000 {
		g.Go(func() error {
			r, err := http.NewRequest(http.MethodPost, base+"/v1/frames", bytes.NewReader(b))
			if err != nil {
				return err
			}
			r.Header.Set("Authorization", "Bearer rw_agents00000000000000")
			r.Header.Set("Content-Type", frame.ContentType)
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				return err
			}
			answer.Body.Close()
			if answer.StatusCode != http.StatusServiceUnavailable {
				return fmt.Errorf("answered %s", answer.Status)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	content, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	refused, lines := 0, 0
	for line := range strings.Lines(string(content)) {
		lines++
		if !strings.Contains(line, "a frame could not be forwarded") {
			continue
		}
		n := 1
		if _, rest, ok := strings.Cut(line, " repeated="); ok {
			if _, err := fmt.Sscan(rest, &n); err != nil {
				t.Error(line, err)
			}
		}
		refused += n
	}
	if refused != 1000 || lines > 40 {
		t.Errorf("the log has %d lines and tells of %d frames\n%.3000s", lines, refused, content)
	}
	t.Logf("%d lines", lines)
}
