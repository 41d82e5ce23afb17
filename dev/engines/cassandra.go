package engines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// CassandraConfig says how to run one Cassandra node. Only Dir is needed.
type CassandraConfig struct {
	Dir string // holds its configuration, data and, unless Log is set, log; kept across starts

	Version string // one of CassandraVersions; CassandraVersion by default

	// 127.0.0.1 by default; 127.0.0.2 and so on make several nodes on one machine
	ListenAddress string
	NativePort    int // CQL; 0: a free one, as for the other ports
	StoragePort   int // between nodes
	JMXPort       int // always on 127.0.0.1, without a password

	ClusterName string   // "ringwatch" by default; belongs to the data from the first start on
	Datacenter  string   // "dc1" by default
	Rack        string   // "rack1" by default
	Seeds       []string // host:storage-port; the node itself by default

	// GroupWindow is how long writes are gathered before the commit log is synced and they are
	// acknowledged. 10 ms by default, which lets an idle node sleep; what writes one thing after
	// the other wants less.
	GroupWindow time.Duration

	// TimerSlack is ProcessConfig's; 1 ms by default. What measures a Cassandra of others sets
	// KernelSlack, with which Cassandra runs when nobody has set anything.
	TimerSlack time.Duration

	Heap    string         // a JVM size; "512M" by default, enough for tests
	JVMArgs []string       // more JVM arguments, e.g. -javaagent:…; they win over the defaults
	Env     []string       // more environment
	Extra   map[string]any // more keys of cassandra.yaml; they win over the defaults
	TLS     *TLS           // to clients; nil: none

	JavaHome string // another Java than JavaHome's
	Log      string // Dir/cassandra.log by default

	Detached bool                 // see ProcessConfig
	Started  func(Identity) error // see ProcessConfig
	Progress func(string)         // see Fetch
}

// Cassandra is a running node that has answered CQL.
type Cassandra struct {
	Engine
	Host        string // where it listens
	NativePort  int
	StoragePort int
	JMXPort     int
	Dir         string

	nodetool []string // arguments of Java
}

// Nodetool runs Cassandra's own nodetool against the node, by the Java in PATH, and returns what it
// printed. The error has that, too.
func (c *Cassandra) Nodetool(ctx context.Context, words ...string) (string, error) {
	args := append(c.nodetool[:len(c.nodetool):len(c.nodetool)], words...)
	out, err := exec.CommandContext(ctx, "java", args...).CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("nodetool %s: %w: %s", strings.Join(words, " "), err, out)
	}
	return string(out), nil
}

// Addr returns host:port for CQL clients.
func (c *Cassandra) Addr() string { return net.JoinHostPort(c.Host, strconv.Itoa(c.NativePort)) }

// JMXURL returns the address for a JMX client such as jconsole, nodetool's being host 127.0.0.1
// and JMXPort.
func (c *Cassandra) JMXURL() string {
	return fmt.Sprintf("service:jmx:rmi:///jndi/rmi://127.0.0.1:%d/jmxrmi", c.JMXPort)
}

// StartCassandra fetches Cassandra if need be, starts a node and waits until it answers CQL.
func StartCassandra(ctx context.Context, c CassandraConfig) (*Cassandra, error) {
	c = c.withDefaults()
	if c.Dir == "" {
		return nil, errors.New("a Cassandra needs a directory: set CassandraConfig.Dir")
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("cannot resolve Cassandra's directory: %w", err)
	}
	c.Dir = dir
	classPath, err := cassandraJars(ctx, c.Version, c.Progress)
	if err != nil {
		return nil, err
	}
	if c.JavaHome == "" {
		if c.JavaHome, err = JavaHome(ctx, c.Version, c.Progress); err != nil {
			return nil, err
		}
	}
	fixed := c.NativePort != 0 && c.StoragePort != 0 && c.JMXPort != 0
	return startOnFreePorts(fixed, func() (*Cassandra, error) {
		return startCassandra(ctx, c, classPath)
	})
}

func (c CassandraConfig) withDefaults() CassandraConfig {
	setDefault(&c.Version, CassandraVersion)
	setDefault(&c.ListenAddress, "127.0.0.1")
	setDefault(&c.ClusterName, "ringwatch")
	setDefault(&c.Datacenter, "dc1")
	setDefault(&c.Rack, "rack1")
	setDefault(&c.Heap, "512M")
	setDefault(&c.GroupWindow, groupWindow)
	setDefault(&c.TimerSlack, timerSlack)
	if c.Log == "" && c.Dir != "" {
		c.Log = filepath.Join(c.Dir, "cassandra.log")
	}
	return c
}

func setDefault[T comparable](v *T, value T) {
	var none T
	if *v == none {
		*v = value
	}
}

func startCassandra(ctx context.Context, c CassandraConfig, classPath string) (*Cassandra, error) {
	var hold portHold
	defer hold.release()
	for _, p := range []struct {
		host string
		port *int
		need string
	}{
		{c.ListenAddress, &c.NativePort, "Cassandra's CQL"},
		{c.ListenAddress, &c.StoragePort, "Cassandra's node-to-node traffic"},
		{"127.0.0.1", &c.JMXPort, "Cassandra's JMX"},
	} {
		if err := hold.take(p.host, p.port, p.need); err != nil {
			return nil, err
		}
	}
	if err := c.writeFiles(); err != nil {
		return nil, err
	}
	java := filepath.Join(c.JavaHome, "bin", "java")
	node := &Cassandra{Host: c.ListenAddress, NativePort: c.NativePort, StoragePort: c.StoragePort,
		JMXPort: c.JMXPort, Dir: c.Dir}
	node.nodetool = c.nodetoolArgs(classPath)
	node.name = "Cassandra"
	node.probe = func(ctx context.Context) error {
		return cassandraAnswers(ctx, node.Addr(), c.TLS)
	}
	node.launch = func() (*Process, error) {
		hold.release()
		if _, err := c.TLS.store(c.Dir); err != nil { // the certificate of now
			return nil, err
		}
		return StartProcess(ProcessConfig{
			Name: node.name, Path: java, Args: c.javaArgs(classPath), Env: c.Env, Dir: c.Dir,
			Log: c.Log, Detached: c.Detached, TimerSlack: c.TimerSlack, Started: c.Started,
		})
	}
	var err error
	if node.proc, err = startReady(ctx, node.name, node.launch, node.probe); err != nil {
		return nil, err
	}
	return node, nil
}

// writeFiles writes the configuration into Dir, replacing an earlier start's.
func (c CassandraConfig) writeFiles() error {
	if err := makeDir(c.Dir); err != nil {
		return err
	}
	values := c.settings()
	if c.TLS != nil {
		secure, err := c.TLS.cassandra(c.Dir)
		if err != nil {
			return err
		}
		values["client_encryption_options"] = secure
	}
	settings, err := yaml.Marshal(values)
	if err != nil {
		return fmt.Errorf("cannot write Cassandra's settings: %w", err)
	}
	for name, text := range map[string]string{
		"cassandra.yaml":              string(settings),
		"cassandra-rackdc.properties": "dc=" + c.Datacenter + "\nrack=" + c.Rack + "\n",
		"logback.xml":                 cassandraLogback,
	} {
		if err := os.WriteFile(filepath.Join(c.Dir, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("cannot write Cassandra's configuration: %w", err)
		}
	}
	return nil
}

// settings is cassandra.yaml.
func (c CassandraConfig) settings() map[string]any {
	seeds := c.Seeds
	if len(seeds) == 0 {
		seeds = []string{net.JoinHostPort(c.ListenAddress, strconv.Itoa(c.StoragePort))}
	}
	s := map[string]any{
		"cluster_name": c.ClusterName,
		// fewer ranges, faster starts; one machine has nothing to balance
		"num_tokens":            4,
		"partitioner":           "org.apache.cassandra.dht.Murmur3Partitioner",
		"endpoint_snitch":       "GossipingPropertyFileSnitch",
		"listen_address":        c.ListenAddress,
		"rpc_address":           c.ListenAddress,
		"native_transport_port": c.NativePort,
		"storage_port":          c.StoragePort,
		"auto_snapshot":         false, // a dropped table's data would stay on disk
		"seed_provider": []map[string]any{{
			"class_name": "org.apache.cassandra.locator.SimpleSeedProvider",
			"parameters": []map[string]any{{"seeds": strings.Join(seeds, ",")}},
		}},
	}
	// each way has keys of its own, and Cassandra refuses another's
	if c.Extra["commitlog_sync"] == nil {
		s["commitlog_sync"] = "group"
		s["commitlog_sync_group_window"] = c.GroupWindow.String()
		s["concurrent_writes"] = groupWriters
	}
	for key, value := range c.Extra {
		s[key] = value
	}
	fitSettings(c.Version, s)
	return s
}

// groupWindow is how long Cassandra gathers writes before it syncs its commit log and
// acknowledges them: what is acknowledged then survives a crash, where the default (periodic)
// loses up to 10 s. See docs/rationale/building.md for what it costs.
const groupWindow = 10 * time.Millisecond

// timerSlack keeps Cassandra from spending most of its time on looking for work: as long as any
// comes, one of its threads sleeps for 10 µs again and again (SEPWorker.doWaitSpin), which with
// the kernel's slack is some 15,000 times a second. See docs/rationale/building.md for what it
// gains and costs.
const timerSlack = time.Millisecond

// KernelSlack is what Linux gives a process by default.
const KernelSlack = 50 * time.Microsecond

// groupWriters is how many writes may wait for the commit log at once: each keeps a thread, and
// with Cassandra's 32 the next ones wait for a second sync.
const groupWriters = 128

func (c CassandraConfig) javaArgs(classPath string) []string {
	args := []string{"-Xms" + c.Heap, "-Xmx" + c.Heap}
	args = append(args, jvmOptions(c.Version)...)
	for jar := range strings.SplitSeq(classPath, ":") {
		if strings.HasPrefix(filepath.Base(jar), "jamm-") {
			// measures what its memtables and caches really hold
			args = append(args, "-javaagent:"+jar)
		}
	}
	args = append(args,
		"-Dcassandra.config=file:"+filepath.Join(c.Dir, "cassandra.yaml"),
		"-Dcassandra-rackdc.properties=file:"+filepath.Join(c.Dir, "cassandra-rackdc.properties"),
		"-Dcassandra.storagedir="+c.Dir,
		"-Dcassandra.logdir="+c.Dir,
		"-Dlogback.configurationFile=file:"+filepath.Join(c.Dir, "logback.xml"),
		"-Dcassandra.jmx.local.port="+strconv.Itoa(c.JMXPort),
		"-XX:ErrorFile="+filepath.Join(c.Dir, "hs_err_pid%p.log"),
	)
	if bootstraps, set := c.Extra["auto_bootstrap"]; len(c.Seeds) > 0 && set &&
		bootstraps == false {
		// how long its seeds may take to answer; who bootstraps sleeps for as long, too
		args = append(args, "-Dcassandra.ring_delay_ms=60000")
	}
	args = append(args, forTests()...)
	args = append(args, c.JVMArgs...)
	return append(args, "-cp", classPath, "org.apache.cassandra.service.CassandraDaemon")
}

// nodetoolArgs are Java's arguments for nodetool of a node. The Java that is fetched for a
// Cassandra may have no JMX client, so it is another one that runs it.
func (c CassandraConfig) nodetoolArgs(classPath string) []string {
	args := append(strings.Fields(cassandraJava17),
		"--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
		"--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED", "-Xmx128M",
		"-XX:TieredStopAtLevel=1", "-Dcom.sun.jndi.rmiURLParsing=legacy", "-Duser.home="+c.Dir,
		"-Dlogback.configurationFile=file:"+filepath.Join(c.Dir, "logback.xml"))
	return append(args, "-cp", classPath, "org.apache.cassandra.tools.NodeTool", "-h", "127.0.0.1",
		"-p", strconv.Itoa(c.JMXPort))
}

// cassandraLogback writes to stdout, which StartProcess sends to the log file, so that the JVM's
// own words, an agent's and Cassandra's stand in one file in their order.
const cassandraLogback = `<configuration>
  <appender name="STDOUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%-5level %date{ISO8601} [%thread] %F:%L - %msg%n</pattern></encoder>
  </appender>
  <!-- These print the versions of forty libraries, and a line per file, again and again. -->
  <logger name="org.apache.cassandra.transport.PipelineConfigurator" level="WARN"/>
  <logger name="org.apache.cassandra.io.sstable.format" level="WARN"/>
  <logger name="org.apache.cassandra.db.compaction.CompactionTask" level="WARN"/>
  <root level="INFO"><appender-ref ref="STDOUT"/></root>
</configuration>
`

// CassandraAnswers asks the node at addr, over the native protocol, what it supports, and returns
// nil when it answers. A node opens that port last, when it is ready for queries.
func CassandraAnswers(ctx context.Context, addr string) error {
	return cassandraAnswers(ctx, addr, nil)
}

func cassandraAnswers(ctx context.Context, addr string, secure *TLS) error {
	conn, err := secure.dial(ctx, addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	// Header, version 4: version, flags, stream (2 bytes), opcode, body length (4 bytes). OPTIONS
	// (5) has no body.
	if _, err := conn.Write([]byte{4, 0, 0, 0, 5, 0, 0, 0, 0}); err != nil {
		return err
	}
	var header [9]byte
	if _, err := io.ReadFull(conn, header[:]); err != nil {
		return fmt.Errorf("%s did not answer the CQL protocol: %w", addr, err)
	}
	if header[0] != 0x84 || header[4] != 6 { // a response of version 4; SUPPORTED
		return fmt.Errorf("%s does not speak the CQL protocol", addr)
	}
	return nil
}

// dial connects and bounds the whole exchange by ctx.
func dial(ctx context.Context, addr string) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(5 * time.Second)
	}
	if err := conn.SetDeadline(deadline); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}
