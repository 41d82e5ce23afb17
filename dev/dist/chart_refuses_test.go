package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
)

// TestChartRefuses: values that are wrong are refused by a sentence that says which and why.
func TestChartRefuses(t *testing.T) {
	for _, bad := range []struct{ values, want string }{
		{"", "image.repository is empty: push ringwatch-1.2.3-oci.tar to a registry"},
		{"mode: both", "at '/mode': value must be one of 'embedded', 'line'"},
		{"mdoe: line", "additional properties 'mdoe' not allowed"},
		{embeddedValues + "replicas: 3", "additional properties 'replicas' not allowed"},
		{"image: {repository: a:b}", "at '/image/repository'"},
		{embeddedValues + "embedded: {persistence: {size: 10GB}}",
			"at '/embedded/persistence/size': '10GB' does not match pattern"},
		{embeddedValues + "embedded: {resources: {limits: {memory: 2GB}}}",
			"at '/embedded/resources/limits/memory': '2GB' does not match pattern"},
		{embeddedValues + "secretFiles: [A_b]",
			"at '/secretFiles/0': 'A_b' does not match pattern"},
		{embeddedValues + "tls: {key: abc}", "additional properties 'key' not allowed"},
		{embeddedValues + "environment: {existingSecret: 7}", "got number, want string"},
		{embeddedValues + "networkPolicy: {agentsFrom: [10.0.0.0/8]}", "got string, want object"},
		{embeddedValues + "service: {type: Public}", "at '/service/type': value must be one of"},
		{engineValues + "line: {api: {replicas: 0}}", "minimum: got 0, want 1"},
		{engineValues + "line: {store: {replicas: two}}", "got string, want integer"},
		{embeddedValues + "config: {kafka: [a]}", "at '/config/kafka': got array, want object"},
		{strings.Replace(engineValues, `brokers: ["127.0.0.1:1"]`, "topic: a", 1),
			"config.kafka.brokers is empty: mode line needs the addresses of your engines"},
		{strings.Replace(engineValues, `hosts: ["127.0.0.1:1"]`, "hosts: []", 1),
			"config.cassandra.hosts is empty: mode line needs"},
		{strings.Replace(engineValues, "mode: line", "mode: embedded", 1),
			"config.kafka.brokers is set: mode embedded keeps everything in its volume"},
		{embeddedValues + `config: {api: {listen: "0.0.0.0:80"}}`,
			"config.api.listen is set: the chart sets it"},
		{embeddedValues + "config: {ingest: {tls: {}}}",
			"name a certificate in tls.existingSecret"},
		{embeddedValues + "config: {data: {dir: /data}}", "config.data.dir is set"},
		{engineValues + "    password: secret",
			"config.redis.password is a secret, and a config map " +
				"has no secrets: write ${NAME} there"},
		{embeddedValues + "config: {accounts: [{name: a, keys: [{name: b, key: rw_c}]}]}",
			"config.accounts[0].keys[0].key is a secret"},
		{engineValues + "    password: ${REDIS_PASSWORD}", "config has ${REDIS_PASSWORD}, but " +
			"environment.existingSecret names no secret that would have it"},
		{engineValues + "    password: 123456", "config.redis.password is a secret"},
		{engineValues + "    password: ${1}", "config.redis.password is a secret"},
		{embeddedValues + "service: {externalTrafficPolicy: local}",
			"at '/service/externalTrafficPolicy': value must be one of"},
		{embeddedValues + "tls: {existingSecret: a}\nserviceMonitor: {enabled: true}",
			"set serviceMonitor.tlsConfig.serverName to a name of the certificate, and ca"},
		{embeddedValues + "serviceMonitor: {enabled: true}\n" +
			"networkPolicy: {readersFrom: [{podSelector: {}}]}",
			"networkPolicy.metricsFrom is empty: name your Prometheus there"},
	} {
		text, _, err := render(bad.values)
		if err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("of\n%s\nit says %v, want %q\n%s", bad.values, err, bad.want, text)
		}
	}
	for _, name := range []string{"my.ringwatch", "1ringwatch"} {
		if _, _, err := renderAs(name, embeddedValues); err == nil ||
			!strings.Contains(err.Error(), "the release is called "+name+", and Services cannot") {
			t.Errorf("of a release %s it says %v", name, err)
		}
	}
	for _, name := range []string{"true", "m-1", strings.Repeat("ringwatch-", 5) + "1"} {
		text, _, err := renderAs(name, embeddedValues+"serviceMonitor: {enabled: true}\n")
		if err == nil {
			_, err = newCluster(t).read(text)
		}
		if err != nil {
			t.Errorf("a release cannot be called %s: %v", name, err)
		}
	}
}

// TestChartIsPacked: Helm's linter has nothing to say about what make dist packs, with any values.
func TestChartIsPacked(t *testing.T) {
	r := testRelease(t, "1.2.3-rc.1")
	if err := os.MkdirAll(r.work, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := r.chart(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := chartutil.ExpandFile(dir, filepath.Join(r.out,
		"ringwatch-1.2.3-rc.1-chart.tgz")); err != nil {
		t.Fatal(err)
	}
	about, err := os.ReadFile(filepath.Join(dir, "ringwatch", "Chart.yaml"))
	for _, want := range []string{"\nversion: 1.2.3-rc.1\n", "\nappVersion: 1.2.3-rc.1\n"} {
		if !strings.Contains("\n"+string(about), want) {
			t.Errorf("Chart.yaml has not %q: %v\n%s", want, err, about)
		}
	}
	for name, values := range valueSets {
		given, err := common.ReadValues([]byte(values))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range lint.RunAll(filepath.Join(dir, "ringwatch"), given,
			"monitoring").Messages {
			// an icon is for shops of charts
			if m.Severity > support.InfoSev || !strings.Contains(m.Err.Error(), "icon") {
				t.Errorf("%s: %s", name, m)
			}
		}
	}
}
