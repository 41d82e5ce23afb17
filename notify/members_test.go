package notify

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/certs/certstest"
)

// gossiping is a Notifier that tells with others, if some are given.
func gossiping(t *testing.T, h *hook, change func(*Options), others ...*Notifier) *Notifier {
	t.Helper()
	o := options(t.TempDir(), mustParse(t, yamlOf(h.URL, "1h", "", "")))
	o.Gossip.Listen, o.settle = "127.0.0.1:0", 100*time.Millisecond
	for _, n := range others {
		o.Gossip.Peers = append(o.Gossip.Peers, n.members.peer.Self().Address())
	}
	if change != nil {
		change(&o)
	}
	n := mustOpen(t, o)
	if _, err := n.Handler("shop"); err != nil { // a state is shared once its account is open
		t.Fatal(err)
	}
	eventually(t, func() bool { return n.members.count() > len(others) },
		func() string { return fmt.Sprintf("%d members", n.members.count()) })
	return n
}

// knows waits until an account's silences name somebody.
func knows(t *testing.T, n *Notifier, comment string) {
	t.Helper()
	said := ""
	eventually(t, func() bool {
		_, said = ask(t, n, "shop", http.MethodGet, "/api/v2/silences", "")
		return strings.Contains(said, comment)
	}, func() string { return "the silences are " + said })
}

// TestMembers: of two that have the same alerts one tells, and silences hold at both. When one has
// gone, the other tells on, and knows what was told.
func TestMembers(t *testing.T) {
	if testing.Short() {
		t.Skip("members wait for each other, 15 s each time")
	}
	t.Parallel()
	h := mustHook(t, nil)
	first := gossiping(t, h, nil)
	second := gossiping(t, h, nil, first)
	eventually(t, func() bool { return first.members.count() == 2 },
		func() string { return "the first one is alone" })

	mustSilence(t, first, "alertname", "Quiet", time.Hour)
	long := strings.Repeat("long ", 300) // it does not fit a packet of the gossip
	mustSilenceAs(t, second, "alertname", "Large", time.Hour, long)
	knows(t, second, "Quiet")
	knows(t, first, "Large")

	a, b := firing("A"), firing("B")
	for _, n := range []*Notifier{second, first} {
		mustPut(t, n, a, b, firing("Quiet"), firing("Large"))
	}
	h.wait(t, "A firing, B firing")
	h.stays(t, second, "A firing, B firing") // after the turn of the first one
	h.stays(t, first, "A firing, B firing")

	// It has them on disk as well: alone, it knows them.
	o := options(copied(t, first.options.Dir), mustParse(t, yamlOf(h.URL, "1h", "", "")))
	alone := mustOpen(t, o)
	knows(t, alone, "Large")
	if err := alone.Close(); err != nil {
		t.Fatal(err)
	}

	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	mustPut(t, second, ended(a))
	h.wait(t, "A firing, B firing", "A resolved, B firing")
	third := gossiping(t, h, nil, second)
	knows(t, third, "Quiet")
	mustPut(t, third, b)
	h.stays(t, third, "A firing, B firing", "A resolved, B firing")
}

// TestSaidTwice: an end that was said is final, whoever still says the beginning; one that nobody
// said is not.
func TestSaidTwice(t *testing.T) {
	t.Parallel()
	h := mustHook(t, nil)
	n := opened(t, h, "1h")
	a := firing("A")
	mustPut(t, n, a)
	h.wait(t, "A firing")
	mustPut(t, n, ended(a))
	h.wait(t, "A firing", "A resolved")
	mustPut(t, n, a)
	h.stays(t, n, "A firing", "A resolved")
	again := firing("A")
	again.ValidUntil = time.Now().Add(time.Hour)
	mustPut(t, n, again)
	h.wait(t, "A firing", "A resolved", "A firing")
}

// TestGossipSettings: each mistake is one sentence with its remedy.
func TestGossipSettings(t *testing.T) {
	t.Parallel()
	open := filepath.Join(t.TempDir(), "open.yml")
	err := os.WriteFile(open, []byte("tls_server_config: {cert_file: a, key_file: b}\n"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for want, g := range map[string]Gossip{
		"": {Listen: "127.0.0.1:9094", Peers: []string{"127.0.0.1:9095"}, Wait: time.Second},
		"listen is empty: give the address at which the others reach this process, such as " +
			"0.0.0.0:9094": {Peers: []string{"a:1"}},
		`listen is "here": write host:port, such as 10.0.0.2:9094`: {
			Listen: "here", Wait: time.Second, TLSConfigFile: "/no/such.yml"},
		`peers[1] is "b": write host:port`:       {Listen: "[::1]:1", Peers: []string{"a:1", "b"}},
		"wait is 0s: use more than 0":            {Listen: "localhost:1"},
		"tls_config_file is empty: whoever":      {Listen: "0.0.0.0:9094", Wait: time.Second},
		"tls_config_file: open /no/such.yml: no": {Listen: "x:1", TLSConfigFile: "/no/such.yml"},
		"lets in who has no certificate":         {Listen: "x:1", TLSConfigFile: open},
	} {
		err := g.Validate()
		if want == "" && err != nil || want != "" && !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%+v: %v, not %q", g, err, want)
		}
	}
}

// TestMembersTLS: members show each other certificates, and nobody gets in without one.
func TestMembersTLS(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	ours, foreign := certstest.New(t, "ours"), certstest.New(t, "foreign")
	ours.Write(t, at("ca.crt"))
	ours.Issue(t, at("ours.crt"), at("ours.key"), "ours", "127.0.0.1")
	foreign.Issue(t, at("foreign.crt"), at("foreign.key"), "foreign", "127.0.0.1")
	secured := func(name string) func(*Options) {
		err := os.WriteFile(at(name+".yml"), []byte(strings.ReplaceAll(`
tls_server_config: {cert_file: X.crt, key_file: X.key, client_ca_file: ca.crt,
  client_auth_type: RequireAndVerifyClientCert}
tls_client_config: {cert_file: X.crt, key_file: X.key, ca_file: ca.crt}
`, "X", name)), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return func(o *Options) { o.Gossip.TLSConfigFile = at(name + ".yml") }
	}
	h := mustHook(t, nil)
	first := gossiping(t, h, secured("ours"))
	for name, change := range map[string]func(*Options){
		"foreign": secured("foreign"), "plain": nil,
	} {
		o := options(t.TempDir(), mustParse(t, yamlOf(h.URL, "1h", "", "")))
		o.Gossip.Listen, o.Gossip.Peers = "127.0.0.1:0",
			[]string{first.members.peer.Self().Address()}
		if change != nil {
			change(&o)
		}
		n := mustOpen(t, o) // it has tried to join when it is open
		if a, b := first.members.count(), n.members.count(); a != 1 || b != 1 {
			t.Errorf("%s: %d and %d members", name, a, b)
		}
	}
	second := gossiping(t, h, secured("ours"), first)
	mustSilence(t, first, "alertname", "Quiet", time.Hour)
	knows(t, second, "Quiet")
}
