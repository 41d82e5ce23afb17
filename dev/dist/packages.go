package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// format is a kind of package.
type format struct {
	name     string
	packager nfpm.PackagerWithExtension
	zsh      string // where its completions are
}

var formats = []format{
	{"deb", deb.Default, "/usr/share/zsh/vendor-completions"},
	{"rpm", rpm.DefaultRPM, "/usr/share/zsh/site-functions"},
}

// packages writes the packages of one format.
func (r *release) packages(f format, p *parts, m *material) error {
	s := &stage{r: r, dir: filepath.Join(r.work, f.name)}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	server, agent, err := s.contents(f, m)
	if err != nil {
		return err
	}
	for _, arch := range sortedKeys(p.programs) {
		program := file{path: "/usr/bin/ringwatch", from: p.programs[arch], mode: 0o755}
		info := r.info("ringwatch", arch, append([]file{program}, server...))
		info.Description = "fleet monitoring for Apache Cassandra\n" +
			"The roles that take, keep, watch and show what the agents in Cassandra's nodes\n" +
			"send, as one process or as a line of many, with the commands that ask them."
		info.Recommends = []string{"ca-certificates"}
		if f.name == "rpm" {
			info.Depends = []string{"shadow-utils"}
		} else {
			info.Deb.Predepends = []string{"passwd"}
		}
		if err := s.writeOne(f, info, "ringwatch"); err != nil {
			return err
		}
	}
	info := r.info("ringwatch-agent", "all", append([]file{{
		path: "/opt/ringwatch/ringwatch-agent.jar", from: p.jar, mode: 0o644}}, agent...))
	info.Description = "Ringwatch's agent for Apache Cassandra\n" +
		"One jar in the Java of each node, which sends what changed to Ringwatch."
	info.Suggests = []string{"ringwatch"}
	return s.writeOne(f, info, "agent")
}

// contents are the files of the two packages that are the same for all processors.
func (s *stage) contents(f format, m *material) (server, agent []file, err error) {
	var man []file
	for _, page := range m.man {
		zipped, err := s.zipped(page)
		if err != nil {
			return nil, nil, err
		}
		man = append(man, zipped)
	}
	notices, err1 := s.zipped(m.notices)
	changes, err2 := s.zipped(m.changes)
	if err := errors.Join(err1, err2); err != nil {
		return nil, nil, err
	}
	copyright, config, agentConfig := m.licence, m.config, m.agent
	copyright.path = "copyright"
	config.mode, config.group, config.kept = 0o640, "ringwatch", true
	agentConfig.mode, agentConfig.kept = 0o640, true
	for _, part := range [][]file{
		in("/usr/lib/systemd/system", m.units), in("/usr/share/man/man1", man),
		in("/usr/share/bash-completion/completions", m.bash), in(f.zsh, m.zsh),
		in("/usr/share/fish/vendor_completions.d", m.fish),
		in("/usr/share/ringwatch/rules", m.rules),
		in("/usr/share/ringwatch/dashboards", m.dashboards),
		in("/usr/share/doc/ringwatch", []file{copyright, notices, changes}),
		in("/usr/share/doc/ringwatch/examples", m.example), in("/etc/ringwatch", []file{config}),
	} {
		server = append(server, part...)
	}
	agent = append(in("/usr/share/doc/ringwatch-agent", []file{copyright}),
		in("/etc/ringwatch", []file{agentConfig})...)
	return server, agent, nil
}

// info is what all packages have.
func (r *release) info(name, arch string, list []file) *nfpm.Info {
	info := &nfpm.Info{Name: name, Arch: arch, Platform: "linux", Version: r.version,
		Section: "admin", Priority: "optional", License: "Apache-2.0", MTime: r.at,
		Maintainer:      "Ringwatch's maintainers <ringwatch@users.noreply.github.com>",
		Homepage:        "https://github.com/ringwatch/ringwatch",
		DisableGlobbing: true,
	}
	info.RPM.BuildHost = "ringwatch" // not the name of the machine that this runs on
	info.Contents = files.Contents{{Destination: "/etc/ringwatch", Type: files.TypeDir,
		FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: r.at}}}
	for _, f := range list {
		kind := files.TypeFile
		if f.kept {
			kind = files.TypeConfigNoReplace
		}
		info.Contents = append(info.Contents, &files.Content{Source: f.from, Destination: f.path,
			Type: kind, FileInfo: &files.ContentFileInfo{Owner: "root",
				Group: cmp.Or(f.group, "root"), Mode: f.mode, MTime: r.at}})
	}
	return info
}

// writeOne writes one package with the scripts of that name.
func (s *stage) writeOne(f format, info *nfpm.Info, scripts string) error {
	for _, script := range []struct {
		name string
		to   *string
	}{{"preinst", &info.Scripts.PreInstall}, {"postinst", &info.Scripts.PostInstall},
		{"prerm", &info.Scripts.PreRemove}, {"postrm", &info.Scripts.PostRemove}} {
		text, err := own.ReadFile("files/" + scripts + "." + script.name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		written, err := s.write(script.name, text)
		if err != nil {
			return err
		}
		*script.to = written.from
	}
	info = nfpm.WithDefaults(info)
	name := filepath.Join(s.r.out, f.packager.ConventionalFileName(info))
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer out.Close()
	if err := f.packager.Package(info, out); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return out.Close()
}
