package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	promclient "github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// TestPrometheus asks a whole line as clients of a Prometheus ask that: two accounts' nodes send
// frames through ingest, of the last minutes and while the test runs.
func TestPrometheus(t *testing.T) {
	p := startPrometheusLine(t)
	t.Run("OfficialClient", p.officialClient)
	t.Run("AsGrafana", p.asGrafana)
	t.Run("RemoteReadByHand", p.remoteReadByHand)
	t.Run("RealPrometheus", p.realPrometheus)
	t.Run("Promtool", p.promtool)
	t.Run("Tenants", p.tenants)
	t.Run("BadInput", p.badInput)
	t.Run("WhoHangsUpEndsTheQuery", p.hangUp)
	eventually(t, "all memory to be given back", p.idle)
}

// promLine is a process with all roles, and the fleets of two accounts.
type promLine struct {
	api, ingest string
	fleets      []*promFleet
	base        int64 // when the frames of the past end, in ms
}

type promFleet struct {
	cluster, key string
	nodes        []*frametest.Node
	load         map[int64][]float64 // node_load1 by time, by node; only of the past
}

const (
	pastEvery = 10_000
	pastSpan  = 12 * 60_000
)

func startPrometheusLine(t *testing.T) *promLine {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ports := engines.FreePorts(t, 2)
	p := &promLine{
		ingest: fmt.Sprintf("http://127.0.0.1:%d", ports[0]),
		api:    fmt.Sprintf("http://127.0.0.1:%d", ports[1]),
	}
	for i, cluster := range []string{"acme-prod", "zeta-prod"} {
		f := &promFleet{cluster: cluster, key: account.NewKey(), load: map[int64][]float64{}}
		for n := range 3 {
			f.nodes = append(f.nodes, frametest.New(cluster, uint64(100*i+n+1), 2))
			f.nodes[n].Interval = pastEvery
		}
		p.fleets = append(p.fleets, f)
	}
	const settings = `
accounts:
  - {name: prom-acme, clusters: [acme-prod], keys: [{name: all, sha256: %s, scopes: [read, write]}]}
  - {name: prom-zeta, clusters: [zeta-prod], keys: [{name: all, sha256: %s, scopes: [read, write]}]}
data: {dir: %q}
kafka: {partitions: 2}
cassandra: {grace: 1s}
ingest: {listen: "127.0.0.1:%d"}
api: {listen: "127.0.0.1:%d"}
query: {max_series: 120, timeout: 20s}
series: {refresh: 1s}
store: {listen: ""}
recent: {listen: ""}
`
	config := configFile(t, fmt.Sprintf(settings, account.Hash(p.fleets[0].key),
		account.Hash(p.fleets[1].key), t.TempDir(), ports[0], ports[1]))
	process, err := engines.StartProcess(engines.ProcessConfig{
		Name: "ringwatch all", Path: self, Args: []string{"all", "--config", config, "--wait",
			"3m"},
		Env: []string{asRingwatch}, Log: filepath.Join(t.TempDir(), "all.log"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		process.Kill()
		if b, err := os.ReadFile(process.LogFile()); t.Failed() && err == nil {
			t.Logf("the end of the log:\n%s", b[max(0, len(b)-8<<10):])
		}
	})
	for _, base := range []string{p.ingest, p.api} {
		eventually(t, base, func(ctx context.Context) error { return ready(ctx, base) })
	}
	p.base = time.Now().UnixMilli() / pastEvery * pastEvery
	for at := p.base - pastSpan; at <= p.base; at += pastEvery {
		for _, f := range p.fleets {
			f.send(t, p.ingest, at)
		}
	}
	p.sendOn(t)
	for _, f := range p.fleets {
		eventually(t, "the index of series", func(ctx context.Context) error {
			var names []string
			text, err := p.get(ctx, f.key, "/api/v1/label/__name__/values")
			if err == nil {
				err = json.Unmarshal(dataOf(text), &names)
			}
			// A histogram's classic names come last: which metrics are histograms is remembered for
			// half a minute.
			if err == nil && (!slices.Contains(names, "node_load1") ||
				!slices.Contains(names, "cassandra_table_read_latency_seconds_bucket")) {
				err = fmt.Errorf("it has %q", names)
			}
			return err
		})
		eventually(t, "the past", func(ctx context.Context) error {
			text, err := p.get(ctx, f.key,
				"/api/v1/query?"+url.Values{"query": {"count_over_time(node_load1[11m])"},
					"time": {fmt.Sprint(p.base / 1000)}}.Encode())
			if err == nil && strings.Count(text, `"66"`) != 3 {
				err = fmt.Errorf("%s", text)
			}
			return err
		})
	}
	return p
}

// Send makes each node send a frame.
func (f *promFleet) send(t *testing.T, ingest string, at int64) {
	t.Helper()
	for _, n := range f.nodes {
		n.Step()
		f.load[at] = append(f.load[at], n.Entities[0][0].Cells[1].Double)
		b := n.Frame(at)
		eventually(t, "a frame to be taken", func(ctx context.Context) error {
			return f.post(ctx,
				ingest, b)
		})
	}
}

func (f *promFleet) post(ctx context.Context, ingest string, b []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, ingest+"/v1/frames",
		bytes.NewReader(b))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+f.key)
	req.Header.Set("Content-Type", frame.ContentType)
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	return err
}

// sendOn makes the nodes send until the test ends.
func (p *promLine) sendOn(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	t.Cleanup(func() { cancel(); <-ended })
	go func() {
		defer close(ended)
		for tick := time.NewTicker(3 * time.Second); ; {
			for _, f := range p.fleets {
				for _, n := range f.nodes {
					n.Step()
					_ = f.post(ctx, p.ingest,
						n.Frame(time.Now().UnixMilli())) // one that is lost is one less
				}
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
}

// Get returns a good answer's text.
func (p *promLine) get(ctx context.Context, key, path string) (string, error) {
	status, text, err := p.do(ctx, key, http.MethodGet, path, nil, "")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s: %d %.500s", path, status, text)
	}
	return text, err
}

func (p *promLine) do(ctx context.Context, key, method, path string, body []byte, kind string) (int,
	string, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.api+path, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

// dataOf returns the data of an answer in Prometheus's form.
func dataOf(text string) json.RawMessage {
	var of struct{ Data json.RawMessage }
	_ = json.Unmarshal([]byte(text), &of) // an answer that is none has no data
	return of.Data
}

// idle says whether no query runs and none holds memory.
func (p *promLine) idle(ctx context.Context) error {
	m, err := metricsOf(ctx, p.api+"/metrics")
	if err != nil {
		return err
	}
	found := 0
	for name, value := range m {
		if name == "ringwatch_query_prometheus_engine_queries" ||
			name == `ringwatch_memory_leased_bytes{budget="work"}` {
			if found++; value != 0 {
				return fmt.Errorf("%s is %v", name, value)
			}
		}
	}
	if found != 2 {
		return fmt.Errorf("%d of 2 metrics are there", found)
	}
	return nil
}

// withKey adds a key to requests.
type withKey string

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(k))
	return http.DefaultTransport.RoundTrip(r)
}

// officialClient asks with client_golang.
func (p *promLine) officialClient(t *testing.T) {
	engines.Needed(t, "half a minute")
	f, ctx := p.fleets[0], t.Context()
	c, err := promclient.NewClient(promclient.Config{Address: p.api, RoundTripper: withKey(f.key)})
	if err != nil {
		t.Fatal(err)
	}
	a := v1.NewAPI(c)
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	from, to := time.UnixMilli(p.base-10*60_000), time.UnixMilli(p.base)
	for i, n := range f.nodes {
		one := fmt.Sprintf(`node_load1{node=%q}`, n.ID)
		value, _, _, err := a.Query(ctx, one, to)
		must("Query", err)
		if v, _ := value.(model.Vector); len(v) != 1 || float64(v[0].Value) != f.load[p.base][i] ||
			v[0].Metric["cluster"] != model.LabelValue(f.cluster) {
			t.Errorf("%s is %v, want %v", one, value, f.load[p.base][i])
		}
		value, _, _, err = a.QueryRange(ctx, one, v1.Range{Start: from, End: to,
			Step: 10 * time.Second})
		must("QueryRange", err)
		m, _ := value.(model.Matrix)
		if len(m) != 1 || len(m[0].Values) != 61 {
			t.Fatalf("%s has the range %v", one, value)
		}
		for _, s := range m[0].Values {
			if want := f.load[int64(s.Timestamp)]; want == nil || want[i] != float64(s.Value) {
				t.Errorf("%s is %v at %d, want %v", one, s.Value, s.Timestamp, want)
			}
		}
	}
	const native = `histogram_quantile(0.5, cassandra_table_read_latency_seconds)`
	value, _, _, err := a.Query(ctx, native, to)
	must(native, err)
	if v, _ := value.(model.Vector); len(v) != 6 {
		t.Errorf("%s: %v", native, value)
	}
	value, _, _, err = a.Query(ctx, `cassandra_table_read_latency_seconds{table="table_0"}`, to)
	must("a histogram", err)
	if v, _ := value.(model.Vector); len(v) != 3 || v[0].Histogram == nil ||
		v[0].Histogram.Count == 0 {
		t.Errorf("a histogram: %v", value)
	}
	series, _, _, err := a.Series(ctx, []string{"node_load1", "up"}, from, to)
	must("Series", err)
	if len(series) != 6 || series[0]["cluster"] != model.LabelValue(f.cluster) {
		t.Errorf("Series: %v", series)
	}
	names, _, _, err := a.LabelNames(ctx, nil, from, to)
	must("LabelNames", err)
	for _, want := range []model.LabelName{"__name__", "cluster", "datacenter", "keyspace", "node",
		"rack", "request", "table"} {
		if !slices.Contains(names, want) {
			t.Errorf("LabelNames: %q", names)
		}
	}
	values, _, _, err := a.LabelValues(ctx, "table", []string{`{keyspace="shop"}`}, from, to)
	must("LabelValues", err)
	if fmt.Sprint(values) != "[table_0 table_1]" {
		t.Errorf("LabelValues: %v", values)
	}
	metadata, err := a.Metadata(ctx, "", "")
	must("Metadata", err)
	if m := metadata["cassandra_table_read_latency_seconds"]; len(m) != 1 ||
		m[0].Type != "histogram" || m[0].Unit != "seconds" ||
		!strings.HasSuffix(m[0].Help, "other replicas. Cassandra's type=Table,name=ReadLatency.") {
		t.Errorf("Metadata: %v", metadata)
	}
	if m := metadata["cassandra_table_memtable_switches_total"]; len(m) != 1 ||
		m[0].Type != "counter" {
		t.Errorf("Metadata: %v", m)
	}
	targets, err := a.Targets(ctx)
	must("Targets", err)
	if len(targets.Active) != 3 || targets.Active[0].Health != v1.HealthGood ||
		time.Since(targets.Active[0].LastScrape) > time.Minute ||
		targets.Active[0].Labels["cluster"] != model.LabelValue(f.cluster) {
		t.Errorf("Targets: %+v", targets)
	}
	rules, err := a.Rules(ctx, nil)
	must("Rules", err)
	alerts, err := a.Alerts(ctx)
	must("Alerts", err)
	managers, err := a.AlertManagers(ctx)
	must("AlertManagers", err)
	exemplars, err := a.QueryExemplars(ctx, "node_load1", from, to)
	must("QueryExemplars", err)
	if len(rules.Groups) < 5 || rules.Groups[0].File != "activity.yaml" ||
		len(rules.Groups[0].Rules) == 0 {
		t.Errorf("Rules: %+v", rules)
	}
	if len(managers.Active)+len(exemplars) > 0 {
		t.Errorf("%v %v %v", alerts, managers, exemplars)
	}
	build, err := a.Buildinfo(ctx)
	must("Buildinfo", err)
	if !strings.HasPrefix(build.Version, "3.") || build.GoVersion == "" {
		t.Errorf("Buildinfo: %+v", build)
	}
	runtime, err := a.Runtimeinfo(ctx)
	must("Runtimeinfo", err)
	if since := time.Since(runtime.StartTime); since < 0 || since > time.Hour ||
		runtime.GoroutineCount == 0 {
		t.Errorf("Runtimeinfo: %+v", runtime)
	}
	_, err = a.Flags(ctx)
	must("Flags", err)
	shown, err := a.Config(ctx)
	must("Config", err)
	if strings.Contains(shown.YAML, account.Hash(f.key)) {
		t.Errorf("Config shows a key's hash: %s", shown.YAML)
	}
	pretty, err := a.FormatQuery(ctx, "a/b")
	must("FormatQuery", err)
	if pretty != `"a / b"` { // the client leaves it in JSON
		t.Error(pretty)
	}
	blocks, err := a.TSDBBlocks(ctx)
	must("TSDBBlocks", err)
	replay, err := a.WalReplay(ctx)
	must("WalReplay", err)
	if len(blocks.Blocks) > 0 || replay != (v1.WalReplayStatus{}) {
		t.Errorf("%v %v", blocks, replay)
	}
	// A recorded series may come between the two questions.
	eventually(t, "counts that fit the series", func(ctx context.Context) error {
		return p.cardinality(ctx, a)
	})
}

// cardinality holds what the official client is told of the number of series against the series.
func (p *promLine) cardinality(ctx context.Context, a v1.API) error {
	got, err := a.TSDB(ctx, v1.WithLimit(10_000))
	if err != nil {
		return err
	}
	text, err := p.get(ctx, p.fleets[0].key, "/v1/series?"+url.Values{"match[]": {`{__name__!=""}`},
		"from": {fmt.Sprint(got.HeadStats.MinTime)},
		"to":   {fmt.Sprint(got.HeadStats.MaxTime)}}.Encode())
	if err != nil {
		return err
	}
	var list []map[string]string
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return err
	}
	names, pairs, values := map[string]uint64{}, map[string]uint64{}, map[string]uint64{}
	for _, l := range list {
		names[l["__name__"]]++
		for name, value := range l {
			if pairs[name+"="+value]++; pairs[name+"="+value] == 1 {
				values[name]++
			}
		}
	}
	for _, c := range []struct {
		what string
		got  []v1.Stat
		want map[string]uint64
	}{
		{"series by metric", got.SeriesCountByMetricName, names},
		{"values by label", got.LabelValueCountByLabelName, values},
		{"series by pair", got.SeriesCountByLabelValuePair, pairs},
	} {
		of := map[string]uint64{}
		for _, s := range c.got {
			of[s.Name] = s.Value
		}
		if !maps.Equal(of, c.want) {
			return fmt.Errorf("%s:\n%v, want\n%v", c.what, of, c.want)
		}
	}
	if h := got.HeadStats; h.NumSeries != len(list) || h.NumSeries < 50 ||
		h.NumLabelPairs != len(pairs) {
		return fmt.Errorf("HeadStats: %+v, want %d series and %d pairs", h, len(list), len(pairs))
	}
	few, err := a.TSDB(ctx, v1.WithLimit(2))
	if err == nil &&
		(len(few.SeriesCountByMetricName) != 2 || len(few.SeriesCountByLabelValuePair) != 2) {
		err = fmt.Errorf("TSDB of 2: %+v", few)
	}
	return err
}

// asGrafana makes the requests of Grafana's data source for Prometheus in their order: saving it,
// opening the editor, a dashboard's variables and its panels.
func (p *promLine) asGrafana(t *testing.T) {
	f := p.fleets[0]
	end := p.base / 1000
	start := end - 600
	span := fmt.Sprintf("start=%d&end=%d", start, end)
	const form = "application/x-www-form-urlencoded"
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/api/v1/status/buildinfo", "", `"version":"3.`},
		{"POST", "/api/v1/query", fmt.Sprintf("query=1%%2B1&time=%d", end),
			fmt.Sprintf(`"result":[%d,"2"]`, end)},
		{"POST", "/api/v1/labels", span, `"keyspace"`},
		{"GET", "/api/v1/labels?" + span, "", `"keyspace"`},
		{"GET", "/api/v1/label/__name__/values?" + span, "",
			`"cassandra_table_read_latency_seconds_bucket"`},
		{"GET", "/api/v1/metadata", "", `"node_load1":[{"type":"gauge"`},
		{"GET", "/api/v1/metadata?limit=1000", "", `"node_load1":[{"type":"gauge"`},
		{"POST", "/api/v1/series", span + "&match[]=node_load1", `"cluster":"acme-prod"`},
		{"GET", "/api/v1/label/cluster/values?" + span + "&match[]=up", "", `"data":["acme-prod"]`},
		{"GET", "/api/v1/label/table/values?" + span +
			`&match[]=%7Bkeyspace%3D~%22shop%7Cother%22%7D`, "", `"data":["table_0","table_1"]`},
		{"GET", "/api/v1/rules", "", `"groups":[{"name":"activity-tasks"`},
		{"POST", "/api/v1/query_range", fmt.Sprintf("step=15&start=%d&end=%d&query=", start/15*15,
			end/15*15) +
			url.QueryEscape(
				`sum by (cluster) (rate(cassandra_table_read_latency_seconds_count{table=~"table_0"}[1m0s]))`), `"metric":{"cluster":"acme-prod"},"values":[[`},
		{"POST", "/api/v1/query_range", fmt.Sprintf("step=15&start=%d&end=%d&query=", start/15*15,
			end/15*15) +
			url.QueryEscape(
				`histogram_quantile(0.99, sum by (le) (rate(cassandra_table_read_latency_seconds_bucket[1m0s])))`), `"values":[[`},
		{"POST", "/api/v1/query_exemplars", span + "&query=node_load1", `"data":[]`},
		{"POST", "/api/v1/query", fmt.Sprintf("time=%d.123&query=topk(1%%2Cnode_load1)", end),
			`"resultType":"vector"`},
		{"GET", "/api/v1/format_query?query=a%2Fb", "", `"data":"a / b"`},
	} {
		kind := ""
		if c.body != "" {
			kind = form
		}
		status, text, err := p.do(t.Context(), f.key, c.method, c.path, []byte(c.body), kind)
		if err != nil || status != http.StatusOK || !strings.Contains(text, c.want) ||
			!strings.HasPrefix(text, `{"status":"success"`) {
			t.Errorf("%s %s %s: %d %v, no %q in %.700s", c.method, c.path, c.body, status, err,
				c.want, text)
		}
	}
	text, err := p.get(t.Context(), f.key, "/api/v1/query_range?query=up&step=15&"+span)
	if err != nil || strings.Count(text, `"metric"`) != 3 || strings.Contains(text, `"0"`) {
		t.Errorf("up of three nodes: %v %.700s", err, text)
	}
}
