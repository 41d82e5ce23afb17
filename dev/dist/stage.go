package main

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed files all:files/chart
var own embed.FS

// file is one file of an artefact.
type file struct {
	path  string // in the artefact
	from  string // on this machine
	mode  fs.FileMode
	user  int    // in the image, where 0 is root
	group string // in a package; empty: root
	kept  bool   // a configuration, which an upgrade leaves as it is
}

// stage is a folder that files of artefacts are written into.
type stage struct {
	r   *release
	dir string
	n   int
}

// write makes a file of an artefact.
func (s *stage) write(name string, text []byte) (file, error) {
	s.n++
	from := filepath.Join(s.dir, fmt.Sprintf("%d-%s", s.n, path.Base(name)))
	return file{path: name, from: from, mode: 0o644}, os.WriteFile(from, text, 0o644)
}

// material is what is the same in every artefact, by what it is.
type material struct {
	man, bash, zsh, fish       []file
	rules, dashboards, example []file
	units                      []file
	licence, notices, changes  file
	config, imageConfig, agent file
}

// gather makes the material. Paths are names alone.
func (r *release) gather(p *parts) (*material, error) {
	s := &stage{r: r, dir: filepath.Join(r.work, "stage")}
	if err := os.RemoveAll(s.dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, err
	}
	var m material
	for _, step := range []func(*stage, *material, *parts) error{pages, completions, copies, units,
		configurations} {
		if err := step(s, &m, p); err != nil {
			return nil, err
		}
	}
	return &m, nil
}

// pages are the man pages, which the program writes.
func pages(s *stage, m *material, p *parts) error {
	dir := filepath.Join(s.dir, "man")
	if out, err := exec.Command(p.native, "man", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("ringwatch man: %w: %s", err, out)
	}
	m.man = found(dir, "*.1")
	if len(m.man) < 20 {
		return fmt.Errorf("only %d man pages", len(m.man))
	}
	return nil
}

func completions(s *stage, m *material, p *parts) error {
	for _, shell := range []struct {
		name, file string
		list       *[]file
	}{{"bash", "ringwatch", &m.bash}, {"zsh", "_ringwatch", &m.zsh},
		{"fish", "ringwatch.fish", &m.fish}} {
		out, err := exec.Command(p.native, "completion", shell.name).Output()
		if err != nil {
			return fmt.Errorf("ringwatch completion %s: %w", shell.name, err)
		}
		f, err := s.write(shell.file, out)
		if err != nil {
			return err
		}
		*shell.list = []file{f}
	}
	return nil
}

// copies are files of the repository.
func copies(s *stage, m *material, p *parts) (err error) {
	m.rules = slices.DeleteFunc(found(filepath.Join(s.r.root, "rules"), "*.yaml"),
		func(f file) bool { return strings.HasSuffix(f.path, "_test.yaml") })
	m.dashboards = found(filepath.Join(s.r.root, "api", "dashboards"), "*.json")
	if len(m.rules) < 5 || len(m.dashboards) < 5 {
		return fmt.Errorf("only %d files of rules and %d dashboards", len(m.rules),
			len(m.dashboards))
	}
	m.licence = file{path: "LICENSE", from: filepath.Join(s.r.root, "LICENSE"), mode: 0o644}
	m.changes = file{path: "CHANGELOG.md", from: filepath.Join(s.r.root, "CHANGELOG.md"),
		mode: 0o644}
	m.notices, err = s.write("THIRD-PARTY.txt", p.bundled.notices())
	return err
}

// found are the files of a folder that a pattern matches, by their names.
func found(dir, pattern string) (list []file) {
	names, _ := filepath.Glob(filepath.Join(dir, pattern)) // the pattern is right
	for _, name := range names {
		list = append(list, file{path: filepath.Base(name), from: name, mode: 0o644})
	}
	return list
}

func units(s *stage, m *material, _ *parts) error {
	hardening, err := own.ReadFile("files/hardening.conf")
	if err != nil {
		return err
	}
	for _, name := range []string{"ringwatch.service", "ringwatch@.service"} {
		text, err := own.ReadFile("files/" + name)
		if err != nil {
			return err
		}
		f, err := s.write(name, bytes.Replace(text, []byte("@HARDENING@\n"), hardening, 1))
		if err != nil {
			return err
		}
		m.units = append(m.units, f)
	}
	return nil
}

func configurations(s *stage, m *material, _ *parts) error {
	for _, c := range []struct {
		name string
		to   *file
	}{{"ringwatch.yaml", &m.config}, {"image.yaml", &m.imageConfig}, {"agent.yaml", &m.agent}} {
		text, err := own.ReadFile("files/" + c.name)
		if err != nil {
			return err
		}
		if *c.to, err = s.write(c.name, text); err != nil {
			return err
		}
	}
	page, err := os.ReadFile(filepath.Join(s.r.root, "docs", "INSTALL.md"))
	if err != nil {
		return err
	}
	_, section, _ := strings.Cut(string(page), "\n## A line of engines\n")
	line, err := firstYAML(section)
	if err != nil {
		return fmt.Errorf("docs/INSTALL.md, A line of engines: %w", err)
	}
	f, err := s.write("ringwatch-line.yaml", []byte(line))
	m.example = []file{m.config, f, m.agent}
	return err
}

// firstYAML is a page's first block of YAML, without its indentation.
func firstYAML(page string) (string, error) {
	before, rest, found := strings.Cut(page, "```yaml\n")
	block, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		return "", fmt.Errorf("no block of YAML")
	}
	indent := before[strings.LastIndex(before, "\n")+1:]
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(block, " ")) {
		b.WriteString(strings.TrimPrefix(line, indent))
	}
	return b.String(), nil
}

// zipped is a file under gzip, as packages have their man pages.
func (s *stage) zipped(f file) (file, error) {
	text, err := os.ReadFile(f.from)
	if err != nil {
		return file{}, err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return file{}, err
	}
	if _, err := z.Write(text); err != nil {
		return file{}, err
	}
	if err := z.Close(); err != nil {
		return file{}, err
	}
	return s.write(f.path+".gz", b.Bytes())
}

// in are files moved to a folder of the artefact.
func in(dir string, lists ...[]file) (list []file) {
	for _, f := range slices.Concat(lists...) {
		f.path = path.Join(dir, f.path)
		list = append(list, f)
	}
	return list
}
