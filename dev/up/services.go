package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/ringwatch/ringwatch/dev/engines"
)

// service is one process of the stack.
type service struct {
	name   string // of its pid file, log and data directory
	title  string // for people
	addr   string // where it can be reached
	ports  []port
	memory int64 // bytes it will need, heap and all
	engine bool
	// waits until it answers, if it is an engine
	start   func(context.Context, func(engines.Identity) error) error
	answers func(context.Context) error
}

// port is one that a service listens on, and how to choose another.
type port struct {
	number        int
	need, setting string
}

const mebi = 1 << 20

// services lists the stack in the order of starting; it is stopped in reverse.
func services(st *state, set settings) []service {
	var all []service
	if set.Line {
		all = append(all, redis(st, set), kafka(st, set))
	}
	all = append(all, cassandra(st, set))
	if !set.EnginesOnly {
		all = append(all, ringwatch(st, set))
	}
	return all
}

// started lists whatever any settings start.
func started(st *state) []service { return services(st, settings{Line: true}) }

func redis(st *state, set settings) service {
	return service{
		name: "redis", title: "Redis", addr: local(set.RedisPort), engine: true,
		ports: []port{{set.RedisPort, "Redis", "RINGWATCH_REDIS_PORT"}}, memory: 256 * mebi,
		start: func(ctx context.Context, started func(engines.Identity) error) error {
			_, err := engines.StartRedis(ctx, engines.RedisConfig{
				Dir: st.data("redis"), Log: st.log("redis"), Port: set.RedisPort,
				MaxMemory: set.RedisMemory, Detached: !st.attached, Started: started,
			})
			return err
		},
		answers: func(ctx context.Context) error {
			return engines.RedisAnswers(ctx, local(set.RedisPort))
		},
	}
}

func kafka(st *state, set settings) service {
	return service{
		name: "kafka", title: "Kafka", addr: local(set.KafkaPort), engine: true,
		ports: []port{
			{set.KafkaPort, "Kafka", "RINGWATCH_KAFKA_PORT"},
			{set.KafkaControllerPort, "Kafka's controller", "RINGWATCH_KAFKA_CONTROLLER_PORT"},
		},
		memory: heapBytes(set.KafkaHeap) + 256*mebi,
		start: func(ctx context.Context, started func(engines.Identity) error) error {
			_, err := engines.StartKafka(ctx, engines.KafkaConfig{
				Dir: st.data("kafka"), Log: st.log("kafka"), Port: set.KafkaPort,
				ControllerPort: set.KafkaControllerPort,
				Heap:           set.KafkaHeap, Detached: !st.attached, Started: started,
			})
			return err
		},
		answers: func(ctx context.Context) error {
			return engines.KafkaAnswers(ctx, local(set.KafkaPort))
		},
	}
}

// cassandra is the one that is monitored. In a line Ringwatch stores in it, too.
func cassandra(st *state, set settings) service {
	ports := []port{
		{set.CassandraPort, "Cassandra's CQL", "RINGWATCH_CASSANDRA_PORT"},
		{set.CassandraStoragePort, "Cassandra's node-to-node traffic",
			"RINGWATCH_CASSANDRA_STORAGE_PORT"},
		{set.CassandraJMXPort, "Cassandra's JMX", "RINGWATCH_CASSANDRA_JMX_PORT"},
	}
	var agentArgs []string
	if !set.EnginesOnly {
		ports = append(ports, port{set.AgentPort, "the agent's /metrics", "RINGWATCH_AGENT_PORT"})
		agentArgs = []string{"-javaagent:" + st.agentJar() + "=" + st.path("agent.yaml")}
	}
	return service{
		name: "cassandra", title: "Cassandra", addr: local(set.CassandraPort), engine: true,
		ports: ports, memory: heapBytes(set.CassandraHeap) + 512*mebi,
		start: func(ctx context.Context, started func(engines.Identity) error) error {
			_, err := engines.StartCassandra(ctx, engines.CassandraConfig{
				Dir: st.data("cassandra"), Log: st.log("cassandra"), NativePort: set.CassandraPort,
				StoragePort: set.CassandraStoragePort, JMXPort: set.CassandraJMXPort,
				Heap:    set.CassandraHeap,
				JVMArgs: agentArgs, Detached: !st.attached, Started: started,
			})
			return err
		},
		answers: func(ctx context.Context) error {
			return engines.CassandraAnswers(ctx, local(set.CassandraPort))
		},
	}
}

func ringwatch(st *state, set settings) service {
	args := []string{"all", "--config", st.path("ringwatch.yaml"), "--wait",
		engines.StartTimeout.String()}
	return service{
		name: "ringwatch", title: "ringwatch", addr: set.apiURL(),
		ports: []port{
			{set.APIPort, "the API", "RINGWATCH_API_PORT"},
			{set.IngestPort, "ingest", "RINGWATCH_INGEST_PORT"},
		},
		memory: 512 * mebi,
		start: func(_ context.Context, started func(engines.Identity) error) error {
			_, err := engines.StartProcess(engines.ProcessConfig{
				Name: "ringwatch", Path: st.binary(), Args: args,
				Dir: st.checkout, Log: st.log("ringwatch"), Detached: !st.attached,
				Started: started,
			})
			return err
		},
		answers: func(ctx context.Context) error { return getOK(ctx, set.apiURL()+"/-/healthy") },
	}
}

func (s *state) agentJar() string {
	return filepath.Join(s.checkout, "agent", "target", "ringwatch-agent.jar")
}
func (s *state) binary() string { return filepath.Join(s.checkout, "bin", "ringwatch") }

// built returns nil when what `make build` makes is there.
func (s *state) built() error {
	for _, file := range []string{s.binary(), s.agentJar()} {
		if _, err := os.Stat(file); err != nil {
			relative, _ := filepath.Rel(s.checkout, file)
			return fmt.Errorf("%s is missing: make build", relative)
		}
	}
	return nil
}

func getOK(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}
