package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/goccy/go-yaml"

	"github.com/ringwatch/ringwatch/dev/engines"
)

// state is the .ringwatch directory of a checkout.
//
//	data/NAME/      the data of each process, and an engine's configuration
//	logs/NAME.log   what each process writes
//	run/NAME.pid    "PID STARTTIME" of each process
//	settings.yaml   what the stack was last started with
//	cli.yaml        the API's address and key, read by bin/ringwatch; agent.key, watch.key, agent.yaml, ringwatch.yaml
type state struct {
	checkout string
	root     string
	attached bool // processes die with this one, as tests want it
}

func openState(checkout string) (*state, error) {
	checkout, err := filepath.Abs(checkout)
	if err != nil {
		return nil, fmt.Errorf("cannot resolve the checkout's directory: %w", err)
	}
	s := &state{checkout: checkout, root: filepath.Join(checkout, ".ringwatch")}
	for _, dir := range []string{"data", "logs", "run"} {
		if err := os.MkdirAll(s.path(dir), 0o755); err != nil {
			return nil, fmt.Errorf("cannot make the state directory: %w", err)
		}
	}
	return s, nil
}

func (s *state) path(parts ...string) string {
	return filepath.Join(append([]string{s.root}, parts...)...)
}
func (s *state) data(name string) string    { return s.path("data", name) }
func (s *state) log(name string) string     { return s.path("logs", name+".log") }
func (s *state) pidFile(name string) string { return s.path("run", name+".pid") }

// lock keeps two of these commands from working on one checkout at a time. The kernel lets go of
// it when the process ends.
func (s *state) lock() (unlock func(), err error) {
	f, err := os.OpenFile(s.path("run", "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot open the lock of the state directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, errors.New("another make up, make down or make clean-data is at work in this " +
			"checkout: wait until it is done")
	}
	return func() { f.Close() }, nil
}

// record writes a process down so that a later command finds it.
func (s *state) record(name string, id engines.Identity) error {
	return os.WriteFile(s.pidFile(name), fmt.Appendf(nil, "%d %d\n", id.Pid, id.Started), 0o644)
}

// recorded returns the process that was written down under a name, if it still runs.
func (s *state) recorded(name string) (engines.Identity, bool) {
	var id engines.Identity
	text, err := os.ReadFile(s.pidFile(name))
	if err != nil {
		return id, false
	}
	if _, err := fmt.Sscan(string(text), &id.Pid, &id.Started); err != nil {
		return id, false
	}
	return id, id.Alive()
}

// a stale file names no running process
func (s *state) forget(name string) { _ = os.Remove(s.pidFile(name)) }

func (s *state) savedSettings() (settings, bool) {
	var saved settings
	text, err := os.ReadFile(s.path("settings.yaml"))
	if err != nil || yaml.Unmarshal(text, &saved) != nil {
		return settings{}, false
	}
	return saved, true
}

// apiKey returns the key in cli.yaml, or a new one.
func (s *state) apiKey() (string, error) {
	var saved struct {
		Key string `yaml:"key"`
	}
	text, err := os.ReadFile(s.path("cli.yaml"))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return newKey(), nil
	case err != nil:
		return "", fmt.Errorf("cannot read the API key: %w", err)
	}
	if err := yaml.Unmarshal(text, &saved); err != nil || !strings.HasPrefix(saved.Key, "rw_") {
		return "", fmt.Errorf("%s holds no API key: remove it to get a new one", s.path("cli.yaml"))
	}
	return saved.Key, nil
}

// newKey returns rw_ and 32 random characters: 190 bits.
func newKey() string {
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	key := []byte("rw_")
	for range 32 {
		i, _ := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet)))) // never fails
		key = append(key, alphabet[i.Int64()])
	}
	return string(key)
}

// writeConfig writes what the roles, the agent and the command line read.
func (s *state) writeConfig(set settings, key string) error {
	watch := newKey()
	sum, watchSum := sha256.Sum256([]byte(key)), sha256.Sum256([]byte(watch))
	saved, err := yaml.Marshal(set)
	if err != nil {
		return fmt.Errorf("cannot write the settings: %w", err)
	}
	for _, file := range []struct {
		name, text string
		mode       os.FileMode
	}{
		{"settings.yaml", string(saved), 0o644},
		{"cli.yaml", fmt.Sprintf("api: %s\nkey: %s\n", set.apiURL(), key), 0o600},
		{"agent.key", key + "\n", 0o600},
		{"watch.key", watch + "\n", 0o600},
		{"agent.yaml", fmt.Sprintf(agentYAML, local(set.IngestPort), s.path("agent.key"),
			local(set.AgentPort)), 0o644},
		{"ringwatch.yaml", fmt.Sprintf(ringwatchYAML, hex.EncodeToString(sum[:]),
			hex.EncodeToString(watchSum[:]), s.where(set), local(set.IngestPort),
			local(set.APIPort), set.apiURL(), local(set.CassandraPort)), 0o644},
	} {
		path := s.path(file.name)
		if err := os.WriteFile(path, []byte(file.text), file.mode); err != nil {
			return fmt.Errorf("cannot write the configuration: %w", err)
		}
		// WriteFile leaves an existing file's mode
		if err := os.Chmod(path, file.mode); err != nil {
			return fmt.Errorf("cannot protect the configuration: %w", err)
		}
	}
	return nil
}

// where is the part of the configuration that says where everything is kept.
func (s *state) where(set settings) string {
	if !set.Line {
		return fmt.Sprintf("data:\n  dir: %q\n  max_bytes: 10GiB\n", s.data("ringwatch"))
	}
	kafka, redis := local(set.KafkaPort), local(set.RedisPort)
	return fmt.Sprintf(lineYAML, kafka, local(set.CassandraPort), redis,
		local(set.IngestPort), s.path("watch.key"), kafka, redis)
}

const lineYAML = `kafka:
  brokers: ["%s"]
  instance_id: local
cassandra:
  hosts: ["%s"]
  keyspace: ringwatch
  replication_factor: 1
redis:
  addresses: ["%s"]
watch: # the line's own Kafka and Redis, as nodes; its Cassandra has the agent
  url: "http://%s"
  key_file: %q
  interval: 5s
  timeout: 5s
  kafka: [{cluster: ringwatch-kafka, brokers: ["%s"]}]
  redis: [{cluster: ringwatch-redis, addresses: ["%s"]}]
`

const agentYAML = `# Written by make up at every start.
ingest:
  urls: ["http://%s"]
  key_file: %q
interval: 5s
listen: %s
`

const ringwatchYAML = `# Written by make up at every start. To run with your own, copy it and pass it with --config.
accounts:
  - name: default
    clusters: ["*"]
    keys:
      - name: local
        sha256: %s
        scopes: [read, write, rules, admin]
      - name: watch # may write what the line's own engines say
        sha256: %s
        scopes: [write]
        clusters: [ringwatch-kafka, ringwatch-redis]
%singest:
  listen: %s
api:
  listen: %s
  public_url: %q
self: {enabled: true} # what /metrics has, as series of the cluster ringwatch-self
lookup: # an example: bin/ringwatch lookup system_schema.tables system --columns table_name,id
  hosts: ["%s"]
  tables: [{table: system_schema.tables, accounts: [default], max_rows: 1000}]
`
