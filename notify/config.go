package notify

import (
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/featurecontrol"
	"github.com/prometheus/alertmanager/matcher/compat"
	commonconfig "github.com/prometheus/common/config"
)

// Config is an alertmanager.yml that has been checked. It is not changed after it was made.
type Config struct {
	name   string // a file's; of the shipped default "the default"
	parsed *config.Config
}

//go:embed default.yml
var defaultText string

// flags are Alertmanager's own defaults: no feature that has to be asked for.
var flags = featurecontrol.NoopFlags{}

// readMatchersAsTheServer makes Alertmanager's packages read matchers as its server does: in UTF-8,
// and in the older way what only that can read. They keep this for the whole process.
var readMatchersAsTheServer = sync.OnceFunc(func() {
	compat.InitFromFlags(slog.New(slog.DiscardHandler), flags)
})

// Default is the configuration of who has none: it groups and inhibits, and sends nothing. Nobody
// changes it.
func Default() *Config { return readDefault() }

// readDefault reads it once: each alert asks for its account's configuration.
var readDefault = sync.OnceValue(func() *Config {
	c, err := Parse([]byte(defaultText), "the default", "")
	if err != nil {
		panic(err) // a test reads it
	}
	return c
})

// LoadFile reads an alertmanager.yml. Relative paths in it are of its directory.
func LoadFile(path string) (*Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(text, path, filepath.Dir(path))
}

// Parse reads an alertmanager.yml. The name is for errors, which are one line each and say the line
// if it is known; relative paths are of dir. Receivers and templates are built once, so that what
// cannot work is an error here, not in the night.
func Parse(text []byte, name, dir string) (*Config, error) {
	readMatchersAsTheServer()
	parsed, err := config.Load(string(text))
	if err != nil {
		return nil, located(err, string(text), name)
	}
	c := &Config{name: name, parsed: parsed}
	c.resolve(dir)
	b, err := c.build(DefaultLimits(), nil, slog.New(slog.DiscardHandler))
	if err == nil {
		err = b.check()
	}
	if err != nil {
		return nil, located(err, string(text), name)
	}
	return c, nil
}

// String is the configuration as Alertmanager shows it: with all defaults, and without secrets.
func (c *Config) String() string { return c.parsed.String() }

// GoString is String: %#v shows no secret either.
func (c *Config) GoString() string { return c.String() }

// Receivers are the names of the receivers, as they stand.
func (c *Config) Receivers() []string {
	var names []string
	for i := range c.parsed.Receivers {
		names = append(names, c.parsed.Receivers[i].Name)
	}
	return names
}

// Templates are the patterns of the template files, as they are read.
func (c *Config) Templates() []string { return slices.Clone(c.parsed.Templates) }

// Silent says whether no receiver would send anything to anybody.
func (c *Config) Silent() bool {
	for i := range c.parsed.Receivers {
		v := reflect.ValueOf(c.parsed.Receivers[i])
		for f := range v.NumField() {
			if v.Field(f).Kind() == reflect.Slice && v.Field(f).Len() > 0 {
				return false
			}
		}
	}
	return true
}

// resolve makes relative paths those of a directory, in what is read of files by HTTP clients and
// in templates: what config.LoadFile does, which needs a file. And no client follows a redirection
// with credentials.
func (c *Config) resolve(dir string) {
	for i, t := range c.parsed.Templates {
		if t != "" && !filepath.IsAbs(t) {
			c.parsed.Templates[i] = filepath.Join(dir, t)
		}
	}
	if c.parsed.Global != nil && c.parsed.Global.HTTPConfig != nil {
		c.parsed.Global.HTTPConfig.SetDirectory(dir)
	}
	for i := range c.parsed.Receivers {
		receiver := reflect.ValueOf(c.parsed.Receivers[i])
		for f := range receiver.NumField() {
			list := receiver.Field(f)
			if list.Kind() != reflect.Slice {
				continue
			}
			for k := range list.Len() {
				resolveClients(list.Index(k), dir)
			}
		}
	}
}

// resolveClients does so for the HTTP client of one integration.
func resolveClients(integration reflect.Value, dir string) {
	of := reflect.Indirect(integration)
	if of.Kind() != reflect.Struct {
		return
	}
	for f := range of.NumField() {
		if !of.Field(f).CanInterface() {
			continue
		}
		// It may be one that all share: a path that is absolute stays as it is.
		if h, ok := of.Field(f).Interface().(*commonconfig.HTTPClientConfig); ok && h != nil {
			h.SetDirectory(dir)
			if hasCredentials(h) {
				h.FollowRedirects = false // they are for who was named alone
			}
		}
	}
}

func hasCredentials(h *commonconfig.HTTPClientConfig) bool {
	return h.BasicAuth != nil || h.Authorization != nil || h.OAuth2 != nil ||
		h.BearerToken != "" || h.BearerTokenFile != "" || h.HTTPHeaders != nil ||
		h.TLSConfig.CertFile != "" || h.TLSConfig.Cert != ""
}

var (
	yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:unmarshal errors:\s*)?line (\d+): `)
	quoted   = regexp.MustCompile(`"([^"]+)"`)
)

// located makes one line of an error and says where it is: FILE:LINE: what. Alertmanager names the
// line of what is no YAML and of unknown keys. Of other errors the line is that of the word in
// quotes that the text has in one line only.
func located(err error, text, name string) error {
	if bad, is := errors.AsType[*templateError](err); is && bad.at != "" {
		return bad // it stands in a file of its own
	}
	if bad, is := errors.AsType[*badTemplate](err); is {
		if bad.elsewhere() {
			return err
		}
		if at := lineWith(strings.SplitN(bad.text, "\n", 2)[0], text); at != "" {
			return fmt.Errorf("%s:%s: %w", name, at, err)
		}
	}
	var lines []string
	for _, said := range strings.Split(err.Error(), "\n") {
		said = strings.TrimSpace(said)
		if said == "" || said == "yaml: unmarshal errors:" {
			continue
		}
		at := ""
		if m := yamlLine.FindStringSubmatch(said); m != nil {
			at, said = m[1], said[len(m[0]):]
		} else {
			said = strings.TrimPrefix(said, "yaml: ")
			at = lineNaming(said, text)
		}
		if at != "" {
			lines = append(lines, name+":"+at+": "+said)
		} else {
			lines = append(lines, name+": "+said)
		}
	}
	return errors.New(strings.Join(lines, "\n"))
}

// lineNaming is the line of the text that has what an error says in quotes; "": none, or several.
func lineNaming(said, text string) string {
	for _, m := range quoted.FindAllStringSubmatch(said, -1) {
		if at := lineWith(m[1], text); at != "" {
			return at
		}
	}
	return ""
}

// lineWith is the line that alone has some words; "": none has, or several have.
func lineWith(words, text string) (at string) {
	for i, line := range strings.Split(text, "\n") {
		if !strings.Contains(line, words) {
			continue
		}
		if at != "" {
			return ""
		}
		at = fmt.Sprint(i + 1)
	}
	return at
}
