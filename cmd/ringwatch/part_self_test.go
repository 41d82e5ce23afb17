package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/datadir"
)

// testSelf: what the process has on /metrics is asked for with PromQL, and the shipped rules about
// ourselves are evaluated on it.
func (w *whole) testSelf(t *testing.T) {
	flags := client.Flags{API: w.API, Key: w.Key}
	api, err := flags.Client()
	if err != nil {
		t.Fatal(err)
	}
	type answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	for _, expr := range []string{
		`ringwatch_process_up{role="all",job="ringwatch"}`,
		`rate(ringwatch_ingest_frames_forwarded_total[30s]) > bool 0`,
		`histogram_quantile(0.99, rate(ringwatch_ingest_seconds_bucket[30s])) < bool 60`,
		`histogram_count(ringwatch_ingest_seconds) > bool 3`,
		`time() - process:ringwatch_process_up:timestamp{instance=~".+:[0-9]+"} < bool 3600`,
		`time() - process_start_time_seconds{cluster="ringwatch-self"} < bool 86400`,
		`count by (cluster) (ringwatch_self_sent_total{cluster="ringwatch-self"})`,
	} {
		eventually(t, expr, func(ctx context.Context) error {
			body, err := api.Get(ctx, "/api/v1/query", url.Values{"query": {expr}})
			if err != nil {
				return err
			}
			var a answer
			if err := json.Unmarshal(body, &a); err != nil {
				return err
			}
			list := a.Data.Result
			if len(list) != 1 || list[0].Value[1] != "1" ||
				list[0].Metric["cluster"] != "ringwatch-self" ||
				list[0].Metric["node"] != "" {
				return fmt.Errorf("the answer is %s", body)
			}
			return nil
		})
	}
	eventually(t, "the rules about ourselves", func(ctx context.Context) error {
		var rules struct {
			Data struct {
				Groups []struct {
					File  string
					Rules []struct{ Name, Health, LastError string }
				}
			}
		}
		body, err := api.Get(ctx, "/api/v1/rules", url.Values{"file[]": {"ringwatch.yaml"}})
		if err != nil {
			return err
		}
		if err := json.Unmarshal(body, &rules); err != nil {
			return err
		}
		var ok, names []string
		for _, g := range rules.Data.Groups {
			for _, r := range g.Rules {
				if r.Health == "err" {
					t.Errorf("%s: %s", r.Name, r.LastError)
				}
				if names = append(names, r.Name+" "+r.Health); r.Health == "ok" {
					ok = append(ok, r.Name)
				}
			}
		}
		for _, name := range []string{"RingwatchProcessDown", "RingwatchIngestSlow",
			"RingwatchConsumerLag", "RingwatchCassandraAway", "RingwatchAgentTrouble"} {
			if !slices.Contains(ok, name) {
				return fmt.Errorf("%s is not evaluated: %q", name, names)
			}
		}
		return nil
	})
	eventually(t, "descriptions of what agents, rules and we ourselves give",
		func(ctx context.Context) error {
			var metadata struct {
				Data map[string][]struct{ Type, Help, Unit string }
			}
			body, err := api.Get(ctx, "/api/v1/metadata", nil)
			if err != nil {
				return err
			}
			if err := json.Unmarshal(body, &metadata); err != nil {
				return err
			}
			for _, name := range []string{"cassandra_table_read_latency_seconds", "os_load1", "up",
				"ALERTS",
				"ringwatch_ingest_seconds", "go_goroutines", "cluster:os_cpu_busy:ratio_rate5m"} {
				if len(metadata.Data[name]) != 1 {
					return fmt.Errorf("there is no %s among %d metrics", name, len(metadata.Data))
				}
			}
			for name, of := range metadata.Data {
				if len(of) != 1 || of[0].Help == "" ||
					// testRules'
					strings.HasPrefix(of[0].Help, "Not described") !=
						(name == "cluster:nodes:count") {
					t.Errorf("%s is said to be %+v", name, of)
				}
			}
			return nil
		})
	nodes, err := w.Nodes(t.Context()) // processes are none
	if err != nil || len(nodes) != 1 || nodes[0].ID != w.node {
		t.Errorf("processes are among the nodes: %v, %v", nodes, err)
	}
}

// TestSelfWithoutAKey: ringwatch all sends its own metrics without a key of anybody's, whatever its
// ingest asks of others, from its first start on; the rules about ourselves are evaluated on them.
func TestSelfWithoutAKey(t *testing.T) {
	d := newDirectory(t)
	cert, key := mustCertificate(t)
	text, err := os.ReadFile(d.config)
	if err != nil {
		t.Fatal(err)
	}
	secure := fmt.Sprintf("ingest: {tls: {cert_file: %s, key_file: %s, client_ca_file: %s}, ", cert,
		key, cert)
	d.config = configFile(t, strings.Replace(string(text), "ingest: {", secure, 1)+
		"self: {enabled: true, interval: 1s}\n")
	start := func() (at int64) {
		at = time.Now().Unix()
		d.launch(t)
		eventually(t, d.api, func(ctx context.Context) error { return ready(ctx, d.api) })
		return at
	}
	at := start()
	reader := d.key(t, "reader", account.Read)
	told := func(expr string) {
		t.Helper()
		eventually(t, expr, func(ctx context.Context) error {
			body, err := d.get(ctx, reader, "/api/v1/query?"+url.Values{"query": {expr}}.Encode())
			if err == nil && !strings.Contains(body, `"ringwatch-self"`) {
				err = errors.New(body)
			}
			return err
		})
	}
	const up = `ringwatch_process_up{cluster="ringwatch-self",job="ringwatch",role="all"}`
	told(fmt.Sprintf("%s == 1 and timestamp(%s) >= %d", up, up, at))
	eventually(t, "the rules about ourselves", func(ctx context.Context) error {
		body, err := d.get(ctx, reader, "/api/v1/rules?"+
			url.Values{"rule_name[]": {"RingwatchProcessDown"}}.Encode())
		if err == nil && !strings.Contains(body, `"health":"ok"`) {
			err = errors.New(body)
		}
		return err
	})
	// whoever moves the directory need not have a key that the next start makes again
	if has, err := datadir.AskRunning(d.data).Move(t.Context()); err != nil ||
		len(has.Accounts) != 1 ||
		len(has.Accounts[0].Keys) != 0 {
		t.Errorf("it says that it has the keys %+v, %v", has, err)
	}
	if err := d.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := start()
	told(fmt.Sprintf("%s == 1 and timestamp(%s) >= %d", up, up, again))

	for text, want := range map[string]string{
		"accounts: [{name: a, clusters: [prod-*]}]\nself: {enabled: true}": "self: enabled: " +
			"account a does not own the cluster ringwatch-self: add it to the account's clusters",
		"self: {enabled: true}": "self: enabled: there is no account to send for",
	} {
		if _, _, err := settings.Parse("it", []byte(text)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
