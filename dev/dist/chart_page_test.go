package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// pageBlocks are the YAML blocks of KUBERNETES.md: manifests and values.
func pageBlocks(t *testing.T) (list []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/KUBERNETES.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1) {
		list = append(list, string(block[1]))
	}
	return list
}

// TestPagesValues: the chart takes the values that the page shows.
func TestPagesValues(t *testing.T) {
	seen := 0
	for _, block := range pageBlocks(t) {
		if strings.HasPrefix(block, "# values.yaml\n") {
			mustRender(t, block)
			seen++
		}
	}
	if seen != 2 {
		t.Errorf("%d blocks are values", seen)
	}
}

// patched is a StatefulSet with the page's patch, as kubectl patches it.
func patched(t *testing.T, patch string) string {
	t.Helper()
	const before = `{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "cassandra"},
"spec": {"serviceName": "cassandra", "selector": {"matchLabels": {"app": "cassandra"}}, "template": {
"metadata": {"labels": {"app": "cassandra"}}, "spec": {"containers": [{"name": "cassandra",
"image": "cassandra:5.0", "env": [{"name": "CASSANDRA_DC", "value": "dc1"}],
"volumeMounts": [{"name": "data", "mountPath": "/var/lib/cassandra"}]}]}},
"volumeClaimTemplates": [{"metadata": {"name": "data"}}]}}`
	given, err := common.ReadValues([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	after, err := strategicpatch.StrategicMergePatch([]byte(before), text, appsv1.StatefulSet{})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(after), "CASSANDRA_DC") {
		t.Errorf("the patch takes away what was there: %s", after)
	}
	return string(after)
}

// TestAgentComesOutOfTheImage takes the page's examples by the word: each is or makes a manifest
// that Kubernetes takes, its init container runs on the image's own file system, as its user and
// with nothing but its volume to write, and the jar is where Cassandra's option has it.
func TestAgentComesOutOfTheImage(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make an image's file system the root of a process")
	}
	r := testRelease(t, "1.2.3")
	p := testParts(t, program(t), program(t))
	m, err := r.gather(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.image(p, m); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	about := unpackImage(t, filepath.Join(r.out, "ringwatch-1.2.3-oci.tar"), root)
	examples := 0
	for _, block := range pageBlocks(t) {
		manifest := block
		if strings.HasPrefix(block, "# ringwatch.yaml\n") {
			manifest = patched(t, block)
		} else if !strings.Contains(block, "apiVersion: ") {
			continue
		}
		objects, err := newCluster(t).read(manifest)
		if err != nil {
			t.Fatal(err)
		}
		found := podsOf(objects[0]).template.Spec
		at := slices.IndexFunc(found.InitContainers, func(c corev1.Container) bool {
			return c.Name == "ringwatch-agent"
		})
		if at < 0 || len(found.Containers) != 1 {
			t.Fatalf("%s: the containers are %+v", title(objects[0]), found)
		}
		init, cassandra := found.InitContainers[at], found.Containers[0]
		option := regexp.MustCompile(`-javaagent:(\S+)=(\S+)`).FindStringSubmatch(block)
		if option == nil {
			t.Fatalf("%s has no agent", title(objects[0]))
		}
		jar, config := option[1], option[2]
		if mountOf(cassandra, jar) != "ringwatch-jar" || mountOf(init, jar) != "ringwatch-jar" ||
			mountOf(cassandra, config) != "ringwatch-agent" ||
			filepath.Base(config) != "agent.yaml" {
			t.Errorf("%s: %s or %s is not where the containers look", title(objects[0]),
				jar, config)
		}
		if s := init.SecurityContext; s == nil || !is(s.RunAsUser, nobody) ||
			!is(s.RunAsNonRoot, true) || !is(s.AllowPrivilegeEscalation, false) ||
			!is(s.ReadOnlyRootFilesystem, true) {
			t.Errorf("%s: the context of the init container is %+v", title(objects[0]), s)
		}
		if init.Command != nil {
			t.Errorf("%s: it does not run what the image runs", title(objects[0]))
		}
		volume := t.TempDir()
		said, err := inImage(root, about.Config.User, volume, filepath.Dir(jar),
			slices.Concat(about.Config.Entrypoint, init.Args))
		if err != nil {
			t.Fatalf("%s: %v: %s", title(objects[0]), err, said)
		}
		text, err := os.ReadFile(filepath.Join(volume, filepath.Base(jar)))
		if err != nil || string(text) != "a jar" {
			t.Errorf("%s: the jar is %q: %v", title(objects[0]), text, err)
		}
		examples++
	}
	if examples != 2 {
		t.Errorf("there are %d examples", examples)
	}
}

// mountOf is the volume that a container has at a path.
func mountOf(c corev1.Container, path string) string {
	for _, m := range c.VolumeMounts {
		if m.MountPath == filepath.Dir(path) {
			return m.Name
		}
	}
	return ""
}

// inImage runs a command on an image's file system as Kubernetes does: nothing is to be written but
// the volume, which is everybody's.
func inImage(root, user, volume, at string, command []string) (string, error) {
	for _, dir := range []string{filepath.Join(root, at), volume} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", err
		}
	}
	if err := os.Chmod(volume, 0o777); err != nil {
		return "", err
	}
	const script = `mount --bind "$1" "$1" && mount --bind "$2" "$1/$3" &&
mount -o remount,bind,ro "$1" || exit 125
root=$1 user=$4; shift 4
exec chroot --userspec="$user" "$root" "$@"`
	cmd := exec.Command("unshare",
		append([]string{"--mount", "sh", "-c", script, "sh", root, volume,
			at, user}, command...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}
