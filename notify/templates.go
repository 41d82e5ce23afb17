package notify

import (
	"bytes"
	"embed"
	"fmt"
	tmplhtml "html/template"
	"path/filepath"
	"regexp"
	"strings"
	tmpltext "text/template"

	"github.com/prometheus/alertmanager/template"
)

// definitions are Ringwatch's own of the names that Alertmanager's receivers use by default.
//
//go:embed templates/*.tmpl
var definitions embed.FS

// newTemplate reads Alertmanager's definitions, then ours over them, then those of files, so that
// an unchanged alertmanager.yml has our messages and its own templates win.
func newTemplate(paths []string, m *messenger) (*template.Template, error) {
	var t *template.Template
	funcs := map[string]any{
		"message": m.message,
		"line":    func(a template.Alert) string { return lineOf(&a, m.now()) },
		"render": func(name string, data any) (string, error) {
			return t.ExecuteTextString(fmt.Sprintf("{{ template %q . }}", name), data)
		},
		"slack": slackText, "slackURL": slackEntities.Replace, "markdown": markdown,
		"jira": jiraText, "sns": snsSubject, "pagerduty": pagerdutySeverity,
	}
	t, err := template.FromGlobs(nil, func(text *tmpltext.Template, html *tmplhtml.Template) {
		text.Funcs(funcs)
		html.Funcs(funcs)
	})
	if err != nil {
		return nil, err
	}
	files, err := definitions.ReadDir("templates")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, err := definitions.ReadFile("templates/" + f.Name())
		if err != nil {
			return nil, err
		}
		if err := t.Parse(bytes.NewReader(text)); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
	}
	for _, path := range paths {
		if err := t.FromGlob(path); err != nil {
			return nil, clearer(err, paths)
		}
	}
	return t, nil
}

// templateError is a template that cannot be read, or fails, in words for who wrote it.
type templateError struct {
	at   string // FILE:LINE; "": it stands in the configuration itself
	name string // of the definition that fails; "": not known
	said string
	err  error
}

func (e *templateError) Error() string {
	what := "the template"
	if e.name != "" {
		what += " " + e.name
	}
	if e.at != "" {
		return fmt.Sprintf("%s: %s fails: %s", e.at, what, e.said)
	}
	return fmt.Sprintf("%s fails: %s", what, e.said)
}

func (e *templateError) Unwrap() error { return e.err }

var (
	// templateSaid is what Go's templates say: where, and what is wrong.
	templateSaid = regexp.MustCompile(`(?s)(?:html/)?template: ?([^:]*):(\d+)(?::\d+)?: (.*)`)
	executing    = regexp.MustCompile(`(?s)^executing "([^"]*)" at (.*)$`)
)

// clearer says of an error of templates which file and line it is of, and leaves others as they
// are. Go names a file by its last name; paths are those that were read.
func clearer(err error, paths []string) error {
	m := templateSaid.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	e := &templateError{said: oneLine(m[3], 300), err: err}
	if m[1] != "" {
		e.at = m[1] + ":" + m[2]
		for _, pattern := range paths {
			found, _ := filepath.Glob(pattern) // it was read
			for _, file := range found {
				if filepath.Base(file) == m[1] {
					e.at = file + ":" + m[2]
				}
			}
		}
	}
	if x := executing.FindStringSubmatch(m[3]); x != nil {
		e.name, e.said = x[1], oneLine(x[2], 300)
	}
	return e
}

// alwaysFails are errors of templates that do not depend on which alert it is.
var alwaysFails = regexp.MustCompile(`can't evaluate field|can't call|not defined|` +
	`no such template|wrong number of args|wrong type for value|expected |html/template:|` +
	`unexpected |unclosed |unterminated|missing value|undefined variable|is an incomplete`)

// fails says whether an error of a template is one for every alert.
func fails(err error) bool {
	return err != nil && alwaysFails.MatchString(strings.ReplaceAll(err.Error(), "\n", " "))
}
