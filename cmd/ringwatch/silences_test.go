package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// TestSilences: silence and maintenance as people type them, before a ringwatch all in a directory.
func TestSilences(t *testing.T) {
	d := newDirectory(t)
	d.begin(t)
	f := &promFleet{cluster: "alone-prod", load: map[int64][]float64{},
		key: d.key(t, "all", account.Read, account.Write, account.Rules)}
	reader := d.key(t, "reader", account.Read)
	for n := range 3 {
		f.nodes = append(f.nodes, frametest.New(f.cluster, uint64(n+1), 2))
	}
	f.send(t, d.ingest, time.Now().UnixMilli())
	api, err := (&client.Flags{API: d.api, Key: f.key}).Client()
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "three nodes", func(ctx context.Context) error {
		nodes, err := fleet.AskNodes(ctx, api, nil)
		if err == nil && len(nodes) != 3 {
			err = fmt.Errorf("%d nodes", len(nodes))
		}
		return err
	})
	run := func(key string, code int, line string, says ...string) (out string) {
		t.Helper()
		got, out, errs := say(t, append(strings.Fields(line), "--api", d.api, "--key", key)...)
		if got != code {
			t.Errorf("%s: exit %d, want %d\n%s%s", line, got, code, out, errs)
		}
		expect(t, out+errs, says...)
		return out
	}
	add := "silence add --for 1h --comment why --cluster alone-prod "
	id := strings.TrimSpace(run(f.key, 0, add+"--node 10.0.0.2",
		`^quiet until 20.*: cluster=alone-prod node=\S+$`, `^No alert fires now that it keeps quiet`))
	if len(id) != 36 {
		t.Fatalf("the id is %q", id)
	}
	run(reader, 0, "silence list", `^`+id[:8]+` .* 0 +cluster=alone-prod node=\S+ +why$`)
	run(f.key, exit.Misused, add+"--node 10.0.0.77", `^ringwatch: this key sees no node "10.0.0.77": `+
		`did you mean 10\.0\.0\.\d`)
	run(f.key, exit.Misused, "silence list --cluster alone-prd",
		`sees no cluster "alone-prd": use alone-prod`)
	run(f.key, exit.Misused, "silence add cluster=~( --for 1h --comment why", `is no matcher \(`)
	noScope := `^ringwatch: this key does not have the scope rules: use one that has it, such as`
	run(reader, exit.Failed, "silence end "+id, noScope)

	begin := "maintenance begin --cluster alone-prod --node 10.0.0.3 --for 30m "
	run(reader, exit.Failed, begin, noScope)
	run(f.key, exit.Failed, begin, `^No, it is not safe to restart .*10\.0\.0\.3`,
		`^ringwatch: it is not safe$`)
	run(f.key, 0, begin+"--anyway", `it begins anyway$`, `is in maintenance until 20`)
	run(f.key, exit.Failed, begin, `is in maintenance until 20.* already \(restart, by `)
	run(reader, 0, "maintenance list", `10\.0\.0\.3 +alone-prod +\S+ +restart `)
	run(f.key, exit.Failed, "maintenance end --cluster alone-prod --node 10.0.0.3 --wait 1ms",
		`^ringwatch: .*10\.0\.0\.3.* of cluster alone-prod is not well: .*; the silence stays$`)
	run(f.key, 0, "silence end "+id[:8], `^ended `+id+`: cluster=alone-prod`)
	run(f.key, 0, "silence list", `maintenance: restart$`)
}
