package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestChartsConfiguration has the program read the configuration, as packages do on an upgrade: 2
// is the answer to one that it does not take, and others are about engines.
func TestChartsConfiguration(t *testing.T) {
	native := program(t)
	dir := t.TempDir()
	for name, values := range valueSets {
		r := mustRender(t, values)
		file := filepath.Join(dir, "ringwatch.yaml")
		text := strings.ReplaceAll(r.config, "/var/lib/ringwatch", dir)
		r.sends(t, name)
		try := func(text string) (string, int) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(native, "doctor", "--config", file)
			// what the pods have in their environment
			cmd.Env = []string{"RINGWATCH_INSTANCE_ID=ringwatch-store-0", "AGENT_KEY=rw_" +
				strings.Repeat("a", 43), "WATCH_KEY=rw_b", "SELF_KEY=rw_c", "REDIS_PASSWORD=p"}
			out, err := cmd.CombinedOutput()
			if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) {
				t.Fatal(err)
			}
			return string(out), cmd.ProcessState.ExitCode()
		}
		if said, code := try(text); code == 2 {
			t.Errorf("%s: the program does not take\n%s\n%s", name, text, said)
		}
		if said, code := try(text + "kafak: {}\n"); code != 2 {
			t.Errorf("%s: the program takes a key that there is not: %d\n%s", name, code, said)
		}
	}
}

// sends checks that who sends to ingest in its own release does so at the name that stands in the
// certificate, by the scheme that ingest has.
func (r *rendered) sends(t *testing.T, name string) {
	t.Helper()
	var config struct {
		Ingest struct {
			TLS map[string]string `json:"tls"`
		}
		Self, Watch struct {
			URL     string
			Enabled bool
		}
	}
	sections, err := common.ReadValues([]byte(r.config))
	if err != nil {
		t.Fatal(err)
	}
	as(t, sections, &config)
	scheme, service := "http", "ringwatch-ingest"
	if config.Ingest.TLS != nil {
		scheme += "s"
	}
	if r.values["mode"] == "embedded" {
		service = "ringwatch"
	}
	if config.Self.Enabled != (service == "ringwatch") {
		t.Errorf("%s: self.enabled is %t", name, config.Self.Enabled)
	}
	secret, err := r.values.PathValue("tls.existingSecret")
	if secure := err == nil && secret != ""; secure != (scheme == "https") {
		t.Errorf("%s: ingest speaks %s", name, scheme)
	}
	want := scheme + "://" + service + ".monitoring.svc:9471"
	if config.Self.URL != want || config.Watch.URL != want {
		t.Errorf("%s: they send to %q and %q, want %s", name, config.Self.URL, config.Watch.URL,
			want)
	}
	if !slices.ContainsFunc(each[*corev1.Service](r), func(s *corev1.Service) bool {
		return s.Name == service
	}) {
		t.Errorf("%s has no Service %s", name, service)
	}
}

// TestProbesAnswer starts the embedded mode with the chart's configuration and arguments, and asks
// it what the probes ask.
func TestProbesAnswer(t *testing.T) {
	native := program(t)
	r := mustRender(t, embeddedValues)
	dir := t.TempDir()
	text := strings.ReplaceAll(r.config, "/var/lib/ringwatch", dir)
	c := podsOf(each[*appsv1.StatefulSet](r)[0]).template.Spec.Containers[0]
	addresses := map[int32]string{}
	for _, port := range c.Ports {
		addresses[port.ContainerPort] = freePort(t)
		text = strings.Replace(text, fmt.Sprintf(":%d", port.ContainerPort),
			addresses[port.ContainerPort], 1)
	}
	file := filepath.Join(dir, "ringwatch.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(native, c.Args...)
	for _, e := range c.Env {
		cmd.Env = append(cmd.Env, e.Name+"="+strings.Replace(e.Value, "/etc/ringwatch", dir, 1))
	}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	p, err := startProcess(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer p.end()
	if err := p.becomesReady(addresses[9470]); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	for _, probe := range []*corev1.Probe{c.StartupProbe, c.ReadinessProbe, c.LivenessProbe} {
		url := "http://" + addresses[portOf(c, probe.HTTPGet.Port)] + probe.HTTPGet.Path
		if _, err := get(url, ""); err != nil {
			t.Error(err)
		}
	}
	if _, err := get("http://"+addresses[9471]+"/-/ready", ""); err != nil {
		t.Error(err)
	}
	// what the notes say works in the container
	key := exec.Command(native, "key", "create", "agents", "--scopes", "write")
	key.Env = cmd.Env
	if out, err := key.CombinedOutput(); err != nil || !strings.Contains(string(out), "rw_") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestResourcesFromSize: the values' resources are those of the fleet that they name, by the rule
// that stands there.
func TestResourcesFromSize(t *testing.T) {
	native := program(t)
	c, err := loadChart("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		Embedded struct {
			Resources   corev1.ResourceRequirements
			Persistence struct{ Size resource.Quantity }
		}
		Line map[string]any
	}
	text, err := own.ReadFile("files/chart/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	as(t, c.Values, &values)
	fleets := regexp.MustCompile(
		`For ([\d,]+) nodes of Cassandra, as .ringwatch (size --nodes (\d+)).`).
		FindAllStringSubmatch(string(text), -1)
	if len(fleets) != 2 {
		t.Fatalf("it names the fleets %q", fleets)
	}
	var advice [2]struct {
		Deployment     string
		Embedded, Line []struct {
			Part        string
			Processes   int
			Cores       float64
			MemoryBytes float64 `json:"memory_bytes"`
			DiskBytes   float64 `json:"disk_bytes"`
		}
	}
	for i, f := range fleets {
		if strings.ReplaceAll(f[1], ",", "") != f[3] {
			t.Errorf("it says %q", f[0])
		}
		out, err := exec.Command(native, append(strings.Fields(f[2]), "--json")...).Output()
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(out, &advice[i]); err != nil {
			t.Fatal(err)
		}
	}
	const mib = 1 << 20
	check := func(part string, got corev1.ResourceRequirements, cores, memory float64) {
		cpu := int64(math.Ceil(cores*1000/50) * 50)
		bytes := int64(math.Ceil(memory/(64*mib)) * 64 * mib)
		if got.Requests.Cpu().MilliValue() != cpu || got.Requests.Memory().Value() != bytes {
			t.Errorf("%s asks for %v, want %dm and %dMi", part, got.Requests, cpu, bytes/mib)
		}
		if want := max(2*bytes, 512*mib); got.Limits.Memory().Value() != want ||
			!got.Limits.Cpu().IsZero() {
			t.Errorf("%s may have %v, want %dMi", part, got.Limits, want/mib)
		}
	}
	all := advice[0].Embedded[0]
	check("embedded", values.Embedded.Resources, all.Cores, all.MemoryBytes)
	if size := float64(values.Embedded.Persistence.Size.Value()) * 0.9; all.DiskBytes > size ||
		all.DiskBytes < 0.7*size {
		t.Errorf("the volume has room for %.1f GiB, and the fleet needs %.1f", size/(1<<30),
			all.DiskBytes/(1<<30))
	}
	if advice[0].Deployment != "embedded" || advice[1].Deployment != "line" {
		t.Errorf("the modes are not what size advises")
	}
	for _, need := range advice[1].Line[:5] {
		var role struct {
			Replicas  int
			Resources corev1.ResourceRequirements
		}
		as(t, values.Line[need.Part], &role)
		if role.Replicas != need.Processes {
			t.Errorf("%s has %d replicas, want %d", need.Part, role.Replicas, need.Processes)
		}
		check(need.Part, role.Resources, need.Cores/float64(max(need.Processes-1, 1)),
			need.MemoryBytes)
	}
	// a volume's nine tenths
	r := mustRender(t, embeddedValues+"embedded: {persistence: {size: 7Gi}}\n")
	if want := "max_bytes: " + strconv.Itoa(7*1024*9/10) + "MiB\n"; !strings.Contains(r.config,
		want) {
		t.Errorf("the configuration does not say %q\n%s", want, r.config)
	}
}
