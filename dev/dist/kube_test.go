package main

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
)

// The kinds of others, as far as we use them: their modules bring all of their operators. A field
// that is not here may be theirs: look it up in their API before it is added.
type (
	// serviceMonitor is the Prometheus operator's, monitoring.coreos.com/v1.
	serviceMonitor struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			JobLabel  string               `json:"jobLabel"`
			Selector  metav1.LabelSelector `json:"selector"`
			Endpoints []struct {
				Port      string `json:"port"`
				Path      string `json:"path"`
				Interval  string `json:"interval"`
				Scheme    string `json:"scheme"`
				TLSConfig struct {
					CA struct {
						Secret *corev1.SecretKeySelector `json:"secret"`
					} `json:"ca"`
					ServerName         string `json:"serverName"`
					InsecureSkipVerify bool   `json:"insecureSkipVerify"`
				} `json:"tlsConfig"`
			} `json:"endpoints"`
		} `json:"spec"`
	}
	// k8ssandraCluster is K8ssandra's, k8ssandra.io/v1alpha1.
	k8ssandraCluster struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Cassandra struct {
				ServerVersion string `json:"serverVersion"`
				Config        struct {
					JVMOptions struct {
						AdditionalOptions []string `json:"additionalOptions"`
					} `json:"jvmOptions"`
				} `json:"config"`
				InitContainers []corev1.Container `json:"initContainers"`
				Containers     []corev1.Container `json:"containers"`
				ExtraVolumes   struct {
					Volumes []corev1.Volume `json:"volumes"`
				} `json:"extraVolumes"`
				Datacenters []struct {
					Metadata struct {
						Name string `json:"name"`
					} `json:"metadata"`
					Size          int32 `json:"size"`
					StorageConfig struct {
						Claim corev1.PersistentVolumeClaimSpec `json:"cassandraDataVolumeClaimSpec"`
					} `json:"storageConfig"`
				} `json:"datacenters"`
			} `json:"cassandra"`
		} `json:"spec"`
	}
)

// DeepCopyObject implements runtime.Object. Nobody copies one here.
func (m *serviceMonitor) DeepCopyObject() runtime.Object { panic("not copied") }

// DeepCopyObject implements runtime.Object.
func (c *k8ssandraCluster) DeepCopyObject() runtime.Object { panic("not copied") }

// cluster is what stands for Kubernetes' API server: its kinds, and the schemas of Server-Side
// Apply, which know lists whose entries have names.
type cluster struct {
	decoder runtime.Decoder
	schemas managedfields.TypeConverter
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	kinds := runtime.NewScheme()
	if err := scheme.AddToScheme(kinds); err != nil {
		t.Fatal(err)
	}
	kinds.AddKnownTypeWithName(schema.GroupVersionKind{Group: "monitoring.coreos.com",
		Version: "v1", Kind: "ServiceMonitor"}, &serviceMonitor{})
	kinds.AddKnownTypeWithName(schema.GroupVersionKind{Group: "k8ssandra.io", Version: "v1alpha1",
		Kind: "K8ssandraCluster"}, &k8ssandraCluster{})
	return &cluster{
		decoder: serializer.NewCodecFactory(kinds, serializer.EnableStrict).UniversalDeserializer(),
		schemas: applyconfigurations.NewTypeConverter(kinds),
	}
}

// read reads manifests as strictly as an API server can.
func (c *cluster) read(text string) (list []runtime.Object, err error) {
	for document := range strings.SplitSeq("\n"+text, "\n---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		object, _, err := c.decoder.Decode([]byte(document+"\n"), nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%w of\n%s", err, document)
		}
		if err := c.valid(object); err != nil {
			return nil, fmt.Errorf("%s: %w", title(object), err)
		}
		list = append(list, object)
	}
	return list, nil
}

// title is an object's kind and name.
func title(object runtime.Object) string {
	about, err := meta.Accessor(object)
	if err != nil {
		return err.Error()
	}
	return object.GetObjectKind().GroupVersionKind().Kind + " " + about.GetName()
}

// valid says what an API server would refuse. Its own validation is in no module that others can
// use, so what is checked here beside schemas are the mistakes that charts make.
func (c *cluster) valid(object runtime.Object) error {
	about, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	errs := apivalidation.ValidateObjectMetaAccessor(about, false, apivalidation.NameIsDNSSubdomain,
		field.NewPath("metadata"))
	if scheme.Scheme.Recognizes(object.GetObjectKind().GroupVersionKind()) {
		if _, err := c.schemas.ObjectToTyped(object); err != nil {
			return err
		}
	}
	var more []error
	switch o := object.(type) {
	case *corev1.Service:
		for _, bad := range validation.IsDNS1035Label(o.Name) {
			more = append(more, errors.New(bad))
		}
		for _, p := range o.Spec.Ports {
			for _, bad := range validation.IsValidPortNum(int(p.Port)) {
				more = append(more, errors.New(bad))
			}
		}
	case *networkingv1.NetworkPolicy:
		more = append(more, selects(&o.Spec.PodSelector))
		for _, rule := range o.Spec.Ingress {
			for _, peer := range rule.From {
				more = append(more, peerIsOne(peer))
			}
		}
	case *policyv1.PodDisruptionBudget:
		more = append(more, selects(o.Spec.Selector))
		if (o.Spec.MinAvailable == nil) == (o.Spec.MaxUnavailable == nil) {
			more = append(more, errors.New("it needs either minAvailable or maxUnavailable"))
		}
	case *appsv1.StatefulSet:
		if o.Spec.ServiceName == "" {
			more = append(more, errors.New("serviceName is empty"))
		}
	}
	if pods := podsOf(object); pods != nil {
		more = append(more, pods.valid())
	}
	return errors.Join(errs.ToAggregate(), errors.Join(more...))
}

// selects says what is wrong with a selector, which must not be empty where it is ours.
func selects(s *metav1.LabelSelector) error {
	found, err := metav1.LabelSelectorAsSelector(s)
	if err == nil && found.Empty() {
		return errors.New("the selector is empty")
	}
	return err
}

func peerIsOne(peer networkingv1.NetworkPolicyPeer) error {
	pods := peer.PodSelector != nil || peer.NamespaceSelector != nil
	if pods == (peer.IPBlock != nil) {
		return errors.New("a peer is pods or a network")
	}
	return nil
}

// pods are the pods that an object makes.
type pods struct {
	selector *metav1.LabelSelector
	template corev1.PodTemplateSpec
	claims   []corev1.PersistentVolumeClaim
}

// podsOf returns an object's pods; nil: it has none.
func podsOf(object runtime.Object) *pods {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return &pods{o.Spec.Selector, o.Spec.Template, nil}
	case *appsv1.StatefulSet:
		return &pods{o.Spec.Selector, o.Spec.Template, o.Spec.VolumeClaimTemplates}
	case *batchv1.Job:
		return &pods{nil, o.Spec.Template, nil}
	case *k8ssandraCluster:
		c := o.Spec.Cassandra
		return &pods{nil,
			corev1.PodTemplateSpec{Spec: corev1.PodSpec{Volumes: c.ExtraVolumes.Volumes,
				InitContainers: c.InitContainers, Containers: c.Containers}}, nil}
	}
	return nil
}

// valid says what an API server would refuse of pods.
func (p *pods) valid() error {
	var errs []error
	say := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if p.selector != nil {
		found, err := metav1.LabelSelectorAsSelector(p.selector)
		if err != nil || found.Empty() || !found.Matches(labels.Set(p.template.Labels)) {
			say("the selector %v is not of the pods' labels %v: %v", p.selector, p.template.Labels,
				err)
		}
	}
	volumes := map[string]bool{}
	for _, v := range p.template.Spec.Volumes {
		if volumes[v.Name] {
			say("two volumes are %s", v.Name)
		}
		volumes[v.Name] = true
		if sources(v.VolumeSource) != 1 {
			say("the volume %s has not one source", v.Name)
		}
	}
	for _, c := range p.claims {
		volumes[c.Name] = true
	}
	all := slices.Concat(p.template.Spec.InitContainers, p.template.Spec.Containers)
	for _, c := range all {
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				say("%s mounts the volume %s, which is not there", c.Name, m.Name)
			}
			if !strings.HasPrefix(m.MountPath, "/") {
				say("%s mounts %s at %q", c.Name, m.Name, m.MountPath)
			}
		}
		for _, port := range c.Ports {
			for _, bad := range validation.IsValidPortName(port.Name) {
				say("port %s: %s", port.Name, bad)
			}
		}
		for name, request := range c.Resources.Requests {
			limit, bounded := c.Resources.Limits[name]
			if bounded && request.Cmp(limit) > 0 {
				say("%s asks for %s %s of at most %s", c.Name, &request, name, &limit)
			}
		}
		for _, probe := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
			if probe != nil && probe.HTTPGet != nil && portOf(c, probe.HTTPGet.Port) == 0 {
				say("%s is asked at the port %s, which it does not have", c.Name,
					&probe.HTTPGet.Port)
			}
		}
	}
	return errors.Join(errs...)
}

// sources is how many sources a volume has.
func sources(v corev1.VolumeSource) (n int) {
	for _, source := range reflect.ValueOf(v).Fields() {
		if !source.IsNil() {
			n++
		}
	}
	return n
}

// portOf is the number of a container's port; 0: it does not have it.
func portOf(c corev1.Container, port intstr.IntOrString) int32 {
	for _, p := range c.Ports {
		if p.Name == port.StrVal || p.ContainerPort == port.IntVal {
			return p.ContainerPort
		}
	}
	return 0
}

// TestKubernetesRefuses: what is wrong with a manifest is seen.
func TestKubernetesRefuses(t *testing.T) {
	c := newCluster(t)
	const good = `apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec:
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      containers:
        - name: a
          image: a
          ports: [{name: http, containerPort: 80}]
          livenessProbe: {httpGet: {path: /, port: http}}
          volumeMounts: [{name: v, mountPath: /v}]
          resources: {requests: {cpu: 1}, limits: {cpu: 2}}
      volumes: [{name: v, emptyDir: {}}]
`
	if list, err := c.read(good + "---\n" + good); err != nil || len(list) != 2 {
		t.Fatalf("of two good ones it reads %d: %v", len(list), err)
	}
	for _, bad := range []struct{ old, new, want string }{
		{"image: a", "imag: a", "unknown field"},
		{"containerPort: 80", "containerPort: many", "cannot unmarshal"},
		{"{name: a}", "{name: A_b}", "lowercase RFC 1123"},
		{"labels: {app: a}", "labels: {app: b}", "is not of the pods' labels"},
		{"port: http", "port: https", "which it does not have"},
		{"name: v, mountPath", "name: w, mountPath", "which is not there"},
		{"limits: {cpu: 2}", "limits: {cpu: 500m}", "of at most 500m"},
		{"emptyDir: {}}", "emptyDir: {}, secret: {secretName: s}}", "not one source"},
		{"{name: http, containerPort: 80}",
			"{name: http, containerPort: 80}, {name: h, containerPort: 80}",
			"duplicate"},
		{"apps/v1", "apps/v7", "no kind"},
		{"image: a", "image: a\n          image: b", "already set"},
	} {
		_, err := c.read(strings.Replace(good, bad.old, bad.new, 1))
		if err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("of %q it says %v, want %q", bad.new, err, bad.want)
		}
	}
}
