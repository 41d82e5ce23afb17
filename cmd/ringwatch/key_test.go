package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/keys"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// gate forwards connections to an address, and cuts them all while it is shut.
type gate struct {
	net.Listener
	to string

	mu    sync.Mutex
	shut  bool
	conns []net.Conn
}

func mustGate(t *testing.T, to string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{Listener: l, to: to}
	t.Cleanup(func() { l.Close(); g.set(true) })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			g.forward(in)
		}
	}()
	return g
}

func (g *gate) forward(in net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	out, err := net.Dial("tcp", g.to)
	if g.shut || err != nil {
		in.Close()
		if err == nil {
			out.Close()
		}
		return
	}
	g.conns = append(g.conns, in, out)
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		go func() {
			_, _ = io.Copy(way[0], way[1]) // either end closes both
			way[0].Close()
			way[1].Close()
		}()
	}
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut = shut; shut {
		for _, c := range g.conns {
			c.Close()
		}
		g.conns = nil
	}
}

// Status asks with a key and returns the answer's status and reason.
func status(ctx context.Context, method, url, key string) (string, error) {
	q, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return "", err
	}
	q.SetBasicAuth("anyone", key)
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	var body struct{ Error struct{ Reason string } }
	_ = json.NewDecoder(answer.Body).Decode(&body) // a good answer has none
	return fmt.Sprint(answer.StatusCode, " ", body.Error.Reason), nil
}

// mustMakeKey makes a key over HTTP and returns its text.
func mustMakeKey(t *testing.T, api, by, body string) string {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, api+"/v1/keys",
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+by)
	q.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var made struct{ Key, Name string }
	if err := json.NewDecoder(answer.Body).Decode(&made); err != nil ||
		answer.StatusCode != http.StatusOK ||
		account.KeyID(made.Key) == "" {
		t.Fatalf("POST /v1/keys: %s %+v %v", answer.Status, made, err)
	}
	return made.Key
}

// TestKeys makes and revokes keys with the command and uses them at processes of their own: api,
// and ingest, which has no other use for Cassandra.
func TestKeys(t *testing.T) {
	cassandra, ports := mustGate(t, engines.SharedCassandra(t).Addr()), engines.FreePorts(t, 3)
	own := "rw_" + strings.Repeat("x", 32)
	text := `accounts:
  - {name: acme, keys: [{name: own, key: %q, scopes: [read, write, admin]}]}
  - {name: zeta}
kafka: {brokers: [%q], topic: keys.test}
cassandra: {hosts: [%q], keyspace: keys_test, timeout: 20s}
redis: {addresses: ["127.0.0.1:%d"]}
ingest: {listen: "127.0.0.1:%d"}
api: {listen: "127.0.0.1:%d"}
`
	broker := engines.SharedKafka(t).Addr()
	config := configFile(t, fmt.Sprintf(text, own, broker, cassandra.Addr(), ports[0], ports[1],
		ports[2]))
	direct := configFile(t, fmt.Sprintf(text, own, broker, engines.SharedCassandra(t).Addr(),
		ports[0], ports[1], ports[2]))
	key := func(wantCode int, args ...string) (out, errs string) {
		t.Helper()
		code, out, errs := say(t,
			append([]string{"key"}, append(args, "--config", direct, "--wait", "1m")...)...)
		if code != wantCode {
			t.Fatalf("key %v: exit code %d, want %d\n%s%s", args, code, wantCode, out, errs)
		}
		return out, errs
	}
	// Before there is a table.
	if code, _, errs := say(t, "key", "list", "--config", direct, "--wait",
		"1m"); code != exit.Failed || !strings.Contains(errs, "schema apply") {
		t.Errorf("without a table: %d %s", code, errs)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	logs := t.TempDir()
	for _, role := range []string{"api", "ingest"} {
		p, err := engines.StartProcess(engines.ProcessConfig{Name: role, Path: self,
			Args: []string{role, "--config", config}, Env: []string{asRingwatch},
			Log: filepath.Join(logs, role+".log")})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { p.Kill() })
	}
	api, ingest := fmt.Sprintf("http://127.0.0.1:%d/v1/nodes", ports[2]),
		fmt.Sprintf("http://127.0.0.1:%d/v1/frames", ports[1])
	// until waits for what both say of a key. A frame without a type is refused after the key.
	until := func(what, key, atAPI, atIngest string) {
		t.Helper()
		for _, ask := range []struct{ method, url, want string }{{"GET", api, atAPI},
			{"POST", ingest, atIngest}} {
			eventually(t, what, func(ctx context.Context) error {
				got, err := status(ctx, ask.method, ask.url, key)
				if err == nil && got != ask.want {
					err = fmt.Errorf("%s says %s, want %s", ask.url, got, ask.want)
				}
				return err
			})
		}
	}
	until("the configured key", own, "200 ", "415 content_type")

	out, errs := key(0, "create", "grafana", "--account", "acme", "--scopes", "read,write",
		"--expires", "90d", "--network", "127.0.0.0/8")
	made := strings.TrimSpace(out)
	if account.KeyID(made) == "" || !strings.Contains(errs, "not shown again") ||
		!strings.Contains(errs, "API key created") || !strings.Contains(errs, wire.Caller()) ||
		strings.Contains(errs, made) {
		t.Errorf("create: %q %s", out, errs)
	}
	// It works at once, without waiting for a refresh: the very first answer.
	for method, ask := range map[string][2]string{"GET": {api, "200 "},
		"POST": {ingest, "415 content_type"}} {
		eventually(t, "an answer", func(ctx context.Context) error {
			got, err := status(ctx, method, ask[0], made)
			if got == "503 key_check" { // ingest may not have connected yet
				return fmt.Errorf("%s", got)
			}
			if err == nil && got != ask[1] {
				t.Errorf("the new key at %s: %s", ask[0], got)
			}
			return err
		})
	}
	// So does one that is made over HTTP, and the command knows it.
	byHTTP := mustMakeKey(t, strings.TrimSuffix(api, "/v1/nodes"), own,
		`{"name":"node7","scopes":["write"],"clusters":["prod-1"],"node":"first"}`)
	until("a key made over HTTP", byHTTP, "403 no_scope", "415 content_type")
	if list, _ := key(0, "list", "--account", "acme"); !strings.Contains(list, "node7") ||
		!strings.Contains(list, "acme/own by the API") {
		t.Errorf("the list has no key that was made over HTTP:\n%s", list)
	}
	if _, errs := key(exit.Failed, "create", "node7", "--account", "acme"); !strings.Contains(errs,
		"node7") {
		t.Errorf("its name is not taken: %s", errs)
	}
	out, _ = key(0, "create", "elsewhere", "--account", "zeta", "--network", "192.0.2.0/24",
		"--json")
	var info keys.KeyInfo
	if err := json.Unmarshal([]byte(out), &info); err != nil || info.Account != "zeta" ||
		info.State != "active" || account.KeyID(info.Key) != info.ID {
		t.Fatalf("%v %s", err, out)
	}
	until("a key from elsewhere", info.Key, "403 network", "403 network")
	until("another secret for a key", made[:14]+info.Key[14:], "401 unknown_key", "401 wrong_key")

	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exit.Failed, "has an active key named grafana", []string{"create", "grafana", "--account",
			"acme"}},
		{exit.Misused, "--account: the configuration has acme, zeta", []string{"create", "x"}},
		{exit.Misused, `no account "nobody"`, []string{"create", "x", "--account", "nobody"}},
		{exit.Misused, "--expires: 2001-01-01 has passed", []string{"create", "x", "--account",
			"acme",
			"--expires", "2001-01-01"}},
		{exit.Misused, `--expires: "soon" is not a time`, []string{"create", "x", "--account", "acme",
			"--expires", "soon"}},
		{exit.Misused, `network "here"`, []string{"create", "x", "--account", "acme", "--network",
			"here"}},
		{exit.Misused, `name "X"`, []string{"create", "X", "--account", "acme"}},
		{exit.Misused, "--scopes", []string{"create", "x", "--account", "acme", "--scopes", "fly"}},
		{exit.Failed, "is in the configuration", []string{"revoke", "own"}},
		{exit.Misused, `no key "nothing"`, []string{"revoke", "nothing"}},
	} {
		if _, errs := key(c.code, c.args...); !strings.Contains(errs, c.want) {
			t.Errorf("key %v says nothing of %q:\n%s", c.args, c.want, errs)
		}
	}
	list, _ := key(0, "list")
	for _, want := range []string{"own", "the configuration", "grafana", account.KeyID(made),
		"127.0.0.0/8", "active", wire.Caller()} {
		if !strings.Contains(list, want) {
			t.Errorf("the list has nothing of %q:\n%s", want, list)
		}
	}
	if strings.Contains(list, made[14:]) || strings.Contains(list, account.Hash(made)) {
		t.Errorf("the list shows a secret:\n%s", list)
	}

	// Cassandra is away: what is known stays known, what is new cannot be judged.
	cassandra.set(true)
	key(0, "revoke", "grafana")
	late, _ := key(0, "create", "late", "--account", "acme", "--scopes", "read,write")
	late = strings.TrimSpace(late)
	until("a key made while Cassandra is away from them", late, "503 key_check", "503 key_check")
	until("a key revoked while Cassandra is away from them", made, "200 ", "415 content_type")
	cassandra.set(false)
	until("the revoked key", made, "401 revoked_key", "401 revoked_key")
	until("the late key", late, "200 ", "415 content_type")

	if out, _ := key(0, "revoke", account.KeyID(made), "--json"); !strings.Contains(out,
		`"state": "revoked"`) {
		t.Errorf("a key revoked twice: %s", out)
	}
	if list, _ := key(0, "list"); strings.Contains(list, "grafana") {
		t.Errorf("a revoked key is in the list:\n%s", list)
	}
	if list, _ := key(0, "list", "--all", "--account",
		"acme"); !strings.Contains(list, "revoked") || strings.Contains(list, "elsewhere") {
		t.Errorf("not all of acme's keys are in the list:\n%s", list)
	}
	for _, role := range []string{"api", "ingest"} {
		text, err := os.ReadFile(filepath.Join(logs, role+".log"))
		if err != nil {
			t.Fatal(err)
		}
		if log := string(text); !strings.Contains(log, "API key revoked") ||
			!strings.Contains(log, wire.Caller()) || strings.Contains(log, made) ||
			strings.Contains(log, account.Hash(made)) {
			t.Errorf("%s's log:\n%s", role, log)
		}
	}
	onlyShop, _ := key(0, "create", "shop", "--account", "acme", "--cluster", "shop,shop-test")
	until("a key that is limited to clusters", strings.TrimSpace(onlyShop), "200 ", "403 scope")
	// What a configuration takes is printed and works in one.
	out, errs = key(0, "create", "printed", "--for-config", "--network", "10.0.0.0/8", "--network",
		"192.0.2.1")
	_, line, _ := strings.Cut(errs, "keys:\n")
	file := configFile(t, "accounts:\n- name: a\n  keys:\n"+line)
	_, registry, err := (&settings.RoleFlags{Config: file}).Load()
	if err != nil {
		t.Fatal(err)
	}
	if p, err := registry.Authenticate(t.Context(), strings.TrimSpace(out)); err != nil ||
		p.KeyName != "printed" {
		t.Errorf("%+v, %v", p, err)
	}
}
