package activity

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
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
)

// ClientsCmd is ringwatch clients.
type ClientsCmd struct {
	client.Flags
	PlaceFlags
	Addresses bool `help:"Show where connections come from, and to which node."`
	JSON      bool `name:"json" help:"Print the API's JSON."`
}

// Help implements kong.HelpProvider.
func (*ClientsCmd) Help() string {
	return "Lists who is connected, by driver, its version, protocol, user, and TLS or not, with " +
		"connections and requests. A driver is marked if a newer version of it is connected " +
		"somewhere in the list.\n\n" +
		"Example: ringwatch clients --cluster production\n\n" +
		"Example: ringwatch clients --node db-3 --addresses"
}

// Run implements the command.
func (c *ClientsCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout) }

// RunTo is Run for another output than the process has.
func (c *ClientsCmd) RunTo(ctx context.Context, out io.Writer) error {
	return activityOf(ctx, &c.Flags, c.JSON, out, "/v1/clients", c.only(), c.table)
}

func (c *ClientsCmd) table(list *activity.ClientList) string {
	newest := map[string]string{} // version by driver
	for i := range list.Clients {
		s := &list.Clients[i]
		if has := newest[s.Driver]; has == "" || CompareVersions(s.DriverVersion, has) > 0 {
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
			if CompareVersions(newest[s.Driver], s.DriverVersion) > 0 {
				newer = newest[s.Driver]
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\n", screen.Plain(s.Cluster),
				screen.Dash(screen.Plain(s.Driver)), screen.Dash(screen.Plain(s.DriverVersion)),
				screen.Plain(newer),
				screen.Dash(screen.Plain(s.Protocol)), screen.Dash(screen.Plain(s.Username)),
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
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", screen.Plain(a.Address), screen.Plain(a.Name),
				screen.Dash(screen.Plain(strings.TrimSpace(s.Driver+" "+s.DriverVersion))),
				screen.Dash(screen.Plain(s.Username)))
		}
	}
	_ = t.Flush()
	return b.String()
}

func numberText(v *float64) string {
	if v == nil {
		return "-"
	}
	return screen.Human(*v, "")
}

// CompareVersions compares versions such as 4.17.0 by their numbers; what is no number, and what
// follows it, counts for nothing, so 4.17.0-rc1 is 4.17.0.
func CompareVersions(a, b string) int {
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
