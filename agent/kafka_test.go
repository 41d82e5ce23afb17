package agent_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
)

// TestKafkaBroker reads what the agent in a real broker sends, holds it against the broker's beans,
// and its profile for the JMX exporter against the real one. A topic comes, is written and goes.
func TestKafkaBroker(t *testing.T) {
	t.Parallel()
	ports := engines.FreePorts(t, 2)
	listens, jmxPort := fmt.Sprintf("127.0.0.1:%d", ports[0]), strconv.Itoa(ports[1])
	rules := mustRules(t)
	n := &node{frames: mustReceiver(t)}
	config := filepath.Join(t.TempDir(), "agent.yaml")
	text := fmt.Sprintf("ingest:\n  urls: [%q]\n  key: rw_test\ninterval: 1s\nlisten: %s\n"+
		"cluster: orders\nprofiles:\n  - ringwatch\n", n.frames.url, listens)
	for _, file := range rules {
		text += fmt.Sprintf("  - {jmx_exporter: %q}\n", file)
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	jar, err := filepath.Abs("target/ringwatch-agent.jar")
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "kafka.log")
	broker := engines.MustKafka(t, func(c *engines.KafkaConfig) {
		c.Log = log
		c.Extra = map[string]string{"broker.rack": "r1"}
		c.JVMArgs = []string{"-javaagent:" + jar + "=" + config,
			"-Dcom.sun.management.jmxremote.port=" + jmxPort,
			"-Dcom.sun.management.jmxremote.rmi.port=" + jmxPort,
			"-Dcom.sun.management.jmxremote.host=127.0.0.1",
			"-Djava.rmi.server.hostname=127.0.0.1",
			"-Dcom.sun.management.jmxremote.authenticate=false",
			"-Dcom.sun.management.jmxremote.ssl=false"}
	})
	jmxURL := "service:jmx:rmi:///jndi/rmi://127.0.0.1:" + jmxPort + "/jmxrmi"
	n.jmx = mustJMX(t, jmxURL)
	client, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)

	s := n.next(t)
	clusterID, err := n.jmx.read("kafka.server:type=KafkaServer,name=ClusterId", "Value")
	if err != nil {
		t.Fatal(err)
	}
	if s.node.Cluster != "orders" || s.node.ID != frame.BrokerID(clusterID, 1) ||
		s.node.Identity.Rack != "r1" {
		t.Errorf("the node is %+v", s.node)
	}
	for name, want := range map[string]string{"kind": "kafka", "version": engines.KafkaVersion,
		"broker_id": "1", "cluster_id": clusterID, "address": broker.Addr()} {
		if got := s.node.Identity.Fact(name); got != want {
			t.Errorf("the fact %s is %q, not %q", name, got, want)
		}
	}

	if _, err := admin.CreateTopic(t.Context(), 3, 1, nil, "watched"); err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		r := &kgo.Record{Topic: "watched", Value: []byte(strings.Repeat("x", i))}
		if err := client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	n.until(t, "300 messages", func(s *state) error {
		if got := s.text("kafka_server_brokertopicmetrics_messagesin_total|watched"); got != "300" {
			return fmt.Errorf("there are %q", got)
		}
		return nil
	})
	topics, requests := "kafka.server:type=BrokerTopicMetrics,name=",
		"kafka.network:type=RequestMetrics,name="
	n.compare(t, []pair{
		{topics + "MessagesInPerSec", "Count",
			"kafka_server_brokertopicmetrics_messagesin_total"},
		{topics + "BytesInPerSec,topic=watched", "Count",
			"kafka_server_brokertopicmetrics_bytesin_total|watched"},
		{requests + "TotalTimeMs,request=Produce", "Count",
			"kafka_network_requestmetrics_totaltime_seconds_count|Produce"},
		{"kafka.log:type=Log,name=LogEndOffset,topic=watched,partition=1", "Value",
			"kafka_log_log_logendoffset|1|watched"},
		{"kafka.log:type=Log,name=Size,topic=watched,partition=1", "Value",
			"kafka_log_log_size|1|watched"},
		{"kafka.cluster:type=Partition,name=ReplicasCount,topic=watched,partition=2", "Value",
			"kafka_cluster_partition_replicascount|2|watched"},
		{"kafka.server:type=ReplicaManager,name=PartitionCount", "Value",
			"kafka_server_replicamanager_partitioncount"},
		{"kafka.controller:type=KafkaController,name=GlobalTopicCount", "Value",
			"kafka_controller_kafkacontroller_globaltopiccount"},
		{"kafka.server:type=raft-metrics", "current-epoch",
			"kafka_server_raft_metrics_current_epoch"},
		{"kafka.server:type=raft-metrics", "current-state",
			"kafka_server_raft_metrics_current_state_info"},
		{"java.lang:type=Runtime", "StartTime", "jvm_start_time_seconds"},
	})
	n.until(t, "the quantiles of produce requests", func(s *state) error {
		want, err := n.jmx.read(requests+"TotalTimeMs,request=Produce", "99thPercentile")
		if err != nil {
			return err
		}
		ms, err := strconv.ParseFloat(want, 64)
		series := s.series["kafka_network_requestmetrics_totaltime_seconds|0.99|Produce"]
		if err != nil || series == nil || math.Abs(series.Doubles[0]*1000-ms) > 1e-6 {
			return errors.Join(err, fmt.Errorf("99 %% of produce requests: %s ms, ours %+v", want,
				series))
		}
		return nil
	})
	const quantile = `kafka_network_requestmetrics_totaltime_seconds`
	found := false
	for series := range mustSamples(t, "http://"+listens+"/metrics?profile=ringwatch") {
		found = found || strings.Contains(series, quantile+`"`) &&
			strings.Contains(series, `quantile="0.99", request="Produce"`)
	}
	if !found {
		t.Error("/metrics has no quantile of produce requests")
	}

	real := mustRealExporter(t)
	for i, file := range rules {
		profile := "jmx_exporter"
		if i > 0 {
			profile += fmt.Sprintf("_%d", i+1)
		}
		theirs := filepath.Join(t.TempDir(), "real.yaml")
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(theirs, append([]byte("jmxUrl: "+jmxURL+"\n"), text...), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		n.sameAsReal(t, real, theirs, "http://"+listens+"/metrics?profile="+profile, 1500)
	}

	if _, err := admin.DeleteTopics(t.Context(), "watched"); err != nil {
		t.Fatal(err)
	}
	n.until(t, "the topic is gone", func(s *state) error {
		for series := range s.series {
			if strings.HasSuffix(series, "|watched") {
				return fmt.Errorf("there is still %s", series)
			}
		}
		return nil
	})
	if refused := n.next(t).text("ringwatch_agent_metrics_refused_total"); refused != "0" {
		t.Errorf("%s metrics have no place in a frame", refused)
	}
	said, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(said)) {
		if strings.Contains(line, "Exception") || strings.Contains(line, "report this") {
			t.Errorf("the broker says %s", line)
		}
	}
}

// mustRules are configurations of the JMX exporter that say nothing of its own JVM, which is
// another one. RINGWATCH_KAFKA_RULES names more files.
func mustRules(t *testing.T) (files []string) {
	t.Helper()
	all := append([]string{"src/test/resources/rules/kafka.yaml"},
		filepath.SplitList(os.Getenv("RINGWATCH_KAFKA_RULES"))...)
	for i, file := range all {
		text, err := os.ReadFile(file)
		copied := filepath.Join(t.TempDir(), fmt.Sprintf("%d.yaml", i))
		if err == nil {
			err = os.WriteFile(copied, append([]byte("excludeJvmMetrics: true\n"), text...), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, copied)
	}
	return files
}
