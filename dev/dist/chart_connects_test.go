package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// connects checks that whoever names pods or ports names some that there are, and that roles listen
// where the configuration says.
func (r *rendered) connects(t *testing.T) {
	t.Helper()
	var config map[string]struct {
		Listen string
		TLS    struct {
			CertFile string `json:"cert_file"`
		} `json:"tls"`
	}
	sections, err := common.ReadValues([]byte(r.config))
	if err != nil {
		t.Fatal(err)
	}
	delete(sections, "accounts")
	as(t, sections, &config)
	var all []*pods
	for _, o := range r.objects {
		p := podsOf(o)
		if p == nil || p.selector == nil {
			continue
		}
		all = append(all, p)
		c := p.template.Spec.Containers[0]
		roles := []string{c.Args[0]}
		if roles[0] == "all" {
			roles = []string{"api", "ingest"}
		}
		if len(c.Ports) != len(roles) {
			t.Errorf("%s has the ports %+v", title(o), c.Ports)
		}
		for i, role := range roles {
			if want := fmt.Sprintf(":%d", c.Ports[i].ContainerPort); config[role].Listen != want {
				t.Errorf("%s has the port %s, and the configuration says %q", title(o), want,
					config[role].Listen)
			}
		}
		_, named := o.(*appsv1.StatefulSet)
		id := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool {
			return e.Name == "RINGWATCH_INSTANCE_ID"
		})
		if line := r.values["mode"] == "line"; line != (id >= 0) || line && named !=
			(c.Env[id].ValueFrom != nil &&
				c.Env[id].ValueFrom.FieldRef.FieldPath == "metadata.name") {
			t.Errorf("%s: a name that stays is with pods whose names stay alone: %+v", title(o),
				c.Env)
		}
		for _, m := range c.VolumeMounts {
			if strings.HasPrefix(m.MountPath, "/etc/ringwatch/") { // a read-only volume is there
				t.Errorf("%s cannot mount %s", title(o), m.MountPath)
			}
		}
	}
	// found are the containers that a selector selects.
	found := func(o runtime.Object, s labels.Selector) (list []corev1.Container) {
		for _, p := range all {
			if s.Matches(labels.Set(p.template.Labels)) {
				list = append(list, p.template.Spec.Containers[0])
			}
		}
		if len(list) == 0 {
			t.Errorf("%s selects no pods", title(o))
		}
		return list
	}
	selector := func(s *metav1.LabelSelector) labels.Selector {
		found, err := metav1.LabelSelectorAsSelector(s)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	served := map[string]labels.Set{} // a Service's labels by its ports' names
	services := each[*corev1.Service](r)
	for _, o := range services {
		list := found(o, labels.SelectorFromSet(o.Spec.Selector))
		if len(list) > 1 {
			t.Errorf("%s selects pods of %d kinds", title(o), len(list))
		}
		for _, port := range o.Spec.Ports {
			served[port.Name] = o.Labels
			for _, c := range list {
				if got := portOf(c, port.TargetPort); got != port.Port {
					t.Errorf("%s: %s is the container's %d", title(o), port.Name, got)
				}
			}
		}
	}
	for _, o := range each[*appsv1.StatefulSet](r) {
		if !slices.ContainsFunc(services, func(s *corev1.Service) bool {
			return s.Name == o.Spec.ServiceName
		}) {
			t.Errorf("%s has the service %s", title(o), o.Spec.ServiceName)
		}
	}
	for _, o := range each[*networkingv1.NetworkPolicy](r) {
		list := found(o, selector(&o.Spec.PodSelector))
		open := 0
		for _, rule := range o.Spec.Ingress {
			for _, port := range rule.Ports {
				for _, c := range list {
					if portOf(c, *port.Port) == 0 {
						t.Errorf("%s opens the port %s, which is not there", title(o), port.Port)
					}
				}
				open++
			}
		}
		if open != len(list[0].Ports) {
			t.Errorf("%s opens %d ports of %d", title(o), open, len(list[0].Ports))
		}
	}
	for _, o := range each[*policyv1.PodDisruptionBudget](r) {
		found(o, selector(o.Spec.Selector))
	}
	for _, o := range each[*serviceMonitor](r) {
		for _, e := range o.Spec.Endpoints {
			if !selector(&o.Spec.Selector).Matches(served[e.Port]) {
				t.Errorf("it scrapes the port %s, which no service has", e.Port)
			}
			secure := config[e.Port].TLS.CertFile != ""
			if secure != (e.Scheme == "https") {
				t.Errorf("it asks %s by %q", e.Port, e.Scheme)
			}
		}
	}
}

// TestCallers: the operator's Prometheus reaches the roles from any namespace, and who is outside
// keeps its address where the values say so.
func TestCallers(t *testing.T) {
	for monitor, policy := range map[string]corev1.ServiceExternalTrafficPolicy{"true": "Local",
		"false": ""} {
		kind := "NodePort"
		if policy == "" {
			kind = "ClusterIP" // for which there is no such policy
		}
		r := mustRender(t, engineValues+"service: {type: "+kind+", externalTrafficPolicy: Local}\n"+
			"serviceMonitor: {enabled: "+monitor+"}\n")
		for _, o := range each[*corev1.Service](r) {
			want := policy
			if o.Spec.ClusterIP == "None" {
				want = ""
			}
			if o.Spec.ExternalTrafficPolicy != want {
				t.Errorf("%s of type %s has the policy %q", title(o), kind,
					o.Spec.ExternalTrafficPolicy)
			}
		}
		seen := 0
		for _, o := range each[*networkingv1.NetworkPolicy](r) {
			rule := o.Spec.Ingress[0]
			if rule.Ports[0].Port.StrVal != "metrics" {
				continue
			}
			seen++
			if len(rule.From) != 1 ||
				(rule.From[0].NamespaceSelector != nil) != (monitor == "true") {
				t.Errorf("%s, with the monitor %s, lets in %+v", title(o), monitor, rule.From)
			}
		}
		if seen != 3 {
			t.Errorf("%d policies are about metrics alone", seen)
		}
	}
}
