// Command broker measures what the agent costs a Kafka broker of many partitions, and what the JMX
// exporter costs it, in the same JVM.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/node"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// options are the flags.
type options struct {
	agent, rules, heap         string
	partitions, topics, writes int
	length, interval           time.Duration
	scrapes                    int
	profile                    bool
}

func main() {
	var o options
	bench.Agent(&o.agent)
	bench.Work()
	flag.StringVar(&o.heap, "heap", "1G", "the broker's heap")
	flag.StringVar(&o.rules, "rules", "agent/src/test/resources/rules/kafka.yaml",
		"the JMX exporter's configuration")
	flag.IntVar(&o.partitions, "partitions", 1000, "of all topics")
	flag.IntVar(&o.topics, "topics", 100, "topics")
	flag.IntVar(&o.writes, "writes", 50, "records a second, to all partitions in turn")
	flag.DurationVar(&o.length, "length", 2*time.Minute, "how long the agent is measured")
	flag.DurationVar(&o.interval, "interval", 5*time.Second, "between passes")
	flag.IntVar(&o.scrapes, "scrapes", 5, "scrapes of the JMX exporter")
	flag.BoolVar(&o.profile, "jmx-profile", false, "the agent serves the exporter's names, too")
	bench.Main("bench-agent-kafka", func(ctx context.Context, r *bench.Result) error {
		return run(ctx, &o, r)
	})
}

func run(ctx context.Context, o *options, r *bench.Result) error {
	dir := r.Dir
	var wire, frames atomic.Int64
	ingest := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		n, _ := io.Copy(io.Discard, q.Body)
		wire.Add(n)
		frames.Add(1)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer ingest.Close()
	broker, ours, theirs, err := start(ctx, o, dir, ingest.URL)
	if err != nil {
		return err
	}
	defer broker.Kill()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr()), kgo.RecordPartitioner(
		kgo.RoundRobinPartitioner()))
	if err != nil {
		return err
	}
	defer client.Close()
	if err := topics(ctx, o, client); err != nil {
		return err
	}
	load, stop := context.WithCancel(ctx)
	defer stop()
	go write(load, o, client)
	// slow gauges are read once a minute, and compiled code is what a broker has
	bench.Progress("%d partitions; warming up", o.partitions)
	if err := bench.Pass(ctx, 90*time.Second); err != nil {
		return err
	}
	before, err := node.Scrape(ctx, ours)
	if err != nil {
		return err
	}
	sent := wire.Load()
	if err := bench.Pass(ctx, o.length); err != nil {
		return err
	}
	after, err := node.Scrape(ctx, ours)
	if err != nil {
		return err
	}
	moved := func(name string) float64 { return after.Sample(name) - before.Sample(name) }
	passes := moved("ringwatch_agent_passes_total")
	r.Add("pass_cpu_ms", 1000*moved("ringwatch_agent_pass_cpu_seconds_total")/passes)
	r.Add("pass_alloc_kb", moved("ringwatch_agent_allocated_bytes_total")/1024/passes)
	r.Add("wire_mb_h", float64(wire.Load()-sent)/(1<<20)*float64(time.Hour)/float64(o.length))
	r.Add("samples", after.Samples)
	r.Add("entities", after.Sample("ringwatch_agent_entities"))

	const thread = "prometheus-http"
	began, err := node.Threads(ctx, broker.Pid(), thread)
	if err != nil {
		return err
	}
	var took time.Duration
	var last node.Scraped
	for range o.scrapes {
		if last, err = node.Scrape(ctx, theirs); err != nil {
			return err
		}
		took += last.Took
	}
	ended, err := node.Threads(ctx, broker.Pid(), thread)
	if err != nil {
		return err
	}
	var cpu time.Duration
	var allocated float64
	for name, t := range ended {
		cpu += t.CPU - began[name].CPU
		allocated += t.Allocated - began[name].Allocated
	}
	n := float64(o.scrapes)
	r.Add("jmx_scrape_cpu_ms", float64(cpu.Microseconds())/1000/n)
	r.Add("jmx_scrape_alloc_mb", allocated/(1<<20)/n)
	r.Add("jmx_scrape_ms", float64(took.Microseconds())/1000/n)
	r.Add("jmx_samples", last.Samples)
	r.Notes = fmt.Sprintf(
		"A broker of %d partitions that takes %d records a second, the agent and "+
			"the JMX exporter %s in one JVM, in turn. CPU of a pass is the mean over %.0f passes, "+
			"sending included; a scrape's is that of the threads that answer it.", o.partitions,
		o.writes, node.JMXVersion, passes)
	return nil
}

// start starts the broker with both agents and returns where each answers.
func start(ctx context.Context, o *options, dir, ingest string) (broker *engines.Kafka, ours,
	theirs string, err error) {
	exporter, err := node.JMX(ctx, dir, false, bench.Say)
	if err != nil {
		return nil, "", "", err
	}
	rules, err := os.ReadFile(o.rules)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "jmx.yaml"), rules, 0o600)
	}
	if err != nil {
		return nil, "", "", err
	}
	port, err := engines.FreePort("127.0.0.1")
	if err != nil {
		return nil, "", "", err
	}
	profiles := "[ringwatch]"
	if o.profile {
		profiles = fmt.Sprintf("[ringwatch, {jmx_exporter: %q}]", filepath.Join(dir, "jmx.yaml"))
	}
	agent, err := node.Push(dir, o.agent, ingest, o.interval)
	if err == nil {
		err = agent.Configure(fmt.Sprintf("listen: 127.0.0.1:%d\nprofiles: %s\n", port, profiles))
	}
	if err != nil {
		return nil, "", "", err
	}
	broker, err = engines.StartKafka(ctx, engines.KafkaConfig{Dir: filepath.Join(dir, "kafka"),
		Heap: o.heap, Progress: bench.Say, JVMArgs: append(agent.Args, exporter.Args...)})
	return broker, fmt.Sprintf("http://127.0.0.1:%d/metrics?profile=ringwatch", port),
		exporter.Scrape, err
}

func topics(ctx context.Context, o *options, client *kgo.Client) error {
	var names []string
	for i := range o.topics {
		names = append(names, fmt.Sprintf("t%d", i))
	}
	made, err := kadm.NewClient(client).CreateTopics(ctx, int32(o.partitions/o.topics), 1, nil,
		names...)
	return cmp.Or(err, made.Error())
}

// write writes until ctx ends.
func write(ctx context.Context, o *options, client *kgo.Client) {
	value := make([]byte, 200)
	for i := 0; bench.Pass(ctx, time.Second/time.Duration(o.writes)) == nil; i++ {
		r := &kgo.Record{Topic: fmt.Sprintf("t%d", i%o.topics), Value: value}
		client.Produce(ctx, r, nil)
	}
}
