package wire

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/wire/datadir"
)

// FirstKey makes a key to send and to ask with, if there is none that works. It returns its text,
// or "". The key can do no more than that: it is printed where logs may keep it, and goes into an
// agent's file.
func FirstKey(ctx context.Context, db datadir.KeyBook, owner string) (string, error) {
	keys, err := db.Keys(ctx)
	if err != nil {
		return "", err
	}
	for i := range keys {
		if keys[i].Account == owner && keys[i].State(time.Now()) == account.StateActive {
			return "", nil
		}
	}
	k := account.StoredKey{Account: owner, Name: "first", CreatedBy: Caller(),
		Scopes:  []account.Scope{account.Read, account.Write},
		Created: time.Now().UTC().Truncate(time.Millisecond)}
	read := func(context.Context) ([]account.StoredKey, error) { return keys, nil }
	return account.NewMaker(read, db.CreateKey, 0).Make(ctx, &k)
}

// PrintWelcome says where everything is to who has started ringwatch all without a configuration.
// key is the first key, if it was made just now.
func PrintWelcome(p *Process, out io.Writer, key string) {
	console := "http://" + dialable(p.Config.API.Listen)
	dir, err := filepath.Abs(p.Config.Data.Dir)
	if err != nil {
		dir = p.Config.Data.Dir
	}
	fmt.Fprintf(out, "Ringwatch keeps everything in %s.\n", dir)
	if key == "" {
		fmt.Fprintf(out, "Console:  %s/\nAPI keys: ringwatch key list shows them, ringwatch key "+
			"create makes one.\n", console)
		return
	}
	fmt.Fprintf(out, `Console:  %[3]s/#key=%[1]s
API key:  %[1]s
Keep the key: it is not shown again. It reads and sends; ringwatch key create me --scopes operator
makes one that may do everything.

The agent, on this machine: write these lines into agent.yaml,
  ingest:
    urls: ["http://%[2]s"]
    key: %[1]s
and add this one to Cassandra's jvm-server.options:
  -javaagent:/opt/ringwatch/ringwatch-agent.jar=/etc/ringwatch/agent.yaml
For agents on other machines set ingest.listen in a configuration: see docs/INSTALL.md.

To ask here: RINGWATCH_API=%[3]s RINGWATCH_KEY=%[1]s ringwatch nodes
`, key, dialable(p.Config.Ingest.Listen), console)
}

// dialable is a listener's address as this machine can call it.
func dialable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return listen
}

// Caller names who runs the command, for those who find its traces.
func Caller() string {
	name, host := "somebody", "somewhere"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}
