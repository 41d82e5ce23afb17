// Package dashboardtest reads Grafana's dashboards as far as tests need it, and puts values in
// place of their variables as Grafana does.
package dashboardtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Dashboard is what tests look at.
type Dashboard struct {
	File          string `json:"-"`
	UID           string `json:"uid"`
	Title         string
	Tags          []string
	SchemaVersion int
	Timezone      string
	Refresh       string
	Links         []struct{ Tags []string }
	Templating    struct{ List []Variable }
	Panels        []Panel
}

// Variable is one that its user chooses a value of.
type Variable struct {
	Name, Type, Definition, Regex, AllValue string
	Query                                   any
	Multi, IncludeAll                       bool
}

// Panel is a panel or a row.
type Panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               Source
	GridPos                  struct{ H, W, X, Y int }
	FieldConfig              struct{ Defaults struct{ Unit string } }
	Targets                  []Target
}

// Target is one query of a panel.
type Target struct {
	RefID, Expr, Format, LegendFormat string
	Datasource                        Source
	Instant, Range                    bool
}

// Source names a data source.
type Source struct{ Type, UID string }

// MustLoad reads all dashboards of a directory.
func MustLoad(tb testing.TB, dir string) []Dashboard {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no dashboards in %s, %v", dir, err)
	}
	var list []Dashboard
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		d := Dashboard{File: filepath.Base(file)}
		if err := json.Unmarshal(text, &d); err != nil {
			tb.Fatalf("%s: %v", file, err)
		}
		list = append(list, d)
	}
	return list
}

var used = regexp.MustCompile(`\$\{?(\w+)(?::\w+)?\}?`)

// Used returns the names of the variables in a text, each once, ascending.
func Used(text string) []string {
	names := map[string]bool{}
	for _, m := range used.FindAllStringSubmatch(text, -1) {
		names[m[1]] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// BuiltIn are Grafana's own variables, as it sets them for a panel whose step is 20 s.
func BuiltIn() map[string]string {
	return map[string]string{"__rate_interval": "80s", "__interval": "20s", "__range": "1h"}
}

// Expand puts values in place of variables. One without a value is an error.
func Expand(text string, values map[string]string) (string, error) {
	var missing []string
	out := used.ReplaceAllStringFunc(text, func(m string) string {
		name := used.FindStringSubmatch(m)[1]
		v, known := values[name]
		if !known {
			missing = append(missing, name)
		}
		return v
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("%q uses %s, which is not defined before it", text,
			strings.Join(missing, ", "))
	}
	return out, nil
}

// Chosen is how a query sees a variable of which values were chosen.
func (v *Variable) Chosen(values ...string) string {
	if len(values) == 1 && !v.Multi {
		return values[0]
	}
	quoted := make([]string, len(values))
	for i, text := range values {
		quoted[i] = strings.ReplaceAll(regexp.QuoteMeta(text), `\`, `\\`)
	}
	return "(" + strings.Join(quoted, "|") + ")"
}

var labelValues = regexp.MustCompile(`^label_values\((?:(.+), *)?(\w+)\)$`)

// LabelValues returns what a variable's query label_values(selector, label) asks for.
func LabelValues(query string) (selector, label string, ok bool) {
	m := labelValues.FindStringSubmatch(query)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// QueryResult returns the expression of a variable's query query_result(expression).
func QueryResult(query string) (expr string, ok bool) {
	expr, ok = strings.CutPrefix(query, "query_result(")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(expr, ")")
}
