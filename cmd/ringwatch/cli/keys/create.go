package keys

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/logs"
)

// KeyCreateCmd is ringwatch key create.
type KeyCreateCmd struct {
	KeyFlags
	Name      string          `arg:"" help:"The key's name, for lists and logs."`
	Account   string          `help:"The account that owns the key. Not needed if there is only one."`
	Scopes    []account.Scope `help:"What the key may do: read (use the API), write (send frames), rules (change rules, silence alerts, forget nodes), admin (make keys, see qps), operator (all of these)." default:"read" enum:"read,write,rules,admin,operator"`
	Expires   string          `help:"When it expires: 90d, 2027-06-30 or 2027-06-30T12:00:00Z. Without it: never."`
	Networks  []string        `name:"network" help:"The network that it may be used from, such as 10.1.0.0/16; may be repeated. Without it: any."`
	Clusters  []string        `name:"cluster" help:"The clusters that it may read and write, such as prod-*; may be repeated. Without it: all of the account's."`
	Node      string          `help:"The one node whose frames it may write: an id as ringwatch nodes shows it, or 'first' for the node that uses the key first. Without it: all nodes."`
	ForConfig bool            `name:"for-config" help:"Write nothing down; print the line for the configuration instead."`
}

// Help implements kong.HelpProvider.
func (*KeyCreateCmd) Help() string {
	return "Prints the key, alone, on standard output. Ringwatch keeps only its hash, so it " +
		"cannot be shown again. The key works within a second.\n\nExample: ringwatch key create " +
		"grafana --expires 90d\n\nA key that may do everything: ringwatch key create me " +
		"--scopes operator\n\nA key that reads two clusters: ringwatch key create shop --cluster " +
		"shop,shop-test\n\nA key for the agent of one node, which cannot send for another node: " +
		"ringwatch key create node7 --scopes write --node first"
}

// Run implements the command.
func (c *KeyCreateCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout, os.Stderr) }

// RunTo is Run for another output than the process has.
func (c *KeyCreateCmd) RunTo(ctx context.Context, out, notes io.Writer) error {
	k := account.StoredKey{Account: c.Account, Name: c.Name, Clusters: c.Clusters, Node: c.Node,
		Created: time.Now().UTC().Truncate(time.Millisecond), CreatedBy: wire.Caller()}
	var errs [5]error
	errs[0] = account.CheckName(c.Name)
	k.Expires, errs[1] = parseExpiry(c.Expires, k.Created)
	networks, err := account.ParseNetworks(c.Networks)
	errs[2] = err
	k.Scopes, errs[3] = account.NamedScopes(c.Scopes)
	errs[4] = account.CheckBinding(c.Clusters, c.Node, k.Scopes)
	if err := errors.Join(errs[:]...); err != nil {
		return exit.Usage(err)
	}
	for _, n := range networks {
		k.Networks = append(k.Networks, n.String())
	}
	if c.ForConfig {
		text := account.NewKey()
		k.ID, k.SHA256 = account.KeyID(text), account.Hash(text)
		fmt.Fprintln(out, text)
		fmt.Fprintf(notes, "Keep the key: it is not shown again. Put this line into the "+
			"configuration, below accounts → keys:\n%s\n", configLine(&k))
		return nil
	}
	s, err := c.Open(ctx)
	if err != nil {
		return err
	}
	defer s.DB.Close()
	if k.Account, err = s.account(c.Account); err != nil {
		return err
	}
	read := func(context.Context) ([]account.StoredKey, error) { return s.keys, nil }
	text, err := account.NewMaker(read, s.DB.CreateKey, 0).Make(ctx, &k)
	if err != nil {
		return err
	}
	until := "never"
	if !k.Expires.IsZero() {
		until = k.Expires.Format(time.RFC3339)
	}
	logs.New(s.config.Log).Info("API key created", "account", k.Account, "key", k.ID, "name",
		k.Name,
		"scopes", k.Scopes, "networks", k.Networks, "expires", until, "by", k.CreatedBy)
	if c.JSON {
		info := newKeyInfo(&k)
		info.Key = text
		return screen.PrintJSON(out, info)
	}
	fmt.Fprintln(out, text)
	fmt.Fprintln(notes, "Keep the key: it is not shown again.")
	return nil
}

// account returns the account that is meant.
func (s *keyStore) account(name string) (string, error) {
	names := s.accounts.Accounts()
	switch {
	case len(names) == 0:
		return "",
			exit.Usage(errors.New("the configuration has no account: add one below accounts"))
	case name == "" && len(names) > 1:
		return "",
			exit.Usage(fmt.Errorf("name the account with --account: the configuration has %s",
				strings.Join(names, ", ")))
	case name == "":
		return names[0], nil
	case !slices.Contains(names, name):
		return "", exit.Usage(fmt.Errorf("the configuration has no account %q: use one of %s", name,
			strings.Join(names, ", ")))
	}
	return name, nil
}

// configLine is the key as the configuration has it.
func configLine(k *account.StoredKey) string {
	var scopes []string
	for _, s := range k.Scopes {
		scopes = append(scopes, string(s))
	}
	line := fmt.Sprintf("  - {name: %s, sha256: %s, scopes: [%s]", k.Name, k.SHA256,
		strings.Join(scopes, ", "))
	if len(k.Networks) > 0 {
		line += `, networks: ["` + strings.Join(k.Networks, `", "`) + `"]`
	}
	if len(k.Clusters) > 0 {
		line += `, clusters: ["` + strings.Join(k.Clusters, `", "`) + `"]`
	}
	if k.Node != "" {
		line += ", node: " + k.Node
	}
	if !k.Expires.IsZero() {
		line += ", expires: " + k.Expires.Format(time.RFC3339)
	}
	return line + "}"
}

// parseExpiry reads a span from now, a day or a time, which must lie ahead; empty is the zero time.
func parseExpiry(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		at, err = time.Parse(time.DateOnly, text)
	}
	if d, notSpan := model.ParseDuration(text); notSpan == nil {
		at, err = now.Add(time.Duration(d)), nil
	}
	switch {
	case err != nil:
		return at, fmt.Errorf("--expires: %q is not a time: write 90d, 2027-06-30 or "+
			"2027-06-30T12:00:00Z", text)
	case !at.After(now):
		return at, fmt.Errorf("--expires: %s has passed: name a time in the future", text)
	}
	return at.UTC().Truncate(time.Millisecond), nil
}
