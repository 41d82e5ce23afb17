package main

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// limits are the most bytes that an artefact may have, by the end of its name, about a quarter
// above what it has. What is larger has more in it than anybody meant.
var limits = []struct {
	ending string
	bytes  int64
}{
	{"-agent.jar", 1 << 20},
	{".tar.gz", 32 << 20},
	{"_all.deb", 1 << 20},
	{".noarch.rpm", 1 << 20},
	{".deb", 32 << 20},
	{".rpm", 32 << 20},
	{"-oci.tar", 64 << 20},
	{"-chart.tgz", 64 << 10},
	{".cdx.json", 1 << 20},
	{sums, 16 << 10},
}

// sums is the file of checksums, which is what to sign: SHA256SUMS.asc belongs beside it.
const sums = "SHA256SUMS"

// pack makes the artefacts of the parts.
func (r *release) pack(p *parts) error {
	m, err := r.gather(p)
	if err != nil {
		return err
	}
	for _, f := range formats {
		if err := r.packages(f, p, m); err != nil {
			return err
		}
	}
	for _, arch := range sortedKeys(p.programs) {
		files := slices.Concat([]file{
			{path: "ringwatch", from: p.programs[arch], mode: 0o755},
			{path: "ringwatch-agent.jar", from: p.jar, mode: 0o644},
			m.licence, m.notices, m.changes},
			in("man/man1", m.man), in("completions", m.zsh, m.fish),
			in("rules", m.rules), in("dashboards", m.dashboards), in("examples", m.example),
			in("systemd", m.units))
		for _, f := range m.bash { // in a folder of all shells it says which one
			f.path = "completions/ringwatch.bash"
			files = append(files, f)
		}
		if err := r.archive("ringwatch-"+r.version+"-linux-"+arch, files); err != nil {
			return err
		}
	}
	if err := r.image(p, m); err != nil {
		return err
	}
	if err := r.chart(); err != nil {
		return err
	}
	jar, err := os.ReadFile(p.jar)
	if err != nil {
		return err
	}
	bill, err := r.materials(p.bundled)
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{"-agent.jar": jar, ".cdx.json": bill} {
		name = filepath.Join(r.out, "ringwatch-"+r.version+name)
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return err
		}
	}
	return r.sum()
}

// sum writes the checksums, and prints and checks the sizes.
func (r *release) sum() error {
	artefacts, err := r.artefacts()
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, name := range artefacts {
		f, err := os.Open(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		hash := sha256.New()
		_, err = io.Copy(hash, f)
		f.Close()
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", hash.Sum(nil), name)
	}
	if err := os.WriteFile(filepath.Join(r.out, sums), []byte(list.String()), 0o644); err != nil {
		return err
	}
	var errs []error
	fmt.Printf("%-44s %9s %9s\n", "in "+r.out, "MB", "at most")
	for _, name := range append(artefacts, sums) {
		info, err := os.Stat(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		limit := limitOf(name)
		fmt.Printf("%-44s %9.2f %9.2f\n", name, float64(info.Size())/1e6, float64(limit)/1e6)
		if info.Size() > limit {
			errs = append(errs, fmt.Errorf("%s has %d bytes, and %d are the limit", name,
				info.Size(), limit))
		}
	}
	return errors.Join(errs...)
}

// limitOf is the limit of an artefact; 0 if nobody thought of it.
func limitOf(name string) int64 {
	for _, l := range limits {
		if strings.HasSuffix(name, l.ending) {
			return l.bytes
		}
	}
	return 0
}

// artefacts are the names of what is made, sorted.
func (r *release) artefacts() (list []string, err error) {
	entries, err := os.ReadDir(r.out)
	for _, e := range entries {
		if e.Type().IsRegular() && e.Name() != sums {
			list = append(list, e.Name())
		}
	}
	return list, err
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
