package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
)

// NodeCmd is what can be said of one node.
type NodeCmd struct {
	Forget nodeForgetCmd `cmd:"" help:"Say that a node has left for good, so that nobody is woken for it."`
}

type nodeForgetCmd struct {
	client.Flags
	Node    string `arg:"" help:"The node's id, the beginning of it, or its address."`
	Cluster string `help:"The node's cluster, if its id or address is in several."`
	JSON    bool   `name:"json" help:"Print the API's JSON."`
}

// Help implements kong.HelpProvider.
func (*nodeForgetCmd) Help() string {
	return "Says that a node has left which cannot say so itself, such as dead hardware: its " +
		"alerts end, its series up ends, and it leaves the targets for Prometheus. " +
		"Its data stay as long as any, and ringwatch nodes shows it as forgotten. If it speaks " +
		"again it is simply back. A node that is up is refused.\n\n" +
		"No need for it where a node was decommissioned, was replaced by a new one, or changed " +
		"its cluster's name: Ringwatch sees that. The key needs the scopes read and rules.\n\n" +
		"Example: ringwatch node forget 10.0.0.5"
}

// Run implements the command.
func (c *nodeForgetCmd) Run(ctx context.Context) error { return c.run(ctx, os.Stdout) }

func (c *nodeForgetCmd) run(ctx context.Context, out io.Writer) error {
	api, err := c.Client()
	if err != nil {
		return err
	}
	node, err := FindNodeIn(ctx, api, c.Node, c.Cluster)
	if err != nil {
		return err
	}
	path := "/v1/nodes/" + url.PathEscape(node.ID) + "/forget?" +
		url.Values{"cluster": {node.Cluster}}.Encode()
	body, err := api.Send(ctx, http.MethodPost, path, nil)
	if err != nil {
		return err
	}
	if c.JSON {
		_, err = out.Write(screen.PlainJSON(body))
		return err
	}
	var of NodeInfo
	if err := json.Unmarshal(body, &of); err != nil || of.Left == nil {
		return fmt.Errorf("the API's answer cannot be read (%v): use a program of the API's "+
			"version", err)
	}
	if node.Left != nil {
		_, err = fmt.Fprintf(out, "%s of cluster %s has left already: %s since %s\n",
			screen.Plain(of.Name()), screen.Plain(of.Cluster),
			of.StateAmong(nil), of.Left.Since.UTC().Format(time.RFC3339))
		return err
	}
	_, err = fmt.Fprintf(out, "forgot %s of cluster %s; if it speaks again it is back\n",
		screen.Plain(of.Name()), screen.Plain(of.Cluster))
	return err
}
