package safe

import (
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ringwatch/ringwatch/query/catalog"
)

//go:embed conditions.yaml
var shipped []byte

// maxConditions is how many a file may have: each is a query that somebody waits for.
const maxConditions = 100

// Conditions are what must be so. They do not change, so many goroutines may use them.
type Conditions struct {
	Fresh      time.Duration
	List       []Condition
	NotChecked []NotChecked
}

// Condition is one thing that must be so.
type Condition struct {
	Name        string    `yaml:"name"`
	For         []Purpose `yaml:"for"`
	Description string    `yaml:"description"`
	PromQL      string    `yaml:"promql"`
	Replicas    string    `yaml:"replicas"` // One or Quorum, in place of PromQL
	Text        string    `yaml:"text"`
	Needs       []string  `yaml:"needs"`
}

// NotChecked is something that no condition says.
type NotChecked struct {
	For  []Purpose `yaml:"for"`
	Text string    `yaml:"text"`
}

type file struct {
	Fresh      string       `yaml:"fresh"`
	Conditions []Condition  `yaml:"conditions"`
	NotChecked []NotChecked `yaml:"not_checked"`
}

// Shipped returns the conditions that come with the program.
func Shipped() (*Conditions, error) { return Load("conditions.yaml", shipped) }

// Load reads conditions. The error says everything that is wrong at once, each with the file's name
// and the condition's.
func Load(name string, text []byte) (*Conditions, error) {
	var f file
	err := catalog.Decode(name, text, &f)
	if err != nil {
		return nil, err
	}
	c := &Conditions{List: f.Conditions, NotChecked: f.NotChecked}
	var wrong []error
	bad := func(format string, args ...any) {
		wrong = append(wrong, fmt.Errorf("%s: %w", name, fmt.Errorf(format, args...)))
	}
	if f.Fresh != "" {
		if c.Fresh, err = time.ParseDuration(f.Fresh); err != nil || c.Fresh <= 0 {
			bad("fresh: %q is not a time: write one such as 30s", f.Fresh)
		}
	}
	if len(c.List) > maxConditions {
		bad("there are %d conditions, and %d are allowed: leave some out", len(c.List),
			maxConditions)
	}
	names := map[string]bool{}
	for i := range c.List {
		condition := &c.List[i]
		if names[condition.Name] {
			bad("condition %s is there twice: choose another name", condition.Name)
		}
		names[condition.Name] = true
		for _, err := range condition.check() {
			bad("condition %s: %w", condition.Name, err)
		}
	}
	for i, n := range c.NotChecked {
		if err := checkPurposes(n.For); err != nil {
			bad("not_checked %d: %w", i+1, err)
		}
		if n.Text == "" {
			bad("not_checked %d: text is missing: write a sentence", i+1)
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return nil, err
	}
	return c, nil
}

// LoadFile is Load for a file.
func LoadFile(path string) (*Conditions, error) {
	return catalog.ReadFile(path, "the file of conditions", Load)
}

// With returns the conditions with an account's own: one stands for that of its name.
func (c *Conditions) With(own *Conditions) *Conditions {
	joined := &Conditions{Fresh: c.Fresh, List: slices.Clone(c.List),
		NotChecked: slices.Concat(c.NotChecked, own.NotChecked)}
	if own.Fresh > 0 {
		joined.Fresh = own.Fresh
	}
	for _, condition := range own.List {
		isIt := func(other Condition) bool { return other.Name == condition.Name }
		if i := slices.IndexFunc(joined.List, isIt); i >= 0 {
			joined.List[i] = condition
			continue
		}
		joined.List = append(joined.List, condition)
	}
	return joined
}

var (
	word       = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
)

// check returns what is wrong with a condition.
func (c *Condition) check() (wrong []error) {
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if !word.MatchString(c.Name) || c.Name == freshName {
		bad("name it with one word of small letters, other than %s", freshName)
	}
	if err := checkPurposes(c.For); err != nil {
		bad("%w", err)
	}
	for _, field := range [][2]string{{"description", c.Description}, {"text", c.Text}} {
		if field[1] == "" && len(c.For) > 0 {
			bad("%s is missing: write a sentence", field[0])
		}
	}
	for _, name := range c.Needs {
		if !metricName.MatchString(name) {
			bad("needs: %q is not the name of a metric", name)
		}
	}
	switch {
	case len(c.For) == 0:
	case c.Replicas != "":
		if c.Replicas != One && c.Replicas != Quorum || c.PromQL != "" {
			bad("replicas: write %s or %s, and no promql beside it", One, Quorum)
		}
	default:
		const probe = "probe"
		q := Question{Cluster: probe, For: Restart}
		if _, err := catalog.Parse(q.placed(c.PromQL), probe,
			"none of $scope, $stay and $node"); err != nil {
			bad("promql: %w", err)
		}
	}
	return wrong
}

func checkPurposes(list []Purpose) error {
	for _, p := range list {
		if !p.Known() {
			return fmt.Errorf("for: %q is unknown: use %s", p, PurposesText())
		}
	}
	return nil
}

// freshName is the condition that is not in the file: that nodes were heard of.
const freshName = "fresh"

// What a condition may count of replicas.
const (
	// One: no keyspace has a single copy, a part of which the node has.
	One = "one"
	// Quorum: enough copies stay of each keyspace.
	Quorum = "quorum"
)

// leavesOut reports whether the condition is about the others of the node that is taken.
func (c *Condition) leavesOut() bool { return strings.Contains(c.PromQL, "$stay") }

// ofNode reports whether the condition is about the named node alone.
func (c *Condition) ofNode() bool {
	return c.Replicas == "" && !c.leavesOut() && !strings.Contains(c.PromQL, "$scope")
}
