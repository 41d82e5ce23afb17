package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// debian is a root of Debian's own files, for packages to be installed in. It has what every Debian
// has and nothing else: the essential packages of this machine, what they depend on, and passwd and
// apt, with dpkg's records of them. So dpkg there resolves dependencies and runs scripts as it does
// anywhere. Nothing is fetched, and nothing of this machine is changed.
type debian struct {
	t    *testing.T
	root string
}

// newDebian copies the root, and what else is named of the packages here.
func newDebian(t *testing.T, more ...string) *debian {
	t.Helper()
	return debianIn(t, t.TempDir(), more...)
}

// debianIn copies the root into a folder. That needs root, as dpkg does, and a Debian.
func debianIn(t *testing.T, root string, more ...string) *debian {
	t.Helper()
	known := readStatus(t, "/var/lib/dpkg/status")
	d := &debian{t, root}
	d.layOut()
	var status strings.Builder
	for _, p := range known.needed(append(more, "passwd", "apt")...) {
		status.WriteString(p.stanza + "\n")
		d.copyPackage(p)
	}
	d.write("var/lib/dpkg/status", status.String())
	d.copy("/var/lib/dpkg/info/format")
	// What Debian's base-passwd makes of them.
	for _, name := range []string{"passwd", "group"} {
		text, err := os.ReadFile("/usr/share/base-passwd/" + name + ".master")
		if err != nil {
			t.Fatal(err)
		}
		d.write("etc/"+name, strings.ReplaceAll(string(text), ":*:", ":x:"))
	}
	d.write("etc/shadow", "")
	d.write("etc/gshadow", "")
	d.run("dpkg", "--configure", "--pending")
	return d
}

// layOut makes the folders that no package has, and /bin as a link where it is one here.
func (d *debian) layOut() {
	d.t.Helper()
	for _, dir := range []string{"proc", "dev", "run", "tmp", "etc", "usr", "var/lib/dpkg/info",
		"var/lib/dpkg/updates", "var/lib/dpkg/triggers", "var/lib/dpkg/alternatives", "var/log"} {
		if err := os.MkdirAll(filepath.Join(d.root, dir), 0o755); err != nil {
			d.t.Fatal(err)
		}
	}
	for _, dir := range []string{"bin", "sbin", "lib", "lib64"} {
		if to, err := os.Readlink("/" + dir); err == nil {
			if err := os.MkdirAll(filepath.Join(d.root, to), 0o755); err != nil {
				d.t.Fatal(err)
			}
			if err := os.Symlink(to, filepath.Join(d.root, dir)); err != nil {
				d.t.Fatal(err)
			}
		}
	}
	if err := os.Chmod(filepath.Join(d.root, "tmp"), 0o777|fs.ModeSticky); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Chmod(d.root, 0o755); err != nil {
		d.t.Fatal(err)
	}
}

// debPackage is a package that is installed on this machine.
type debPackage struct {
	name, arch, stanza string
	essential          bool
	depends            [][]string // alternatives
}

// debStatus is what dpkg knows, by the name of the package and of what it provides.
type debStatus struct {
	list []*debPackage
	by   map[string]*debPackage
}

var versionOrArch = regexp.MustCompile(`\s*\(.*?\)|:any|:native`)

// readStatus reads dpkg's records.
func readStatus(t *testing.T, file string) *debStatus {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil || os.Getuid() != 0 {
		t.Fatalf("packages are installed by root, on a Debian, in a folder, too: run this test as "+
			"root in a container of Debian, or leave it out with -short (%v)", err)
	}
	s := &debStatus{by: map[string]*debPackage{}}
	provided := map[string]*debPackage{}
	for stanza := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		if !strings.Contains(stanza, "\nStatus: install ok installed\n") {
			continue
		}
		p := &debPackage{stanza: stanza + "\n"}
		for line := range strings.Lines(stanza) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			switch key {
			case "Package":
				p.name = value
			case "Architecture":
				p.arch = value
			case "Essential":
				p.essential = value == "yes"
			case "Depends", "Pre-Depends":
				p.depends = append(p.depends, names(value)...)
			case "Provides":
				for _, list := range names(value) {
					provided[list[0]] = p
				}
			}
		}
		s.list = append(s.list, p)
		s.by[p.name] = p
	}
	for name, p := range provided {
		if s.by[name] == nil {
			s.by[name] = p
		}
	}
	return s
}

// names are the packages of a field, without versions, and their alternatives.
func names(field string) (list [][]string) {
	field = strings.ReplaceAll(versionOrArch.ReplaceAllString(field, ""), " ", "")
	for one := range strings.SplitSeq(field, ",") {
		list = append(list, strings.Split(one, "|"))
	}
	return list
}

// needed are the essential packages, those that are named, and what all of them depend on.
func (s *debStatus) needed(more ...string) (list []*debPackage) {
	seen := map[*debPackage]bool{}
	var take func(*debPackage)
	take = func(p *debPackage) {
		if p == nil || seen[p] {
			return
		}
		seen[p] = true
		for _, names := range p.depends {
			if at := slices.IndexFunc(names, func(name string) bool {
				return s.by[name] != nil
			}); at >= 0 {
				take(s.by[names[at]])
			}
		}
		list = append(list, p)
	}
	for _, p := range s.list {
		if p.essential {
			take(p)
		}
	}
	for _, name := range more {
		take(s.by[name])
	}
	return list
}

// copyPackage copies a package's files and dpkg's records of it.
func (d *debian) copyPackage(p *debPackage) {
	d.t.Helper()
	records, _ := filepath.Glob("/var/lib/dpkg/info/" + p.name + ".*")
	more, _ := filepath.Glob("/var/lib/dpkg/info/" + p.name + ":" + p.arch + ".*")
	for _, record := range append(records, more...) {
		d.copy(record)
		if !strings.HasSuffix(record, ".list") {
			continue
		}
		f, err := os.Open(record)
		if err != nil {
			d.t.Fatal(err)
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if path := lines.Text(); !strings.HasPrefix(path, "/usr/share/doc/") &&
				!strings.HasPrefix(path, "/usr/share/locale/") &&
				!strings.HasPrefix(path, "/usr/share/man/") {
				d.copy(path)
			}
		}
	}
}

// copy copies one file or folder, unless it is there. What an administrator has removed is not.
func (d *debian) copy(path string) {
	d.t.Helper()
	to := filepath.Join(d.root, path)
	info, err := os.Lstat(path)
	if _, there := os.Lstat(to); err != nil || there == nil {
		return
	}
	if parent := filepath.Dir(to); parent != d.root {
		err = os.MkdirAll(parent, 0o755)
	}
	switch {
	case err != nil:
	case info.Mode()&fs.ModeSymlink != 0:
		var target string
		if target, err = os.Readlink(path); err == nil {
			err = os.Symlink(target, to)
		}
	case info.IsDir():
		if err = os.Mkdir(to, info.Mode().Perm()); err == nil {
			err = os.Chmod(to, info.Mode()&(fs.ModePerm|fs.ModeSticky))
		}
	case info.Mode().IsRegular():
		var text []byte
		if text, err = os.ReadFile(path); err == nil {
			err = os.WriteFile(to, text, info.Mode().Perm())
		}
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// command runs something in the root as a user, with the machine's /proc and /dev, in a mount
// namespace of its own. There the root is a mount, too: Java asks each file's.
func (d *debian) command(user string, args ...string) *exec.Cmd {
	script := `mount --bind "$1" "$1" && mount --rbind /proc "$1/proc" && mount --rbind /dev "$1/dev" || exit 125
root=$1 user=$2; shift 2
exec chroot --userspec="$user" "$root" "$@"`
	cmd := exec.Command("unshare", append([]string{"--mount", "sh", "-c", script, "sh", d.root,
		user}, args...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C",
		"DEBIAN_FRONTEND=noninteractive"}
	return cmd
}

// try runs something as root in the root, and returns what it prints.
func (d *debian) try(args ...string) (string, error) {
	out, err := d.command("root", args...).CombinedOutput()
	return string(out), err
}

// run does so, and the test ends if it fails.
func (d *debian) run(args ...string) string {
	d.t.Helper()
	out, err := d.try(args...)
	if err != nil {
		d.t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// dpkg installs packages, as apt does for who keeps changed configurations.
func (d *debian) dpkg(files ...string) (string, error) {
	d.t.Helper()
	args := []string{"dpkg", "--force-confdef", "--force-confold", "--install"}
	for _, file := range files {
		args = append(args, d.bring(file, "/tmp"))
	}
	return d.try(args...)
}

// bring copies a file of this machine into a folder of the root, and returns its name there.
func (d *debian) bring(file, dir string) string {
	d.t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		d.t.Fatal(err)
	}
	name := filepath.Join(dir, filepath.Base(file))
	d.write(name, string(text))
	return name
}

// read reads a file in the root; "" if it is not there.
func (d *debian) read(name string) string {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.root, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.t.Fatal(err)
	}
	return string(text)
}

// write writes a file in the root.
func (d *debian) write(name, text string) {
	d.t.Helper()
	name = filepath.Join(d.root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// owned is whose a file in the root is, and its mode: "640 root ringwatch".
func (d *debian) owned(name string) string {
	d.t.Helper()
	out, err := d.try("stat", "-c", "%a %U %G", "/"+name)
	if err != nil {
		return fmt.Sprintf("%s: %v", out, err)
	}
	return strings.TrimSpace(out)
}
