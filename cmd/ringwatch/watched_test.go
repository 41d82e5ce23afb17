package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/alerts"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/rulefiles"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// watchedEvery is how often the targets of TestWatchedInOneDirectory are read.
const watchedEvery = 60_000

// TestWatchedInOneDirectory sends what the role watch sends of two Kafka targets through a whole
// ringwatch, beside a Cassandra node, and asks for it in all ways: the newest state, a range of
// hours, rollups, lists, rules. Another account sees none of it.
func TestWatchedInOneDirectory(t *testing.T) {
	d := newDirectory(t)
	mine, others := account.NewKey(), account.NewKey()
	ports := engines.FreePorts(t, 2)
	d.ingest, d.api = fmt.Sprintf("http://127.0.0.1:%d", ports[0]),
		fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	d.config = configFile(t, fmt.Sprintf(`
accounts:
  - {name: mine, keys: [{name: all, sha256: %s, scopes: [read, write, rules]}]}
  - {name: others, keys: [{name: all, sha256: %s, scopes: [read]}]}
cassandra: {grace: 1s}
series: {refresh: 1s}
ingest: {listen: "127.0.0.1:%d"}
api: {listen: "127.0.0.1:%d"}
`, account.Hash(mine), account.Hash(others), ports[0], ports[1]))
	d.begin(t)
	w := &watchedLine{directory: d, T: t, key: mine}
	rules := filepath.Join(t.TempDir(), "watched.yaml")
	if err := os.WriteFile(rules, []byte(watchedRules), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := client.Flags{API: d.api, Key: mine}
	apply := rulefiles.RulesApplyCmd{Flags: flags, Files: []string{rules}}
	if err := apply.RunTo(t.Context(), io.Discard); err != nil {
		t.Fatal(err)
	}
	cassandra := frametest.New("shop", 8700, 1)
	k1 := frametest.NewTarget(frame.KindKafka, "shop", "kafka", "k1:9092")
	k2 := frametest.NewTarget(frame.KindKafka, "shop", "kafka", "k2:9092")
	f := &promFleet{cluster: "shop", key: mine}
	now := time.Now().UnixMilli() / watchedEvery * watchedEvery
	from := now - 3*60*watchedEvery
	w.send = func(at int64) {
		cassandra.Step()
		k1.Pass(1)
		k2.Pass(0)
		if at < from+75*watchedEvery {
			k2.Entities[0][0].Cells[0].Int = 1
		}
		for _, n := range []*frametest.Node{cassandra, k1.Node, k2.Node} {
			n.Interval = watchedEvery
			b := n.Frame(at)
			eventually(t, "a frame to be taken", func(ctx context.Context) error {
				return f.post(ctx, d.ingest, b)
			})
		}
	}
	for at := from; at <= now; at += watchedEvery {
		w.send(at)
	}
	w.from, w.to = from, now
	w.answers()

	var out bytes.Buffer
	nodes := fleet.NodesCmd{Flags: flags, KindFlag: fleet.KindFlag{Kind: frame.KindKafka}}
	if err := nodes.RunTo(t.Context(), &out); err != nil ||
		strings.Count(out.String(), "\n") != 3 ||
		strings.Count(out.String(), "  kafka  4.1.0    ") != 2 ||
		strings.Count(out.String(), "  down  ") != 1 {
		t.Errorf("ringwatch nodes: %v\n%s", err, &out)
	}
	out.Reset()
	clusters := fleet.ClustersCmd{Flags: flags}
	if err := clusters.RunTo(t.Context(), &out); err != nil ||
		!strings.Contains(out.String(), "shop     cassandra, kafka  3      2 up, 1 down  0 ") {
		t.Errorf("ringwatch clusters: %v\n%s", err, &out)
	}
	out.Reset()
	top := fleet.TopCmd{Flags: flags, KindFlag: fleet.KindFlag{Kind: frame.KindKafka}}
	if err := top.RunOnce(t.Context(), &out); err != nil || strings.Count(out.String(), "\n") != 3 {
		t.Errorf("ringwatch top: %v\n%s", err, &out)
	}
	if err := d.Kill(); err != nil {
		t.Fatal(err)
	}
	d.begin(t)
	w.answers()
	w.alerts(flags)
	w.key = others
	w.nothing()
}

const watchedRules = `
groups:
- name: watched
  interval: 1s
  rules:
  - {alert: KafkaAway, expr: 'up{job="kafka"} == 0'}
  - {record: "cluster:kinds:count", expr: 'count by (cluster, kind) (ringwatch_node_info)'}
`

// watchedLine is a whole ringwatch that targets' frames of some hours were sent to.
type watchedLine struct {
	*directory
	*testing.T
	key      string
	from, to int64 // ms
	send     func(at int64)
}

// vector asks PromQL, at one instant or in steps of half an hour, and returns the answer in words.
func (w *watchedLine) vector(ctx context.Context, expr string, ranged bool) ([]string, error) {
	path := "/api/v1/query?" + url.Values{"query": {expr},
		"time": {fmt.Sprint(w.to / 1000)}}.Encode()
	if ranged {
		path = "/api/v1/query_range?" + url.Values{"query": {expr}, "step": {"1800"},
			"start": {fmt.Sprint(w.from/1000 + 1800)}, "end": {fmt.Sprint(w.to / 1000)}}.Encode()
	}
	text, err := w.get(ctx, w.key, path)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
				Values [][2]any
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return nil, err
	}
	list := []string{}
	for _, s := range answer.Data.Result {
		one := strings.TrimSpace(s.Metric["instance"] + " " + s.Metric["kind"])
		if s.Value[1] != nil {
			one += fmt.Sprintf(" %.4v", s.Value[1])
		}
		for _, v := range s.Values {
			one += fmt.Sprintf(" %.4v", v[1])
		}
		list = append(list, strings.TrimSpace(one))
	}
	slices.Sort(list)
	return list, nil
}

func (w *watchedLine) answers() {
	w.Helper()
	for _, c := range []struct {
		expr   string
		ranged bool
		want   []string
	}{
		{`up{cluster="shop"}`, false, []string{"1", "k1:9092 1", "k2:9092 0"}},
		{`up`, true, []string{"1 1 1 1 1 1", "k1:9092 1 1 1 1 1 1", "k2:9092 1 1 0 0 0 0"}},
		{`count by (kind) (ringwatch_node_info)`, false, []string{"cassandra 1", "kafka 2"}},
		{`kafka_fetch_latency_seconds{quantile="0.99"}`, false,
			[]string{"k1:9092 0.25", "k2:9092 0.25"}},
		{`kafka_topic_partitions{topic="orders",instance="k1:9092"}`, true,
			[]string{"k1:9092 12 12 12 12 12 12"}},
		{`histogram_count(kafka_request_latency_seconds{instance="k1:9092"})`, false,
			[]string{"k1:9092 181"}},
		{`sum(kafka_request_latency_seconds_bucket{le="0.1",instance="k1:9092"})`, false,
			[]string{"181"}},
		{`kafka_topic_records_total{instance="k2:9092"}`, false, []string{"k2:9092 1810"}},
	} {
		eventually(w.T, c.expr, func(ctx context.Context) error {
			got, err := w.vector(ctx, c.expr, c.ranged)
			if err == nil && !slices.Equal(got, c.want) {
				err = fmt.Errorf("%q, want %q", got, c.want)
			}
			return err
		})
	}
	id := frame.TargetID("shop", "kafka", "k1:9092").String()
	for path, want := range map[string][]string{
		"/v1/nodes?kind=kafka":                                      {id, `"kind":"kafka"`, `"version":"4.1.0"`},
		"/v1/clusters?kind=kafka":                                   {`"kinds":["kafka"],"nodes":2`},
		"/v1/label/quantile/values":                                 {`["0.5","0.99"]`},
		"/v1/label/kind/values":                                     {`["cassandra","kafka"]`},
		"/v1/series?match[]=up&match[]=kafka_fetch_latency_seconds": {`"quantile":"0.5"`, `"job":"kafka"`},
		"/api/v1/metadata?metric=up":                                {`"type":"gauge"`},
		"/api/v1/metadata?metric=kafka_topic_records_total":         {`"type":"counter"`},
		"/v1/nodes/" + id + "/metrics?metrics=k::underReplicatedPartitions": {`"value":"3"`,
			`"metric":"underReplicatedPartitions"`},
		fmt.Sprintf("/v1/nodes/%s/metrics?metrics=kafka_topic_partitions&rollup=5m&from=%d&to=%d", id,
			w.from/1000, w.to/1000-1200): {`"topic":"orders"`, `"job":"kafka"`, "12"},
		"/v1/nodes/" + id + "/prometheus": {`quantile="0.99"`, "\nup{"},
	} {
		eventually(w.T, path, func(ctx context.Context) error {
			text, err := w.get(ctx, w.key, path)
			for _, part := range want {
				if err == nil && !strings.Contains(text, part) {
					err = fmt.Errorf("no %s in %.600s", part, text)
				}
			}
			return err
		})
	}
}

// alerts wants the rule on targets to fire for the one that does not answer, and no rule for
// Cassandra for any.
func (w *watchedLine) alerts(flags client.Flags) {
	w.Helper()
	api, err := flags.Client()
	if err != nil {
		w.Fatal(err)
	}
	sent := time.Now()
	eventually(w.T, "the alerts", func(ctx context.Context) error {
		if time.Since(sent) > time.Second { // the targets live
			sent = time.Now()
			w.send(sent.UnixMilli())
		}
		list, err := alerts.AskAlerts(ctx, api)
		fires := false
		for _, a := range list {
			name := a.Labels["alertname"]
			fires = fires || name == "KafkaAway" && a.Labels["instance"] == "k2:9092" &&
				a.State == "firing"
			if strings.HasPrefix(name, "CassandraNode") && a.Labels["job"] != "" {
				w.Errorf("%v", a.Labels)
			}
		}
		if err == nil && !fires {
			err = fmt.Errorf("there are %v", list)
		}
		if err != nil {
			return err
		}
		text, err := w.get(ctx, w.key, "/api/v1/query?query=cluster:kinds:count")
		for _, part := range []string{`"kind":"kafka"`, `"2"`, `"kind":"cassandra"`, `"1"`} {
			if err == nil && !strings.Contains(text, part) {
				err = fmt.Errorf("no %s in %s", part, text)
			}
		}
		return err
	})
}

// nothing wants that the key sees nothing.
func (w *watchedLine) nothing() {
	w.Helper()
	for _, expr := range []string{"up", `{__name__=~"kafka.*"}`, "ringwatch_node_info"} {
		for _, ranged := range []bool{false, true} {
			if got, err := w.vector(w.Context(), expr, ranged); err != nil || len(got) > 0 {
				w.Errorf("another account sees %s: %q %v", expr, got, err)
			}
		}
	}
	for path, want := range map[string]string{"/v1/nodes?kind=kafka": "[]\n",
		"/v1/clusters": "[]\n", "/v1/label/job/values": "[]\n"} {
		if text, err := w.get(w.Context(), w.key, path); err != nil || text != want {
			w.Errorf("%s of another account: %q %v", path, text, err)
		}
	}
}
