package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// maxFileBytes is what an account's own file may have.
const maxFileBytes = 256 << 10

// Decode reads the YAML of an account's own file into a value. A key that the value does not have
// is an error; a text without anything is none. Errors are one sentence and name the file.
func Decode(name string, text []byte, into any) error {
	if len(text) > maxFileBytes {
		return fmt.Errorf("%s has %d bytes, and %d are allowed: leave some out", name,
			len(text), maxFileBytes)
	}
	err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(into)
	if err != nil && !errors.Is(err, io.EOF) {
		message, _, _ := strings.Cut(yaml.FormatError(err, false, false), "\n")
		return fmt.Errorf("%s: %s", name, message)
	}
	return nil
}

// ReadFile has load read a file, and no more of it than Decode needs to see that it is too large.
// what names in an error what could not be read.
func ReadFile[T any](path, what string, load func(name string, text []byte) (T, error)) (T, error) {
	var none T
	f, err := os.Open(path)
	if err != nil {
		return none, fmt.Errorf("%s cannot be read: %w", what, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return none, fmt.Errorf("%s cannot be read: %w", what, err)
	}
	return load(path, text)
}

// Parse parses an expression of an account's own file whose placeholders were replaced. It must be
// an instant vector, and each selector must be of the cluster alone; lacks says of one that is not
// which placeholder it has not.
func Parse(promql, cluster, lacks string) (parser.Expr, error) {
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(promql)
	if err != nil {
		return nil, err
	}
	if t := tree.Type(); t != parser.ValueTypeVector {
		return nil, fmt.Errorf("it is a %s: it must be an instant vector", parser.DocumentedType(t))
	}
	selectors := parser.ExtractSelectors(tree)
	if len(selectors) == 0 {
		return nil, errors.New("it has no selector: select a metric")
	}
	for _, matchers := range selectors {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool {
			return m.Name == "cluster" && m.Type == labels.MatchEqual && m.Value == cluster
		}) {
			return nil, fmt.Errorf("the selector %v has %s: add one", matchers, lacks)
		}
	}
	return tree, nil
}
