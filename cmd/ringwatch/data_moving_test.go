package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/alerts"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/data"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/keys"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/clock"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/rules/notify"
	"github.com/ringwatch/ringwatch/stream"
)

// steady sends frames of a fleet to one address, as agents do: what is not taken is sent again, in
// order.
type steady struct {
	fleet  *promFleet
	ingest string

	mu   sync.Mutex
	sent []int64 // times of the frames that were taken
	stop context.CancelFunc
	done chan struct{}
}

func (s *steady) start() {
	var ctx context.Context
	ctx, s.stop = context.WithCancel(context.Background())
	s.done = make(chan struct{})
	go func() {
		defer close(s.done)
		for ctx.Err() == nil {
			at := time.Now().UnixMilli()
			for _, n := range s.fleet.nodes {
				n.Step()
				b := n.Frame(at)
				for s.fleet.post(context.Background(), s.ingest, b) != nil && ctx.Err() == nil {
					clock.Pause(ctx, 20*time.Millisecond)
				}
			}
			if ctx.Err() != nil {
				return // some of these may be missing
			}
			s.mu.Lock()
			s.sent = append(s.sent, at)
			s.mu.Unlock()
			clock.Pause(ctx, 300*time.Millisecond)
		}
	}()
}

func (s *steady) taken() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// await waits until more frames are taken.
func (s *steady) await(t *testing.T, more int) {
	t.Helper()
	want := len(s.taken()) + more
	eventually(t, "more frames", func(context.Context) error {
		if n := len(s.taken()); n < want {
			return fmt.Errorf("%d, not %d", n, want)
		}
		return nil
	})
}

// movingLine is a directory that moves into a Cassandra and a Kafka.
type movingLine struct {
	directory
	line   string // the configuration after the move
	cass   *engines.Cassandra
	broker *engines.Kafka
	sender *steady
	base   int64
}

// questions are about the time before; their answers never change.
func (d *movingLine) questions() map[string]string {
	node := d.fleet.nodes[0].ID.String()
	span := fmt.Sprintf("&from=%d&to=%d", d.base-pastSpan, d.base-1)
	over := func(q string) string {
		return "/api/v1/query_range?" + url.Values{
			"query": {q},
			"start": {fmt.Sprint((d.base - pastSpan) / 1000)},
			"end":   {fmt.Sprint(d.base / 1000)},
			"step":  {"15"},
		}.Encode()
	}
	at := func(q string) string {
		return "/api/v1/query?" + url.Values{
			"query": {q},
			"time":  {fmt.Sprint(d.base / 1000)},
		}.Encode()
	}
	return map[string]string{
		"a gauge": over(`node_load1{cluster="moving-prod"}`),
		"a rate": over(
			`sum by (node) (rate(node_cpu_seconds_total{cluster="moving-prod"}[2m]))`,
		),
		"a quantile": over(
			`histogram_quantile(0.99, sum(rate(` +
				`cassandra_table_read_latency_seconds{cluster="moving-prod"}[3m])))`,
		),
		"over time": at(`count_over_time(node_load1{cluster="moving-prod"}[11m])`),
		"events":    "/v1/events?text=before+the+move&to=" + fmt.Sprint(d.base),
		"samples of a table": "/v1/nodes/" + node + `/metrics?metrics=` + url.QueryEscape(
			`{__name__=~"cassandra_table_.*"}`,
		) + span,
		"the clusters": "/v1/clusters",
	}
}

// Ask returns what there is of all questions.
func (d *movingLine) ask(ctx context.Context) (map[string]string, error) {
	got := map[string]string{}
	for name, path := range d.questions() {
		text, err := d.get(ctx, d.fleet.key, path)
		if err != nil {
			return nil, err
		}
		if strings.Contains(text, `"partial":[`) {
			return nil, fmt.Errorf("%s are not whole yet", name)
		}
		if data := dataOf(text); data != nil {
			text = string(data)
		}
		if name == "the clusters" {
			text = fmt.Sprint(strings.Count(text, `"`+d.fleet.cluster+`"`))
		}
		got[name] = text
	}
	return got, nil
}

// others are answers that change, without what changes in them.
func (d *movingLine) others(t *testing.T) map[string]string {
	t.Helper()
	flags := client.Flags{API: d.api, Key: d.fleet.key}
	api, err := flags.Client()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	list, err := alerts.AskAlerts(t.Context(), api)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		name := a.Labels["alertname"]
		ours := name == "NodeIsThere" && a.Labels["cluster"] == d.fleet.cluster
		if ours || name == "OverAllClusters" {
			got["alert "+name+a.Labels["node"]] = fmt.Sprint(a.State, " since ", a.ActiveAt)
		}
	}
	for _, path := range []string{"/v1/nodes", "/api/v1/rules?type=alert"} {
		text, err := d.get(t.Context(), d.fleet.key, path)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{`"NodeIsThere"`, `"OverAllClusters"`,
			d.fleet.nodes[0].ID.String(), d.fleet.nodes[2].ID.String()} {
			got[path] += fmt.Sprint(word, strings.Contains(text, word), " ")
		}
	}
	return got
}

// move runs the command in this process.
func (d *movingLine) move(
	t *testing.T,
	config string,
	change ...func(*data.DataMoveCmd),
) (string, error) {
	t.Helper()
	c := data.DataMoveCmd{Config: config, Data: d.data, Wait: time.Minute}
	for _, f := range change {
		f(&c)
	}
	var out bytes.Buffer
	err := c.RunTo(t.Context(), &out)
	t.Logf("ringwatch data move: %v\n%s", err, &out)
	return out.String(), err
}

func (d *movingLine) configs(t *testing.T, accounts, more string) string {
	t.Helper()
	return configFile(
		t,
		fmt.Sprintf("accounts: [%s]\ningest: {listen: %q}\napi: {listen: %q}\n%s", accounts,
			strings.TrimPrefix(d.ingest, "http://"), strings.TrimPrefix(d.api, "http://"), more),
	)
}

// lineOf is a configuration that names both engines.
func (d *movingLine) lineOf(t *testing.T, accounts, keyspace, more string) string {
	t.Helper()
	return d.configs(
		t,
		accounts,
		fmt.Sprintf("cassandra: {hosts: [%q], keyspace: %s, grace: 1s}\nkafka: {brokers: [%q]%s}\n",
			d.cass.Addr(), keyspace, d.broker.Addr(), more),
	)
}

// keyOf makes an API key of the account mover.
func (d *movingLine) keyOf(t *testing.T, name string, scopes ...account.Scope) string {
	t.Helper()
	var out bytes.Buffer
	c := keys.KeyCreateCmd{KeyFlags: d.keyFlags(), Name: name, Account: "mover", Scopes: scopes}
	if err := c.RunTo(t.Context(), &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

// keepAsking asks until the test's end. Whoever answers, says the same.
func (d *movingLine) keepAsking(t *testing.T, want map[string]string) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	asked := 0
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			got, err := d.ask(ctx)
			if err != nil { // nobody is there, or the answer waits for what is on its way
				clock.Pause(ctx, 50*time.Millisecond)
				continue
			}
			asked++
			for name := range want {
				if got[name] != want[name] && ctx.Err() == nil {
					t.Errorf(
						"meanwhile %s is\n%.1000s\nand was\n%.1000s",
						name,
						got[name],
						want[name],
					)
					return
				}
			}
			clock.Pause(ctx, 200*time.Millisecond)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		if t.Logf("asked %d times meanwhile", asked); asked == 0 {
			t.Error("nothing was answered meanwhile")
		}
	})
}

// allThere looks for each frame that was taken, once and with its values.
func (d *movingLine) allThere(t *testing.T) {
	t.Helper()
	sent := d.sender.taken()
	path := fmt.Sprintf("/metrics?metrics=node_load1&from=%d&to=%d", d.base, sent[len(sent)-1])
	for _, n := range d.fleet.nodes {
		eventually(t, "all frames", func(ctx context.Context) error {
			text, err := d.get(ctx, d.fleet.key, "/v1/nodes/"+n.ID.String()+path)
			if err != nil {
				return err
			}
			var list []struct {
				Payload []struct{ Values []struct{ Time time.Time } }
			}
			if err := json.Unmarshal([]byte(text), &list); err != nil {
				return fmt.Errorf("%w: %.500s", err, text)
			}
			var got []int64
			for _, of := range list {
				for _, s := range of.Payload {
					for _, v := range s.Values {
						got = append(got, v.Time.UnixMilli())
					}
				}
			}
			if !slices.Equal(got, sent) {
				return fmt.Errorf(
					"%d frames, and %d were taken: %v, %v",
					len(got),
					len(sent),
					got,
					sent,
				)
			}
			return nil
		})
	}
}

// firedOnce looks into the topic of alerts: none has ended, or begun again.
func (d *movingLine) firedOnce(t *testing.T) {
	t.Helper()
	begun := map[string]map[time.Time]bool{}
	log, err := stream.NewLog(
		mustStream(t, d.broker),
		stream.DefaultConfig(),
		notify.DefaultConfig().Topic,
		prometheus.NewRegistry(),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	_, err = log.Read(t.Context(), nil, func(e stream.Entry) error {
		a, err := notify.AlertOf(e)
		if err != nil || a.Cluster == "large-prod" {
			return err
		}
		key := a.Labels.String()
		if begun[key] == nil {
			begun[key] = map[time.Time]bool{}
		}
		begun[key][a.StartsAt] = true
		if len(begun[key]) > 1 || !a.EndsAt.IsZero() {
			return fmt.Errorf("%s began at %v and ended at %v", key, begun[key], a.EndsAt)
		}
		return nil
	})
	if err != nil || len(begun) != 4 {
		t.Errorf("%v: %v", err, begun)
	}
}
