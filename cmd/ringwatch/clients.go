package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/ringwatch/ringwatch/api/activity"
)

type clientsCmd struct {
	clientFlags
	placeFlags
	Addresses bool `help:"Show where connections come from, and to which node."`
	JSON      bool `name:"json" help:"Print the API's JSON."`
}

// Help implements kong.HelpProvider.
func (*clientsCmd) Help() string {
	return "Lists who is connected, by driver, its version, protocol, user, and TLS or not, with " +
		"connections and requests. A driver is marked if a newer version of it is connected " +
		"somewhere in the list.\n\n" +
		"Example: ringwatch clients --cluster production\n\n" +
		"Example: ringwatch clients --node db-3 --addresses"
}

// Run implements the command.
func (c *clientsCmd) Run(ctx context.Context) error { return c.run(ctx, os.Stdout) }

func (c *clientsCmd) run(ctx context.Context, out io.Writer) error {
	return activityOf(ctx, &c.clientFlags, c.JSON, out, "/v1/clients", c.only(), c.table)
}

func (c *clientsCmd) table(list *activity.ClientList) string {
	newest := map[string]string{} // version by driver
	for i := range list.Clients {
		s := &list.Clients[i]
		if has := newest[s.Driver]; has == "" || compareVersions(s.DriverVersion, has) > 0 {
			newest[s.Driver] = s.DriverVersion
		}
	}
	var b strings.Builder
	if len(list.Clients) == 0 {
		b.WriteString("Nobody is connected.\n")
	} else {
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "CLUSTER\tDRIVER\tVERSION\tNEWER\tPROTOCOL\tUSER\tTLS\tCONNECTIONS\t"+
			"REQ/S\tNODES")
		for i := range list.Clients {
			s := &list.Clients[i]
			newer := "-"
			if compareVersions(newest[s.Driver], s.DriverVersion) > 0 {
				newer = newest[s.Driver]
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\n", plain(s.Cluster),
				dash(plain(s.Driver)), dash(plain(s.DriverVersion)), plain(newer),
				dash(plain(s.Protocol)), dash(plain(s.Username)),
				map[bool]string{true: "yes", false: "no"}[s.TLS], numberText(s.Connections),
				numberText(s.RequestsPerSecond), s.Nodes)
		}
		_ = t.Flush() // a strings.Builder takes everything
	}
	if c.Addresses {
		b.WriteString(addressesTable(list))
	}
	b.WriteString(lacks(list.LeftOut, "clients", list.Partial))
	if c.Addresses && list.AddressesLeftOut {
		b.WriteString("Not all addresses are there: name a cluster or a node.\n")
	}
	return b.String()
}

func addressesTable(list *activity.ClientList) string {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nADDRESS\tNODE\tDRIVER\tUSER")
	for i := range list.Clients {
		s := &list.Clients[i]
		for _, a := range s.Addresses {
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", plain(a.Address), plain(a.Name),
				dash(plain(strings.TrimSpace(s.Driver+" "+s.DriverVersion))),
				dash(plain(s.Username)))
		}
	}
	_ = t.Flush()
	return b.String()
}

func numberText(v *float64) string {
	if v == nil {
		return "-"
	}
	return human(*v, "")
}

// compareVersions compares versions such as 4.17.0 by their numbers; what is no number, and what
// follows it, counts for nothing, so 4.17.0-rc1 is 4.17.0.
func compareVersions(a, b string) int {
	x, y := versionNumbers(a), versionNumbers(b)
	for i := range max(len(x), len(y)) {
		var of [2]int
		for j, list := range [][]int{x, y} {
			if i < len(list) {
				of[j] = list[i]
			}
		}
		if c := cmp.Compare(of[0], of[1]); c != 0 {
			return c
		}
	}
	return 0
}

func versionNumbers(text string) (list []int) {
	for part := range strings.SplitSeq(strings.TrimPrefix(text, "v"), ".") {
		end := strings.IndexFunc(part, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(part)
		}
		n, err := strconv.Atoi(part[:end])
		if err != nil {
			return list
		}
		if list = append(list, n); end < len(part) {
			return list
		}
	}
	return list
}
