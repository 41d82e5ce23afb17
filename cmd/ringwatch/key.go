package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
)

type keyCmd struct {
	Create keyCreateCmd `cmd:"" help:"Make an API key and print it, once."`
	List   keyListCmd   `cmd:"" help:"List the API keys, and who made and revoked them."`
	Revoke keyRevokeCmd `cmd:"" help:"Revoke an API key."`
}

// keyFlags are those of the commands that write keys down.
type keyFlags struct {
	Config string        `help:"The configuration file, which names the accounts and Cassandra. Without it: ringwatch.yaml here, else the nearest .ringwatch/ringwatch.yaml, which make up leaves, else the directory ringwatch-data here." type:"path" env:"RINGWATCH_CONFIG" short:"c"`
	Data   string        `help:"The directory of ringwatch all, whether that runs or not. Default: the configuration's data.dir." placeholder:"DIR" type:"dir"`
	Wait   time.Duration `help:"How long to wait for Cassandra, or for a process that has the directory." default:"90s"`
	JSON   bool          `name:"json" help:"Print JSON."`
}

// keyStore is the configuration and the keys that both hold.
type keyStore struct {
	*config
	accounts *account.Registry
	db       keyBook
	keys     []account.StoredKey
}

// open reads the configuration and all stored keys.
func (f *keyFlags) open(ctx context.Context) (*keyStore, error) {
	file, err := f.file()
	if err != nil {
		return nil, err
	}
	flags := dataFlags{roleFlags: roleFlags{Config: file}, Data: f.Data}
	c, registry, err := flags.load()
	if err != nil {
		return nil, err
	}
	c.Cassandra.Log = logger(logConfig{Level: "error", Format: c.Log.Format})
	db, err := c.openKeys(ctx, f.Wait)
	if err != nil {
		return nil, err
	}
	s := &keyStore{config: c, accounts: registry, db: db}
	if s.keys, err = db.Keys(ctx); err != nil {
		db.Close()
		return nil, err
	}
	return s, nil
}

// file finds the configuration; "": there is none, and a directory without one is meant.
func (f *keyFlags) file() (string, error) {
	if f.Config != "" {
		return f.Config, nil
	}
	const name = "ringwatch.yaml"
	if _, err := os.Stat(name); err == nil {
		return name, nil
	}
	if f.Data != "" {
		return "", nil
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
			if _, err := os.Stat(defaultData().Dir); err == nil {
				return "", nil
			}
			return "",
				usageError{errors.New("there is no ringwatch.yaml here and no .ringwatch " +
					"directory above: name the configuration with --config, or the directory of " +
					"ringwatch all with --data")}
		}
		dir = up
	}
}

// keyInfo is a key in JSON.
type keyInfo struct {
	ID        string          `json:"id"`
	Key       string          `json:"key,omitempty"` // only when it is made
	Account   string          `json:"account"`
	Name      string          `json:"name"`
	Scopes    []account.Scope `json:"scopes"`
	Networks  []string        `json:"networks"`
	Clusters  []string        `json:"clusters,omitempty"`
	Node      string          `json:"node,omitempty"`
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
		ID: k.ID, Account: k.Account, Name: k.Name, Scopes: k.Scopes,
		Networks: append([]string{}, k.Networks...), Clusters: k.Clusters, Node: k.Node,
		State: k.State(time.Now()), Expires: at(k.Expires),
		Created: at(k.Created), CreatedBy: k.CreatedBy, Revoked: at(k.Revoked),
		RevokedBy: k.RevokedBy,
	}
}

func printKeyJSON(out io.Writer, v any) error {
	e := json.NewEncoder(plainWriter{out})
	e.SetIndent("", "  ")
	return e.Encode(v)
}
