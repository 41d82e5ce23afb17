package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/store"
)

// say runs ringwatch as a process of its own and returns its exit code and what it wrote.
func say(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), asRingwatch)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// hangUp takes connections and closes each after it was greeted, until l is closed.
func hangUp(l net.Listener, greet func(net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		greet(c)
		c.Close()
	}
}

// TestSchemaGivesUp: somebody waits for these commands, so they end where a role would try for
// ever.
func TestSchemaGivesUp(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, and is no Cassandra
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go hangUp(l, func(net.Conn) {})
	config := configFile(t, fmt.Sprintf("cassandra: {hosts: [%q]}\nlog: {level: error}\n",
		l.Addr()))
	code, stderr := start(t, "schema", "show", "--config", config, "--wait", "1s")
	if code != exit.Failed || !strings.Contains(stderr, "gave up connecting to Cassandra") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// TestSchemaApplyGivesUpOnKafka: a certificate that this machine does not trust stays wrong,
// however long somebody waits.
func TestSchemaApplyGivesUpOnKafka(t *testing.T) {
	t.Parallel()
	cert, key := mustCertificate(t)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go hangUp(l, func(c net.Conn) {
		c.(*tls.Conn).Handshake() // fails: the client does not know who signed
	})
	config := configFile(t, fmt.Sprintf("kafka: {brokers: [%q], tls: {}}\n"+
		"cassandra: {hosts: [%[1]q]}\nlog: {level: error}\n", l.Addr()))
	code, stderr := start(t, "schema", "apply", "--config", config, "--wait", "5s")
	if code != exit.Misused ||
		!strings.Contains(stderr, "is signed by CN=test, which this machine does not trust; name "+
			"the file with that authority in kafka.tls.ca_file") {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// TestSchemaCommands takes a fleet that began with v1 through an operator's life with its schema.
func TestSchemaCommands(t *testing.T) {
	settings := fmt.Sprintf("kafka: {brokers: [%q], topic: schema.commands}\ncassandra: {hosts: "+
		"[%q], keyspace: schema_commands, generation: v1, raw_ttl: %%s}\nlog: {level: error}\n",
		engines.SharedKafka(t).Addr(), engines.SharedCassandra(t).Addr())
	longer, config := configFile(t, fmt.Sprintf(settings, "480h")), configFile(t,
		fmt.Sprintf(settings, "336h"))
	// a whole second, as it is written; it may be the beginning of a window by itself
	at := time.Now().Add(3 * store.CutoverLead).UTC().Truncate(time.Second)
	exact := at.Add(5*time.Minute - 1).Truncate(5 * time.Minute).Format(time.RFC3339)
	for _, step := range []struct {
		Config string
		args   string
		code   int
		want   []string // on stdout, or on stderr if it fails
	}{
		{longer, "apply", 0, []string{"created keyspace schema_commands",
			"created table v1_samples", "keyspace schema_commands is there"}},
		{config, "apply", exit.Failed, []string{"lose data", "v1_samples", "--allow-shorter-ttl"}},
		{config, "apply --allow-shorter-ttl", 0,
			[]string{"set default_time_to_live, compaction of v1_samples"}},
		{config, "apply", 0, []string{"keyspace schema_commands is there"}},
		{config, "cutover --to v3 --at " + time.Now().UTC().Format(time.RFC3339), exit.Failed,
			[]string{"less than 10m0s ahead", "or later"}},
		{config, "cutover --to v9 --at " + at.Format(time.RFC3339), exit.Failed,
			[]string{"v1 v2 v3"}},
		{config, "cutover --to v3 --at tomorrow", exit.Misused, []string{"--at"}},
		{config, "cutover --to v3 --at " + at.Format(time.RFC3339), 0,
			[]string{"v3 serves from " + exact + " on"}},
		{config, "show", 0, []string{"the beginning         " + exact + "  v1", "v3_hours",
			"336h0m0s", "1 Cassandra node(s)"}},
		{config, "drop v1", exit.Failed, []string{"v1 has data until"}},
		{config, "grants --role ringwatch", 0,
			[]string{"GRANT SELECT ON KEYSPACE schema_commands TO \"ringwatch\";",
				"GRANT MODIFY ON TABLE schema_commands.v3_hours TO", "schema_commands.v1_samples"}},
		{config, "grants --role r --for reader", 0,
			[]string{"GRANT SELECT ON KEYSPACE schema_commands TO \"r\";"}},
	} {
		code, out, errs := say(t,
			append([]string{"schema"}, append(strings.Fields(step.args), "--config",
				step.Config)...)...)
		text := out
		if step.code != 0 {
			text = errs
		}
		if code != step.code {
			t.Fatalf("schema %s: exit code %d\n%s%s", step.args, code, out, errs)
		}
		for _, want := range step.want {
			if !strings.Contains(text, want) {
				t.Errorf("schema %s: nothing is said of %q in\n%s", step.args, want, text)
			}
		}
		t.Logf("schema %s\n%s", step.args, text)
	}
}
