package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// oneProcess is `ringwatch all` on a topic and a keyspace of its own.
type oneProcess struct {
	*engines.Process
	dir, self, key, ingest, api string
}

func startAll(t *testing.T, name, redis string) *oneProcess {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ports := engines.FreePorts(t, 2)
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	p := &oneProcess{dir: t.TempDir(), self: self, key: account.NewKey(), ingest: "http://" + at(0),
		api: "http://" + at(1)}
	text := fmt.Sprintf(
		`accounts: [{name: default, clusters: ["*"], keys: [{name: all, sha256: %s, scopes: [read, write]}]}]
kafka: {brokers: [%q], topic: without-%s, partitions: 2, instance_id: %s}
cassandra: {hosts: [%q], keyspace: without_%s, timeout: 30s}
ingest: {listen: %q}
api: {listen: %q}
rules: {shipped: false}
%s`, account.Hash(p.key), engines.SharedKafka(t).Addr(), name, name,
		engines.SharedCassandra(t).Addr(), name, at(0), at(1), redis)
	if err := os.WriteFile(filepath.Join(p.dir, "ringwatch.yaml"), []byte(text),
		0o600); err != nil {
		t.Fatal(err)
	}
	p.start(t)
	return p
}

func (p *oneProcess) start(t *testing.T) {
	t.Helper()
	var err error
	p.Process, err = engines.StartProcess(engines.ProcessConfig{Name: "ringwatch all", Path: p.self,
		Args: []string{"all", "--wait", "5m", "--config", filepath.Join(p.dir, "ringwatch.yaml")},
		Env:  []string{asRingwatch}, Log: filepath.Join(p.dir, "all.log")})
	if err != nil {
		t.Fatal(err)
	}
	of := p.Process
	t.Cleanup(func() {
		of.Kill()
		if b, err := os.ReadFile(of.LogFile()); t.Failed() && err == nil {
			t.Logf("the end of the log:\n%s", b[max(0, len(b)-6<<10):])
		}
	})
	eventually(t, "it is ready", func(ctx context.Context) error {
		if !of.Running() {
			t.Fatal("it has ended")
		}
		return errors.Join(ready(ctx, p.ingest), ready(ctx, p.api))
	})
}

// Do sends a request and returns the body of a good answer.
func (p *oneProcess) do(ctx context.Context, method, url string, body []byte) (string, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+p.key)
	if body != nil {
		req.Header.Set("Content-Type", frame.ContentType)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s", resp.Status, b)
	}
	return string(b), err
}

// recent asks a question and returns the answer if it is from the last 15 minutes, not from the
// store.
func (p *oneProcess) recent(ctx context.Context, call, path string) (string, error) {
	count := func() (float64, error) {
		m, err := metricsOf(ctx, p.api+"/metrics")
		return m[fmt.Sprintf(`ringwatch_api_reads_total{call=%q,source="recent"}`, call)], err
	}
	before, err := count()
	if err != nil {
		return "", err
	}
	answer, err := p.do(ctx, http.MethodGet, p.api+path, nil)
	if err != nil {
		return "", err
	}
	after, err := count()
	if err == nil && after == before {
		err = errors.New("the answer is the store's")
	}
	return answer, err
}

// TestWithoutRedis sends the same frames to a process with Redis and to one without, and asks
// both the same. The one without answers from its memory, also after it was killed: then the log
// fills it again.
func TestWithoutRedis(t *testing.T) {
	with := startAll(t, "redis", fmt.Sprintf("redis: {addresses: [%q], refresh: 1s}",
		engines.SharedRedis(t).Addr()))
	without := startAll(t, "memory", "redis: {refresh: 1s}")
	if b, err := os.ReadFile(without.LogFile()); err != nil ||
		!strings.Contains(string(b), "redis.addresses is empty") {
		t.Error("the log does not say that the process keeps everything itself", err)
	}
	node := frametest.New("shop", uint64(time.Now().UnixNano()), 3) // another one in each run
	var sent time.Time
	send := func(at time.Time) {
		t.Helper()
		sent = at
		node.Step()
		b := node.Frame(at.UnixMilli())
		for _, p := range []*oneProcess{with, without} {
			eventually(t, "a frame is taken", func(ctx context.Context) error {
				_, err := p.do(ctx, http.MethodPost, p.ingest+"/v1/frames", b)
				return err
			})
		}
	}
	end := time.Now()
	for at := end.Add(-3 * time.Minute); !at.After(end); at = at.Add(5 * time.Second) {
		send(at)
	}
	const match = `?metrics={__name__=~".%2B"}`
	newest := "/v1/nodes/" + node.ID.String() + "/metrics" + match
	span := fmt.Sprintf("%s&from=%d&to=%d", newest, end.Add(-2*time.Minute).UnixMilli(),
		end.Add(-time.Minute).UnixMilli())
	agree := func(call, path string) (same string) {
		t.Helper()
		eventually(t, call+" is the same from both", func(ctx context.Context) error {
			if time.Since(sent) > 5*time.Second { // the node lives
				send(time.Now())
			}
			a, err := with.recent(ctx, call, path)
			if err != nil {
				return fmt.Errorf("with Redis: %w", err)
			}
			b, err := without.recent(ctx, call, path)
			if err != nil {
				return fmt.Errorf("without: %w", err)
			}
			if a != b || !strings.Contains(a, "node_load1") {
				return fmt.Errorf("with Redis: %.300s\nwithout: %.300s", a, b)
			}
			same = a
			return nil
		})
		return same
	}
	agree("latest", newest)
	before := agree("range", span)
	if err := without.Kill(); err != nil {
		t.Fatal(err)
	}
	without.start(t)
	agree("latest", newest)
	if after := agree("range", span); after != before {
		t.Errorf("the range is another one after a restart:\n%.300s\n%.300s", after, before)
	}
	m, err := metricsOf(t.Context(), without.api+"/metrics")
	if err != nil || m["ringwatch_recent_walked_frames_total"] == 0 ||
		m["ringwatch_recent_memory_bytes"] == 0 {
		t.Errorf("the memory was not filled from the log: %v frames, %v bytes, %v",
			m["ringwatch_recent_walked_frames_total"], m["ringwatch_recent_memory_bytes"], err)
	}
}
