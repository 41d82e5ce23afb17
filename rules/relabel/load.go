package relabel

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/relabel"

	"github.com/ringwatch/ringwatch/query/selector"
)

//go:embed mounts.yaml
var mounts []byte

// What a file of rules may be.
const (
	maxFileBytes        = 64 << 10
	maxRules            = 200
	maxReplacementBytes = 1 << 10
)

// Mounts returns the shipped mapping, of disks to the label volume.
func Mounts() (*Mapping, error) { return Load("mounts.yaml", mounts, selector.DefaultConfig()) }

// Load reads a list of rules as Prometheus's relabel_configs has them. Regular expressions are
// measured by package selector before they are compiled. The error names the file and the rule.
func Load(name string, text []byte, limits selector.Config) (*Mapping, error) {
	if len(text) > maxFileBytes {
		return nil, fmt.Errorf(
			"%s has more than %d bytes: leave rules out",
			name,
			maxFileBytes,
		)
	}
	if err := measure(text, limits); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var rules []*relabel.Config
	err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&rules)
	if err != nil && !errors.Is(err, io.EOF) {
		message, _, _ := strings.Cut(yaml.FormatError(err, false, false), "\n")
		return nil, fmt.Errorf("%s: %s", name, message)
	}
	m, err := New(rules)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// LoadFile is Load for a file.
func LoadFile(path string, limits selector.Config) (*Mapping, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the relabelling rules cannot be read: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("the relabelling rules cannot be read: %w", err)
	}
	return Load(path, text, limits)
}

// measure finds regular expressions that are too dear. Only texts are decoded for it.
func measure(text []byte, limits selector.Config) error {
	limits.CacheBytes = 0 // nothing is compiled here
	p, err := selector.New(limits)
	if err != nil {
		return err
	}
	var rules []struct {
		Regex string `yaml:"regex"`
	}
	if err := yaml.Unmarshal(text, &rules); err != nil && !errors.Is(err, io.EOF) {
		message, _, _ := strings.Cut(yaml.FormatError(err, false, false), "\n")
		return errors.New(message)
	}
	request := p.Request(context.Background())
	for i, r := range rules {
		if err := request.Regexp(r.Regex); err != nil {
			return fmt.Errorf("rule %d: regex: %w", i+1, err)
		}
	}
	return nil
}

// check finds everything that is wrong with rules.
func check(rules []*relabel.Config) error {
	if len(rules) > maxRules {
		return fmt.Errorf("the file has %d rules, and %d are allowed: leave some out", len(rules),
			maxRules)
	}
	var wrong []error
	for i, r := range rules {
		if err := checkRule(r); err != nil {
			wrong = append(wrong, fmt.Errorf("rule %d: %w", i+1, err))
		}
	}
	return errors.Join(wrong...)
}

func checkRule(r *relabel.Config) error {
	if r == nil {
		return errors.New("it is empty: leave it out")
	}
	if err := r.Validate(model.LegacyValidation); err != nil {
		return err
	}
	if len(r.Replacement) > maxReplacementBytes {
		return fmt.Errorf(
			"replacement has %d bytes, and %d are allowed",
			len(r.Replacement),
			maxReplacementBytes,
		)
	}
	switch r.Action {
	case relabel.Replace, relabel.Lowercase, relabel.Uppercase, relabel.HashMod:
		if slices.Contains(Fixed, r.TargetLabel) {
			return fmt.Errorf(
				"target_label %s may not be changed, since it says to whom a series belongs: "+
					"choose another",
				r.TargetLabel,
			)
		}
	case relabel.LabelDrop, relabel.LabelKeep:
		for _, name := range Fixed {
			if r.Regex.MatchString(name) == (r.Action == relabel.LabelDrop) {
				return fmt.Errorf(
					"%s would remove the label %s, which says to whom a series belongs: "+
						"exclude it "+
						"in the regex",
					r.Action,
					name,
				)
			}
		}
	}
	return nil
}
