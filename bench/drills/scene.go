package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
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

// scene is all that runs. A node's number is that of its place in the lists, from 1.
type scene struct {
	nodes   []*engines.Cassandra
	configs []engines.CassandraConfig
	ids     map[int]string // of nodes, by number
	ways    []*way         // of agents to ingest
	doors   []*way         // of other nodes to a node
	disk    string         // where the last node has a disk of its own; empty: it has none
	all     *line.Role
	key     string
	ear     *ear
	load    *load
	dir     string

	options *options

	mu     sync.Mutex
	pids   map[int]int                   // of nodes, by number
	undone map[string]context.CancelFunc // what goes on beside the steps, by what it does to whom
}

// begin starts everything and waits until all is well. What it returns is to be ended, also where
// there is an error.
func begin(ctx context.Context, o *options, dir string) (*scene, error) {
	s := &scene{key: account.NewKey(), ear: newEar(), dir: dir, options: o, ids: map[int]string{},
		pids: map[int]int{}, undone: map[string]context.CancelFunc{}}
	if err := s.ringwatch(ctx, o); err != nil {
		return s, err
	}
	if err := s.cassandras(ctx); err != nil {
		return s, err
	}
	if err := s.learnIDs(ctx); err != nil {
		return s, err
	}
	var err error
	if s.load, err = startLoad(ctx, s.nodes, o.rate); err != nil {
		return s, err
	}
	return s, s.well(ctx, 15*time.Minute)
}

// learnIDs waits until all nodes are heard of, and notes their ids.
func (s *scene) learnIDs(ctx context.Context) error {
	return s.await(ctx, engines.StartTimeout, "all nodes to be heard of",
		func(ctx context.Context) error {
			list, err := s.states(ctx)
			if err != nil {
				return err
			}
			for _, n := range list {
				number, err := numberOf(n.Address)
				if err != nil {
					return err
				}
				s.ids[number] = n.ID
			}
			if len(s.ids) < len(s.nodes) {
				return fmt.Errorf("%d of %d", len(s.ids), len(s.nodes))
			}
			return nil
		})
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
	if o.interval > 0 {
		text = regexp.MustCompile("group_interval: .*").ReplaceAllString(text,
			"group_interval: "+o.interval.String())
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	binary, err := filepath.Abs(o.binary)
	if err != nil {
		return err
	}
	s.all, err = line.NewRole(binary, s.dir, "ringwatch", fmt.Sprintf(
		"accounts:\n%snotify: {config_file: %q}\n",
		line.Account("drills", s.key, "read, write, rules"), config),
		[]string{"ingest", "api"}, "all", "--data", filepath.Join(s.dir, "data"))
	if err != nil {
		return err
	}
	return s.all.Start(ctx)
}

// cassandras starts the nodes one after the other.
func (s *scene) cassandras(ctx context.Context) error {
	for range nodes {
		// The first ones make the ring, and have nothing to fetch.
		if err := s.add(ctx, map[string]any{"auto_bootstrap": false}); err != nil {
			return err
		}
		bench.Progress("node %d of %d answers", len(s.nodes), nodes)
	}
	return nil
}

// add starts another node: it listens at 127.0.0.N, and the others reach it at 127.0.1.N, by a door
// that can be shut.
func (s *scene) add(ctx context.Context, settings map[string]any) error {
	o := s.options
	number := len(s.nodes) + 1
	host, outside := fmt.Sprintf("127.0.0.%d", number), fmt.Sprintf("127.0.1.%d", number)
	port := 0
	if number > 1 {
		port = s.nodes[0].StoragePort
	}
	door, err := newWay(net.JoinHostPort(outside, strconv.Itoa(port)), host, s.dialer)
	if err != nil {
		return err
	}
	s.doors = append(s.doors, door)
	ingest, err := url.Parse(s.all.URLs["ingest"])
	if err != nil {
		return err
	}
	way, err := newWay("127.0.0.1:0", ingest.Host, nil)
	if err != nil {
		return err
	}
	s.ways = append(s.ways, way)
	jar, err := filepath.Abs(o.jar)
	if err != nil {
		return err
	}
	agent := filepath.Join(s.dir, fmt.Sprintf("agent%d.yaml", number))
	text := fmt.Sprintf("ingest:\n  urls: [\"http://%s\"]\n  key: %s\n", way.address(), s.key)
	if err := os.WriteFile(agent, []byte(text), 0o600); err != nil {
		return err
	}
	c := engines.CassandraConfig{Dir: filepath.Join(s.dir, host), ClusterName: clusterName,
		ListenAddress: host, StoragePort: door.port(), Rack: racks[(number-1)%len(racks)],
		Heap: o.heap, Progress: bench.Say, Extra: map[string]any{"broadcast_address": outside,
			"broadcast_rpc_address": host},
		JVMArgs: []string{"-Dcassandra.ring_delay_ms=10000",
			"-Dcassandra.consistent.rangemovement=false", "-javaagent:" + jar + "=" + agent}}
	c.Started = func(process engines.Identity) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pids[number] = process.Pid
		return nil
	}
	maps.Copy(c.Extra, settings)
	c.Seeds = []string{s.doors[0].address()}
	if number > 1 {
		c.NativePort = s.nodes[0].NativePort
	}
	if number == nodes {
		if ownDisk(c.Dir) == nil {
			s.disk = c.Dir
		}
	}
	n, err := engines.StartCassandra(ctx, c)
	if err != nil {
		return err
	}
	c.NativePort, c.JMXPort = n.NativePort, n.JMXPort
	s.nodes, s.configs = append(s.nodes, n), append(s.configs, c)
	return nil
}

// end stops everything; it is safe on a scene that is half begun.
func (s *scene) end() {
	if s.load != nil {
		s.load.end()
	}
	for _, stop := range s.undone {
		stop()
	}
	for _, n := range s.nodes {
		_ = n.Resume()
		_ = n.Kill()
	}
	s.all.End()
	for _, w := range append(s.ways, s.doors...) {
		_ = w.listener.Close()
	}
	if s.disk != "" {
		_ = freeDisk(s.disk)
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

// ofMachine reports whether an alert is about processors or a disk that all nodes and all else here
// share.
func ofMachine(labels map[string]string) bool {
	return labels["alertname"] == "NodeCPUBusy" || labels["mount"] == "/"
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
		if !ofMachine(a.Labels) {
			names = append(names, a.Labels["alertname"])
		}
	}
	return names, nil
}
