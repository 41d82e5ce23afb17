package listener

import (
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/memory/memorytest"
)

// FuzzForwarded reads hostile X-Forwarded-For headers. What comes out is an address, and no proxy's
// unless proxies are all there is.
func FuzzForwarded(f *testing.F) {
	proxies, err := Proxies{"10.0.0.0/8", "2001:db8:1::/48"}.parse()
	if err != nil {
		f.Fatal(err)
	}
	for _, header := range []string{"203.0.113.9", "1.1.1.1, 10.9.9.9,203.0.113.9:4711",
		"[2001:db8:2::1]:99, ::ffff:10.1.1.1", ",,,", "unknown", "fe80::1%eth0"} {
		f.Add(header, header)
	}
	bound := memorytest.Bound{Base: 1 << 20, Factor: 32, Time: time.Minute}
	f.Fuzz(func(t *testing.T, first, second string) {
		r := &http.Request{RemoteAddr: "10.1.2.3:1234",
			Header: http.Header{"X-Forwarded-For": {first, second}}}
		var from string
		bound.Within(t, len(first)+len(second), func() { from = proxies.remote(r) })
		if _, err := netip.ParseAddrPort(from); err != nil {
			t.Errorf("%q and %q become %q", first, second, from)
		}
	})
}
