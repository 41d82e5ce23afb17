package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// oneRing tells whether node one sees node two, and both have one schema.
func (f *faults) oneRing(ctx context.Context) error {
	v, err := f.versions(ctx)
	peers := 0
	if err == nil {
		err = f.cql.Query("SELECT count(*) FROM system.peers_v2").ScanContext(ctx, &peers)
	}
	if err == nil && (peers != 1 || len(v) != 1) {
		err = fmt.Errorf("%d peers, versions %v", peers, v)
	}
	return err
}

// versions returns the versions of the schema that node one knows of, each once.
func (f *faults) versions(ctx context.Context) (map[gocql.UUID]bool, error) {
	all := map[gocql.UUID]bool{}
	for _, query := range []string{"SELECT schema_version FROM system.local",
		"SELECT schema_version FROM system.peers_v2"} {
		iter := f.cql.Query(query).IterContext(ctx)
		for v := (gocql.UUID{}); iter.Scan(&v); {
			all[v] = true
		}
		if err := iter.Close(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// dropColumn takes a column that the role writes away while node two is frozen, so that the nodes
// disagree for a while. Both are up in the end: a role that lacks a replica says that first.
func (f *faults) dropColumn() error {
	if err := f.two.Pause(); err != nil {
		return err
	}
	err := f.cql.Query("ALTER TABLE ringwatch.fresh DROP received").Exec()
	return errors.Join(err, f.two.Resume())
}

func (f *faults) applySchema() error {
	cmd := exec.Command(f.self, "schema", "apply", "--config", f.config)
	cmd.Env = append(os.Environ(), asRingwatch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ringwatch schema apply: %w: %s", err, out)
	}
	return nil
}

// fillDisk leaves node two no room for another file, and writes until it has needed one.
func (f *faults) fillDisk() error {
	for _, statement := range []string{
		"CREATE KEYSPACE ballast WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 2}",
		"CREATE TABLE ballast.ballast (id int PRIMARY KEY, bytes blob)",
	} {
		if err := f.cql.Query(statement).Exec(); err != nil {
			return err
		}
	}
	if err := f.two.LimitFiles(0); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	return line.Until(ctx, "node two to need a file", func(ctx context.Context) error {
		var failed error
		// ALL, so that node two has each in its commit log before the next one comes. One that
		// fails may only be slow; a node that has stopped takes no clients.
		for id := 0; failed == nil; id++ {
			failed = f.cql.Query("INSERT INTO ballast.ballast (id, bytes) VALUES (?, ?)", id,
				make([]byte, 64<<10)).Consistency(gocql.All).ExecContext(ctx)
		}
		client, err := (&net.Dialer{}).DialContext(ctx, "tcp", f.two.Addr())
		if err != nil {
			return nil
		}
		client.Close()
		return fmt.Errorf("it goes on, and a write failed: %w", failed)
	})
}

// limitMutations lets node two refuse what node one, as coordinator, has let pass: from now on
// frames have a text that does not become smaller.
func (f *faults) limitMutations() error {
	text := make([]byte, 45_000)
	if _, err := rand.Read(text); err != nil {
		return err
	}
	for _, n := range f.nodes {
		n.Entities[0][0].Cells[3].Text = base64.StdEncoding.EncodeToString(text)
	}
	return f.setTwo("", mutationLimit)
}

func (f *faults) allowMutations() error { return f.setTwo(mutationLimit, "") }

const mutationLimit = "max_mutation_size: 32KiB\n"

// setTwo changes node two's settings and starts it again.
func (f *faults) setTwo(old, new string) error {
	file := filepath.Join(f.two.Dir, "cassandra.yaml")
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(strings.TrimSuffix(string(b), old)+new),
		0o644); err != nil {
		return err
	}
	if err := f.two.Kill(); err != nil {
		return err
	}
	return f.two.Restart(context.Background())
}

// freeDisk does what an operator does: makes room and starts the node again, which without a
// commit log would not end in order.
func (f *faults) freeDisk() error {
	if err := f.two.LimitFiles(engines.Unlimited); err != nil {
		return err
	}
	if err := f.two.Kill(); err != nil {
		return err
	}
	return f.two.Restart(context.Background())
}
