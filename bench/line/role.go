package line

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// Role is a process of one role, or of all, with a configuration and addresses of its own. It may
// be started again and again.
type Role struct {
	*engines.Process                   // nil: it was never started
	URLs             map[string]string // by section of the configuration that listens

	config engines.ProcessConfig
}

// NewRole writes a configuration, which is text and a free port for each section that listens, and
// starts nothing. name is that of its files below dir; args begin with the role.
func NewRole(binary, dir, name, text string, listens []string, args ...string) (*Role, error) {
	r := &Role{URLs: map[string]string{}}
	for _, section := range listens {
		port, err := engines.FreePort("127.0.0.1")
		if err != nil {
			return nil, err
		}
		r.URLs[section] = fmt.Sprintf("http://127.0.0.1:%d", port)
		text += fmt.Sprintf("%s: {listen: \"127.0.0.1:%d\"}\n", section, port)
	}
	file := filepath.Join(dir, name+".yaml")
	r.config = engines.ProcessConfig{Name: name, Path: binary,
		Args: append(args, "--config", file), Log: filepath.Join(dir, name+".log")}
	return r, os.WriteFile(file, []byte(text), 0o600)
}

// Begin starts the process and waits for nothing.
func (r *Role) Begin() (err error) {
	r.Process, err = engines.StartProcess(r.config)
	return err
}

// Start starts the process and waits until it is ready.
func (r *Role) Start(ctx context.Context) error {
	if err := r.Begin(); err != nil {
		return err
	}
	var urls []string
	for _, url := range r.URLs {
		urls = append(urls, url)
	}
	return Ready(ctx, r.Process, urls...)
}

// End kills the process, if there is one. A role that is nil has none.
func (r *Role) End() {
	if r != nil && r.Process != nil {
		_ = r.Process.Kill()
	}
}

// Account is an account for all clusters in a list of accounts, with a key that has some scopes, as
// "read, write".
func Account(name, key, scopes string) string {
	return fmt.Sprintf("  - {name: %s, clusters: [\"*\"], keys: [{name: all, sha256: %s, "+
		"scopes: [%s]}]}\n", name, account.Hash(key), scopes)
}

// Unlimited lets who measures ask as fast as it can.
const Unlimited = "limits: {requests_per_second: 1000000, burst: 1000000, " +
	"node_requests_per_second: 1000000, node_burst: 1000000}\n"
