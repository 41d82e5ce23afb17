package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/prometheus/common/model"

	"github.com/ringwatch/ringwatch/account"
	"github.com/ringwatch/ringwatch/store"
)

type keyCmd struct {
	Create keyCreateCmd `cmd:"" help:"Make an API key and print it, once."`
	List   keyListCmd   `cmd:"" help:"List the API keys and who made and revoked them."`
	Revoke keyRevokeCmd `cmd:"" help:"Revoke an API key."`
}

// keyFlags are those of the commands that write keys into Cassandra.
type keyFlags struct {
	Config string        `help:"The configuration file, which names the accounts and Cassandra. Without it: ringwatch.yaml here, else the nearest .ringwatch/ringwatch.yaml, which make up leaves." type:"path" env:"RINGWATCH_CONFIG" short:"c"`
	Wait   time.Duration `help:"How long to wait for Cassandra." default:"10s"`
	JSON   bool          `name:"json" help:"Print JSON."`
}

// keyStore is the configuration and the keys that both hold.
type keyStore struct {
	*config
	accounts *account.Registry
	db       *store.Store
	keys     []account.StoredKey
}

// open reads the configuration and all stored keys.
func (f *keyFlags) open(ctx context.Context) (*keyStore, error) {
	file, err := f.file()
	if err != nil {
		return nil, err
	}
	flags := roleFlags{Config: file, Wait: f.Wait}
	c, registry, err := flags.load()
	if err != nil {
		return nil, err
	}
	c.Cassandra.Log = logger(logConfig{Level: "error", Format: c.Log.Format})
	if err := reach(ctx, c.Cassandra.Log, f.Wait, c.cassandra()); err != nil {
		return nil, err
	}
	db, err := store.New(c.Cassandra, nil)
	if err != nil {
		return nil, err
	}
	connect, cancel := context.WithTimeout(ctx, f.Wait)
	defer cancel()
	if err := db.Connect(connect); err != nil {
		return nil, err
	}
	s := &keyStore{config: c, accounts: registry, db: db}
	if s.keys, err = storedKeys(ctx, db); err != nil {
		db.Close()
		return nil, err
	}
	return s, nil
}

// file finds the configuration.
func (f *keyFlags) file() (string, error) {
	if f.Config != "" {
		return f.Config, nil
	}
	const name = "ringwatch.yaml"
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		path := filepath.Join(dir, ".ringwatch", name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", usageError{errors.New("there is no ringwatch.yaml here and no .ringwatch directory above: name the configuration with --config")}
		}
		dir = up
	}
}

// storedKeys is store.Store.Keys in the words of account.
func storedKeys(ctx context.Context, db *store.Store) ([]account.StoredKey, error) {
	rows, err := db.Keys(ctx)
	keys := make([]account.StoredKey, len(rows))
	for i, r := range rows {
		keys[i] = account.StoredKey{
			ID: r.ID, Account: r.Account, Name: r.Name, SHA256: r.SHA256, Networks: r.Networks,
			Expires: keyTime(r.Expires), Created: keyTime(r.Created), CreatedBy: r.CreatedBy, Revoked: keyTime(r.Revoked), RevokedBy: r.RevokedBy,
		}
		for _, s := range r.Scopes {
			keys[i].Scopes = append(keys[i].Scopes, account.Scope(s))
		}
	}
	return keys, err
}

func keyTime(millis int64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	return time.UnixMilli(millis).UTC()
}

// keyInfo is a key in JSON.
type keyInfo struct {
	ID        string          `json:"id"`
	Key       string          `json:"key,omitempty"` // only when it is made
	Account   string          `json:"account"`
	Name      string          `json:"name"`
	Scopes    []account.Scope `json:"scopes"`
	Networks  []string        `json:"networks"`
	State     string          `json:"state"`
	Expires   *time.Time      `json:"expires,omitempty"`
	Created   *time.Time      `json:"created,omitempty"`
	CreatedBy string          `json:"created_by,omitempty"`
	Revoked   *time.Time      `json:"revoked,omitempty"`
	RevokedBy string          `json:"revoked_by,omitempty"`
}

func newKeyInfo(k *account.StoredKey) keyInfo {
	at := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	return keyInfo{
		ID: k.ID, Account: k.Account, Name: k.Name, Scopes: k.Scopes, Networks: append([]string{}, k.Networks...), State: k.State(time.Now()), Expires: at(k.Expires),
		Created: at(k.Created), CreatedBy: k.CreatedBy, Revoked: at(k.Revoked), RevokedBy: k.RevokedBy,
	}
}

func printKeyJSON(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

type keyCreateCmd struct {
	keyFlags
	Name      string          `arg:"" help:"The key's name, for lists and logs."`
	Account   string          `help:"Whose key it is. Not needed where there is one account."`
	Scopes    []account.Scope `help:"What it may do: read (the API), write (frames), admin." default:"read" enum:"read,write,admin"`
	Expires   string          `help:"Until when it is good: 90d, 2027-06-30 or 2027-06-30T12:00:00Z. Without it: until it is revoked."`
	Networks  []string        `name:"network" help:"Where it may be used from, such as 10.1.0.0/16; may be repeated. Without it: anywhere."`
	ForConfig bool            `name:"for-config" help:"Write nothing into Cassandra, print what goes into the configuration instead."`
}

// Help implements kong.HelpProvider.
func (*keyCreateCmd) Help() string {
	return "The key stands alone on standard output; only its hash is kept, so it is not shown again. It works within a second.\n\nExample: ringwatch key create grafana --expires 90d"
}

// Run implements the command.
func (c *keyCreateCmd) Run(ctx context.Context) error { return c.run(ctx, os.Stdout, os.Stderr) }

func (c *keyCreateCmd) run(ctx context.Context, out, notes io.Writer) error {
	k := account.StoredKey{Account: c.Account, Name: c.Name, Scopes: c.Scopes, Created: time.Now().UTC().Truncate(time.Millisecond), CreatedBy: caller()}
	var errs [3]error
	errs[0] = account.CheckName(c.Name)
	k.Expires, errs[1] = parseExpiry(c.Expires, k.Created)
	networks, err := account.ParseNetworks(c.Networks)
	errs[2] = err
	if err := errors.Join(errs[:]...); err != nil {
		return usageError{err}
	}
	for _, n := range networks {
		k.Networks = append(k.Networks, n.String())
	}
	text := account.NewKey()
	k.ID, k.SHA256 = account.KeyID(text), account.Hash(text)
	if c.ForConfig {
		fmt.Fprintln(out, text)
		fmt.Fprintf(notes, "Keep the line above, it is not shown again. Into the configuration, below accounts → keys:\n%s\n", configLine(&k))
		return nil
	}
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer s.db.Close()
	if k.Account, err = s.account(c.Account); err != nil {
		return err
	}
	for i := range s.keys {
		if other := &s.keys[i]; other.Account == k.Account && other.Name == k.Name && other.State(k.Created) == account.StateActive {
			return fmt.Errorf("account %s has an active key named %s (%s): choose another name, or revoke that key first", k.Account, k.Name, other.ID)
		}
	}
	row := store.Key{ID: k.ID, Account: k.Account, Name: k.Name, SHA256: k.SHA256, Networks: k.Networks, Created: k.Created.UnixMilli(), CreatedBy: k.CreatedBy}
	for _, scope := range k.Scopes {
		row.Scopes = append(row.Scopes, string(scope))
	}
	if !k.Expires.IsZero() {
		row.Expires = k.Expires.UnixMilli()
	}
	if err := s.db.CreateKey(ctx, row); err != nil {
		return err
	}
	logger(s.Log).Info("API key created", "account", k.Account, "key", k.ID, "name", k.Name, "scopes", k.Scopes, "networks", k.Networks, "expires", k.Expires, "by", k.CreatedBy)
	if c.JSON {
		info := newKeyInfo(&k)
		info.Key = text
		return printKeyJSON(out, info)
	}
	fmt.Fprintln(out, text)
	fmt.Fprintln(notes, "Keep the line above, it is not shown again.")
	return nil
}

// account returns the account that is meant.
func (s *keyStore) account(name string) (string, error) {
	names := s.accounts.Accounts()
	switch {
	case len(names) == 0:
		return "", usageError{errors.New("the configuration has no account: add one below accounts")}
	case name == "" && len(names) > 1:
		return "", usageError{fmt.Errorf("name the account with --account: there are %s", strings.Join(names, ", "))}
	case name == "":
		return names[0], nil
	case !slices.Contains(names, name):
		return "", usageError{fmt.Errorf("there is no account %q in the configuration: there are %s", name, strings.Join(names, ", "))}
	}
	return name, nil
}

// configLine is the key as the configuration has it.
func configLine(k *account.StoredKey) string {
	var scopes []string
	for _, s := range k.Scopes {
		scopes = append(scopes, string(s))
	}
	line := fmt.Sprintf("  - {name: %s, sha256: %s, scopes: [%s]", k.Name, k.SHA256, strings.Join(scopes, ", "))
	if len(k.Networks) > 0 {
		line += `, networks: ["` + strings.Join(k.Networks, `", "`) + `"]`
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
		return at, fmt.Errorf("--expires: %q is no time: write 90d, 2027-06-30 or 2027-06-30T12:00:00Z", text)
	case !at.After(now):
		return at, fmt.Errorf("--expires: %s has passed: name a time that lies ahead", text)
	}
	return at.UTC().Truncate(time.Millisecond), nil
}

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
			configured := account.StoredKey{Account: a.Name, Name: k.Name, Scopes: k.Scopes, Networks: k.Networks, Expires: k.Expires, CreatedBy: "the configuration"}
			list = append(list, newKeyInfo(&configured))
		}
	}
	slices.SortStableFunc(s.keys, func(a, b account.StoredKey) int { return a.Created.Compare(b.Created) })
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
	fmt.Fprintln(t, "ID\tACCOUNT\tNAME\tSCOPES\tNETWORKS\tSTATE\tEXPIRES\tCREATED\tBY\tREVOKED\tBY")
	for _, k := range list {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", dash(k.ID), plain(k.Account), plain(k.Name), strings.Trim(fmt.Sprint(k.Scopes), "[]"), dash(strings.Join(k.Networks, " ")),
			k.State, keyMoment(k.Expires), keyMoment(k.Created), dash(plain(k.CreatedBy)), keyMoment(k.Revoked), dash(plain(k.RevokedBy)))
	}
	return t.Flush()
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
	Account string `help:"Whose key it is, where accounts have keys of one name."`
}

// Help implements kong.HelpProvider.
func (*keyRevokeCmd) Help() string {
	return "Every api and ingest process refuses the key within ten seconds, if it can read Cassandra; one that cannot goes on with what it knows. Keys of the configuration are revoked by taking them out of it."
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
		logger(s.Log).Info("API key revoked", "account", k.Account, "key", k.ID, "name", k.Name, "by", k.RevokedBy)
	}
	if c.JSON {
		return printKeyJSON(out, newKeyInfo(k))
	}
	_, err = fmt.Fprintf(out, "key %s (%s of account %s) is revoked since %s by %s\n", k.ID, plain(k.Name), plain(k.Account), k.Revoked.Format(time.RFC3339), plain(k.RevokedBy))
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
					return nil, fmt.Errorf("key %s is in the configuration: take it out of account %s there and restart the roles", meant, a.Name)
				}
			}
		}
		return nil, fmt.Errorf("there is no key %q to revoke: ringwatch key list shows them", meant)
	}
	var which []string
	for _, k := range found {
		which = append(which, k.ID+" of account "+k.Account)
	}
	return nil, fmt.Errorf("%q may be %s: name the id", meant, strings.Join(which, " or "))
}
