package kafka

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/ringwatch/ringwatch/access/broker"
	"github.com/ringwatch/ringwatch/access/certs"
	"github.com/ringwatch/ringwatch/access/certs/certstest"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
)

// TestLoginAndRights logs in over TLS with each mechanism, and holds docs/KAFKA.md to what it
// says of rights: which are needed, and what is said when one is missing.
func TestLoginAndRights(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	authority := certstest.New(t, "authority")
	authority.Write(t, at("ca.pem"))
	authority.Issue(t, at("broker.crt"), at("broker.key"), "broker", "127.0.0.1")
	pem := ""
	for _, name := range []string{"broker.key", "broker.crt"} {
		text, err := os.ReadFile(at(name))
		if err != nil {
			t.Fatal(err)
		}
		pem += string(text) + "\n"
	}
	certstest.Put(t, at("broker.pem"), []byte(pem))
	certstest.Put(t, at("password"), []byte("hush\n"))
	var ports [3]int
	for i := range ports {
		port, err := engines.FreePort("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = port
	}
	secure := net.JoinHostPort("127.0.0.1", number(ports[2]))
	server := engines.MustKafka(t, func(c *engines.KafkaConfig) {
		c.Port, c.ControllerPort = ports[0], ports[1]
		open := fmt.Sprintf("PLAINTEXT://127.0.0.1:%d", ports[0])
		const jaas = "org.apache.kafka.common.security."
		c.Extra = map[string]string{
			"listeners": fmt.Sprintf("%s,CONTROLLER://127.0.0.1:%d,SECURE://%s", open, ports[1],
				secure),
			"advertised.listeners": open + ",SECURE://" + secure,
			"listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT," +
				"SECURE:SASL_SSL",
			"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
			"listener.name.secure.plain.sasl.jaas.config": jaas +
				`plain.PlainLoginModule required user_watch="hush";`,
			"listener.name.secure.scram-sha-256.sasl.jaas.config": jaas +
				"scram.ScramLoginModule required;",
			"listener.name.secure.scram-sha-512.sasl.jaas.config": jaas +
				"scram.ScramLoginModule required;",
			"ssl.keystore.type": "PEM", "ssl.keystore.location": at("broker.pem"),
			"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
			"super.users":           "User:ANONYMOUS",
		}
	})
	client := mustClient(t, server.Addr())
	admin := kadm.NewClient(client)
	mustCreate(t, admin, 2, 1, "orders")
	mustProduce(t, client, "orders", 0, 5)
	mustCommit(t, admin, "billing", "orders", map[int32]int64{0: 2})
	for _, m := range []kadm.ScramMechanism{kadm.ScramSha256, kadm.ScramSha512} {
		done, err := admin.AlterUserSCRAMs(t.Context(), nil, []kadm.UpsertSCRAM{{User: "watch",
			Mechanism: m, Iterations: 4096, Password: "hush"}})
		if err == nil {
			err = done.Error()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	c := testConfig(secure)
	c.TLS = certs.Section("watch.kafka.tls")
	c.TLS.Enabled, c.TLS.CAFile = true, at("ca.pem")
	c.SASL = broker.SASL{Mechanism: "SCRAM-SHA-512", User: "watch", PasswordFile: at("password")}
	r := mustNew(t, c, nil)

	partial := func(sentences ...string) {
		t.Helper()
		eventually.Nil(t, "the reading says what is missing", func() error {
			rd, err := r.Read(t.Context())
			var p *Partial
			if rd == nil || !errors.As(err, &p) {
				return fmt.Errorf("it is no partial error: %w", err)
			}
			for _, s := range sentences {
				if !strings.Contains(p.Error(), s) {
					return fmt.Errorf("%q is not in: %w", s, err)
				}
			}
			return nil
		})
	}
	allow := func(b *kadm.ACLBuilder) {
		t.Helper()
		done, err := admin.CreateACLs(t.Context(), b.Allow("User:watch").AllowHosts("*").
			Operations(kadm.OpDescribe).ResourcePatternType(kadm.ACLPatternLiteral))
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range done {
			if d.Err != nil {
				t.Fatal(d.Err)
			}
		}
	}
	partial("brokers told no sizes of logs", "allow the login DESCRIBE on the cluster",
		"the quorum is not described")
	allow(kadm.NewACLs().Clusters())
	partial("groups told no offsets (billing)", "allow the login DESCRIBE on the groups")
	allow(kadm.NewACLs().Groups("*"))
	allow(kadm.NewACLs().Topics("*"))
	for _, mechanism := range []string{"SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"} {
		c.SASL.Mechanism = mechanism
		r := mustNew(t, c, nil)
		var v values
		eventually.Nil(t, mechanism+" reads all", func() error {
			rd, err := r.Read(t.Context())
			if err == nil {
				v = valuesOf(t, rd)
			}
			return err
		})
		v.want(t, "kafka_consumergroup_lag", "billing/orders/0", 3)
		v.want(t, "kafka_broker_info", "1/"+secure, 1)
		v.want(t, "kafka_cluster_controllers", "", 1)
		if v["kafka_broker_log_size_bytes"]["1"] <= 0 {
			t.Error("the size of logs is not told")
		}
	}
	c.SASL.PasswordFile, c.SASL.Password = "", "wrong"
	for _, mechanism := range []string{"SCRAM-SHA-512", "PLAIN"} {
		c.SASL.Mechanism = mechanism
		rd, err := mustNew(t, c, nil).Read(t.Context())
		if rd != nil || err == nil || !strings.Contains(err.Error(), "check sasl") ||
			strings.Contains(err.Error(), "wrong") {
			t.Errorf("%s with another password: %v", mechanism, err)
		}
	}
	c.SASL, c.TLS.CAFile = broker.SASL{}, ""
	if rd, err := mustNew(t, c, nil).Read(t.Context()); rd != nil || err == nil ||
		!strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the authority: %v", err)
	}
}
