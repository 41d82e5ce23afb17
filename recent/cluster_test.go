package recent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/ringwatch/ringwatch/dev/engines"
	"github.com/ringwatch/ringwatch/dev/eventually"
	"github.com/ringwatch/ringwatch/frame/frametest"
)

// mustCluster starts a Redis Cluster of three masters with a replica each; master i's replica is
// server i+3.
func mustCluster(t *testing.T) []*engines.Redis {
	t.Helper()
	var servers []*engines.Redis
	var clients []rueidis.Client
	var ids []string
	do := func(i int, words ...string) string {
		t.Helper()
		text, err := clients[i].Do(t.Context(), clients[i].B().Arbitrary(words...).Build()).
			ToString()
		if err != nil {
			t.Fatal(words, err)
		}
		return text
	}
	for i := range 6 {
		servers = append(servers, engines.MustRedis(t, func(c *engines.RedisConfig) {
			c.Extra = []string{"--cluster-enabled", "yes", "--cluster-node-timeout", "2000",
				"--repl-diskless-sync-delay", "0"}
		}))
		client, err := rueidis.NewClient(
			rueidis.ClientOption{InitAddress: []string{servers[i].Addr()}, DisableCache: true,
				ForceSingleClient: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(client.Close)
		clients = append(clients, client)
		ids = append(ids, do(i, "CLUSTER", "MYID"))
	}
	for i := range 3 {
		do(i, "CLUSTER", "ADDSLOTSRANGE", fmt.Sprint(i*16384/3), fmt.Sprint((i+1)*16384/3-1))
	}
	for i := 1; i < 6; i++ {
		do(i, "CLUSTER", "MEET", servers[0].Host, fmt.Sprint(servers[0].Port))
	}
	everybody := func(what, line string, times int) {
		eventually.True(t, what, func() bool {
			for i := range clients {
				if strings.Count(do(i, "CLUSTER", "INFO")+do(i, "CLUSTER", "NODES"), line) !=
					times {
					return false
				}
			}
			return true
		})
	}
	everybody("all know each other", "connected", 6)
	for i := range 3 {
		do(i+3, "CLUSTER", "REPLICATE", ids[i])
	}
	everybody("the replicas are there", "slave", 3)
	everybody("the cluster is up", "cluster_state:ok", 1)
	for i := range 3 {
		eventually.True(t, "a replica has its master's data", func() bool {
			return strings.Contains(do(i+3, "INFO", "replication"), "master_link_status:up")
		})
	}
	return servers
}

// TestClusterFailsOver kills one master, and, when its replica has taken over, another: what is
// read is whole again, wherever it lies.
func TestClusterFailsOver(t *testing.T) {
	servers := mustCluster(t)
	f := newActive(t, servers[0].Addr(), hasty, servers[1].Addr(), servers[2].Addr(),
		servers[4].Addr())
	var nodes []*frametest.Node
	for i := range uint64(12) { // some on every shard
		nodes = append(nodes, frametest.New("read", i, 1))
	}
	f.pass(16*time.Minute, "acme", nodes...)
	whole := func() bool {
		for _, n := range nodes {
			if !f.whole("acme", n.ID) {
				return false
			}
		}
		return true
	}
	passes := 0
	settle := func() bool {
		f.reader.Touch("acme", "read")
		if passes++; passes <= 24 || f.waitsForAFrame("acme/read") {
			f.pass(5*time.Second, "acme", nodes...)
		}
		return whole()
	}
	eventually.True(t, "the cluster is whole in Redis", settle)
	for _, dead := range []int{1, 2} {
		if err := servers[dead].Kill(); err != nil {
			t.Fatal(err)
		}
		f.pass(20*time.Second, "acme", nodes...)
		passes = 0
		eventually.True(t, "it is whole again when a replica has taken over", settle)
	}
}
