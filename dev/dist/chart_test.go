package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/engine"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	embeddedValues = "image: {repository: registry.example/ringwatch}\n"
	engineValues   = `mode: line
image: {repository: registry.example:5000/monitoring/ringwatch}
config:
  kafka: {brokers: ["127.0.0.1:1"]}
  cassandra: {hosts: ["127.0.0.1:1"]}
  redis:
    addresses: ["127.0.0.1:1"]
`
	commonValues = `tls: {existingSecret: ringwatch-tls}
environment: {existingSecret: passwords}
secretFiles: [client, alertmanager.tls]
configMapFiles: [rules]
service: {type: LoadBalancer, externalTrafficPolicy: Local,
  annotations: {example.org/internal: "true"}}
networkPolicy:
  agentsFrom: [{ipBlock: {cidr: 10.0.0.0/8}}]
  readersFrom: [{namespaceSelector: {}}]
  metricsFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: prometheus}}}]
serviceMonitor:
  enabled: true
  labels: {release: prometheus}
  tlsConfig: {ca: {secret: {name: ringwatch-tls, key: ca.crt}}, serverName: ringwatch.example}
podLabels: {team: databases}
podAnnotations: {example.org/mesh: "false"}
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: monitoring, operator: Exists}]
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
  {matchExpressions: [{key: pool, operator: In, values: [monitoring]}]}]}}}
priorityClassName: monitoring
`
)

// valueSets are values that the chart takes, by what they are about.
var valueSets = map[string]string{
	"embedded": embeddedValues,
	"embedded, all": `image: {repository: registry.example/ringwatch, tag: "7", pullPolicy: Always,
  pullSecrets: [registry]}
embedded: {persistence: {size: 100Gi, existingClaim: my-claim}}
config:
  accounts: [{name: acme, keys: [{name: agents, key: "${AGENT_KEY}", scopes: [write]}]}]
  memory: {limit_bytes: 1073741824}
  data: {retention: 7d}
  watch: {key: "${WATCH_KEY}", kafka: [{cluster: stream, brokers: ["127.0.0.1:1"]}]}
` + commonValues,
	"embedded, fast disk": embeddedValues + `embedded: {persistence: {storageClassName: fast}}
config: {notify: {alert_relabel_configs: [{source_labels: [instance], regex: "(.*):.*",
  target_label: host, replacement: "${1}"}]}}
`,
	"embedded, numbers": `image: {repository: registry.example/ringwatch, tag: "1", pullSecrets: ["1"]}
environment: {existingSecret: "2"}
tls: {existingSecret: "3"}
secretFiles: ["4", "true"]
configMapFiles: ["5e6"]
embedded: {persistence: {existingClaim: "7"}}
serviceMonitor: {enabled: true, labels: {release: "8"}, tlsConfig: {serverName: "9"}}
podLabels: {team: "10"}
priorityClassName: "11"
`,
	"embedded, numbered class": embeddedValues + `embedded: {persistence: {storageClassName: "12"}}
`,
	"line": engineValues,
	"line, all": engineValues + `    username: ringwatch
    password: ${REDIS_PASSWORD}
  rules: {files: [/etc/ringwatch-files/rules/*.yaml]}
  self: {key: "${SELF_KEY}"}
  watch: {key: "${SELF_KEY}", redis: [{cluster: cache, address: "127.0.0.1:1"}]}
line: {api: {replicas: 3, resources: {limits: {cpu: 2, memory: 4Gi}}}}
` + commonValues,
	"line, without": engineValues + "line: {schemaJob: false}\nnetworkPolicy: {enabled: false}\n",
}

// render renders the chart with values, as Helm does before it sends anything to a cluster. The
// notes are apart.
func render(values string) (manifests, notes string, err error) {
	return renderAs("ringwatch", values)
}

// renderAs does so for a release's name.
func renderAs(release, values string) (manifests, notes string, err error) {
	c, err := loadChart("1.2.3")
	if err != nil {
		return "", "", err
	}
	given, err := common.ReadValues([]byte(values))
	if err != nil {
		return "", "", err
	}
	all, err := commonutil.ToRenderValues(c, given, common.ReleaseOptions{Name: release,
		Namespace: "monitoring", Revision: 1, IsInstall: true}, common.DefaultCapabilities)
	if err != nil {
		return "", "", err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return "", "", err
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, "NOTES.txt") {
			notes = files[name]
			continue
		}
		text.WriteString("---\n" + files[name] + "\n")
	}
	return text.String(), notes, nil
}

// rendered is what the chart makes of values.
type rendered struct {
	text, notes string
	objects     []runtime.Object
	config      string // ringwatch.yaml
	values      common.Values
}

func mustRender(t *testing.T, values string) *rendered {
	t.Helper()
	text, notes, err := render(values)
	if err != nil {
		t.Fatal(err)
	}
	r := &rendered{text: text, notes: notes}
	if r.objects, err = newCluster(t).read(text); err != nil {
		t.Fatal(err)
	}
	c, err := loadChart("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	given, err := common.ReadValues([]byte(values))
	if err != nil {
		t.Fatal(err)
	}
	if r.values, err = commonutil.CoalesceValues(c, given); err != nil {
		t.Fatal(err)
	}
	for _, o := range each[*corev1.ConfigMap](r) {
		if r.config != "" && o.Data["ringwatch.yaml"] != r.config {
			t.Errorf("the schema's job has another configuration")
		}
		r.config = o.Data["ringwatch.yaml"]
	}
	return r
}

// each are the objects of a kind.
func each[T runtime.Object](r *rendered) (list []T) {
	for _, o := range r.objects {
		if is, ok := o.(T); ok {
			list = append(list, is)
		}
	}
	return list
}

// TestChart renders the chart with each set of values, has Kubernetes' own packages read what comes
// of it, and checks what all of it must have.
func TestChart(t *testing.T) {
	for name, values := range valueSets {
		t.Run(name, func(t *testing.T) {
			r := mustRender(t, values)
			kinds := map[string]int{}
			for _, o := range r.objects {
				kind := o.GetObjectKind().GroupVersionKind().Kind
				kinds[kind]++
				if kind == "Secret" {
					t.Errorf("the chart makes the secret %s", title(o))
				}
				if p := podsOf(o); p != nil {
					safe(t, o, p)
					r.references(t, p)
				}
			}
			r.connects(t)
			embedded := r.values["mode"] == "embedded"
			if embedded != (kinds["StatefulSet"] == 1 && kinds["Deployment"] == 0) ||
				embedded != (kinds["PodDisruptionBudget"] == 0) {
				t.Errorf("it makes %v", kinds)
			}
			if want := !embedded && name != "line, without"; want != (kinds["Job"] == 1) {
				t.Errorf("there are %d jobs", kinds["Job"])
			}
			monitored := strings.HasSuffix(name, "all") || strings.HasSuffix(name, "numbers")
			if monitored != (kinds["ServiceMonitor"] == 1) {
				t.Errorf("there are %d ServiceMonitors", kinds["ServiceMonitor"])
			}
			if !strings.Contains(r.notes, "ringwatch key create agents --scopes write") {
				t.Errorf("the notes are\n%s", r.notes)
			}
		})
	}
}

// safe checks what bounds a pod.
func safe(t *testing.T, o runtime.Object, p *pods) {
	t.Helper()
	spec := p.template.Spec
	if s := spec.SecurityContext; s == nil || !is(s.RunAsNonRoot, true) ||
		!is(s.RunAsUser, nobody) ||
		!is(s.RunAsGroup, nobody) || !is(s.FSGroup, nobody) || s.SeccompProfile == nil ||
		s.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%s: the pods' context is %+v", title(o), s)
	}
	if !is(spec.AutomountServiceAccountToken, false) || spec.HostNetwork || spec.HostPID ||
		spec.HostIPC {
		t.Errorf("%s: the pods are the machine's or Kubernetes'", title(o))
	}
	for _, c := range spec.Containers {
		if s := c.SecurityContext; s == nil || !is(s.AllowPrivilegeEscalation, false) ||
			!is(s.ReadOnlyRootFilesystem, true) || s.Capabilities == nil ||
			!slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) ||
			len(s.Capabilities.Add) > 0 || s.Privileged != nil {
			t.Errorf("%s: the context of %s is %+v", title(o), c.Name, s)
		}
		if c.Resources.Limits.Memory().IsZero() {
			t.Errorf("%s: %s has no limit of memory, which the roles keep to", title(o), c.Name)
		}
		if c.Args[0] == "schema" {
			continue
		}
		for name, probe := range map[string]*corev1.Probe{"/-/healthy": c.StartupProbe,
			"/-/healthy ": c.LivenessProbe, "/-/ready": c.ReadinessProbe} {
			if c.Args[0] == "api" {
				name = "/-/healthy"
			}
			if probe == nil || probe.HTTPGet == nil ||
				probe.HTTPGet.Path != strings.TrimSpace(name) {
				t.Errorf("%s: for %s it asks %+v", title(o), name, probe)
			}
		}
		// a role ends by itself when its engines are not there after 90 seconds
		if p := c.StartupProbe; time.Duration(p.PeriodSeconds*p.FailureThreshold)*time.Second <
			100*time.Second {
			t.Errorf("%s is ended before it has said why it does not start", title(o))
		}
	}
}

// as reads values as a type.
func as(t *testing.T, values, to any) {
	t.Helper()
	text, err := json.Marshal(values)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func is[T comparable](p *T, want T) bool { return p != nil && *p == want }

// references checks that pods have secrets and config maps of those names alone that values give,
// and the image.
func (r *rendered) references(t *testing.T, p *pods) {
	t.Helper()
	of := func(path string) string {
		v, err := r.values.PathValue(path)
		text, _ := v.(string)
		if err != nil {
			return ""
		}
		return text
	}
	secrets := []string{of("tls.existingSecret"), of("environment.existingSecret")}
	maps := []string{"ringwatch", "ringwatch-schema"}
	for key, to := range map[string]*[]string{"secretFiles": &secrets, "configMapFiles": &maps} {
		list, _ := r.values[key].([]any)
		for _, name := range list {
			*to = append(*to, name.(string))
		}
	}
	known := func(kind, name string, among []string) {
		if name == "" || !slices.Contains(among, name) {
			t.Errorf("the pods have the %s %q, and the values name %q", kind, name, among)
		}
	}
	spec := p.template.Spec
	for _, v := range spec.Volumes {
		if v.Secret != nil {
			known("secret", v.Secret.SecretName, secrets)
			if !is(v.Secret.DefaultMode, 0o440) {
				t.Errorf("%s has the mode %v", v.Name, v.Secret.DefaultMode)
			}
		} else if v.ConfigMap != nil {
			known("config map", v.ConfigMap.Name, maps)
		} else if v.PersistentVolumeClaim != nil &&
			v.PersistentVolumeClaim.ClaimName != of("embedded.persistence.existingClaim") {
			t.Errorf("the claim is %+v", v.PersistentVolumeClaim)
		}
	}
	for _, c := range spec.Containers {
		for _, from := range c.EnvFrom {
			known("secret", from.SecretRef.Name, secrets)
		}
		for _, e := range c.Env {
			if e.ValueFrom != nil && e.ValueFrom.FieldRef == nil {
				t.Errorf("%s comes from %+v", e.Name, e.ValueFrom)
			}
		}
		tag := of("image.tag")
		if tag == "" {
			tag = "1.2.3" // the chart's
		}
		if want := of("image.repository") + ":" + tag; c.Image != want {
			t.Errorf("the image is %s, want %s", c.Image, want)
		}
	}
}
