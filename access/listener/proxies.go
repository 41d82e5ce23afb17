package listener

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the networks of the proxies before a listener, as CIDR; an address alone is a
// network of one. What these say in X-Forwarded-For of where a request comes from is believed,
// what anyone else says is not: who asks could write anything into it.
type Proxies []string

// Validate reports everything that is wrong at once.
func (p Proxies) Validate() error {
	_, err := p.parse()
	return err
}

func (p Proxies) parse() (trusted, error) {
	var list trusted
	var errs []error
	for _, text := range p {
		network, err := netip.ParsePrefix(text)
		if address, bad := netip.ParseAddr(text); err != nil && bad == nil {
			network, err = address.Unmap().WithZone("").Prefix(address.Unmap().BitLen())
		}
		if err != nil {
			errs = append(errs,
				fmt.Errorf("trusted_proxies: %q: write it as 10.1.0.0/16 or 2001:db8::/32", text))
			continue
		}
		if network.Bits() == 0 {
			errs = append(errs,
				fmt.Errorf("trusted_proxies: %q allows every client to claim any address: name "+
					"the proxies' own networks", text))
		}
		list = append(list, network.Masked())
	}
	return list, errors.Join(errs...)
}

type trusted []netip.Prefix

func (t trusted) has(a netip.Addr) bool {
	return slices.ContainsFunc(t, func(n netip.Prefix) bool { return n.Contains(a) })
}

// remote returns where a request comes from as host:port, as http.Request.RemoteAddr is: the
// connection's other end; if that is one of the proxies, the address before it in
// X-Forwarded-For, and so on, from right to left, to the first that is none of them. Each proxy
// appends who it was asked by, so what stands left of that one is only what it said itself. The
// port is 0 then.
func (t trusted) remote(r *http.Request) string {
	if len(t) == 0 {
		return r.RemoteAddr
	}
	end, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !t.has(end.Addr().Unmap().WithZone("")) {
		return r.RemoteAddr
	}
	from := netip.Addr{}
	hops := strings.Join(r.Header.Values("X-Forwarded-For"), ",")
	for more := hops != ""; more; {
		var hop string
		if i := strings.LastIndexByte(hops, ','); i >= 0 {
			hops, hop = hops[:i], hops[i+1:]
		} else {
			hop, more = hops, false
		}
		a, ok := hopAddress(hop)
		if !ok {
			break // the proxies so far are all that is known
		}
		if from = a; !t.has(a) {
			break
		}
	}
	if !from.IsValid() {
		return r.RemoteAddr
	}
	return net.JoinHostPort(from.String(), "0")
}

// hopAddress reads an entry of X-Forwarded-For; some proxies write ports.
func hopAddress(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		ap, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}, false
		}
		a = ap.Addr()
	}
	return a.Unmap().WithZone(""), true
}
