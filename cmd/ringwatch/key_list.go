package main

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
	"github.com/ringwatch/ringwatch/query/nearest"
)

type keyListCmd struct {
	keyFlags
	Account string `help:"Only this account's."`
	All     bool   `help:"Also keys that have expired or were revoked."`
}

// Run implements the command.
func (c *keyListCmd) Run(ctx context.Context) error { return c.run(ctx, os.Stdout) }

func (c *keyListCmd) run(ctx context.Context, out io.Writer) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.db.Close()
	list := []keyInfo{}
	for _, a := range s.Accounts {
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
	list = slices.DeleteFunc(list, func(k keyInfo) bool {
		return c.Account != "" && k.Account != c.Account || !c.All && k.State != account.StateActive
	})
	if c.JSON {
		return printKeyJSON(out, list)
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t,
		"ID\tACCOUNT\tNAME\tSCOPES\tNETWORKS\tBOUND TO\tSTATE\tEXPIRES\tCREATED\tBY\tREVOKED\tBY")
	for _, k := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", dash(k.ID),
			plain(k.Account), plain(k.Name), strings.Trim(fmt.Sprint(k.Scopes), "[]"),
			dash(strings.Join(k.Networks, " ")), dash(plain(boundTo(&k))),
			k.State, keyMoment(k.Expires), keyMoment(k.Created), dash(plain(k.CreatedBy)),
			keyMoment(k.Revoked), dash(plain(k.RevokedBy)))
	}
	return t.Flush()
}

// boundTo is what a key may write, in words; "" for everything.
func boundTo(k *keyInfo) string {
	if k.Node == "" {
		return strings.Join(k.Clusters, " ")
	}
	return strings.TrimSpace(strings.Join(k.Clusters, " ") + " node " + k.Node)
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func keyMoment(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

type keyRevokeCmd struct {
	keyFlags
	Key     string `arg:"" help:"The key's id, or its name."`
	Account string `help:"The account that owns the key, if several accounts have keys of this name."`
}

// Help implements kong.HelpProvider.
func (*keyRevokeCmd) Help() string {
	return "Every api and ingest process that can read the store refuses the key within ten " +
		"seconds. A process that cannot read it goes on with the keys that it knows. To revoke a " +
		"key of the configuration, take it out of the file."
}

// Run implements the command.
func (c *keyRevokeCmd) Run(ctx context.Context) error { return c.run(ctx, os.Stdout) }

func (c *keyRevokeCmd) run(ctx context.Context, out io.Writer) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.db.Close()
	k, err := s.find(c.Key, c.Account)
	if err != nil {
		return err
	}
	if k.Revoked.IsZero() {
		k.Revoked, k.RevokedBy = time.Now().UTC().Truncate(time.Millisecond), caller()
		if err := s.db.RevokeKey(ctx, k.ID, k.Revoked.UnixMilli(), k.RevokedBy); err != nil {
			return err
		}
		logger(s.Log).Info("API key revoked", "account", k.Account, "key", k.ID, "name", k.Name,
			"by", k.RevokedBy)
	}
	if c.JSON {
		return printKeyJSON(out, newKeyInfo(k))
	}
	_, err = fmt.Fprintf(out, "key %s (%s of account %s) is revoked since %s by %s\n", k.ID,
		plain(k.Name), plain(k.Account), k.Revoked.Format(time.RFC3339), plain(k.RevokedBy))
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
		for _, a := range s.Accounts {
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
				names = append(names, plain(k.Name))
			}
		}
		slices.Sort(names)
		return nil, usageError{fmt.Errorf("there is no key %q to revoke: %s", meant,
			nearest.Offer(meant, names))}
	}
	var which []string
	for _, k := range found {
		which = append(which, k.ID+" of account "+k.Account)
	}
	return nil, fmt.Errorf("%q may mean %s: name the id", meant, strings.Join(which, " or "))
}
