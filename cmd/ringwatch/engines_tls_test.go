package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/ringwatch/ringwatch/access/certs/certstest"
	"github.com/ringwatch/ringwatch/api/lookup"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/examine"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/keys"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/setup"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/engine"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/recent"
	"github.com/ringwatch/ringwatch/stream"
)

// guarded are engines that demand certificates, and the files of them and of us.
type guarded struct {
	dir       string
	authority *certstest.Authority
	kafka     *engines.Kafka
	cassandra *engines.Cassandra
	redis     *engines.Redis
	listens   int // Cassandra's agent
}

func (g *guarded) at(name string) string { return filepath.Join(g.dir, name) }

// issue renews everything: the authority, the engines' certificates and ours. Cassandra's and
// Redis's have a host name alone.
func (g *guarded) issue(t *testing.T, authority string) {
	t.Helper()
	g.authority = certstest.New(t, authority)
	g.authority.Issue(t, g.at("named.crt"), g.at("named.key"), "engine", "localhost")
	g.authority.Issue(t, g.at("broker.crt"), g.at("broker.key"), "broker", "127.0.0.1")
	g.authority.Issue(t, g.at("ours.crt"), g.at("ours.key"), "ringwatch")
	g.authority.Write(t, g.at("ca.crt"))
}

func newGuarded(t *testing.T) *guarded {
	engines.Needed(t, "Cassandra, Kafka and Redis")
	g := &guarded{dir: t.TempDir(), listens: engines.FreePorts(t, 1)[0]}
	g.issue(t, "our authority")
	named := engines.TLS{CertFile: g.at("named.crt"), KeyFile: g.at("named.key"),
		CAFile: g.at("ca.crt")}
	broker := engines.TLS{CertFile: g.at("broker.crt"), KeyFile: g.at("broker.key"),
		CAFile: g.at("ca.crt")}
	g.kafka = engines.MustKafka(t, func(c *engines.KafkaConfig) { c.TLS = &broker })
	g.redis = engines.MustRedis(t, func(c *engines.RedisConfig) { c.TLS = &named })
	jar, err := filepath.Abs("../../agent/target/ringwatch-agent.jar")
	if err != nil {
		t.Fatal(err)
	}
	agent := fmt.Sprintf("interval: 1s\nlisten: 127.0.0.1:%d\n", g.listens)
	if err := os.WriteFile(g.at("agent.yaml"), []byte(agent), 0o600); err != nil {
		t.Fatal(err)
	}
	g.cassandra = engines.MustCassandra(t, func(c *engines.CassandraConfig) {
		c.TLS = &named
		c.JVMArgs = []string{"-javaagent:" + jar + "=" + g.at("agent.yaml")}
	})
	return g
}

// good is the section tls that all engines take.
func (g *guarded) good() string {
	return fmt.Sprintf("{ca_file: %q, cert_file: %q, key_file: %q}", g.at("ca.crt"),
		g.at("ours.crt"), g.at("ours.key"))
}

// Config writes a configuration with this section tls for all engines, empty for none, which call
// Cassandra and Redis by that host.
func (g *guarded) config(t *testing.T, host, tls string) string {
	t.Helper()
	if tls != "" {
		tls = ", tls: " + tls
	}
	text := fmt.Sprintf(`accounts: [{name: default, clusters: ["*"]}]
kafka: {brokers: [%q], topic: tls%s}
cassandra: {hosts: ["%s:%d"], keyspace: tls, timeout: 1m%[2]s}
redis: {addresses: ["%[3]s:%[5]d"], dial_timeout: 30s%[2]s}
lookup: {hosts: ["%[3]s:%[4]d"]%[2]s, tables: [{table: system.local, accounts: ["*"]}]}
`, g.kafka.Addr(), tls, host, g.cassandra.NativePort, g.redis.Port)
	file := filepath.Join(t.TempDir(), "ringwatch.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func (g *guarded) process(t *testing.T, tls string) *wire.Process {
	t.Helper()
	p, err := wire.Prepare((&settings.RoleFlags{Config: g.config(t, "localhost", tls)}), "all")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestEnginesTLS: Kafka, Cassandra and Redis that demand certificates let us in with the right
// ones, by the name that their certificates have. Doctor, roles and commands say in one sentence
// what is wrong with others. Renewed certificates are used by processes that run.
func TestEnginesTLS(t *testing.T) {
	g := newGuarded(t)
	t.Run("Commands", g.testCommands)
	t.Run("Doctor", g.testDoctor)
	t.Run("Roles", g.testRoles)
	t.Run("Drivers", g.testDrivers)
	t.Run("Agent", g.testAgent)
	t.Run("Renewed", g.testRenewed)
}

// testAgent: Cassandra has its certificate for clients in a file of PEM.
func (g *guarded) testAgent(t *testing.T) {
	pair, err := tls.LoadX509KeyPair(g.at("named.crt"), g.at("named.key"))
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("\ncassandra_certificate_expiry_timestamp_seconds{use=\"client\"} %d\n",
		pair.Leaf.NotAfter.Unix())
	eventually(t, want, func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet,
			fmt.Sprintf("http://127.0.0.1:%d/metrics", g.listens), nil)
		if err != nil {
			return err
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		b, err := io.ReadAll(answer.Body)
		if text := string(b); err == nil && (!strings.Contains(text, want) ||
			strings.Contains(text, `use="internode"`)) {
			err = errors.New("it does not say so, or speaks of other nodes, too")
		}
		return err
	})
}

func (g *guarded) testCommands(t *testing.T) {
	config := g.config(t, "localhost", g.good())
	flags := settings.DataFlags{RoleFlags: settings.RoleFlags{Config: config, Wait: time.Minute}}
	if err := (&setup.SchemaApplyCmd{DataFlags: flags}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	keys, err := (&keys.KeyFlags{Config: config, Wait: time.Minute}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	keys.DB.Close()
	var out bytes.Buffer
	// Redis has no maxmemory.
	if err := (&examine.DoctorCmd{Config: config}).RunTo(t.Context(), &out); !errors.Is(err,
		examine.ErrUnwell) ||
		strings.Count(out.String(), "fail ") != 1 {
		t.Errorf("%v\n%s", err, &out)
	}
	for _, want := range []string{
		"kafka.tls    our certificate CN=ringwatch, signed by CN=our authority, is good until",
		"kafka.tls    " + g.kafka.Addr() + " lets us in", g.kafka.Addr() + " answers",
		fmt.Sprintf("cassandra.tls localhost:%d lets us in", g.cassandra.NativePort),
		"keyspace tls has one",
		fmt.Sprintf("redis.tls    localhost:%d lets us in", g.redis.Port), "Redis ",
		fmt.Sprintf("lookup.tls   localhost:%d lets us in", g.cassandra.NativePort),
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("doctor does not say %q:\n%s", want, &out)
		}
	}
}

func (g *guarded) testDoctor(t *testing.T) {
	foreign := certstest.New(t, "foreign authority")
	foreign.Write(t, g.at("foreign.crt"))
	foreign.Issue(t, g.at("stranger.crt"), g.at("stranger.key"), "stranger")
	g.authority.IssueUntil(t, time.Now().Add(-time.Hour), g.at("old.crt"), g.at("old.key"),
		"ringwatch")
	all := []string{"kafka", "cassandra", "redis", "lookup"}
	for _, c := range []struct {
		what, host, tls string
		sections        []string
		want            []string // of each section, SECTION being its tls
	}{
		{"no certificate", "localhost", fmt.Sprintf("{ca_file: %q}", g.at("ca.crt")), all,
			[]string{"demands a client certificate, and we have none",
				"→ set SECTION.cert_file and SECTION.key_file"}},
		{"another's certificate", "localhost",
			fmt.Sprintf("{ca_file: %q, cert_file: %q, key_file: %q}", g.at("ca.crt"),
				g.at("stranger.crt"), g.at("stranger.key")), all,
			[]string{"does not accept our certificate CN=stranger, signed by CN=foreign " +
				"authority ("}},
		{"one that ended", "localhost", fmt.Sprintf("{ca_file: %q, cert_file: %q, key_file: %q}",
			g.at("ca.crt"), g.at("old.crt"), g.at("old.key")), all,
			[]string{"our certificate CN=ringwatch, signed by CN=our authority, expired on",
				"does not accept our certificate CN=ringwatch, signed by CN=our authority, " +
					"which ended on"}},
		{"another name", "localhost",
			strings.Replace(g.good(), "{", "{server_name: other.example, ", 1), all,
			[]string{", not for other.example", "→ name one of its names in SECTION.server_name"}},
		{"called by its address", "127.0.0.1", g.good(), all[1:],
			[]string{"'s certificate is for localhost, not for 127.0.0.1", "SECTION.server_name"}},
		{"a foreign authority", "localhost", strings.Replace(g.good(), "ca.crt", "foreign.crt", 1),
			all, []string{"is signed by CN=our authority, which is not in " + g.at("foreign.crt"),
				"SECTION.ca_file"}},
		{"this machine's authorities", "localhost", "{}", all,
			[]string{"is signed by CN=our authority, which this machine does not trust",
				"SECTION.ca_file"}},
		{"files that do not belong together", "localhost",
			strings.Replace(g.good(), "ours.key", "stranger.key", 1), all,
			[]string{"SECTION.key_file: the key in " + g.at("stranger.key") +
				" does not belong to the certificate in " + g.at("ours.crt")}},
		{"files that are not there", "localhost", strings.ReplaceAll(g.good(), "ours", "none"), all,
			[]string{"SECTION.cert_file: open " + g.at("none.crt"),
				"SECTION.key_file: open " + g.at("none.key")}},
		{"switched off", "localhost", strings.Replace(g.good(), "{", "{enabled: false, ", 1),
			all[:3], []string{"→ the port speaks TLS: add SECTION to the configuration"}},
	} {
		var out bytes.Buffer
		if err := (&examine.DoctorCmd{Config: g.config(t, c.host, c.tls)}).RunTo(t.Context(),
			&out); !errors.Is(err, examine.ErrUnwell) {
			t.Errorf("%s: %v\n%s", c.what, err, &out)
		}
		for _, section := range c.sections {
			for _, want := range c.want {
				if want = strings.ReplaceAll(want, "SECTION", section+".tls"); !strings.Contains(
					out.String(), want) {
					t.Errorf("%s: doctor does not say %q:\n%s", c.what, want, &out)
				}
			}
		}
	}
	// With server_name it does not matter how they are called, but Kafka's has no such name.
	var out bytes.Buffer
	_ = (&examine.DoctorCmd{Config: g.config(t, "127.0.0.1",
		strings.Replace(g.good(), "{", "{server_name: localhost, ", 1))}).RunTo(t.Context(), &out)
	if strings.Count(out.String(), "lets us in") != 3 ||
		!strings.Contains(out.String(), "'s certificate is for 127.0.0.1, not for localhost") {
		t.Errorf("doctor says\n%s", &out)
	}
}

// testRoles: a role that is not let in says of every engine why, and ends.
func (g *guarded) testRoles(t *testing.T) {
	for tls, want := range map[string]string{
		fmt.Sprintf("{ca_file: %q}", g.at("ca.crt")): "ENGINE: ADDRESS demands a client " +
			"certificate, and we have none",
		strings.Replace(g.good(), "ours.key", "none.key", 1): "ENGINE.tls.key_file: open " +
			g.at("none.key"),
	} {
		names := [][3]string{
			{"kafka", "kafka.brokers", g.kafka.Addr()},
			{"cassandra", "cassandra.hosts", fmt.Sprintf("localhost:%d", g.cassandra.NativePort)},
			{"redis", "redis.addresses", fmt.Sprintf("localhost:%d", g.redis.Port)},
		}
		role := settings.RoleFlags{Config: g.config(t, "localhost", tls), Wait: 5 * time.Second}
		eventually(t, tls, func(ctx context.Context) error {
			err := (&allCmd{DataFlags: settings.DataFlags{RoleFlags: role}}).Run(ctx)
			role.Wait *= 2 // an engine that is busy takes long to refuse somebody
			if !errors.As(err, new(exit.UsageError)) {
				t.Fatalf("%s: %v", tls, err)
			}
			for _, e := range names {
				line := strings.NewReplacer("ENGINE:", e[1]+":", "ENGINE.", e[0]+".", "ADDRESS",
					e[2]).Replace(want)
				if !strings.Contains(err.Error(), line) {
					return fmt.Errorf("it does not say %q:\n%w", line, err)
				}
			}
			return nil
		})
	}
}

// testDrivers: what a server refuses comes out of each driver as our sentence.
func (g *guarded) testDrivers(t *testing.T) {
	p := g.process(t, fmt.Sprintf("{ca_file: %q}", g.at("ca.crt")))
	const want = "demands a client certificate, and we have none"
	check := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s says %v", what, err)
		}
	}
	topics, err := p.Topics.Open()
	if err != nil {
		t.Fatal(err)
	}
	check("stream", stream.EnsureTopic(t.Context(), topics, p.Config.Kafka.FramesConfig))
	reader, err := p.OpenReader()
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = reader.Latest(t.Context(), "default", uuid.New())
	check("recent", err)
	reader.Close()
	wait := 5 * time.Second
	eventually(t, "the store's refusal", func(ctx context.Context) error {
		within, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		wait *= 2 // a Cassandra that is busy takes long to refuse somebody
		db, err := p.ConnectStore(within)
		if err == nil {
			db.Close()
			t.Fatal("the store connects without a certificate")
		}
		if !strings.Contains(err.Error(), want) {
			return fmt.Errorf("store says %w", err)
		}
		return nil
	})
}

// testRenewed: producer, reader, store and lookup stay while every certificate and the authority
// are replaced and the engines start again with theirs.
func (g *guarded) testRenewed(t *testing.T) {
	p := g.process(t, g.good())
	topics, err := p.Topics.Open()
	if err != nil {
		t.Fatal(err)
	}
	producer, err := stream.NewProducer(topics, p.Config.Kafka.FramesConfig, p.Metrics)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(producer.Close)
	reader, err := p.OpenReader()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reader.Close)
	db, err := p.ConnectStore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	l, err := lookup.New(p.Config.LookupOrStore(), p.Config.Ring, nil, prometheus.NewRegistry(),
		p.Log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	works := func() {
		t.Helper()
		for what, try := range map[string]func(context.Context) error{
			"Kafka": func(ctx context.Context) error {
				return producer.Publish(ctx, "default", "c", []byte("x"))
			},
			"Cassandra": func(ctx context.Context) error { _, err := db.Keys(ctx); return err },
			"Redis": func(ctx context.Context) error {
				if _, _, err := reader.Latest(ctx, "default", uuid.New()); !errors.Is(err,
					recent.ErrMiss) {
					return fmt.Errorf("no miss: %w", err)
				}
				return nil
			},
			"lookups": func(ctx context.Context) error {
				rows := 0
				err := l.Read(ctx, &lookup.Query{Account: "default", Keyspace: "system",
					Table: "local", Keys: []json.RawMessage{[]byte(`"local"`)}},
					func(_ int, a lookup.Answer) {
						if a.Err == nil && a.Rows != nil {
							rows++
						}
					})
				if err == nil && rows != 1 {
					err = fmt.Errorf("%d rows", rows)
				}
				return err
			},
		} {
			eventually(t, what, try)
		}
	}
	works()
	g.issue(t, "the next authority")
	var restarts errgroup.Group
	for _, e := range []*engines.Engine{&g.kafka.Engine, &g.redis.Engine, &g.cassandra.Engine} {
		restarts.Go(func() error { return e.Restart(t.Context()) })
	}
	if err := restarts.Wait(); err != nil {
		t.Fatal(err)
	}
	works()
	for _, e := range []engine.Engine{engine.Kafka(p.Config), engine.Rows(p.Config),
		engine.Redis(p.Config)} {
		if cert, err := e.Greet(t.Context(), p.Log, e.Addresses[0]); err != nil ||
			cert.Issuer.CommonName != "the next authority" {
			t.Errorf("%s: %v, %+v", e.Name, err, cert)
		}
	}
}
