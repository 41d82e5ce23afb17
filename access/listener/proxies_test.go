package listener

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestProxies(t *testing.T) {
	proxies := must[trusted](t)(Proxies{"10.0.0.0/8", "192.0.2.7", "2001:db8:1::/48"}.parse())
	for _, c := range []struct {
		remote, want string
		forwarded    []string
	}{
		// anyone can write the header
		{"198.51.100.1:1234", "198.51.100.1:1234", []string{"203.0.113.9"}},
		// a proxy that asks for itself
		{"10.1.2.3:1234", "10.1.2.3:1234", nil},
		//
		{"10.1.2.3:1234", "203.0.113.9:0", []string{"203.0.113.9"}},
		// what the client says of itself is left
		{"10.1.2.3:1234", "203.0.113.9:0", []string{"127.0.0.1, 10.9.9.9, 203.0.113.9"}},
		// three proxies after one another
		{"10.1.2.3:1234", "203.0.113.9:0", []string{"1.1.1.1, 203.0.113.9 , 192.0.2.7,10.4.4.4"}},
		// in several headers
		{"10.1.2.3:1234", "203.0.113.9:0", []string{"1.1.1.1", "203.0.113.9, 192.0.2.7",
			"10.4.4.4"}},
		// from among the proxies
		{"10.1.2.3:1234", "10.4.4.4:0", []string{"10.4.4.4, 10.5.5.5"}},
		// nothing is known beyond
		{"10.1.2.3:1234", "10.5.5.5:0", []string{"203.0.113.9, unknown, 10.5.5.5"}},
		//
		{"10.1.2.3:1234", "10.1.2.3:1234", []string{"203.0.113.9, <script>"}},
		//
		{"10.1.2.3:1234", "10.1.2.3:1234", []string{""}},
		// with a port
		{"10.1.2.3:1234", "203.0.113.9:0", []string{"203.0.113.9:4711"}},
		// IPv6
		{"[2001:db8:1::5]:1234", "[2001:db8:2::1]:0",
			[]string{"[2001:db8:2::1]:99, 2001:db8:1::9"}},
		// IPv4 in IPv6 is IPv4
		{"[::ffff:10.1.2.3]:1234", "203.0.113.9:0", []string{"::ffff:203.0.113.9"}},
		//
		{"[2001:db8:2::1]:1234", "[2001:db8:2::1]:1234", []string{"203.0.113.9"}},
		// a socket without an address
		{"@", "@", []string{"203.0.113.9"}},
		// beside the one proxy
		{"192.0.2.8:1", "192.0.2.8:1", []string{"203.0.113.9"}},
		//
		{"192.0.2.7:1", "203.0.113.9:0",
			[]string{strings.Repeat("1.1.1.1,", 1000) + "203.0.113.9, 192.0.2.7"}},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = c.remote
		r.Header["X-Forwarded-For"] = c.forwarded
		if got := proxies.remote(r); got != c.want {
			t.Errorf("%s with %.80q: %s, want %s", c.remote, c.forwarded, got, c.want)
		}
		if got := trusted(nil).remote(r); got != c.remote {
			t.Errorf("without proxies %s becomes %s", c.remote, got)
		}
	}
	err := Proxies{"10.0.0.0/8", "proxy.example", "0.0.0.0/0", "10.0.0.0/33"}.Validate()
	if err == nil || strings.Count(err.Error(), "trusted_proxies") != 3 {
		t.Error(err)
	}
}

// TestForwarded: handlers and the access log see the client's address.
func TestForwarded(t *testing.T) {
	for _, c := range []struct {
		proxies      Proxies
		want, logged string
	}{
		{Proxies{"127.0.0.0/8"}, "203.0.113.9:0", `"remote":"203.0.113.9:0","via":"127.0.0.1:`},
		{Proxies{"10.0.0.0/8"}, "127.0.0.1:", `"remote":"127.0.0.1:`},
		{nil, "127.0.0.1:", `"remote":"127.0.0.1:`},
	} {
		var log bytes.Buffer
		o := must[*Observer](t)(NewObserver("test", true, c.proxies,
			slog.New(slog.NewJSONHandler(&log, nil)), prometheus.NewRegistry()))
		mux := http.NewServeMux()
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, r.RemoteAddr)
		})
		server := httptest.NewServer(o.Wrap(mux, http.NotFoundHandler()))
		q := must[*http.Request](t)(http.NewRequest(http.MethodGet, server.URL, nil))
		q.Header.Set("X-Forwarded-For", "1.1.1.1, 203.0.113.9")
		answer := must[*http.Response](t)(http.DefaultClient.Do(q))
		said := must[[]byte](t)(io.ReadAll(answer.Body))
		answer.Body.Close()
		server.Close()
		if !strings.HasPrefix(string(said), c.want) || !strings.Contains(log.String(), c.logged) {
			t.Errorf("%v: %s\n%s", c.proxies, said, log.String())
		}
	}
	if _, err := NewObserver("test", true, Proxies{"x"}, nil,
		prometheus.NewRegistry()); err == nil {
		t.Error("a wrong network is taken")
	}
}
