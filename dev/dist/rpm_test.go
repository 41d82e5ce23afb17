package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRPM installs, upgrades and removes the server's rpm with rpm itself, in a root of Debian's
// files. The program in it only reads its configuration, as far as a word: TestPackages runs the
// real one.
func TestRPM(t *testing.T) {
	native := program(t)
	if _, err := exec.LookPath("rpm"); err != nil {
		t.Fatal("rpm is not there: apt-get install rpm")
	}
	d := newDebian(t)
	d.write("usr/bin/systemctl", systemctl)
	d.run("chmod", "755", "/usr/bin/systemctl")
	d.run("mkdir", "-p", "/run/systemd/system")
	rpm := func(args ...string) string {
		t.Helper()
		// Its dependencies are Fedora's: shadow-utils is passwd here.
		out, err := exec.Command("unshare", append([]string{"--mount", "sh", "-c",
			`mount --rbind /dev "$1/dev" && exec rpm --root "$@"`, "sh", d.root, "--nodeps"},
			args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("rpm %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	out := rpm("-i", serverRPM(t, native, firstVersion))
	if !strings.Contains(out, "systemctl enable --now ringwatch") {
		t.Errorf("rpm does not say how to start it:\n%s", out)
	}
	for name, want := range map[string]string{
		"usr/bin/ringwatch":                       "755 root root",
		"etc/ringwatch/ringwatch.yaml":            "640 root ringwatch",
		"var/lib/ringwatch":                       "700 ringwatch ringwatch",
		"usr/share/zsh/site-functions/_ringwatch": "644 root root",
	} {
		if got := d.owned(name); got != want {
			t.Errorf("/%s is %s, want %s", name, got, want)
		}
	}
	d.write("etc/ringwatch/ringwatch.yaml", "gone: {since: 1.0}\n")
	d.write("var/lib/ringwatch/data", "mine")
	d.write("run/ringwatch.active", "")
	d.write("var/log/systemctl", "")
	out = rpm("-U", serverRPM(t, native, nextVersion))
	if told := d.read("var/log/systemctl"); strings.Contains(told, "restart") ||
		!strings.Contains(out, "gone is gone") ||
		!strings.Contains(out, "does not take /etc/ringwatch/ringwatch.yaml") {
		t.Errorf("with a key that is gone systemctl was told\n%s\nand rpm says\n%s", told, out)
	}
	d.write("etc/ringwatch/ringwatch.yaml", "accounts: [{name: mine}]\n")
	d.write("var/log/systemctl", "")
	rpm("-U", serverRPM(t, native, "1.0.2-test"))
	if told := d.read("var/log/systemctl"); !strings.Contains(told,
		"try-restart ringwatch.service\n") || strings.Contains(told, "disable") {
		t.Errorf("on upgrade systemctl was told\n%s", told)
	}
	if d.read("etc/ringwatch/ringwatch.yaml") != "accounts: [{name: mine}]\n" {
		t.Error("the upgrade changed the configuration")
	}
	out = rpm("-e", "ringwatch")
	if told := d.read("var/log/systemctl"); !strings.Contains(told,
		"disable --now ringwatch.service\n") {
		t.Errorf("on removal systemctl was told\n%s", told)
	}
	if !strings.Contains(out, "stays in /var/lib/ringwatch") || d.read("usr/bin/ringwatch") != "" ||
		d.read("var/lib/ringwatch/data") != "mine" ||
		d.read("etc/ringwatch/ringwatch.yaml.rpmsave") == "" {
		t.Errorf("after the removal, of which rpm says\n%s\nthere is %s", out,
			d.run("ls", "-A", "/etc/ringwatch", "/var/lib/ringwatch", "/usr/bin/ringwatch"))
	}
}

// serverRPM makes the rpm of a version.
func serverRPM(t *testing.T, native, version string) string {
	t.Helper()
	fake := filepath.Join(t.TempDir(), "ringwatch")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\n# "+version+`
if grep -q gone: "$3"; then
	echo "gone is gone" >&2
	exit 2
fi
`), 0o755); err != nil {
		t.Fatal(err)
	}
	r := testRelease(t, version)
	p := testParts(t, native, fake)
	m, err := r.gather(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.packages(formats[1], p, m); err != nil {
		t.Fatal(err)
	}
	list, err := filepath.Glob(filepath.Join(r.out, "ringwatch-[0-9]*.rpm"))
	if err != nil || len(list) != 1 {
		t.Fatalf("there are %q: %v", list, err)
	}
	return list[0]
}
