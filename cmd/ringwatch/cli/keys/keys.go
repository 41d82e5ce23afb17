// Package keys has the commands that make, list and revoke API keys.
package keys

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/datadir"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/logs"
)

// KeyCmd is ringwatch key.
type KeyCmd struct {
	Create KeyCreateCmd `cmd:"" help:"Make an API key and print it, once."`
	List   KeyListCmd   `cmd:"" help:"List the API keys, and who made and revoked them."`
	Revoke KeyRevokeCmd `cmd:"" help:"Revoke an API key."`
}

// KeyFlags are those of the commands that write keys down.
type KeyFlags struct {
	Config string        `help:"The configuration file, which names the accounts and Cassandra. Without it: ringwatch.yaml here, else the nearest .ringwatch/ringwatch.yaml, which make up leaves, else the directory ringwatch-data here." type:"path" env:"RINGWATCH_CONFIG" short:"c"`
	Data   string        `help:"The directory of ringwatch all, whether that runs or not. Default: the configuration's data.dir." placeholder:"DIR" type:"dir"`
	Wait   time.Duration `help:"How long to wait for Cassandra, or for a process that has the directory." default:"90s"`
	JSON   bool          `name:"json" help:"Print JSON."`
}

// keyStore is the configuration and the keys that both hold.
type keyStore struct {
	config   *settings.Config
	accounts *account.Registry
	DB       datadir.KeyBook
	keys     []account.StoredKey
}

// Open reads the configuration and all stored keys.
func (f *KeyFlags) Open(ctx context.Context) (*keyStore, error) {
	file, err := f.file()
	if err != nil {
		return nil, err
	}
	flags := settings.DataFlags{RoleFlags: settings.RoleFlags{Config: file}, Data: f.Data}
	c, registry, err := flags.Load()
	if err != nil {
		return nil, err
	}
	c.Cassandra.Log = logs.New(settings.LogConfig{Level: "error", Format: c.Log.Format})
	db, err := datadir.OpenKeys(ctx, c, f.Wait)
	if err != nil {
		return nil, err
	}
	s := &keyStore{config: c, accounts: registry, DB: db}
	if s.keys, err = db.Keys(ctx); err != nil {
		db.Close()
		return nil, err
	}
	return s, nil
}

// File finds the configuration; "": there is none, and a directory without one is meant.
func (f *KeyFlags) file() (string, error) {
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
			if _, err := os.Stat(settings.DefaultData().Dir); err == nil {
				return "", nil
			}
			return "",
				exit.Usage(errors.New("there is no ringwatch.yaml here and no .ringwatch " +
					"directory above: name the configuration with --config, or the directory of " +
					"ringwatch all with --data"))
		}
		dir = up
	}
}

// KeyInfo is a key in JSON.
type KeyInfo struct {
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

func newKeyInfo(k *account.StoredKey) KeyInfo {
	at := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	return KeyInfo{
		ID: k.ID, Account: k.Account, Name: k.Name, Scopes: k.Scopes,
		Networks: append([]string{}, k.Networks...), Clusters: k.Clusters, Node: k.Node,
		State: k.State(time.Now()), Expires: at(k.Expires),
		Created: at(k.Created), CreatedBy: k.CreatedBy, Revoked: at(k.Revoked),
		RevokedBy: k.RevokedBy,
	}
}
