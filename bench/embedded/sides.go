package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/bench/peers"
	"github.com/ringwatch/ringwatch/bench/profiled"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/rules"
)

// accountName is whose the fleet is.
const accountName = "bench"

// ours is a ringwatch all without engines.
type ours struct {
	dir, binary, key     string
	api, ingest, profile string
	process              *engines.Process
}

// newOurs writes the configuration and starts nothing.
func newOurs(o *options, dir string) (*ours, error) {
	r := &ours{dir: dir, binary: o.binary, key: account.NewKey(),
		profile: filepath.Join(dir, "profile")}
	var ports [2]int
	for i := range ports {
		var err error
		if ports[i], err = engines.FreePort("127.0.0.1"); err != nil {
			return nil, err
		}
	}
	r.ingest = fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	r.api = fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return r, os.WriteFile(r.config(), fmt.Appendf(nil, `accounts:
  - {name: %s, clusters: ["*"], keys: [{name: all, sha256: %s, scopes: [read, write]}]}
ingest: {listen: "127.0.0.1:%d"}
api: {listen: "127.0.0.1:%d"}
memory: {limit_bytes: %d}
`, accountName, account.Hash(r.key), ports[0], ports[1], o.memory), 0o600)
}

func (r *ours) config() string { return filepath.Join(r.dir, "ringwatch.yaml") }

// data is the directory that everything is in.
func (r *ours) data() string { return filepath.Join(r.dir, "data") }

// rows is where the rows are in it.
func (r *ours) rows() string { return filepath.Join(r.data(), "rows") }

// begin starts the process and waits for nothing.
func (r *ours) begin() (err error) {
	r.process, err = engines.StartProcess(engines.ProcessConfig{Name: "ringwatch", Path: r.binary,
		Args: []string{"all", "--config", r.config(), "--data", r.data()},
		Env:  []string{profiled.Env + "=" + r.profile}, Log: filepath.Join(r.dir, "log")})
	return err
}

// start starts it and waits until it is ready.
func (r *ours) start(ctx context.Context) error {
	if err := r.begin(); err != nil {
		return err
	}
	return line.Ready(ctx, r.process, r.ingest, r.api)
}

func (r *ours) kill() {
	if r.process != nil {
		_ = r.process.Kill()
	}
}

// newest returns when a node's newest value was taken, in ms.
func (r *ours) newest(ctx context.Context, node string) (int64, error) {
	return line.Newest(ctx, r.api, r.key, node)
}

// startPrometheus starts one that scrapes the nodes at address, with the shipped rules in its
// words.
func startPrometheus(
	ctx context.Context, dir string, n *nodes, address string,
) (*peers.Peer, error) {
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	config := fmt.Sprintf("global: {evaluation_interval: %s}\nrule_files:\n",
		rules.DefaultConfig().EvaluationInterval)
	for _, name := range rules.ShippedFiles {
		text, err := rules.Shipped.ReadFile(name)
		if err == nil {
			text, err = translated(text, n.busy.IsHistogram)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return nil, err
		}
		config += fmt.Sprintf("  - %q\n", file)
	}
	config += fmt.Sprintf("scrape_configs:\n  - job_name: nodes\n    scrape_interval: %s\n"+
		"    static_configs:\n", interval)
	for i, s := range n.list {
		config += fmt.Sprintf(
			"      - targets: [%q]\n        labels: {__metrics_path__: /%d/metrics, "+
				"instance: %q, cluster: %q, datacenter: %q, rack: %q, node: %q}\n", address, i,
			s.ID, s.Cluster,
			s.Identity.Datacenter, s.Identity.Rack, s.ID)
	}
	return peers.Start(ctx, "prometheus", dir, bench.Progress, config)
}

// translated returns a rule file whose expressions ask for buckets where they ask for histograms.
func translated(text []byte, native func(metric string) bool) ([]byte, error) {
	var file struct {
		Groups []map[string]any `yaml:"groups"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	for _, group := range file.Groups {
		list, _ := group["rules"].([]any)
		for _, one := range list {
			rule, _ := one.(map[string]any)
			expr, _ := rule["expr"].(string)
			words, err := peers.Words(expr, native)
			if err != nil {
				return nil, err
			}
			rule["expr"] = words
		}
	}
	return yaml.MarshalWithOptions(map[string]any{"groups": file.Groups}, yaml.JSON())
}

// side is who is asked, and measured.
type side struct {
	name     string
	url, key string
	pid      int
}

// ask asks one question and returns how long that took.
func (s *side) ask(ctx context.Context, path string, form url.Values) (time.Duration, error) {
	start := time.Now()
	_, err := line.Get(ctx, line.Plain, s.url+path+"?"+form.Encode(), s.key)
	return time.Since(start), err
}
