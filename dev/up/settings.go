package main

import (
	"fmt"
	"net"
	"reflect"
	"strconv"
)

// settings are what a person may choose about the stack. They are kept beside the data, because a
// running stack can only be found, checked and completed with the settings it was started with.
type settings struct {
	Line bool `help:"Start Kafka and Redis, too, and keep everything in them and in Cassandra: what make up-line does. Without it one ringwatch process keeps everything in a directory." yaml:"line"`

	APIPort              int `help:"The API's port." default:"9470" env:"RINGWATCH_API_PORT" yaml:"api_port"`
	IngestPort           int `help:"The port that takes the agents' frames." default:"9471" env:"RINGWATCH_INGEST_PORT" yaml:"ingest_port"`
	AgentPort            int `help:"The port of the agent's /metrics." default:"9472" env:"RINGWATCH_AGENT_PORT" yaml:"agent_port"`
	CassandraPort        int `help:"Cassandra's CQL port." default:"9042" env:"RINGWATCH_CASSANDRA_PORT" yaml:"cassandra_port"`
	CassandraStoragePort int `help:"Cassandra's node-to-node port." default:"7000" env:"RINGWATCH_CASSANDRA_STORAGE_PORT" yaml:"cassandra_storage_port"`
	CassandraJMXPort     int `help:"Cassandra's JMX port." default:"7199" env:"RINGWATCH_CASSANDRA_JMX_PORT" yaml:"cassandra_jmx_port"`
	KafkaPort            int `help:"Kafka's port." default:"9092" env:"RINGWATCH_KAFKA_PORT" yaml:"kafka_port"`
	KafkaControllerPort  int `help:"The port of Kafka's controller." default:"9093" env:"RINGWATCH_KAFKA_CONTROLLER_PORT" yaml:"kafka_controller_port"`
	RedisPort            int `help:"Redis's port." default:"6379" env:"RINGWATCH_REDIS_PORT" yaml:"redis_port"`

	CassandraHeap string `help:"Cassandra's heap. Default: 512M, and 1G with --line." env:"RINGWATCH_CASSANDRA_HEAP" yaml:"cassandra_heap"`
	KafkaHeap     string `help:"Kafka's heap." default:"256M" env:"RINGWATCH_KAFKA_HEAP" yaml:"kafka_heap"`
	RedisMemory   string `help:"The most memory Redis may fill." default:"256mb" env:"RINGWATCH_REDIS_MEMORY" yaml:"redis_memory"`

	EnginesOnly bool `help:"Start Cassandra (without the agent) only, and with --line Kafka and Redis." yaml:"engines_only"`
}

// AfterApply completes the settings. With a heap of 512 MB Cassandra does for itself, but not for
// a store of metrics.
func (s *settings) AfterApply() error {
	if s.CassandraHeap != "" {
		return nil
	}
	s.CassandraHeap = "512M"
	if s.Line {
		s.CassandraHeap = "1G"
	}
	return nil
}

func local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

func (s settings) apiURL() string { return "http://" + local(s.APIPort) }

// differences names what differs between the running stack's settings and those now asked for, as
// "cassandra_heap is 1G, not 2G".
func (s settings) differences(asked settings) []string {
	var found []string
	running, wanted := reflect.ValueOf(s), reflect.ValueOf(asked)
	for i := range running.NumField() {
		if has, want := running.Field(i).Interface(), wanted.Field(i).Interface(); has != want {
			found = append(found,
				fmt.Sprintf("%s is %v, not %v", running.Type().Field(i).Tag.Get("yaml"), has, want))
		}
	}
	return found
}
