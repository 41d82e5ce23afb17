package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// labelNames is which names labels, and metrics, may have: those of frames.
const labelNames = model.LegacyValidation

// file is one rule file as it is evaluated.
type file struct {
	name   string
	text   []byte
	groups []rulefmt.RuleGroup
}

// files are the rule files of all accounts. What is wrong after a change leaves the old files in
// force.
type files struct {
	config  *Config
	parser  parser.Parser
	more    map[string][]byte
	applied func() map[string]map[string][]byte
	log     *slog.Logger
	looked  time.Time

	mu      sync.Mutex
	texts   map[string]map[string][]byte // "" : all accounts; file → text
	sets    map[string]*set              // by account, made when first asked for
	version int
	broken  string                       // what is wrong with the newest files
	refused map[string]map[string][]byte // those, if they could be read
}

func newFiles(
	c *Config, p parser.Parser, more map[string][]byte,
	applied func() map[string]map[string][]byte, log *slog.Logger,
) *files {
	return &files{config: c, parser: p, more: more, applied: applied, log: log}
}

// read reads all files there are.
func (f *files) read() (map[string]map[string][]byte, error) {
	texts := map[string]map[string][]byte{"": maps.Clone(f.more)}
	if texts[""] == nil {
		texts[""] = map[string][]byte{}
	}
	var wrong []error
	add := func(account string, patterns []string) {
		for _, pattern := range patterns {
			names, err := filepath.Glob(pattern)
			if err != nil {
				wrong = append(wrong, fmt.Errorf("rules: %q is not a file pattern: %w",
					pattern, err))
			}
			if len(names) == 0 && !hasMeta(pattern) {
				wrong = append(wrong, fmt.Errorf("rules: the file %s does not exist", pattern))
			}
			for _, name := range names {
				text, err := os.ReadFile(name)
				if err != nil {
					wrong = append(wrong, fmt.Errorf("rules: %w", err))
					continue
				}
				if texts[account] == nil {
					texts[account] = map[string][]byte{}
				}
				texts[account][name] = text
			}
		}
	}
	if f.config.Shipped {
		for _, name := range ShippedFiles {
			text, err := fs.ReadFile(Shipped, name)
			if err != nil {
				return nil, err
			}
			texts[""][name] = text
		}
	}
	add("", f.config.Files)
	for account, patterns := range f.config.Accounts {
		add(account, patterns)
	}
	if f.applied != nil {
		for account, list := range f.applied() {
			if texts[account] == nil {
				texts[account] = map[string][]byte{}
			}
			maps.Copy(texts[account], list)
		}
	}
	return texts, errors.Join(wrong...)
}

func hasMeta(pattern string) bool {
	return bytes.ContainsAny([]byte(pattern), `*?[\`)
}

// load takes over what the files say now. On an error nothing changes.
func (f *files) load() error {
	texts, err := f.read()
	if err != nil {
		return f.failed(err)
	}
	f.mu.Lock()
	same, refused := sameTexts(f.texts, texts), sameTexts(f.refused, texts)
	if same {
		f.broken, f.refused = "", nil
	}
	f.mu.Unlock()
	if same || refused { // it was said why
		return nil
	}
	sets := map[string]*set{}
	for _, account := range slices.Sorted(maps.Keys(texts)) {
		s, err := f.unchanged(texts, account), error(nil)
		if s == nil {
			s, err = f.parse(texts, account)
		}
		if err != nil && account != "" && len(f.appliedOf(account)) > 0 {
			// What an account has applied is its own affair: others' rules do not wait for it.
			f.log.Error("an account's rule files are wrong; the earlier ones, if any, "+
				"stay in force",
				"account", account, "error", err)
			f.mu.Lock()
			s = f.sets[account]
			f.mu.Unlock()
			if s == nil {
				s = sets[""] // "" comes first
			}
			err = nil
		}
		if err != nil {
			f.mu.Lock()
			f.refused = texts
			f.mu.Unlock()
			return f.failed(err)
		}
		sets[account] = s
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.texts, f.sets, f.broken, f.refused = texts, sets, "", nil
	f.version++
	return nil
}

func sameTexts(a, b map[string]map[string][]byte) bool {
	return a != nil && maps.EqualFunc(a, b, func(x, y map[string][]byte) bool {
		return maps.EqualFunc(x, y, bytes.Equal)
	})
}

// unchanged returns the set of an account whose files are what they were; nil if they are not.
func (f *files) unchanged(texts map[string]map[string][]byte, account string) *set {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range []string{"", account} {
		if f.texts == nil || !maps.EqualFunc(f.texts[name], texts[name], bytes.Equal) {
			return nil
		}
	}
	return f.sets[account]
}

// appliedOf returns the files that an account was given through the API.
func (f *files) appliedOf(account string) map[string][]byte {
	if f.applied == nil {
		return nil
	}
	return f.applied()[account]
}

func (f *files) failed(err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken != err.Error() {
		f.broken = err.Error()
		if f.version > 0 {
			f.log.Error("the rule files are wrong; the earlier ones stay in force", "error", err)
		}
	}
	return err
}

// look loads files that have changed, if it is time to look.
func (f *files) look(now time.Time) {
	if now.Sub(f.looked) < f.config.Reload {
		return
	}
	f.looked = now
	_ = f.load() // it has said what is wrong
}

// parse makes the set of an account: the files of all accounts and its own.
func (f *files) parse(texts map[string]map[string][]byte, account string) (*set, error) {
	all := maps.Clone(texts[""])
	if account != "" {
		for name, text := range texts[account] {
			all[name] = text
		}
	}
	var list []file
	var wrong []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		groups, err := f.groups(name, all[name])
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		list = append(list, file{name, all[name], groups})
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return newSet(list, f.parser, f.config)
}

// groups reads one file.
func (f *files) groups(name string, text []byte) ([]rulefmt.RuleGroup, error) {
	groups, errs := readGroups(name, text, f.parser, f.log)
	return groups, errors.Join(errs...)
}

// of returns the set of an account, and its version: sets of one version are the same.
func (f *files) of(account string) (*set, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.sets[account]; s != nil {
		return s, f.version
	}
	return f.sets[""], f.version
}

// Check returns what would be wrong if an account had one more file, or another text in it, or,
// with nil as the text, no such file; nil: it can be applied.
func (b *Status) Check(account, name string, text []byte) error {
	f := b.files
	f.mu.Lock()
	texts := maps.Clone(f.texts)
	f.mu.Unlock()
	own := maps.Clone(texts[account])
	if own == nil {
		own = map[string][]byte{}
	}
	maps.Copy(own, f.appliedOf(account)) // what was applied just now has not been loaded yet
	if own[name] = text; text == nil {
		delete(own, name)
	}
	texts[account] = own
	_, err := f.parse(texts, account)
	return err
}

// Look loads files that have changed since it was called last; those that are wrong change nothing.
func (b *Status) Look(now time.Time) { b.files.look(now) }
