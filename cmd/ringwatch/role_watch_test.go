package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/examine"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// watched is a ringwatch all in a directory, and what is read of a Kafka, a Redis and our own
// roles.
type watched struct {
	api    *client.Client
	config string // of all
	more   string // of the processes that share the targets
	kafka  *engines.Kafka
	redis  *engines.Redis
}

// shared is how many targets the processes of the role watch share.
const shared = 12

func mustWatched(t *testing.T) *watched {
	t.Helper()
	w := &watched{}
	var err error
	if w.kafka, err = engines.StartKafka(t.Context(),
		engines.KafkaConfig{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.kafka.Kill() })
	if w.redis, err = engines.StartRedis(t.Context(),
		engines.RedisConfig{Dir: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.redis.Kill() })
	ports := engines.FreePorts(t, 2)
	ingest, api := fmt.Sprintf("127.0.0.1:%d", ports[0]), fmt.Sprintf("127.0.0.1:%d", ports[1])
	key, writer := account.NewKey(), account.NewKey()
	// The process with everything reads Redis, so that the role is shown within it, too.
	w.config = configFile(t, fmt.Sprintf(`
accounts:
  - name: alone
    clusters: ["*"]
    keys:
      - {name: all, sha256: %s, scopes: [read, write, admin]}
      - {name: watch, sha256: %s, scopes: [write], clusters: [cache, orders, roles]}
ingest: {listen: %q}
api: {listen: %q}
watch:
  url: "http://%[3]s"
  key: %[5]s
  interval: 5s
  timeout: 5s
  redis: [{cluster: cache, datacenter: dc1, addresses: [%[6]q]}]
`, account.Hash(key), account.Hash(writer), ingest, api, writer, w.redis.Addr()))
	w.more = fmt.Sprintf(`
kafka: {brokers: [%q]}
watch:
  listen: "127.0.0.1:0"
  url: "http://%s"
  key: %s
  interval: 5s
  timeout: 5s
  kafka: [{cluster: orders, brokers: [%[1]q]}]
  scrape_configs:
    - job_name: roles
      authorization: {credentials: %s}
      static_configs:
`, w.kafka.Addr(), ingest, writer, key)
	for i := range shared - 1 {
		w.more += fmt.Sprintf("        - {targets: [%q], labels: {cluster: roles, "+
			"instance: i%d}}\n",
			api, i)
	}
	w.start(t, "all", w.config, "--data", filepath.Join(t.TempDir(), "data"))
	for _, base := range []string{"http://" + ingest, "http://" + api} {
		eventually(t, base, func(ctx context.Context) error { return ready(ctx, base) })
	}
	flags := client.Flags{API: "http://" + api, Key: key}
	if w.api, err = flags.Client(); err != nil {
		t.Fatal(err)
	}
	return w
}

// Start starts a role, whose log is shown if the test fails.
func (w *watched) start(t *testing.T, role, config string, args ...string) *engines.Process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	p, err := engines.StartProcess(engines.ProcessConfig{Name: "ringwatch " + role, Path: self,
		Args: append([]string{role, "--config", config}, args...), Env: []string{asRingwatch},
		Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		if b, err := os.ReadFile(log); t.Failed() && err == nil {
			t.Logf("the end of the log of %s:\n%s", role, b[max(0, len(b)-4<<10):])
		}
	})
	return p
}

// is waits until a question has one answer, want.
func (w *watched) is(t *testing.T, want, expr string) {
	t.Helper()
	eventually(t, expr, func(ctx context.Context) error {
		body, err := w.api.Get(ctx, "/api/v1/query", url.Values{"query": {expr}})
		if err != nil {
			return err
		}
		var a struct {
			Data struct{ Result []struct{ Value [2]any } }
		}
		if err := json.Unmarshal(body, &a); err != nil {
			return err
		}
		if list := a.Data.Result; len(list) != 1 || list[0].Value[1] != want {
			return fmt.Errorf("want %s, the answer is %s", want, body)
		}
		return nil
	})
}

// TestWatch: a Kafka, a Redis and our own roles are nodes with what they say of themselves. Two
// processes share them; when one is killed the other reads its targets, too.
func TestWatch(t *testing.T) {
	engines.Needed(t, "Kafka and Redis")
	t.Parallel()
	w := mustWatched(t)
	first := w.start(t, "watch", configFile(t, w.more))
	w.is(t, "1", `up{cluster="orders",job="kafka",instance="orders"}`)
	w.is(t, fmt.Sprint(shared-1), `sum(up{cluster="roles",job="roles"})`)
	w.is(t, "1", `up{cluster="cache",datacenter="dc1",job="redis"}`)
	w.is(t, "1", `kafka_brokers{cluster="orders"}`)
	w.is(t, "64", `kafka_topic_partitions{topic="ringwatch.watch"}`)
	w.is(t, "1", `kafka_consumergroup_members{consumergroup="ringwatch-watch"}`)
	w.is(t, "1", `redis_memory_used_bytes{cluster="cache"} > bool 100000`)
	w.is(t, "1", `rate(redis_commands_processed_total{cluster="cache"}[1m]) > bool 0`)
	w.is(t, "1", `sum(rate(ringwatch_ingest_frames_forwarded_total{instance="i0"}[1m])) > bool 0`)
	w.is(t, "1",
		`histogram_quantile(0.5, rate(ringwatch_ingest_seconds_bucket{instance="i0"}[1m]))`+
			` < bool 60`)
	for kind, n := range map[string]string{"kafka": "1", "redis": "1",
		"other": fmt.Sprint(shared - 1)} {
		w.is(t, n, fmt.Sprintf(`count(ringwatch_node_info{kind=%q})`, kind))
	}
	body, err := w.api.Get(t.Context(), "/v1/nodes", url.Values{"kind": {"redis"}})
	if err != nil || !strings.Contains(string(body), w.redis.Addr()) ||
		strings.Contains(string(body), "orders") {
		t.Errorf("%s, %v", body, err)
	}

	w.start(t, "watch", configFile(t, w.more))
	w.is(t, "2", `kafka_consumergroup_members{consumergroup="ringwatch-watch"}`)
	if err := first.Kill(); err != nil {
		t.Fatal(err)
	}
	w.is(t, "1", `kafka_consumergroup_members{consumergroup="ringwatch-watch"}`)
	w.is(t, fmt.Sprint(shared), `count(time() - ringwatch_node_last_seen_timestamp_seconds`+
		`{cluster=~"orders|roles"} < 20)`)

	// A target that is away is said, and back.
	if err := w.redis.Kill(); err != nil {
		t.Fatal(err)
	}
	w.is(t, "0", `up{cluster="cache"}`)
	w.is(t, "1", `ringwatch_target_error_info{cluster="cache",error=~".+"}`)
	ask := func(config string) (string, error) {
		var out bytes.Buffer
		c := examine.DoctorCmd{Config: config}
		err := c.RunTo(t.Context(), &out)
		return out.String(), err
	}
	if said, err := ask(w.config); !errors.Is(err, examine.ErrUnwell) ||
		!strings.Contains(said, "redis "+w.redis.Addr()+" of cluster cache") {
		t.Errorf("doctor: %v, %s", err, said)
	}
	if said, err := ask(configFile(t, w.more)); err != nil ||
		!strings.Contains(said, "kafka orders of cluster orders: ") ||
		strings.Count(said, "roles i") != shared-1 {
		t.Errorf("doctor: %v, %s", err, said)
	}
}

// TestWatchConfig: what is wrong with targets is said at once, with its place.
func TestWatchConfig(t *testing.T) {
	_, _, err := settings.Parse("ringwatch.yaml", []byte(`
watch:
  interval: 1s
  kafka: [{cluster: a}, {brokers: ["x:1"]}]
  redis: [{cluster: a, address: "redis://x"}]
  scrape_configs:
    - job_name: node
      kubernetes_sd_configs: [{role: pod}]
    - job_name: slow
      scrape_interval: 5m
      static_configs: [{targets: ["x:1"]}]
`))
	for _, want := range []string{"watch: interval is 1s", "no API key", "brokers is empty",
		"cluster is empty", "redis://", "kubernetes_sd_configs is not here",
		"scrape_interval is 5m"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
	c, _, err := settings.Parse("ringwatch.yaml", []byte(`
watch:
  key: rw_x
  interval: 30s
  kafka: [{cluster: a, brokers: ["x:1"]}, {cluster: b, brokers: ["y:1"], interval: 5s, timeout: 2s}]
  redis: [{cluster: c, addresses: ["r:1", "r:2"], max_series: 500}]
  scrape_configs: [{job_name: node, static_configs: [{targets: ["n:9100"]}]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	list := c.Watch.Sources(nil)
	var got []string
	for _, s := range list {
		got = append(got, fmt.Sprintf("%s %s %s %s %d", s.Target.Cluster, s.Target.Instance,
			s.Target.Interval, s.Timeout, s.MaxSeries))
	}
	want := []string{"a a 30s 10s 100000", "b b 5s 2s 100000", "c r:1 30s 10s 500",
		"c r:2 30s 10s 500"}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("sources are %q", got)
	}
	if !c.Watch.Targets() {
		t.Error("there are no targets")
	}
}
