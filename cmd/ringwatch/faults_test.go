package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/frame"
	"github.com/ringwatch/ringwatch/frame/frametest"
	"github.com/ringwatch/ringwatch/store"
	"github.com/ringwatch/ringwatch/stream"
)

// TestFaults does to a Cassandra of two nodes, with two replicas of everything, what may happen
// to one, while frames arrive. Each time the role store waits, says in /-/ready what is wrong,
// tries again and keeps its offset; it goes on by itself when the fault is over, and in the end
// every frame is there exactly once.
func TestFaults(t *testing.T) {
	f := startFaults(t)
	// the nodes find out by themselves that one hangs, soon or later
	late, few := "of 2 replicas wrote in time", "1 replicas are up, and 2 are needed"
	f.fault(t, "FrozenReplica", f.two.Pause, f.two.Resume, late, few)
	f.fault(t, "TableAltered", f.dropColumn, f.applySchema, "run ringwatch schema apply")
	f.fault(t, "FullDisk", f.fillDisk, f.freeDisk, few, late)
	// Node two is also asked to coordinate, and refuses at once then.
	f.fault(t, "FailingReplica", f.limitMutations, f.allowMutations,
		"1 of Cassandra's replicas failed to write", "Cassandra refuses the statement")
	f.awaitOffset(t)
	for i, n := range f.nodes {
		checkNode(t, f.db, "default", n, f.sent[i], f.first)
	}
}

// faults is a role store on a Cassandra of two nodes, and what was sent to it.
type faults struct {
	one, two *engines.Cassandra
	cql      *gocql.Session // to node one alone
	db       *store.Store
	self     string
	config   string // file
	base     string // URL of the role
	producer *stream.Producer
	admin    *kadm.Client

	nodes     []*frametest.Node
	first     int64 // window
	at        int64 // of the next frame
	sent      [][]sent
	published int64 // records, all in one partition
}

// perFault is how many frames of each node are sent in a fault; all faults come to killWindows
// windows.
const (
	perFault  = 36
	faultStep = 6000 // ms between them
)

func startFaults(t *testing.T) *faults {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, ctx := t.TempDir(), t.Context()
	extra := map[string]any{
		// so that it is overloaded soon
		"write_request_timeout": "1s", "read_request_timeout": "3s",
		// so that a frozen one counts as up for a while
		"phi_convict_threshold": 16,
		// as in the file that Cassandra ships
		"disk_failure_policy": "stop", "commit_failure_policy": "stop",
		"commitlog_segment_size": "1MiB", // so that its disk is full soon
	}
	f := &faults{self: self, config: filepath.Join(dir, "ringwatch.yaml"),
		first: frame.WindowOf(time.Now().Add(-25 * time.Minute).UnixMilli())}
	f.at = f.first + 1234
	set := func(c *engines.CassandraConfig) {
		c.Heap, c.Extra = "400M", extra
		// A node that has missed a change of the schema asks for it after a minute.
		c.JVMArgs = []string{"-Dcassandra.migration_delay_ms=1000",
			"-Dcassandra.schema_pull_interval_ms=1000"}
	}
	f.one = engines.MustCassandra(t, set)
	f.two = engines.MustCassandra(t, set, func(c *engines.CassandraConfig) {
		c.ListenAddress, c.StoragePort, c.NativePort, c.Rack = "127.0.0.2", f.one.StoragePort,
			f.one.NativePort, "rack2"
		c.Seeds = []string{net.JoinHostPort(f.one.Host, strconv.Itoa(f.one.StoragePort))}
		c.Extra = maps.Clone(extra)
		c.Extra["auto_bootstrap"] = false // there is nothing yet
	})
	kafka := engines.MustKafka(t)
	port := engines.FreePorts(t, 1)[0]
	f.base = fmt.Sprintf("http://127.0.0.1:%d", port)
	text := fmt.Sprintf(`accounts: [{name: default}]
kafka: {brokers: [%q], partitions: 1}
cassandra: {hosts: [%q, %q], replication_factor: 2, datacenter: dc1, timeout: 4s, grace: 2s}
store: {listen: "127.0.0.1:%d"}
`, kafka.Addr(), f.one.Addr(), f.two.Addr(), port)
	if err := os.WriteFile(f.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster := gocql.NewCluster(f.one.Host)
	cluster.Port, cluster.HostFilter = f.one.NativePort, gocql.WhiteListHostFilter(f.one.Host)
	cluster.Timeout, cluster.ConnectTimeout, cluster.WriteTimeout = engines.Patience,
		engines.Patience, engines.Patience
	cluster.MaxWaitSchemaAgreement = time.Second // here nodes disagree on purpose
	if f.cql, err = cluster.CreateSession(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.cql.Close)
	eventually(t, "two nodes to see each other", f.oneRing)

	// Tables are made while the nodes cannot agree on them: the role waits and says so.
	if err := f.two.Pause(); err != nil {
		t.Fatal(err)
	}
	role, err := engines.StartProcess(engines.ProcessConfig{Name: "ringwatch store", Path: self,
		Args: []string{"store", "--config", f.config}, Env: []string{asRingwatch},
		Log: filepath.Join(dir, "store.log")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		role.Kill()
		if b, err := os.ReadFile(role.LogFile()); t.Failed() && err == nil {
			t.Logf("the end of the role's log:\n%s", b[max(0, len(b)-8<<10):])
		}
	})
	f.awaitUnready(t, "do not agree on the schema")
	if v, err := f.versions(ctx); err != nil || len(v) != 2 {
		t.Fatalf("the nodes' versions of the schema are %v, %v", v, err)
	}
	if err := f.two.Resume(); err != nil {
		t.Fatal(err)
	}
	f.awaitReady(t)

	if f.producer, err = stream.NewProducer(mustStream(t, kafka), stream.DefaultConfig(),
		prometheus.NewRegistry()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.producer.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(kafka.Addr()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	f.admin = kadm.NewClient(client)
	config := store.DefaultConfig()
	config.Hosts, config.ReplicationFactor, config.Datacenter = []string{f.one.Addr()}, 2, "dc1"
	if f.db, err = store.New(config, store.NewMetrics(nil)); err != nil {
		t.Fatal(err)
	}
	if err := f.db.Connect(ctx); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.db.Close)
	for i := range 4 {
		f.nodes = append(f.nodes, frametest.New("prod", uint64(i+1), 3))
	}
	f.sent = make([][]sent, len(f.nodes))
	return f
}

// fault sends frames while something is wrong, until the role says so, in one of these ways, and
// has tried again, and waits until they are written when it is over.
func (f *faults) fault(t *testing.T, name string, begin, end func() error, says ...string) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		half := perFault / 3
		f.send(t, half) // some windows close before, while and after
		before := f.retries(t)
		began := time.Now()
		if err := begin(); err != nil {
			t.Fatal(err)
		}
		f.send(t, half)
		f.awaitUnready(t, says...)
		eventually(t, "more tries", func(context.Context) error {
			if now := f.retries(t); now < before+3 {
				f.sendIfIdle(t)
				return fmt.Errorf("%v tries", now-before)
			}
			return nil
		})
		t.Logf("tried again after %s", time.Since(began).Round(100*time.Millisecond))
		// A disk that is nearly full still takes a frame now and then.
		if at, written := f.committed(t), f.written(t); float64(at) > written {
			t.Errorf("offset %d is committed, and %v frames are written", at, written)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		t.Logf("it is over after %s", time.Since(began).Round(100*time.Millisecond))
		f.send(t, perFault-2*half)
		f.awaitReady(t)
		eventually(t, "all frames to be written", func(context.Context) error {
			if n := f.written(t); n < float64(f.published) {
				return fmt.Errorf("%v of %d", n, f.published)
			}
			return nil
		})
	})
}

func (f *faults) send(t *testing.T, frames int) {
	t.Helper()
	for range frames {
		f.sendOne(t, faultStep)
	}
}

// sendOne sends a frame of each node; the next ones are so many milliseconds later.
func (f *faults) sendOne(t *testing.T, step int64) {
	t.Helper()
	for i, n := range f.nodes {
		n.Step()
		if err := f.producer.Publish(t.Context(), "default", n.Cluster, n.Frame(f.at)); err != nil {
			t.Fatal(err)
		}
		f.published++
		f.sent[i] = append(f.sent[i],
			sent{at: f.at, accepted: true, entities: copyEntities(n.Entities)})
	}
	f.at += step
}

// sendIfIdle sends a frame of each node if all that was sent is written: it may have been before
// Cassandra noticed what is wrong with it, or by the other node at the next try.
func (f *faults) sendIfIdle(t *testing.T) {
	t.Helper()
	if f.written(t) >= float64(f.published) {
		f.sendOne(t, 10) // however often: in the end all windows must be over
	}
}

// Ready returns the role's own word: nil if it is ready.
func (f *faults) ready(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.base+"/-/ready", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(strings.TrimSpace(string(b)))
	}
	return err
}

func (f *faults) awaitReady(t *testing.T) {
	t.Helper()
	eventually(t, "the role to be ready", f.ready)
}

func (f *faults) awaitUnready(t *testing.T, says ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("the role to say one of %q", says), func(ctx context.Context) error {
		switch err := f.ready(ctx); {
		case err == nil:
			f.sendIfIdle(t)
			return errors.New("it says that it is ready")
		case !slices.ContainsFunc(says, func(s string) bool {
			return strings.Contains(err.Error(), s)
		}):
			return err
		default:
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than a sentence: %v", err)
			}
			t.Log(err)
			return nil
		}
	})
}

// written returns how many frames the role has written, those twice that it read again.
func (f *faults) written(t *testing.T) (n float64) {
	t.Helper()
	eventually(t, "the role's metrics", func(ctx context.Context) error {
		m, err := metricsOf(ctx, f.base+"/metrics")
		n = m["ringwatch_store_frames_written_total"]
		return err
	})
	return n
}

func (f *faults) retries(t *testing.T) (n float64) {
	t.Helper()
	eventually(t, "the role's metrics", func(ctx context.Context) error {
		m, err := metricsOf(ctx, f.base+"/metrics")
		n = m["ringwatch_store_retries_total"] +
			m[`ringwatch_stream_handle_retries_total{group="ringwatch-store"}`]
		return err
	})
	return n
}

// committed returns how far the role says that it need not read again.
func (f *faults) committed(t *testing.T) (at int64) {
	t.Helper()
	eventually(t, "Kafka's offsets", func(ctx context.Context) error {
		offsets, err := f.admin.FetchOffsets(ctx, "ringwatch-store")
		if err == nil {
			err = offsets.Error()
		}
		if o, there := offsets.Lookup(stream.DefaultConfig().Topic, 0); there {
			at = o.At
		}
		return err
	})
	return at
}

// awaitOffset waits until everything is in columns, and committed.
func (f *faults) awaitOffset(t *testing.T) {
	t.Helper()
	eventually(t, "the last offset to be committed", func(context.Context) error {
		if at := f.committed(t); at != f.published {
			return fmt.Errorf("%d of %d", at, f.published)
		}
		return nil
	})
}
