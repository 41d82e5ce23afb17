package chaos

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/bench"
	"github.com/ringwatch/ringwatch/bench/line"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// accounts are whose the nodes are.
var accounts = []string{"red", "blue"}

// grace and spread let windows close, and hours be made, soon after the last frame.
const (
	grace  = 3 * time.Second
	spread = 5 * time.Second
)

// system is all that runs.
type system struct {
	Config
	*tally
	line.Engines
	keys      map[string]string // by account
	ingests   []string          // URLs
	apis      []string
	stores    []string
	roles     []*role
	upgrading atomic.Bool // an upgrade has begun: from then on each question has an answer
}

// role is one process of ours.
type role struct {
	name    string
	url     string
	config  engines.ProcessConfig
	of      *system
	mu      sync.Mutex
	process *engines.Process
}

// start starts the role unless it runs, and waits for nothing. A role that ends before it was ready
// could not reach an engine: it is started again, as its supervisor would. One that ends by itself
// after that is a problem.
func (r *role) start() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process != nil {
		return nil
	}
	p, err := engines.StartProcess(r.config)
	if err != nil {
		return err
	}
	r.process = p
	go r.watch(p)
	return nil
}

// watch waits for the end of a process.
func (r *role) watch(p *engines.Process) {
	ctx, cancel := context.WithCancel(context.Background())
	ready := make(chan error, 1)
	go func() { ready <- r.of.ready(ctx, r) }()
	<-p.Done()
	cancel()
	never := <-ready
	r.mu.Lock()
	itself := r.process == p // nobody has killed it
	if itself {
		r.process = nil
	}
	r.mu.Unlock()
	if !itself {
		return
	}
	words, _ := engines.LastWords(p.LogFile())
	if never == nil {
		r.of.problem(&r.of.Ended, "%s has ended by itself: %q", r.name, words)
	} else {
		r.of.add(&r.of.GaveUp, 1)
		r.of.Progress(fmt.Sprintf("%s starts again, for it said %q", r.name, words))
	}
	if err := r.start(); err != nil {
		r.of.problem(&r.of.Ended, "%s does not start again: %v", r.name, err)
	}
}

// pause lets the process stand still, the next one if it ends meanwhile.
func (r *role) pause(ctx context.Context) error {
	for {
		p := r.now()
		if p != nil {
			if err := p.Pause(); err == nil || p.Running() {
				return err
			}
		}
		if err := bench.Pass(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// resume lets it go on.
func (r *role) resume(context.Context) error {
	if p := r.now(); p != nil {
		return p.Resume()
	}
	return nil
}

// take returns the process, which the caller is to end.
func (r *role) take() *engines.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.process
	r.process = nil
	return p
}

// now returns the process.
func (r *role) now() *engines.Process {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.process
}

func (r *role) kill() error {
	if p := r.take(); p != nil {
		return p.Kill()
	}
	return nil
}

// start starts engines and roles and waits until all are ready.
func (s *system) start(ctx context.Context) error {
	s.keys = map[string]string{}
	for _, name := range accounts {
		s.keys[name] = account.NewKey()
	}
	if s.Embedded {
		if err := s.addRole("all", 1); err != nil {
			return err
		}
		s.stores = s.apis
	} else {
		c := engines.CassandraConfig{Heap: "768M", Progress: s.Progress, Extra: map[string]any{
			// As Cassandra ships them.
			"disk_failure_policy": "stop", "commit_failure_policy": "stop",
			"commitlog_segment_size": "1MiB", // so that it notices soon that its disk is full
		}}
		if err := s.StartEngines(ctx, s.Dir, c,
			&engines.KafkaConfig{Progress: s.Progress}); err != nil {
			return err
		}
		for _, name := range []string{"ingest", "store", "recent", "rules", "api"} {
			for n := range 2 {
				if err := s.addRole(name, n+1); err != nil {
					return err
				}
			}
		}
	}
	for _, r := range s.roles {
		if err := r.start(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*engines.StartTimeout)
	defer cancel()
	return s.allReady(ctx)
}

// allReady waits until all roles are.
func (s *system) allReady(ctx context.Context) error {
	for _, r := range s.roles {
		if err := s.ready(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// ready waits until a role is.
func (s *system) ready(ctx context.Context, r *role) error {
	return line.Until(ctx, r.name+" to be ready", func(ctx context.Context) error {
		_, _, err := s.get(ctx, r.url+"/-/ready", "")
		return err
	})
}

// addRole writes a role's configuration.
func (s *system) addRole(name string, n int) error {
	var text strings.Builder
	text.WriteString("accounts:\n")
	for _, of := range accounts {
		fmt.Fprintf(&text, "  - {name: %s, clusters: [\"*\"], keys: "+
			"[{name: all, sha256: %s, scopes: [read, write]}]}\n", of, account.Hash(s.keys[of]))
	}
	hosts := ""
	r := &role{name: fmt.Sprintf("%s-%d", name, n), of: s}
	if !s.Embedded {
		hosts = fmt.Sprintf("hosts: [%q], ", s.Cassandra.Addr())
		fmt.Fprintf(&text, "kafka: {brokers: [%q], partitions: 4, instance_id: %s}\n",
			s.Kafka.Addr(), r.name)
		fmt.Fprintf(&text, "redis: {addresses: [%q]}\n", s.Redis.Addr())
	}
	fmt.Fprintf(&text, "cassandra: {%sgrace: %s, hour_spread: %s}\n", hosts, grace, spread)
	listens := []string{name}
	if s.Embedded {
		listens = []string{"ingest", "api"}
	}
	for _, of := range listens {
		port, err := engines.FreePort("127.0.0.1")
		if err != nil {
			return err
		}
		r.url = fmt.Sprintf("http://127.0.0.1:%d", port)
		switch of {
		case "ingest":
			s.ingests = append(s.ingests, r.url)
		case "api":
			s.apis = append(s.apis, r.url)
		case "store":
			s.stores = append(s.stores, r.url)
		}
		more := ""
		if of == "api" && s.Upgrade != nil {
			more = fmt.Sprintf(", request_timeout: %s", patience)
		}
		fmt.Fprintf(&text, "%s: {listen: \"127.0.0.1:%d\"%s}\n", of, port, more)
	}
	file := filepath.Join(s.Dir, r.name+".yaml")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		return err
	}
	program := s.Binary
	if s.Upgrade != nil {
		program = s.Upgrade.From
	}
	r.config = engines.ProcessConfig{Name: r.name, Path: program, Env: s.Env,
		Args: []string{name, "--config", file}, Log: filepath.Join(s.Dir, r.name+".log")}
	if s.Embedded {
		r.config.Args = append(r.config.Args, "--data", s.data())
	}
	s.roles = append(s.roles, r)
	return nil
}

// data is the directory of the one process.
func (s *system) data() string { return filepath.Join(s.Dir, "data") }

// stop ends everything, whatever has started.
func (s *system) stop() {
	for _, r := range s.roles {
		_ = r.kill()
	}
	s.KillEngines()
}

// client gives up on who hangs, so that the other process is asked.
var client = &http.Client{Timeout: 10 * time.Second,
	Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}

// patience is how long an answer may take in an upgrade, where nobody hangs and each question has
// one: a machine may be ten times slower from one minute to the next.
const patience = 5 * time.Minute

// reader waits for answers in an upgrade.
var reader = &http.Client{Timeout: patience, Transport: client.Transport}

// wipe takes all from Redis.
func (s *system) wipe() error {
	to, err := net.DialTimeout("tcp", s.Redis.Addr(), 10*time.Second)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := to.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	if _, err := to.Write([]byte("FLUSHALL\r\n")); err != nil {
		return err
	}
	answer := make([]byte, 5)
	if _, err := to.Read(answer); err != nil || string(answer) != "+OK\r\n" {
		return fmt.Errorf("redis answers %q to FLUSHALL: %w", answer, err)
	}
	return nil
}
