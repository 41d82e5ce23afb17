package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goccy/go-yaml"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/crowd"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/bench/peers"
	"github.com/ringwatch/ringwatch/rules"
)

// accountName is whose the fleet is.
const accountName = "bench"

// ours is a ringwatch all without engines.
type ours struct {
	*line.Role
	dir, key string
}

// newOurs writes the configuration and starts nothing.
func newOurs(o *options, dir string) (*ours, error) {
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return nil, err
	}
	r := &ours{dir: dir, key: account.NewKey()}
	var err error
	r.Role, err = line.NewRole(o.binary, dir, "ringwatch", fmt.Sprintf("accounts:\n%s"+
		"memory: {limit_bytes: %d}\n", line.Account(accountName, r.key, "read, write"), o.memory),
		[]string{"ingest", "api"}, "all", "--data", r.data())
	return r, err
}

// data is the directory that everything is in.
func (r *ours) data() string { return filepath.Join(r.dir, "data") }

// rows is where the rows are in it.
func (r *ours) rows() string { return filepath.Join(r.data(), "rows") }

// side is who is asked.
func (r *ours) side() *crowd.Side {
	return &crowd.Side{Name: "ringwatch", URL: r.URLs["api"], Key: r.key, Pid: r.Pid()}
}

// newest returns when a node's newest value was taken, in ms.
func (r *ours) newest(ctx context.Context, node string) (int64, error) {
	return line.Newest(ctx, r.URLs["api"], r.key, node)
}

// startPrometheus starts one that scrapes the nodes at address, with the shipped rules in its
// words.
func startPrometheus(
	ctx context.Context, dir string, n *nodes, address string,
) (*peers.Peer, error) {
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
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
