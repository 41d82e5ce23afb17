package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/dev/engines"
)

const (
	clusterName = "drills"
	nodes       = 3
)

// racks are where the nodes stand.
var racks = [nodes]string{"rack1", "rack2", "rack2"}

// scene is all that runs.
type scene struct {
	nodes []*engines.Cassandra
	ids   map[int]string // of nodes, by number, from 1
	ways  []*way         // of agents
	all   *line.Role
	key   string
	ear   *ear
	load  *load
	dir   string

	mu    sync.Mutex
	slows map[int]context.CancelFunc // nodes that are being slowed
}

// begin starts everything and waits until all is well. What it returns is to be ended, also where
// there is an error.
func begin(ctx context.Context, o *options, dir string) (*scene, error) {
	s := &scene{key: account.NewKey(), ear: newEar(), dir: dir, ids: map[int]string{},
		slows: map[int]context.CancelFunc{}}
	if err := s.ringwatch(ctx, o); err != nil {
		return s, err
	}
	if err := s.cassandras(ctx, o); err != nil {
		return s, err
	}
	err := s.await(ctx, engines.StartTimeout, "three nodes to be heard of", s.learnIDs)
	if err != nil {
		return s, err
	}
	if s.load, err = startLoad(ctx, s.nodes, o.rate); err != nil {
		return s, err
	}
	return s, s.well(ctx, 15*time.Minute)
}

// learnIDs asks for the ids of all nodes.
func (s *scene) learnIDs(ctx context.Context) error {
	list, err := s.states(ctx)
	if err != nil || len(list) != nodes {
		return fmt.Errorf("%d nodes, %v", len(list), err)
	}
	for _, n := range list {
		number, err := numberOf(n.Address)
		if err != nil {
			return err
		}
		s.ids[number] = n.ID
	}
	return nil
}

// ringwatch starts a ringwatch all whose shipped grouping tells the ear.
func (s *scene) ringwatch(ctx context.Context, o *options) error {
	shipped, err := os.ReadFile("notify/default.yml")
	if err != nil {
		return err
	}
	const silent = "  - name: console\n"
	if strings.Count(string(shipped), silent) != 1 {
		return errors.New("notify/default.yml has another receiver than console")
	}
	config := filepath.Join(s.dir, "alertmanager.yml")
	text := strings.Replace(string(shipped), silent, silent+fmt.Sprintf(
		"    webhook_configs: [{url: %q, send_resolved: true}]\n", s.ear.server.URL), 1)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	binary, err := filepath.Abs(o.binary)
	if err != nil {
		return err
	}
	s.all, err = line.NewRole(binary, s.dir, "ringwatch", fmt.Sprintf(
		"accounts:\n%snotify: {config_file: %q}\n",
		line.Account("drills", s.key, "read, write"), config),
		[]string{"ingest", "api"}, "all", "--data", filepath.Join(s.dir, "data"))
	if err != nil {
		return err
	}
	return s.all.Start(ctx)
}

// cassandras starts the nodes one after the other.
func (s *scene) cassandras(ctx context.Context, o *options) error {
	jar, err := filepath.Abs(o.jar)
	if err != nil {
		return err
	}
	ingest, err := url.Parse(s.all.URLs["ingest"])
	if err != nil {
		return err
	}
	for i := range nodes {
		w, err := newWay(ingest.Host)
		if err != nil {
			return err
		}
		s.ways = append(s.ways, w)
		host := fmt.Sprintf("127.0.0.%d", i+1)
		agent := filepath.Join(s.dir, fmt.Sprintf("agent%d.yaml", i+1))
		text := fmt.Sprintf("ingest:\n  urls: [%q]\n  key: %s\n", w.url(), s.key)
		if err := os.WriteFile(agent, []byte(text), 0o600); err != nil {
			return err
		}
		c := engines.CassandraConfig{Dir: filepath.Join(s.dir, host), ClusterName: clusterName,
			ListenAddress: host, Rack: racks[i], Heap: o.heap, Progress: bench.Say,
			Extra: map[string]any{"auto_bootstrap": false,
				"endpoint_snitch": "GossipingPropertyFileSnitch"},
			JVMArgs: []string{"-Dcassandra.ring_delay_ms=10000",
				"-Dcassandra.consistent.rangemovement=false", "-javaagent:" + jar + "=" + agent}}
		if i > 0 {
			first := s.nodes[0]
			c.StoragePort, c.NativePort = first.StoragePort, first.NativePort
			c.Seeds = []string{net.JoinHostPort(first.Host, strconv.Itoa(first.StoragePort))}
		}
		n, err := engines.StartCassandra(ctx, c)
		if err != nil {
			return err
		}
		s.nodes = append(s.nodes, n)
		bench.Progress("node %d of %d answers", i+1, nodes)
	}
	return nil
}

// end stops everything; it is safe on a scene that is half begun.
func (s *scene) end() {
	if s.load != nil {
		s.load.end()
	}
	for _, stop := range s.slows {
		stop()
	}
	for _, n := range s.nodes {
		_ = n.Resume()
		_ = n.Kill()
	}
	s.all.End()
	for _, w := range s.ways {
		_ = w.listener.Close()
	}
	s.ear.server.Close()
}

// nodeState is a node in /v1/nodes.
type nodeState struct {
	ID, Address, State string
	Facts              map[string]string
}

// text is the state, and what a node that does not serve does not do.
func (n *nodeState) text() string {
	if why := n.Facts["not_serving"]; n.State == "not_serving" {
		return n.State + " " + why
	}
	return n.State
}

func (s *scene) states(ctx context.Context) (list []nodeState, err error) {
	return list, s.ask(ctx, "/v1/nodes?cluster="+clusterName, &list)
}

// numberOf is the number of the node that has an address.
func numberOf(address string) (int, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(host[strings.LastIndexByte(host, '.')+1:])
}

// number is that of the node of an id; 0: it is none of them.
func (s *scene) number(id string) int {
	for number, known := range s.ids {
		if known == id {
			return number
		}
	}
	return 0
}

// ask asks the API for a path and decodes the answer.
func (s *scene) ask(ctx context.Context, path string, into any) error {
	b, err := line.Get(ctx, line.Plain, s.all.URLs["api"]+path, s.key)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}

// await is line.Until for so long.
func (s *scene) await(
	ctx context.Context, most time.Duration, what string, try func(context.Context) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return line.Until(ctx, what, try)
}

// well waits until all nodes are up, nothing fires or is about to, and people know it.
func (s *scene) well(ctx context.Context, most time.Duration) error {
	return s.await(ctx, most, "all to be well", func(ctx context.Context) error {
		list, err := s.states(ctx)
		if err != nil {
			return err
		}
		for _, n := range list {
			if n.State != "up" {
				return fmt.Errorf("%s is %s", n.Address, n.text())
			}
		}
		names, err := s.firing(ctx)
		if err != nil || len(names) > 0 {
			return errors.Join(err, fmt.Errorf("it fires: %s", strings.Join(names, ", ")))
		}
		if list := s.ear.waiting(); len(list) > 0 {
			return fmt.Errorf("nobody was told of the end of %s", strings.Join(list, "; "))
		}
		return nil
	})
}

// firing are the names of alerts that fire or are pending.
func (s *scene) firing(ctx context.Context) (names []string, err error) {
	var answer struct {
		Data struct {
			Alerts []struct{ Labels map[string]string }
		}
	}
	if err := s.ask(ctx, "/api/v1/alerts", &answer); err != nil {
		return nil, err
	}
	for _, a := range answer.Data.Alerts {
		names = append(names, a.Labels["alertname"])
	}
	return names, nil
}
