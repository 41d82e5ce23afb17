package node

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/ringwatch/ringwatch/dev/engines"
)

var (
	//go:embed jmx.pom.xml
	jmxPom []byte
	//go:embed jmx.lock
	jmxLock string
	//go:embed jmx-whitelist.yaml
	jmxWhitelist []byte
	//go:embed jmx-all.yaml
	jmxAll []byte
)

// JMXVersion is the version jmx.pom.xml names.
const JMXVersion = "1.0.1"

// Side is one of those compared: what is added to the JVM and where it is scraped.
type Side struct {
	Name   string
	Args   []string
	Scrape string // URL; empty: nothing to scrape
	Config string // agent.yaml, of our own
	Thread string // how the names of its threads begin, as the kernel cuts them (15 bytes)
}

// None is a node without an exporter.
func None() Side { return Side{Name: "none"} }

// Push is our agent posting frames to ingest.
func Push(dir, jar, ingest string, interval time.Duration) (Side, error) {
	s := Side{Name: "push", Thread: "ringwatch-agent"}
	return s, s.agent(dir, jar,
		fmt.Sprintf(
			"ingest:\n  urls: [%q]\n  key: rw_bench0123456789abcdefghijklmnopqrstu\ninterval: %s\n",
			ingest, interval))
}

// Pull is our agent serving /metrics and posting nothing.
func Pull(dir, jar string, interval time.Duration) (Side, error) {
	port, err := engines.FreePort("127.0.0.1")
	if err != nil {
		return Side{}, err
	}
	listen := fmt.Sprintf("127.0.0.1:%d", port)
	s := Side{Name: "pull", Thread: "ringwatch-agent", Scrape: "http://" + listen + "/metrics"}
	return s, s.agent(dir, jar, fmt.Sprintf("listen: %q\ninterval: %s\n", listen, interval))
}

// Discard is an ingest that takes everything.
func Discard() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	}))
}

func (s *Side) agent(dir, jar, text string) error {
	config := filepath.Join(dir, s.Name+".yaml")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return err
	}
	jar, err := filepath.Abs(jar)
	if err != nil {
		return err
	}
	if _, err := os.Stat(jar); err != nil {
		return fmt.Errorf("the agent is missing (%w): make build", err)
	}
	s.Args, s.Config = []string{"-javaagent:" + jar + "=" + config}, config
	return nil
}

// JMX is the JMX exporter with one of the two configurations beside this file.
func JMX(ctx context.Context, dir string, all bool, progress func(string)) (Side, error) {
	name, config := "jmx", jmxWhitelist
	if all {
		name, config = "jmx_all", jmxAll
	}
	jar, err := engines.FetchJars(ctx, "jmx-exporter", JMXVersion, jmxPom, jmxLock, progress)
	if err != nil {
		return Side{}, err
	}
	file := filepath.Join(dir, name+".yaml")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return Side{}, err
	}
	port, err := engines.FreePort("127.0.0.1")
	if err != nil {
		return Side{}, err
	}
	return Side{Name: name,
		Args:   []string{fmt.Sprintf("-javaagent:%s=127.0.0.1:%d:%s", jar, port, file)},
		Scrape: fmt.Sprintf("http://127.0.0.1:%d/metrics", port), Thread: "prometheus-http"}, nil
}
