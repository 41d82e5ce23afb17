package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// component is somebody else's code that is in an artefact.
type component struct {
	name, version string
	url           string   // a package URL, as bills of materials name things
	licences      []string // SPDX's names, sorted
	texts         []string // of its licences and notices
}

// inventory is all of it, by name.
type inventory struct{ components []component }

// takeInventory finds the Go modules that the program is linked with and the npm packages that the
// console's bundle may have, with their licences. What has no licence, or one that this product
// cannot be given away with, is an error.
func (r *release) takeInventory(ctx context.Context) (*inventory, error) {
	var all inventory
	for _, take := range []func(context.Context) ([]component, error){r.goModules, r.npmPackages} {
		more, err := take(ctx)
		if err != nil {
			return nil, err
		}
		all.components = append(all.components, more...)
	}
	slices.SortFunc(all.components, func(a, b component) int {
		return strings.Compare(a.url, b.url)
	})
	var errs []error
	for i := range all.components {
		errs = append(errs, all.components[i].classify())
	}
	return &all, errors.Join(errs...)
}

// goPackage is what go list says of a package.
type goPackage struct {
	Dir      string
	Standard bool
	Module   *struct {
		Path, Version, Dir, GoVersion string
		Main                          bool
	}
}

func (r *release) goModules(ctx context.Context) (list []component, err error) {
	out, err := r.output(ctx, "env", "CGO_ENABLED=0", "GOOS=linux", "go", "list", "-deps",
		"-json=Dir,Standard,Module", "./cmd/ringwatch")
	if err != nil {
		return nil, err
	}
	versions, err := r.output(ctx, "go", "env", "GOVERSION", "GOROOT")
	if err != nil {
		return nil, err
	}
	version, root, _ := strings.Cut(strings.TrimSpace(versions), "\n")
	texts, err := licenceTexts(root)
	if err != nil {
		return nil, err
	}
	version = strings.TrimPrefix(version, "go")
	list = append(list, component{name: "Go's standard library", version: version,
		url: "pkg:golang/std@" + version, texts: texts})
	found := map[string]int{}
	for packages := json.NewDecoder(strings.NewReader(out)); ; {
		var p goPackage
		if err := packages.Decode(&p); errors.Is(err, io.EOF) {
			return list, nil
		} else if err != nil {
			return nil, err
		}
		if p.Standard || p.Module == nil || p.Module.Main {
			continue
		}
		at, known := found[p.Module.Path]
		if !known {
			at = len(list)
			found[p.Module.Path] = at
			list = append(list, component{name: p.Module.Path, version: p.Module.Version,
				url: "pkg:golang/" + p.Module.Path + "@" + p.Module.Version})
		}
		// A package may have been taken from elsewhere, with a licence of its own beside it.
		for dir := p.Dir; ; dir = filepath.Dir(dir) {
			more, err := licenceTexts(dir)
			if err != nil {
				return nil, err
			}
			for _, text := range more {
				if !slices.Contains(list[at].texts, text) {
					list[at].texts = append(list[at].texts, text)
				}
			}
			if dir == p.Module.Dir || len(dir) < len(p.Module.Dir) {
				break
			}
		}
	}
}

// npmPackages are those of the console's lock file that are not only for its development.
func (r *release) npmPackages(context.Context) (list []component, err error) {
	console := filepath.Join(r.root, "console")
	b, err := os.ReadFile(filepath.Join(console, "package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version, License string
			Dev              bool
		}
	}
	if err := json.Unmarshal(b, &lock); err != nil {
		return nil, err
	}
	for path, p := range lock.Packages {
		name, ok := strings.CutPrefix(path, "node_modules/")
		if !ok || p.Dev {
			continue
		}
		texts, err := licenceTexts(filepath.Join(console, path))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("the console's modules are not there: cd console && npm ci: %w",
				err)
		} else if err != nil {
			return nil, err
		}
		c := component{name: name, version: p.Version, texts: texts,
			url: "pkg:npm/" + strings.ReplaceAll(name, "@", "%40") + "@" + p.Version}
		if p.License != "" {
			c.licences = []string{p.License}
		}
		list = append(list, c)
	}
	return list, nil
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([.-].*)?$`)

// licenceTexts reads the licences and notices in a folder, in the order of their names.
func licenceTexts(dir string) (texts []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !licenceFile.MatchString(e.Name()) ||
			strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, strings.TrimSpace(strings.ReplaceAll(string(b), "\r\n", "\n")))
	}
	return texts, nil
}

// known says by which words a licence is known. All of them may be given away with code under the
// Apache licence. Of the Mozilla licence's files nothing is changed here, and each is where its
// module says.
var known = []struct{ id, words string }{
	{"Apache-2.0", "apache license version 2.0"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"BSD-3-Clause", "redistribution and use in source and binary forms"},
	{"ISC", "permission to use copy modify and or distribute this software for any purpose"},
	{"MIT", "permission is hereby granted free of charge to any person obtaining a copy"},
	{"BlueOak-1.0.0", "blue oak model license version 1.0.0"},
	{"CC0-1.0", "cc0 1.0 universal"},
	{"Unlicense", "this is free and unencumbered software released into the public domain"},
}

// neverWith are words of licences that ask more of who gives a program away than its notices.
var neverWith = []string{"gnu general public license", "gnu affero", "gnu lesser general public",
	"server side public license", "business source license", "commons clause"}

var notWords = regexp.MustCompile(`[^a-z0-9.]+`)

// classify finds the names of a component's licences in their texts.
func (c *component) classify() error {
	if len(c.texts) == 0 && len(c.licences) == 0 {
		return fmt.Errorf("%s %s has no licence", c.name, c.version)
	}
	said := c.licences
	c.licences = nil
	for _, text := range c.texts {
		words := notWords.ReplaceAllString(strings.ToLower(text), " ")
		for _, l := range known {
			id := l.id
			if !strings.Contains(words, l.words) {
				continue
			}
			if id == "BSD-3-Clause" && !strings.Contains(words, "neither the name") &&
				!strings.Contains(words, "names of its contributors") {
				id = "BSD-2-Clause"
			}
			if !slices.Contains(c.licences, id) {
				c.licences = append(c.licences, id)
			}
		}
		for _, bad := range neverWith {
			if strings.Contains(words, bad) && !slices.Contains(c.licences, "MPL-2.0") {
				return fmt.Errorf("%s %s speaks of the %s: look at its licence", c.name, c.version,
					bad)
			}
		}
	}
	for _, id := range said { // npm's own word for it
		is := func(k struct{ id, words string }) bool { return k.id == id }
		if !slices.ContainsFunc(known, is) {
			return fmt.Errorf("%s %s says that its licence is %s: look at it", c.name, c.version,
				id)
		}
		if !slices.Contains(c.licences, id) {
			c.licences = append(c.licences, id)
		}
	}
	slices.Sort(c.licences)
	if len(c.licences) == 0 {
		return fmt.Errorf("%s %s has a licence that is not known: look at it", c.name, c.version)
	}
	return nil
}

// notices is one text with all licences: who has what, and then each text once.
func (v *inventory) notices() []byte {
	var list, texts bytes.Buffer
	numbers := map[string]int{}
	for _, c := range v.components {
		fmt.Fprintf(&list, "%s %s: %s; text", c.name, c.version, strings.Join(c.licences, ", "))
		for _, text := range c.texts {
			n := numbers[text]
			if n == 0 {
				n = len(numbers) + 1
				numbers[text] = n
				fmt.Fprintf(&texts, "\n======== %d ========\n\n%s\n", n, text)
			}
			fmt.Fprintf(&list, " %d", n)
		}
		if len(c.texts) == 0 {
			list.WriteString(" as its name says")
		}
		list.WriteString("\n")
	}
	return slices.Concat([]byte("What others wrote that is part of ringwatch, and under which "+
		"licences they give it.\nThe agent's jar has no code of others.\n\n"), list.Bytes(),
		texts.Bytes())
}
