package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// TestSameBytes makes all artefacts twice, in other folders and at other times, of a program that
// is small.
func TestSameBytes(t *testing.T) {
	native := program(t)
	small := filepath.Join(t.TempDir(), "small")
	if err := os.WriteFile(small, bytes.Repeat([]byte("a program\n"), 1e5), 0o755); err != nil {
		t.Fatal(err)
	}
	var all []map[string]string
	for range 2 {
		r := testRelease(t, "1.2.3-rc.1")
		if err := os.MkdirAll(r.work, 0o755); err != nil {
			t.Fatal(err)
		}
		p := testParts(t, native, small)
		p.programs = map[string]string{"amd64": small, "arm64": small}
		if err := r.pack(p); err != nil {
			t.Fatal(err)
		}
		made := map[string]string{}
		artefacts, err := r.artefacts()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range append(artefacts, sums) {
			text, err := os.ReadFile(filepath.Join(r.out, name))
			if err != nil {
				t.Fatal(err)
			}
			made[name] = string(text)
		}
		all = append(all, made)
	}
	want := []string{sums, "ringwatch-1.2.3-rc.1-agent.jar", "ringwatch-1.2.3-rc.1-chart.tgz",
		"ringwatch-1.2.3-rc.1-linux-amd64.tar.gz",
		"ringwatch-1.2.3-rc.1-linux-arm64.tar.gz", "ringwatch-1.2.3-rc.1-oci.tar",
		"ringwatch-1.2.3-rc.1.cdx.json", "ringwatch-1.2.3~rc.1-1.aarch64.rpm",
		"ringwatch-1.2.3~rc.1-1.x86_64.rpm", "ringwatch-agent-1.2.3~rc.1-1.noarch.rpm",
		"ringwatch-agent_1.2.3~rc.1_all.deb", "ringwatch_1.2.3~rc.1_amd64.deb",
		"ringwatch_1.2.3~rc.1_arm64.deb"}
	if got := sortedKeys(all[0]); strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("made are %q, want %q", got, want)
	}
	for name, text := range all[0] {
		if all[1][name] != text {
			t.Errorf("%s has other bytes the second time", name)
		}
	}
	if n := strings.Count(all[0][sums], "\n"); n != len(want)-1 {
		t.Errorf("%s has %d lines, want %d", sums, n, len(want)-1)
	}
	var bill struct {
		Components []struct {
			Name     string
			Licenses []struct{ Expression string }
		}
	}
	if err := json.Unmarshal([]byte(all[0]["ringwatch-1.2.3-rc.1.cdx.json"]), &bill); err != nil ||
		len(bill.Components) != 2 ||
		bill.Components[0].Licenses[0].Expression != "BSD-3-Clause AND MIT" {
		t.Errorf("the bill of materials is %+v: %v", bill, err)
	}
}

// TestTooLarge: an artefact above its limit ends make dist, and one that has no limit does.
func TestTooLarge(t *testing.T) {
	r := testRelease(t, "1.2.3")
	for _, name := range []string{"ringwatch-1.2.3.cdx.json", "a.surprise"} {
		if err := os.WriteFile(filepath.Join(r.out, name), make([]byte, 1<<20+1),
			0o644); err != nil {
			t.Fatal(err)
		}
	}
	err := r.sum()
	for _, want := range []string{"ringwatch-1.2.3.cdx.json has 1048577 bytes, and 1048576 are",
		"a.surprise has 1048577 bytes, and 0 are"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

func TestVersions(t *testing.T) {
	for _, version := range []string{"", "1.2", "v1.2.3", "1.2.3+x", "../1.2.3", "1.2.3 "} {
		r := release{version: version, root: "../..", out: t.TempDir()}
		if err := r.prepare(t.Context()); err == nil ||
			!strings.Contains(err.Error(), "make dist VERSION=1.2.3") {
			t.Errorf("of the version %q it says %v", version, err)
		}
	}
}

// TestLicences knows the licences of what the program has today, and says what it cannot judge.
func TestLicences(t *testing.T) {
	r := testRelease(t, "1.2.3")
	modules, err := r.goModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(modules) < 60 {
		t.Errorf("the program has only %d modules", len(modules))
	}
	for _, c := range modules {
		if err := c.classify(); err != nil {
			t.Error(err)
		}
	}
	for want, c := range map[string]component{
		"no licence":               {name: "a"},
		"not known":                {name: "b", texts: []string{"Ask me."}},
		"gnu general public":       {name: "c", texts: []string{"GNU General\n Public License"}},
		"its licence is WTFPL":     {name: "d", licences: []string{"WTFPL"}},
		"is SEE LICENSE IN readme": {name: "e", licences: []string{"SEE LICENSE IN readme"}},
	} {
		if err := c.classify(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("of %s it says %v, want %q", c.name, err, want)
		}
	}
}

// TestUnitsAreHardened asks systemd how exposed the services are, where systemd is there.
func TestUnitsAreHardened(t *testing.T) {
	m := materialOf(t)
	for _, unit := range m.units {
		dir := t.TempDir()
		text, err := os.ReadFile(unit.from)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"NoNewPrivileges=yes\n", "ProtectSystem=strict\n",
			"User=ringwatch\n", "StateDirectory=ringwatch\n", "[Install]\n"} {
			if !strings.Contains(string(text), "\n"+want) {
				t.Errorf("%s does not have %s", unit.path, want)
			}
		}
		name := filepath.Join(dir, unit.path)
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("systemd-analyze", "security", "--offline=true",
			name).CombinedOutput()
		if errors.Is(err, exec.ErrNotFound) {
			continue
		}
		level := regexp.MustCompile(`Overall exposure level for \S+: ([\d.]+)`).FindSubmatch(out)
		if level == nil {
			t.Fatalf("systemd-analyze: %v: %s", err, out)
		}
		if exposed, err := strconv.ParseFloat(string(level[1]), 64); err != nil || exposed > 2.0 {
			t.Errorf("%s is exposed at %s, and 2.0 is the limit\n%s", unit.path, level[1], out)
		}
	}
}

// materialOf is what artefacts are made of.
func materialOf(t *testing.T) *material {
	t.Helper()
	r := testRelease(t, "1.2.3")
	m, err := r.gather(testParts(t, program(t), program(t)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestLineExample: the example is the configuration of INSTALL.md as it is to be written.
func TestLineExample(t *testing.T) {
	for _, f := range materialOf(t).example {
		if f.path != "ringwatch-line.yaml" {
			continue
		}
		text, err := os.ReadFile(f.from)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "accounts:\n  - name: default\n") ||
			!strings.Contains(string(text), "\nkafka:\n  brokers: [") ||
			!strings.HasSuffix(string(text), "]\n") {
			t.Errorf("it is\n%s", text)
		}
		return
	}
	t.Error("there is no such example")
}

// TestImage looks at the image: who runs what in it, and that nothing else is there.
func TestImage(t *testing.T) {
	r := testRelease(t, "1.2.3")
	native := program(t)
	p := testParts(t, native, native)
	m, err := r.gather(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.image(p, m); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	about := unpackImage(t, filepath.Join(r.out, "ringwatch-1.2.3-oci.tar"), root)
	if about.Config.User != "65532:65532" {
		t.Errorf("the user is %q", about.Config.User)
	}
	var list []string
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			list = append(list, strings.TrimPrefix(path, root))
		}
		return err
	})
	want := []string{"/etc/group", "/etc/passwd", "/etc/ringwatch/ringwatch.yaml",
		"/etc/ssl/certs/ca-certificates.crt", "/usr/bin/ringwatch",
		"/usr/share/doc/ringwatch/LICENSE", "/usr/share/doc/ringwatch/THIRD-PARTY.txt",
		"/usr/share/ringwatch/ringwatch-agent.jar"}
	if err != nil || !slices.Equal(list, want) {
		t.Errorf("its files are %q, want %q: %v", list, want, err)
	}
	roots, err := os.ReadFile(filepath.Join(root, "etc/ssl/certs/ca-certificates.crt"))
	if n := bytes.Count(roots, []byte("BEGIN CERTIFICATE")); err != nil || n < 80 {
		t.Errorf("it trusts only %d authorities: %v", n, err)
	}
}

// TestDist is make dist on two clean clones: the same bytes. What it made for this machine is
// installed and started, from the package and from the image.
func TestDist(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds everything twice")
	}
	const version = "0.0.1-test"
	var made []string
	var out string
	for range 2 {
		clone := filepath.Join(t.TempDir(), "clone")
		for _, args := range [][]string{
			{"git", "clone", "--quiet", "--no-hardlinks", "../..", clone},
			{"cp", "-r", "../../console/node_modules", filepath.Join(clone, "console")},
		} {
			if text, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %v: %s", args, err, text)
			}
		}
		r := release{version: version, root: clone}
		if err := r.make(t.Context()); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(r.out, sums))
		if err != nil {
			t.Fatal(err)
		}
		made, out = append(made, string(text)), r.out
	}
	if made[0] != made[1] {
		t.Errorf("the checksums are\n%s\nand then\n%s", made[0], made[1])
	}
	t.Run("packages", func(t *testing.T) {
		server, _ := filepath.Glob(filepath.Join(out, "ringwatch_*_"+runtime.GOARCH+".deb"))
		agent, _ := filepath.Glob(filepath.Join(out, "ringwatch-agent_*.deb"))
		firstMinute(t, append(server, agent...)...)
	})
	t.Run("image", func(t *testing.T) {
		startImage(t, filepath.Join(out, "ringwatch-"+version+
			"-oci.tar"))
	})
}

// startImage starts what the image has, as the user that it names, where nothing but its volume can
// be written.
func startImage(t *testing.T, archive string) {
	t.Helper()
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	about := unpackImage(t, archive, root)
	api, ingest := freePort(t), freePort(t)
	config := filepath.Join(t.TempDir(), "ringwatch.yaml")
	text := fmt.Sprintf("accounts: [{name: default}]\ndata: {dir: /var/lib/ringwatch}\n"+
		"ingest: {listen: %q}\napi: {listen: %q}\n", ingest, api)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	script := `mount --bind "$1" "$1" &&
mount -t tmpfs -o mode=700,uid=65532,gid=65532 none "$1/var/lib/ringwatch" &&
mount --bind "$2" "$1/etc/ringwatch/ringwatch.yaml" && mount -o remount,bind,ro "$1" || exit 125
root=$1; shift 2
exec chroot --userspec="$USER_OF_IMAGE" "$root" "$@"`
	args := slices.Concat([]string{"--mount", "sh", "-c", script, "sh", root, config},
		about.Config.Entrypoint, about.Config.Cmd)
	cmd := exec.Command("unshare", args...)
	var said bytes.Buffer
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "USER_OF_IMAGE=" + about.Config.User}
	cmd.Stdout, cmd.Stderr = &said, &said
	p, err := startProcess(cmd)
	if err != nil {
		t.Fatal(err)
	}
	err = p.becomesReady(api)
	p.end()
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
}

// unpackImage lays an archive's image out, and returns what it says about itself.
func unpackImage(t *testing.T, archive, root string) *v1.ConfigFile {
	t.Helper()
	dir := t.TempDir()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	untar(t, f, dir)
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	for { // of the archive, then of the processors
		manifest, err := index.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(manifest.Manifests, func(d v1.Descriptor) bool {
			return d.MediaType.IsIndex() || d.Platform != nil &&
				d.Platform.Architecture == runtime.GOARCH
		})
		if at < 0 {
			t.Fatalf("nothing for this machine is in %+v", manifest)
		}
		digest := manifest.Manifests[at].Digest
		if manifest.Manifests[at].MediaType.IsIndex() {
			if index, err = index.ImageIndex(digest); err != nil {
				t.Fatal(err)
			}
			continue
		}
		image, err := index.Image(digest)
		if err != nil {
			t.Fatal(err)
		}
		files := mutate.Extract(image)
		defer files.Close()
		untar(t, files, root)
		about, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		return about
	}
}

func untar(t *testing.T, in io.Reader, dir string) {
	t.Helper()
	for r := tar.NewReader(in); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, header.Name)
		if header.Typeflag == tar.TypeDir {
			err = os.MkdirAll(name, 0o755)
		} else if err = os.MkdirAll(filepath.Dir(name), 0o755); err == nil {
			var text []byte
			if text, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(name, text, fs.FileMode(header.Mode).Perm())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
