package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// readRequest packs a remote read of one metric.
func readRequest(t *testing.T, from, to int64, chunks bool, list ...*prompb.LabelMatcher) []byte {
	t.Helper()
	asked := &prompb.ReadRequest{Queries: []*prompb.Query{{StartTimestampMs: from,
		EndTimestampMs: to, Matchers: list}}}
	if chunks {
		asked.AcceptedResponseTypes = append(asked.AcceptedResponseTypes,
			prompb.ReadRequest_STREAMED_XOR_CHUNKS)
	}
	b, err := asked.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return snappy.Encode(nil, b)
}

func equals(name, value string) *prompb.LabelMatcher {
	return &prompb.LabelMatcher{Type: prompb.LabelMatcher_EQ, Name: name, Value: value}
}

// read asks by remote read and returns each series' values by time. Markers that a series ended
// are none.
func (p *promLine) read(t *testing.T, key string, body []byte) map[string]map[int64]float64 {
	t.Helper()
	status, text, err := p.do(t.Context(), key, http.MethodPost, "/api/v1/read", body,
		"application/x-protobuf")
	if err != nil || status != http.StatusOK {
		t.Fatalf("%d %s %v", status, text, err)
	}
	all := map[string]map[int64]float64{}
	take := func(list []prompb.Label, at int64, v float64) {
		var name strings.Builder
		for _, l := range list {
			fmt.Fprintf(&name, "%s=%q ", l.Name, l.Value)
		}
		of := all[name.String()]
		if of == nil {
			of = map[int64]float64{}
			all[name.String()] = of
		}
		if !math.IsNaN(v) {
			of[at] = v
		}
	}
	if unpacked, err := snappy.Decode(nil, []byte(text)); err == nil && len(unpacked) > 0 {
		var r prompb.ReadResponse
		if err := r.Unmarshal(unpacked); err != nil {
			t.Fatal(err)
		}
		for _, s := range r.Results[0].Timeseries {
			for _, v := range s.Samples {
				take(s.Labels, v.Timestamp, v.Value)
			}
			for _, h := range s.Histograms {
				take(s.Labels, h.Timestamp, h.GetCountFloat())
			}
		}
		return all
	}
	for b := []byte(text); len(b) > 0; {
		size, n := binary.Uvarint(b)
		if n <= 0 || uint64(len(b)) < uint64(n)+4+size {
			t.Fatalf("a frame of %d bytes in %d", size, len(b))
		}
		sum := binary.BigEndian.Uint32(b[n:])
		message := b[n+4 : n+4+int(size)]
		if sum != crc32.Checksum(message, crc32.MakeTable(crc32.Castagnoli)) {
			t.Fatal("a frame's checksum is wrong")
		}
		b = b[n+4+int(size):]
		var r prompb.ChunkedReadResponse
		if err := r.Unmarshal(message); err != nil {
			t.Fatal(err)
		}
		for _, s := range r.ChunkedSeries {
			for _, c := range s.Chunks {
				chunk, err := chunkenc.FromData(chunkenc.Encoding(c.Type), c.Data)
				if err != nil {
					t.Fatal(err)
				}
				it := chunk.Iterator(nil)
				for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
					if kind == chunkenc.ValFloat {
						at, v := it.At()
						take(s.Labels, at, v)
					} else {
						at, h := it.AtFloatHistogram(nil)
						take(s.Labels, at, h.Count)
					}
				}
			}
		}
	}
	return all
}

// remoteReadByHand takes both kinds of answers and holds them against the frames.
func (p *promLine) remoteReadByHand(t *testing.T) {
	f := p.fleets[0]
	from, to := p.base-10*60_000, p.base
	for _, name := range []string{"node_load1", "cassandra_table_read_latency_seconds"} {
		samples := p.read(t, f.key, readRequest(t, from, to, false, equals("__name__", name)))
		chunks := p.read(t, f.key, readRequest(t, from, to, true, equals("__name__", name)))
		if a, b := fmt.Sprint(samples), fmt.Sprint(chunks); a != b || len(samples) < 3 {
			t.Errorf("%s: samples and chunks differ:\n%.2000s\n%.2000s", name, a, b)
		}
		if name != "node_load1" {
			continue
		}
		for series, values := range samples {
			i := slices.IndexFunc(f.nodes,
				func(n *frametest.Node) bool { return strings.Contains(series, n.ID.String()) })
			if i < 0 || len(values) != 61 {
				t.Fatalf("%s has %d values", series, len(values))
			}
			for at, v := range values {
				if f.load[at] == nil || f.load[at][i] != v {
					t.Errorf("%s is %v at %d", series, v, at)
				}
			}
		}
	}
}

// realPrometheus starts Debian's Prometheus, which reads our past remotely and scrapes /federate.
func (p *promLine) realPrometheus(t *testing.T) {
	engines.Needed(t, "Prometheus")
	path, err := exec.LookPath("prometheus")
	if err != nil {
		t.Fatalf("prometheus is missing: apt-get install prometheus (%v)", err)
	}
	f, dir := p.fleets[0], t.TempDir()
	port := engines.FreePorts(t, 1)[0]
	own := fmt.Sprintf("http://127.0.0.1:%d", port)
	api := strings.TrimPrefix(p.api, "http://")
	config := configFile(t, fmt.Sprintf(`
global: {scrape_interval: 1s}
remote_read: [{url: "%s/api/v1/read", read_recent: true, authorization: {credentials: %q}}]
scrape_configs:
  - job_name: federate
    honor_labels: true
    metrics_path: /federate
    params: {"match[]": ['{cluster="acme-prod"}']}
    authorization: {credentials: %q}
    static_configs: [{targets: [%q]}]
`, p.api, f.key, f.key, api))
	process, err := engines.StartProcess(engines.ProcessConfig{
		Name: "prometheus", Path: path, Log: filepath.Join(dir, "prometheus.log"),
		Args: []string{"--config.file", config, "--storage.tsdb.path", filepath.Join(dir, "data"),
			"--web.listen-address", strings.TrimPrefix(own, "http://")},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		process.Kill()
		if b, err := os.ReadFile(process.LogFile()); t.Failed() && err == nil {
			t.Logf("the end of Prometheus's log:\n%s", b[max(0, len(b)-4<<10):])
		}
	})
	other := &promLine{api: own}
	ask := func(ctx context.Context, of *promLine, query string) (string, error) {
		text, err := of.get(ctx, f.key, "/api/v1/query?"+url.Values{"query": {query},
			"time": {fmt.Sprint(p.base/1000 - 120)}}.Encode())
		var data struct {
			Result []struct {
				Metric map[string]string
				Value  []any
			}
		}
		if err == nil {
			err = json.Unmarshal(dataOf(text), &data)
		}
		var lines []string
		for _, r := range data.Result {
			lines = append(lines, fmt.Sprint(r.Metric, r.Value))
		}
		slices.Sort(lines)
		return strings.Join(lines, "\n"), err
	}
	// Prometheus 2 counts a sample at a range's begin, Prometheus 3 does not
	for _, query := range []string{
		`node_load1{cluster="acme-prod"}`,
		`sum by (table) (rate(cassandra_table_memtable_switches_total[125s]))`,
		`max_over_time(node_load1[305s])`, `up{cluster="acme-prod"}`,
		`round(1e9*histogram_quantile(0.9,sum by(le)(rate(cassandra_table_read_latency_seconds_bucket[125s]))))`,
	} {
		eventually(t, query, func(ctx context.Context) error {
			got, err := ask(ctx, other, query)
			if err != nil {
				return err
			}
			want, err := ask(ctx, p, query)
			if err == nil && (got != want || want == "") {
				err = fmt.Errorf("Prometheus says\n%s\nwe\n%s", got, want)
			}
			return err
		})
	}
	native, err := ask(t.Context(), other, "cassandra_table_read_latency_seconds")
	t.Logf("of native histograms this Prometheus says %v %.300s", err, native)
	eventually(t, "scrapes of /federate", func(ctx context.Context) error {
		text, err := other.get(ctx, "",
			"/api/v1/query?query="+url.QueryEscape(`node_load1{job="federate"}`))
		if err != nil {
			return err
		}
		scraped, err := other.get(ctx, "",
			"/api/v1/query?query="+
				url.QueryEscape(
					`scrape_samples_scraped{job="federate"}>50 and up{job="federate"}==1`))
		if err == nil && (!strings.Contains(scraped, `"value"`) || strings.Count(text,
			`"metric"`) != 3) {
			err = fmt.Errorf("%s %s", text, scraped)
		}
		return err
	})
	// now it has series of its own, too
	for _, path := range []string{"status/tsdb", "status/walreplay"} {
		eventually(t, "the form of "+path, func(ctx context.Context) error {
			var shapes []string
			for _, of := range []*promLine{p, other} {
				text, err := of.get(ctx, f.key, "/api/v1/"+path)
				if err != nil {
					return err
				}
				var v any
				if err := json.Unmarshal([]byte(text), &v); err != nil {
					return err
				}
				shapes = append(shapes, shapeOf(v))
			}
			if shapes[0] != shapes[1] {
				return fmt.Errorf("%s\nPrometheus's is\n%s", shapes[0], shapes[1])
			}
			return nil
		})
	}
}

// promtool asks with Prometheus's own tool.
func (p *promLine) promtool(t *testing.T) {
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Fatalf("promtool is missing: apt-get install prometheus (%v)", err)
	}
	f := p.fleets[0]
	server := strings.Replace(p.api, "http://", "http://any:"+f.key+"@", 1)
	at := func(ago int64) string { return time.UnixMilli(p.base - ago).UTC().Format(time.RFC3339) }
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"instant", "--time", at(0), server, "node_load1"}, `node="` +
			f.nodes[0].ID.String()},
		{[]string{"range", "--start", at(600_000), "--end", at(0), "--step", "30s", server,
			"sum by (cluster) (node_load1)"}, `{cluster="acme-prod"}`},
		{[]string{"series", "--match", "node_load1", "--start", at(600_000), "--end", at(0),
			server}, f.nodes[2].ID.String()},
		{[]string{"labels", "--start", at(600_000), "--end", at(0), server, "table"}, "table_1"},
	} {
		out, err := exec.CommandContext(t.Context(), path, append([]string{"query"},
			c.args...)...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("promtool query %s: %v, no %q in %s", c.args[0], err, c.want, out)
		}
	}
}

// shapeOf describes a JSON value without its texts and numbers; a list has its first element's
// shape.
func shapeOf(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var list []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			list = append(list, name+":"+shapeOf(v[name]))
		}
		return "{" + strings.Join(list, " ") + "}"
	case []any:
		if len(v) > 0 {
			return "[" + shapeOf(v[0]) + "]"
		}
	}
	return fmt.Sprintf("%T", v)
}
