package main

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// drill is an incident: what is staged, and what must be told of it.
type drill struct {
	Name  string        `yaml:"-"` // its file's, without .yaml
	About string        `yaml:"about"`
	Short bool          `yaml:"short"` // make test runs it, too
	Steps []string      `yaml:"steps"` // see steps.go
	Watch time.Duration `yaml:"watch"` // after the last step
	Undo  []string      `yaml:"undo"`
	// Patience is how long it may take until all is well again; 10 minutes by default.
	Patience time.Duration `yaml:"patience"`

	Must   []expected     `yaml:"must"`
	May    []expected     `yaml:"may"`
	States map[int]string `yaml:"states"` // of nodes when the watch ends, as /v1/nodes has them
	Safe   []question     `yaml:"safe"`   // asked when the watch ends
}

// expected is an alert that people are told of.
type expected struct {
	Alert    string        `yaml:"alert"`
	Severity string        `yaml:"severity"` // empty: any
	Node     int           `yaml:"node"`     // 0: any or none
	Within   time.Duration `yaml:"within"`   // 0: two minutes
	// Says is a pattern for what is told: summary, description and advice.
	Says string `yaml:"says"`
}

// question is one to /v1/clusters/{cluster}/safe.
type question struct {
	For    string `yaml:"for"`
	Node   int    `yaml:"node"` // 0: whichever
	Answer bool   `yaml:"answer"`
	Says   string `yaml:"says"` // a pattern for the reasons
}

func (e *expected) within() time.Duration {
	if e.Within == 0 {
		return 2 * time.Minute
	}
	return e.Within
}

// is reports whether what was told is what was expected, but for its text and its time. node is the
// id of the node that is expected.
func (e *expected) is(t *told, node string) bool {
	return e.Alert == t.Alert && (e.Severity == "" || e.Severity == t.Severity) &&
		(e.Node == 0 || node == t.node)
}

func (e *expected) String() string {
	text := e.Alert
	if e.Severity != "" {
		text += " (" + e.Severity + ")"
	}
	if e.Node > 0 {
		text += fmt.Sprintf(" of node %d", e.Node)
	}
	return text
}

// readDrills reads the files of drills and finds mistakes in them.
func readDrills(files fs.FS) ([]*drill, error) {
	names, err := fs.Glob(files, "incidents/*.yaml")
	if err != nil {
		return nil, err
	}
	var list []*drill
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		d := &drill{Name: strings.TrimSuffix(path.Base(name), ".yaml"), Patience: 10 * time.Minute}
		if err := yaml.UnmarshalWithOptions(text, d, yaml.Strict()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if err := d.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		list = append(list, d)
	}
	return list, nil
}

func (d *drill) check() error {
	if d.About == "" || len(d.Steps) == 0 || d.Watch <= 0 {
		return fmt.Errorf("about, steps and watch are needed")
	}
	for _, step := range append(d.Steps[:len(d.Steps):len(d.Steps)], d.Undo...) {
		if _, err := parse(step); err != nil {
			return err
		}
	}
	for _, e := range append(d.Must[:len(d.Must):len(d.Must)], d.May...) {
		if e.Alert == "" {
			return fmt.Errorf("an alert under must or may has no name")
		}
		if _, err := regexp.Compile(e.Says); err != nil {
			return err
		}
	}
	for _, q := range d.Safe {
		if _, err := regexp.Compile(q.Says); err != nil {
			return err
		}
	}
	return nil
}
