package keys

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/logs"
	"github.com/ringwatch/ringwatch/query/nearest"
)

// KeyListCmd is ringwatch key list.
type KeyListCmd struct {
	KeyFlags
	Account string `help:"Only this account's."`
	All     bool   `help:"Also keys that have expired or were revoked."`
}

// Run implements the command.
func (c *KeyListCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout) }

// RunTo is Run for another output than the process has.
func (c *KeyListCmd) RunTo(ctx context.Context, out io.Writer) error {
	s, err := c.Open(ctx)
	if err != nil {
		return err
	}
	defer s.DB.Close()
	list := []KeyInfo{}
	for _, a := range s.config.Accounts {
		for _, k := range a.Keys {
			configured := account.StoredKey{Account: a.Name, Name: k.Name, Scopes: k.Scopes,
				Networks: k.Networks, Clusters: k.Clusters, Node: k.Node, Expires: k.Expires,
				CreatedBy: "the configuration"}
			list = append(list, newKeyInfo(&configured))
		}
	}
	slices.SortStableFunc(s.keys, func(a, b account.StoredKey) int {
		return a.Created.Compare(b.Created)
	})
	for i := range s.keys {
		list = append(list, newKeyInfo(&s.keys[i]))
	}
	list = slices.DeleteFunc(list, func(k KeyInfo) bool {
		return c.Account != "" && k.Account != c.Account || !c.All && k.State != account.StateActive
	})
	if c.JSON {
		return screen.PrintJSON(out, list)
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t,
		"ID\tACCOUNT\tNAME\tSCOPES\tNETWORKS\tBOUND TO\tSTATE\tEXPIRES\tCREATED\tBY\tREVOKED\tBY")
	for _, k := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", screen.Dash(k.ID),
			screen.Plain(k.Account), screen.Plain(k.Name), strings.Trim(fmt.Sprint(k.Scopes), "[]"),
			screen.Dash(strings.Join(k.Networks, " ")), screen.Dash(screen.Plain(boundTo(&k))),
			k.State, keyMoment(k.Expires), keyMoment(k.Created),
			screen.Dash(screen.Plain(k.CreatedBy)),
			keyMoment(k.Revoked), screen.Dash(screen.Plain(k.RevokedBy)))
	}
	return t.Flush()
}

// boundTo is what a key may write, in words; "" for everything.
func boundTo(k *KeyInfo) string {
	if k.Node == "" {
		return strings.Join(k.Clusters, " ")
	}
	return strings.TrimSpace(strings.Join(k.Clusters, " ") + " node " + k.Node)
}

func keyMoment(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// KeyRevokeCmd is ringwatch key revoke.
type KeyRevokeCmd struct {
	KeyFlags
	Key     string `arg:"" help:"The key's id, or its name."`
	Account string `help:"The account that owns the key, if several accounts have keys of this name."`
}

// Help implements kong.HelpProvider.
func (*KeyRevokeCmd) Help() string {
	return "Every api and ingest process that can read the store refuses the key within ten " +
		"seconds. A process that cannot read it goes on with the keys that it knows. To revoke a " +
		"key of the configuration, take it out of the file."
}

// Run implements the command.
func (c *KeyRevokeCmd) Run(ctx context.Context) error { return c.RunTo(ctx, os.Stdout) }

// RunTo is Run for another output than the process has.
func (c *KeyRevokeCmd) RunTo(ctx context.Context, out io.Writer) error {
	s, err := c.Open(ctx)
	if err != nil {
		return err
	}
	defer s.DB.Close()
	k, err := s.find(c.Key, c.Account)
	if err != nil {
		return err
	}
	if k.Revoked.IsZero() {
		k.Revoked, k.RevokedBy = time.Now().UTC().Truncate(time.Millisecond), wire.Caller()
		if err := s.DB.RevokeKey(ctx, k.ID, k.Revoked.UnixMilli(), k.RevokedBy); err != nil {
			return err
		}
		logs.New(s.config.Log).Info("API key revoked", "account", k.Account, "key", k.ID, "name",
			k.Name,
			"by", k.RevokedBy)
	}
	if c.JSON {
		return screen.PrintJSON(out, newKeyInfo(k))
	}
	_, err = fmt.Fprintf(out, "key %s (%s of account %s) is revoked since %s by %s\n", k.ID,
		screen.Plain(k.Name), screen.Plain(k.Account), k.Revoked.Format(time.RFC3339),
		screen.Plain(k.RevokedBy))
	return err
}

// find returns the one key that is meant: by its id, or an unrevoked one by its name.
func (s *keyStore) find(meant, of string) (*account.StoredKey, error) {
	var found []*account.StoredKey
	for i := range s.keys {
		k := &s.keys[i]
		if of != "" && k.Account != of {
			continue
		}
		if k.ID == meant {
			return k, nil
		}
		if k.Name == meant && k.Revoked.IsZero() {
			found = append(found, k)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		for _, a := range s.config.Accounts {
			for _, k := range a.Keys {
				if k.Name == meant && (of == "" || of == a.Name) {
					return nil, fmt.Errorf("key %s is in the configuration: take it out of "+
						"account %s there and restart the roles", meant, a.Name)
				}
			}
		}
		var names []string
		for i := range s.keys {
			if k := &s.keys[i]; k.Revoked.IsZero() && (of == "" || k.Account == of) {
				names = append(names, screen.Plain(k.Name))
			}
		}
		slices.Sort(names)
		return nil, exit.Usage(fmt.Errorf("there is no key %q to revoke: %s", meant,
			nearest.Offer(meant, names)))
	}
	var which []string
	for _, k := range found {
		which = append(which, k.ID+" of account "+k.Account)
	}
	return nil, fmt.Errorf("%q may mean %s: name the id", meant, strings.Join(which, " or "))
}
