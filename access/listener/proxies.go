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

// Proxies are the networks of the trusted proxies before a listener, as CIDR; an address alone is a
// network of one. Their X-Forwarded-For says where a request comes from. Nobody else's is believed,
// since a client can write anything into it.
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

// remote returns where a request comes from, as host:port like http.Request.RemoteAddr. That is
// the connection's other end, unless it is one of the proxies. Each proxy appends to
// X-Forwarded-For the address that asked it. So remote reads the header from right to left, past
// addresses of proxies, and takes the first that is none of them, with port 0. What stands
// further left was written by that client itself.
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
