package engines

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// KafkaConfig says how to run one Kafka, broker and controller in one process. Only Dir is needed.
type KafkaConfig struct {
	Dir string // holds its configuration, data and, unless Log is set, log; kept across starts

	// Join makes it a further broker, without a controller, of the cluster that this one is the
	// controller of; NodeID is its id there. nil: a cluster of its own, in which it has id 1.
	Join   *Kafka
	NodeID int

	ListenAddress  string // 127.0.0.1 by default
	Port           int    // for clients; 0: a free one
	ControllerPort int    // for itself; 0: a free one

	// a JVM size; "384M" by default: with 256M one was seen to end while it started
	Heap    string
	JVMArgs []string          // more JVM arguments; they win over the defaults
	Extra   map[string]string // more keys of server.properties; they win over the defaults
	TLS     *TLS              // to clients; nil: none

	JavaHome string // another Java than JavaHome's for the default Cassandra
	Log      string // Dir/kafka.log by default

	Detached bool                 // see ProcessConfig
	Started  func(Identity) error // see ProcessConfig
	Progress func(string)         // see Fetch
}

// Kafka is a running broker that has answered.
type Kafka struct {
	Engine
	Host           string
	Port           int
	ControllerPort int
	Dir            string
}

// Addr returns host:port for clients.
func (k *Kafka) Addr() string { return net.JoinHostPort(k.Host, strconv.Itoa(k.Port)) }

// controller returns host:port of its controller.
func (k *Kafka) controller() string {
	return net.JoinHostPort(k.Host, strconv.Itoa(k.ControllerPort))
}

// StartKafka fetches Kafka if need be, formats an empty directory, starts a broker and waits
// until it answers.
func StartKafka(ctx context.Context, c KafkaConfig) (*Kafka, error) {
	if c.Dir == "" {
		return nil, errors.New("a Kafka needs a directory: set KafkaConfig.Dir")
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("cannot resolve Kafka's directory: %w", err)
	}
	c.Dir = dir
	if c.Join == nil {
		c.NodeID = 1
	} else if c.NodeID < 2 {
		return nil, fmt.Errorf("a Kafka that joins another needs a KafkaConfig.NodeID from 2 on: "+
			"it has %d", c.NodeID)
	}
	setDefault(&c.ListenAddress, "127.0.0.1")
	setDefault(&c.Heap, "384M")
	setDefault(&c.Log, filepath.Join(c.Dir, "kafka.log"))
	classPath, err := bundles()[1].fetch(ctx, c.Progress)
	if err != nil {
		return nil, err
	}
	if c.JavaHome == "" {
		if c.JavaHome, err = JavaHome(ctx, CassandraVersion, c.Progress); err != nil {
			return nil, err
		}
	}
	fixed := c.Port != 0 && (c.ControllerPort != 0 || c.Join != nil)
	return startOnFreePorts(fixed, func() (*Kafka, error) { return startKafka(ctx, c, classPath) })
}

func startKafka(ctx context.Context, c KafkaConfig, classPath string) (*Kafka, error) {
	var hold portHold
	defer hold.release()
	if err := hold.take(c.ListenAddress, &c.Port, "Kafka"); err != nil {
		return nil, err
	}
	if c.Join != nil {
		c.ControllerPort = c.Join.ControllerPort
	} else if err := hold.take(c.ListenAddress, &c.ControllerPort,
		"Kafka's controller"); err != nil {
		return nil, err
	}
	java := filepath.Join(c.JavaHome, "bin", "java")
	if err := c.writeFiles(); err != nil {
		return nil, err
	}
	if err := c.format(ctx, java, classPath); err != nil {
		return nil, err
	}
	broker := &Kafka{Host: c.ListenAddress, Port: c.Port, ControllerPort: c.ControllerPort,
		Dir: c.Dir}
	broker.name = "Kafka"
	broker.probe = func(ctx context.Context) error {
		return kafkaAnswers(ctx, broker.Addr(), c.TLS)
	}
	broker.launch = func() (*Process, error) {
		hold.release()
		if _, err := c.TLS.store(c.Dir); err != nil { // the certificate of now
			return nil, err
		}
		return StartProcess(ProcessConfig{
			Name: broker.name, Path: java, Args: c.javaArgs(classPath, "kafka.Kafka",
				c.propertiesFile()), Dir: c.Dir, Log: c.Log,
			Detached: c.Detached, Started: c.Started,
		})
	}
	var err error
	if broker.proc, err = startReady(ctx, broker.name, broker.launch, broker.probe); err != nil {
		return nil, err
	}
	return broker, nil
}

func (c KafkaConfig) propertiesFile() string { return filepath.Join(c.Dir, "server.properties") }

func (c KafkaConfig) writeFiles() error {
	if err := makeDir(c.Dir); err != nil {
		return err
	}
	broker := net.JoinHostPort(c.ListenAddress, strconv.Itoa(c.Port))
	controller := net.JoinHostPort(c.ListenAddress, strconv.Itoa(c.ControllerPort))
	listener := "PLAINTEXT://"
	if c.TLS != nil {
		listener = "SSL://"
	}
	properties := map[string]string{
		"process.roles":                    "broker,controller",
		"node.id":                          "1",
		"controller.quorum.voters":         "1@" + controller,
		"controller.listener.names":        "CONTROLLER",
		"listeners":                        listener + broker + ",CONTROLLER://" + controller,
		"advertised.listeners":             listener + broker,
		"log.dirs":                         filepath.Join(c.Dir, "data"),
		"auto.create.topics.enable":        "false", // a mistyped topic is an error
		"group.initial.rebalance.delay.ms": "0",     // one consumer at a time joins here
		// A killed broker's successor is refused until the old session ends: 9 s by default.
		"broker.heartbeat.interval.ms": "500",
		"broker.session.timeout.ms":    "3000",
		// Internal topics with the 50 partitions of a large cluster cost a second of every first
		// use.
		"offsets.topic.num.partitions":                     "4",
		"transaction.state.log.num.partitions":             "4",
		"share.coordinator.state.topic.num.partitions":     "4",
		"offsets.topic.replication.factor":                 "1",
		"transaction.state.log.replication.factor":         "1",
		"transaction.state.log.min.isr":                    "1",
		"share.coordinator.state.topic.replication.factor": "1",
		"share.coordinator.state.topic.min.isr":            "1",
		"num.network.threads":                              "2",
		"num.io.threads":                                   "4",
	}
	if c.Join != nil {
		properties["process.roles"] = "broker"
		properties["node.id"] = strconv.Itoa(c.NodeID)
		properties["controller.quorum.voters"] = "1@" + c.Join.controller()
		properties["listeners"] = listener + broker
	}
	if c.TLS != nil {
		secure, err := c.TLS.kafka(c.Dir)
		if err != nil {
			return err
		}
		maps.Copy(properties, secure)
	}
	for key, value := range c.Extra {
		properties[key] = value
	}
	var text strings.Builder
	keys := make([]string, 0, len(properties))
	for key := range properties {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		fmt.Fprintf(&text, "%s=%s\n", key, properties[key])
	}
	for name, text := range map[string]string{"server.properties": text.String(),
		"log4j2.properties": kafkaLog4j} {
		if err := os.WriteFile(filepath.Join(c.Dir, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("cannot write Kafka's configuration: %w", err)
		}
	}
	return nil
}

// format prepares an empty data directory, as KRaft demands before the first start.
func (c KafkaConfig) format(ctx context.Context, java, classPath string) error {
	if _, err := os.Stat(filepath.Join(c.Dir, "data", "meta.properties")); err == nil {
		return nil
	}
	clusterID, err := c.clusterID()
	if err != nil {
		return err
	}
	args := append([]string{"-XX:TieredStopAtLevel=1"},
		c.javaArgs(classPath, "kafka.tools.StorageTool",
			"format", "--ignore-formatted", "-t", clusterID, "-c", c.propertiesFile())...)
	if out, err := exec.CommandContext(ctx, java, args...).CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("gave up formatting Kafka's directory: %w", ctx.Err())
		}
		line, _, remedy := diagnoseText(string(out))
		return fmt.Errorf("cannot prepare Kafka's directory %s (%w): %s: %s", c.Dir, err,
			line, remedy)
	}
	return nil
}

// clusterID returns the id of the cluster that is joined, or a new one.
func (c KafkaConfig) clusterID() (string, error) {
	if c.Join == nil {
		var id [16]byte
		_, _ = rand.Read(id[:]) // never fails
		// an id that begins with a dash reads as an option
		return "R" + base64.RawURLEncoding.EncodeToString(id[:])[1:], nil
	}
	text, err := os.ReadFile(filepath.Join(c.Join.Dir, "data", "meta.properties"))
	if err != nil {
		return "", fmt.Errorf("cannot read the id of the cluster to join: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if id, is := strings.CutPrefix(strings.TrimSpace(line), "cluster.id="); is {
			return id, nil
		}
	}
	return "", fmt.Errorf("%s names no cluster.id", c.Join.Dir)
}

func (c KafkaConfig) javaArgs(classPath, main string, args ...string) []string {
	jvm := []string{
		"-Xms" + c.Heap, "-Xmx" + c.Heap, "-XX:+UseG1GC", "-XX:+ExitOnOutOfMemoryError",
		"-XX:+PerfDisableSharedMem", "-Djava.awt.headless=true", "-Djava.net.preferIPv4Stack=true",
		"-Dlog4j2.configurationFile=" + filepath.Join(c.Dir, "log4j2.properties"),
		"-XX:ErrorFile=" + filepath.Join(c.Dir, "hs_err_pid%p.log"),
	}
	jvm = append(jvm, forTests()...)
	jvm = append(jvm, c.JVMArgs...)
	jvm = append(jvm, "-cp", classPath, main)
	return append(jvm, args...)
}

// kafkaLog4j writes to stdout, which StartProcess sends to the log file. At INFO, Kafka prints
// each of its hundreds of settings several times.
const kafkaLog4j = `status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %-5p %d{ISO8601} [%t] %c{1} - %m%n
rootLogger.level = warn
rootLogger.appenderRef.out.ref = out
logger.server.name = kafka.server.KafkaRaftServer
logger.server.level = info
logger.broker.name = kafka.server.BrokerServer
logger.broker.level = info
`

// KafkaAnswers asks the broker at addr for the cluster's metadata and returns nil when it names a
// broker and a controller.
func KafkaAnswers(ctx context.Context, addr string) error { return kafkaAnswers(ctx, addr, nil) }

func kafkaAnswers(ctx context.Context, addr string, secure *TLS) error {
	// A plain dial first: the client below would retry a refused connection until ctx ends.
	conn, err := dial(ctx, addr)
	if err != nil {
		return err
	}
	conn.Close()
	opts := []kgo.Opt{kgo.SeedBrokers(addr)}
	if secure != nil {
		opts = append(opts, kgo.Dialer(func(ctx context.Context, _, addr string) (net.Conn, error) {
			return secure.dial(ctx, addr)
		}))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return fmt.Errorf("cannot make a Kafka client: %w", err)
	}
	defer client.Close()
	meta, err := kadm.NewClient(client).BrokerMetadata(ctx)
	if err != nil {
		return fmt.Errorf("%s did not answer the Kafka protocol: %w", addr, err)
	}
	if len(meta.Brokers) == 0 || meta.Controller < 0 {
		return fmt.Errorf("%s does not know a broker and a controller yet", addr)
	}
	return nil
}
