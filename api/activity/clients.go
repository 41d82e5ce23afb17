package activity

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

const (
	mostClients = 1000
	// mostTexts is how many lists of addresses are read, each of up to 4 KiB from an agent, and of
	// frame.MaxTextBytes from others.
	mostTexts = 1000
	// mostAddresses bounds an answer: some 1 MB of JSON.
	mostAddresses = 10_000
)

// Client is who is connected: all connections that are the same by driver, protocol, user and TLS.
type Client struct {
	clientKey
	Connections       *float64  `json:"connections,omitempty"`
	RequestsPerSecond *float64  `json:"requests_per_second,omitempty"`
	Nodes             int       `json:"nodes"` // of the cluster, which know it
	Addresses         []Address `json:"addresses"`
}

type clientKey struct {
	Cluster       string `json:"cluster"`
	Driver        string `json:"driver"`
	DriverVersion string `json:"driver_version"`
	Protocol      string `json:"protocol"`
	Username      string `json:"username"`
	TLS           bool   `json:"tls"`
}

// Address is where a connection to a node comes from.
type Address struct {
	Node    string `json:"node"` // id
	Name    string `json:"name"` // how people call the node
	Address string `json:"address"`
}

// ClientList is the answer of Clients, by cluster and then those with the most connections first.
type ClientList struct {
	Clients []Client `json:"clients"`
	LeftOut int      `json:"left_out"` // how many more clients there are
	// AddressesLeftOut: not all addresses are there.
	AddressesLeftOut bool `json:"addresses_left_out"`
	Partial
}

const clientLabels = "cluster, driver_name, driver_version, protocol_version, username, tls"

func clientOf(labels map[string]string) clientKey {
	return clientKey{Cluster: labels["cluster"], Driver: labels["driver_name"],
		DriverVersion: labels["driver_version"], Protocol: labels["protocol_version"],
		Username: labels["username"], TLS: labels["tls"] == "true"}
}

// Clients says who is connected.
func Clients(ctx context.Context, q Question) (*ClientList, error) {
	a := &asking{Question: &q, ctx: ctx}
	answer := &ClientList{Clients: []Client{}}
	connections := q.named("", "cassandra_driver_connections")
	list, err := a.ask("sum by (%s) (%s)", clientLabels, connections)
	if err != nil {
		return nil, err
	}
	found := map[clientKey]*Client{}
	for _, s := range list {
		key := clientOf(s.Labels)
		found[key] = &Client{clientKey: key, Connections: known(s.Value), Addresses: []Address{}}
	}
	if len(found) > 0 {
		counted := q.named("", "cassandra_driver_requests_total") + "[" + rateWindow + "]"
		// Who came within the window has a rate over the time since, in frames of five seconds.
		for _, s := range a.add("rates", "sum by (%[1]s) (increase(%[2]s)) / clamp_max("+
			"time() - min by (%[1]s) (ts_of_first_over_time(%[2]s)) + 5, %[3]v)", clientLabels,
			counted, rateTime.Seconds()) {
			if c := found[clientOf(s.Labels)]; c != nil {
				c.RequestsPerSecond = known(s.Value)
			}
		}
	}
	clients := make([]*Client, 0, len(found))
	for _, c := range found {
		if !c.gone() {
			clients = append(clients, c)
		}
	}
	slices.SortFunc(clients, func(x, y *Client) int {
		return cmp.Or(cmp.Compare(x.Cluster, y.Cluster), -compare(x.Connections, y.Connections),
			x.compare(&y.clientKey))
	})
	if len(clients) > mostClients {
		answer.LeftOut = len(clients) - mostClients
		clients = clients[:mostClients]
	}
	if len(clients) > 0 {
		if err := a.addresses(connections, found, clients, answer); err != nil {
			return nil, err
		}
	}
	for _, c := range clients {
		answer.Clients = append(answer.Clients, *c)
	}
	answer.Partial = Partial{a.lacks}
	return answer, nil
}

// addresses adds on which nodes clients are, and where they come from.
func (a *asking) addresses(connections string, found map[clientKey]*Client, clients []*Client,
	answer *ClientList) error {
	const name = "cassandra_driver_addresses_info"
	// The name tells the two apart.
	on, err := a.ask("count by (%s) (%s) or count by (__name__) (%s)", clientLabels, connections,
		a.named("", name))
	if err != nil {
		return err
	}
	texts := 0
	for _, s := range on {
		if s.Labels["__name__"] == name {
			texts += int(s.Value)
		} else if c := found[clientOf(s.Labels)]; c != nil {
			c.Nodes = int(s.Value)
		}
	}
	if texts > mostTexts {
		answer.AddressesLeftOut = true
		return nil
	}
	lists := map[clientKey][]Series{}
	for _, s := range a.add("addresses", "%s", a.named("", name)) {
		key := clientOf(s.Labels)
		lists[key] = append(lists[key], s)
	}
	room := mostAddresses
	for _, c := range clients {
		for _, s := range lists[c.clientKey] {
			if !c.split(s.Labels["value"], s.Labels["node"], a.Called(s.Labels["node"]), &room) {
				answer.AddressesLeftOut = true
			}
		}
		slices.SortFunc(c.Addresses, func(x, y Address) int {
			return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Node, y.Node),
				cmp.Compare(x.Address, y.Address))
		})
	}
	return nil
}

// split adds a node's addresses, as many as are left to the answer. It reports whether these are
// all.
func (c *Client) split(text, node, name string, room *int) (all bool) {
	for address := range strings.SplitSeq(text, ",") {
		switch address = strings.TrimSpace(address); {
		case address == "":
		case address == "…" || *room == 0: // the node knows of more than it says
			return false
		default:
			*room--
			c.Addresses = append(c.Addresses, Address{Node: node, Name: name, Address: address})
		}
	}
	return true
}

// gone reports whether a client has no connections and asks for nothing: nodes remember it for
// their counters.
func (c *Client) gone() bool {
	is := func(v *float64) bool { return v == nil || *v <= 0 }
	return is(c.Connections) && is(c.RequestsPerSecond)
}

func (k *clientKey) compare(o *clientKey) int {
	tls := 0
	if k.TLS != o.TLS {
		if tls = 1; k.TLS {
			tls = -1
		}
	}
	return cmp.Or(cmp.Compare(k.Driver, o.Driver), cmp.Compare(k.DriverVersion, o.DriverVersion),
		cmp.Compare(k.Protocol, o.Protocol), cmp.Compare(k.Username, o.Username), tls)
}

// compare compares numbers of which those that are not known are the least.
func compare(x, y *float64) int {
	switch {
	case x == nil && y == nil:
		return 0
	case x == nil:
		return -1
	case y == nil:
		return 1
	}
	return cmp.Compare(*x, *y)
}
