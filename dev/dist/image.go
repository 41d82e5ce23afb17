package main

import (
	"archive/tar"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nobody is the user in the image, whom no other file of a machine belongs to.
const nobody = 65532

// image writes an archive of an OCI image for all processors. There is nothing in it but the
// program, what it reads, a folder that it may write, and the jar that ringwatch agent-jar copies.
func (r *release) image(p *parts, m *material) error {
	dir := filepath.Join(r.work, "image")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range sortedKeys(p.programs) {
		image, err := r.imageOf(arch, dir, p, m)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	if _, err := layout.Write(filepath.Join(dir, "layout"),
		onlyIndex(index, r.version)); err != nil {
		return err
	}
	return r.pickUp(filepath.Join(dir, "layout"), "ringwatch-"+r.version+"-oci.tar")
}

// onlyIndex is the index of an archive with one image, which has many processors and a name.
func onlyIndex(image v1.ImageIndex, version string) v1.ImageIndex {
	return mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex),
		mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			Annotations: map[string]string{"org.opencontainers.image.ref.name": version}}})
}

// imageOf is the image of one processor.
func (r *release) imageOf(arch, dir string, p *parts, m *material) (v1.Image, error) {
	s := &stage{r: r, dir: dir}
	var files []file
	for _, f := range []struct {
		path string
		text []byte
	}{
		{"etc/passwd", fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\n"+
			"ringwatch:x:%d:%[1]d:ringwatch:/var/lib/ringwatch:/sbin/nologin\n", nobody)},
		{"etc/group", fmt.Appendf(nil, "root:x:0:\nringwatch:x:%d:\n", nobody)},
		{"etc/ssl/certs/ca-certificates.crt", authorities()},
	} {
		written, err := s.write(f.path, f.text)
		if err != nil {
			return nil, err
		}
		files = append(files, written)
	}
	config := m.imageConfig
	config.path = "etc/ringwatch/ringwatch.yaml"
	files = append(files, config,
		file{path: "usr/bin/ringwatch", from: p.programs[arch], mode: 0o755},
		file{path: "usr/share/ringwatch/ringwatch-agent.jar", from: p.jar, mode: 0o644},
		file{path: "tmp", mode: fs.ModeDir | fs.ModeSticky | 0o777},
		file{path: "var/lib/ringwatch", mode: fs.ModeDir | 0o700, user: nobody})
	files = append(files, in("usr/share/doc/ringwatch", []file{m.licence, m.notices})...)
	plain := filepath.Join(dir, arch+".tar")
	if err := r.writeTarFile(plain, files); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromFile(plain, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1),
		types.OCIConfigJSON)
	if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{
		CreatedBy: "make dist", Created: v1.Time{Time: r.at}}}); err != nil {
		return nil, err
	}
	about, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	about = about.DeepCopy()
	about.Architecture, about.OS, about.Created = arch, "linux", v1.Time{Time: r.at}
	about.Config = v1.Config{
		User:       fmt.Sprintf("%d:%[1]d", nobody),
		Entrypoint: []string{"/usr/bin/ringwatch"},
		Cmd:        []string{"all", "--config", "/etc/ringwatch/ringwatch.yaml"},
		Env:        []string{"PATH=/usr/bin"},
		WorkingDir: "/var/lib/ringwatch",
		Volumes:    map[string]struct{}{"/var/lib/ringwatch": {}},
		ExposedPorts: map[string]struct{}{"9470/tcp": {}, "9471/tcp": {}, "9473/tcp": {},
			"9474/tcp": {}, "9475/tcp": {}},
		StopSignal: "SIGTERM",
		Labels: map[string]string{
			"org.opencontainers.image.title":    "ringwatch",
			"org.opencontainers.image.version":  r.version,
			"org.opencontainers.image.revision": r.commit,
			"org.opencontainers.image.source":   "https://github.com/ringwatch/ringwatch",
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return mutate.ConfigFile(image, about)
}

// authorities are those whom Mozilla trusts without conditions, since PEM has no place for any.
func authorities() []byte {
	var all []byte
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			all = append(all, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
				Bytes: root.Certificate})...)
		}
	}
	return all
}

// writeTarFile writes a tar of its own.
func (r *release) writeTarFile(name string, files []file) error {
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer out.Close()
	w := tar.NewWriter(out)
	if err := writeTar(w, r.at, files); err != nil {
		return err
	}
	for _, c := range []io.Closer{w, out} {
		if err := c.Close(); err != nil {
			return err
		}
	}
	return nil
}

// pickUp makes an artefact of all files in a folder.
func (r *release) pickUp(dir, name string) error {
	var files []file
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, file{path: strings.TrimPrefix(path, dir+"/"), from: path,
				mode: 0o644})
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.writeTarFile(filepath.Join(r.out, name), files)
}
