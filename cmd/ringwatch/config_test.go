package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// Start runs ringwatch as a process of its own and returns its exit code and what it wrote to
// stderr.
func start(t *testing.T, args ...string) (int, string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(os.Environ(), asRingwatch)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), stderr.String()
}

func configFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ringwatch.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestBadConfigurationEndsWithEveryErrorAtOnce(t *testing.T) {
	code, stderr := start(t, "all", "--config", configFile(t, `
acounts: []
accounts: [{name: "Bad Name", keys: [{name: k, scopes: [fly]}]}]
kafka: {brokers: [], publish_timeout: soon, tls: true}
cassandra: {raw_ttl: -1d, consistency: SOMETIMES, tls: {cert_file: a.crt, server_name: "https://b"}}
redis: {addresses: [nowhere], tls: {key_file: a.key, insecure_skip_verify: true}}
ingest: {max_frame_bytes: 0}
api: {listen: nowhere}
lookup: {max_keys: 0, tls: {ca_file: a.crt}, tables: [{table: items, accounts: ["*"]}, {table: shop.items, acounts: [x], accounts: [nobody], cache_ttl: soon}, {table: a.b, accounts: ["*"], cache_ttl: 30s, class: mine}]}
events: {loki: {url: "http://127.0.0.1:1", account: acne}}
throttle: {lease: 1ms, classes: {tiny: {concurrency: 50}}}
log: {level: loud}
`))
	if code != exit.Misused {
		t.Errorf("exit code %d, want %d", code, exit.Misused)
	}
	for _, want := range []string{"acounts: unknown key", "Bad Name", "publish_timeout", "raw_ttl",
		"SOMETIMES", `redis: addresses: "nowhere" is not host:port`, "max_frame_bytes", "nowhere",
		"throttle: lease is 1ms", "classes.tiny: 50 operations at once", "loud",
		"kafka.tls: expected keys and values: write {} to switch it on, with some of ca_file, " +
			"cert_file, enabled, key_file, server_name as you need them",
		"cassandra.tls.cert_file: it needs cassandra.tls.key_file: set both or neither",
		`cassandra.tls.server_name: "https://b" is no host name`,
		"redis.tls.key_file: it needs redis.tls.cert_file",
		"redis.tls.insecure_skip_verify: unknown key",
		"lookup: hosts: datacenter, username, password and tls need hosts",
		"lookup: max_keys", `"items" must have the form keyspace.table`,
		"lookup.tables[1].acounts: unknown key", "lookup.tables[1].cache_ttl",
		`there is no account "nobody"`,
		`events: loki.account: there is no account "acne"`, "tables a.b.cache_ttl: set ring.cache_bytes",
		`no class "mine"`} {
		if !strings.Contains(stderr, want) {
			t.Errorf("nothing is said of %q in\n%s", want, stderr)
		}
	}
	if code, stderr := start(t, "all", "--config", "/no/such/file"); code != exit.Misused ||
		!strings.Contains(stderr, "--config") {
		t.Errorf("a missing file: exit code %d, %s", code, stderr)
	}
}

// TestTLSIsSwitchedOn by the section that stands in the file, unless it says otherwise.
func TestTLSIsSwitchedOn(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "kafka: {}": false, "kafka: {tls: }": false, "kafka: {tls: {}}": true,
		"kafka: {tls: {ca_file: x}}":                 true,
		"kafka: {tls: {ca_file: x, enabled: false}}": false, "kafka: {tls: {enabled: true}}": true,
	} {
		c, _, err := (&settings.RoleFlags{Config: configFile(t, text)}).Load()
		if err != nil || c.Kafka.TLS.Enabled != want || c.Cassandra.TLS.Enabled ||
			c.Redis.TLS.Enabled || c.Lookup.TLS.Enabled {
			t.Errorf("%q: %+v, %v", text, c, err)
		}
	}
}

// TestRoleWithoutItsEngine names the key to set, at once.
func TestRoleWithoutItsEngine(t *testing.T) {
	code, stderr := start(t, "recent", "--config", configFile(t, "redis: {addresses: []}"))
	if want := "redis.addresses is empty: this role is nothing without it: name a host:port, or " +
		"run ringwatch all"; code != exit.Misused || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d, %s", code, stderr)
	}
}

// TestUnreachableEnginesAreNamedAtOnce: the exit code is one after which systemd starts the role
// again (docs/INSTALL.md), since the engines may only be away.
func TestUnreachableEnginesAreNamedAtOnce(t *testing.T) {
	ports := engines.FreePorts(t, 3)
	code, stderr := start(t, "all", "--wait", "1s", "--config", configFile(t, fmt.Sprintf(`
kafka: {brokers: ["127.0.0.1:%d"]}
cassandra: {hosts: ["127.0.0.1:%d"]}
redis: {addresses: ["127.0.0.1:%d"]}
`, ports[0], ports[1], ports[2])))
	if code != exit.Failed {
		t.Errorf("exit code %d, want %d", code, exit.Failed)
	}
	for i, name := range []string{"kafka.brokers", "cassandra.hosts", "redis.addresses"} {
		if !strings.Contains(stderr, fmt.Sprintf("%s: cannot reach 127.0.0.1:%d", name, ports[i])) {
			t.Errorf("%s is not named in\n%s", name, stderr)
		}
	}
}
