package settings

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	people "github.com/ringwatch/ringwatch/notify"
	"github.com/ringwatch/ringwatch/rules/notify"
)

// notifyConfig is where alerts go: to other systems, and to people.
type notifyConfig struct {
	notify.Config

	// ConfigFile is an alertmanager.yml, of all accounts but those in Accounts.
	ConfigFile string
	// The sections of an alertmanager.yml, instead of a file of its own.
	sections
	// Accounts are alertmanager.yml of single accounts.
	Accounts map[string]string
	// Dir keeps silences and what was told: data.dir/notify where that is in use. Empty: nobody is
	// told, unless a configuration asks for it.
	Dir string
	// Limits bound what an account may take.
	Limits people.Limits
	// Gossip makes one of several processes of the role rules.
	Gossip people.Gossip
}

// sections are an alertmanager.yml's, in this file.
type sections struct {
	Global            amSection
	Route             amSection
	Receivers         amSection
	InhibitRules      amSection
	TimeIntervals     amSection
	MuteTimeIntervals amSection
	Templates         amSection
}

// amSection is one section, as YAML in one line.
type amSection struct{ text string }

// UnmarshalYAML keeps the text: Alertmanager's own code reads it.
func (s *amSection) UnmarshalYAML(text []byte) error {
	s.text = string(text)
	return nil
}

// String shows no secret.
func (s amSection) String() string {
	if s.text == "" {
		return ""
	}
	return "<secret>"
}

// GoString is String: %#v shows no secret either.
func (s amSection) GoString() string { return s.String() }

// given are the sections that stand in the file, with their keys.
func (s *sections) given() (keys, texts []string) {
	for _, one := range []struct {
		key  string
		text amSection
	}{
		{"global", s.Global}, {"route", s.Route}, {"receivers", s.Receivers},
		{"inhibit_rules", s.InhibitRules}, {"time_intervals", s.TimeIntervals},
		{"mute_time_intervals", s.MuteTimeIntervals}, {"templates", s.Templates},
	} {
		if one.text.text != "" {
			keys, texts = append(keys, one.key), append(texts, one.text.text)
		}
	}
	return keys, texts
}

// People says what each account's alertmanager.yml says now. Files are read anew; file is this
// configuration's own, whose directory the sections' paths are of.
func (c *notifyConfig) People(file string) (configs people.Configs, err error) {
	var errs []error
	keys, texts := c.sections.given()
	switch {
	case c.ConfigFile != "" && len(keys) > 0:
		errs = append(errs, fmt.Errorf("config_file and %s: use one of them", keys[0]))
	case c.ConfigFile != "":
		if configs.Shared, err = people.LoadFile(c.ConfigFile); err != nil {
			errs = append(errs, lines("config_file: ", err)...)
		}
	case len(keys) > 0:
		text := ""
		for i, key := range keys {
			text += key + ": " + texts[i] + "\n"
		}
		configs.Shared, err = people.Parse([]byte(text), "line", filepath.Dir(file))
		if err != nil {
			errs = append(errs, inSections(keys, err)...)
		}
	}
	for _, account := range sortedKeys(c.Accounts) {
		one, err := people.LoadFile(c.Accounts[account])
		if err != nil {
			errs = append(errs, lines("accounts."+account+": ", err)...)
			continue
		}
		if configs.Own == nil {
			configs.Own = map[string]*people.Config{}
		}
		configs.Own[account] = one
	}
	return configs, errors.Join(errs...)
}

// lines makes an error of each line of one.
func lines(before string, err error) (list []error) {
	for _, line := range strings.Split(err.Error(), "\n") {
		list = append(list, errors.New(before+line))
	}
	return list
}

// inSections says in which section a mistake is: each has a line of the text that was read.
func inSections(keys []string, err error) (list []error) {
	for _, line := range strings.Split(err.Error(), "\n") {
		rest := strings.TrimPrefix(line, "line")
		number, said, _ := strings.Cut(strings.TrimPrefix(rest, ":"), ": ")
		if n, bad := strconv.Atoi(number); bad == nil && n >= 1 && n <= len(keys) {
			list = append(list, fmt.Errorf("%s: %s", keys[n-1], said))
		} else {
			list = append(list, errors.New(strings.TrimPrefix(rest, ": ")))
		}
	}
	return list
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// Files are the alertmanager.yml that the section names.
func (c *notifyConfig) Files() []string {
	var list []string
	if c.ConfigFile != "" {
		list = append(list, c.ConfigFile)
	}
	for _, account := range sortedKeys(c.Accounts) {
		list = append(list, c.Accounts[account])
	}
	return list
}

// asks says whether somebody wrote down whom to tell.
func (c *notifyConfig) asks() bool {
	keys, _ := c.sections.given()
	return c.ConfigFile != "" || len(keys) > 0 || len(c.Accounts) > 0
}

// validateNotify checks the section, and the files that it names.
func (c *Config) validateNotify(file string) error {
	_, err := c.Notify.People(file)
	errs := []error{c.Notify.Config.Validate(), err}
	if err := c.Notify.Limits.Validate(); err != nil {
		errs = append(errs, lines("limits.", err)...)
	}
	errs = append(errs, c.validateGossip())
	for _, account := range sortedKeys(c.Notify.Accounts) {
		if !c.hasAccount(account) {
			errs = append(errs, fmt.Errorf("accounts: there is no account %q in accounts", account))
		}
	}
	return errors.Join(append(errs, DirectoryKey("dir", c.Notify.Dir))...)
}

// validateGossip checks that members can be told of each other's alerts.
func (c *Config) validateGossip() error {
	g := &c.Notify.Gossip
	if err := g.Validate(); err != nil {
		return errors.Join(lines("gossip.", err)...)
	}
	switch {
	case !g.On():
		return nil
	case len(c.Kafka.Brokers) == 0:
		return errors.New("gossip.listen is set: it joins processes that share a Kafka, and this " +
			"one has its stream in data.dir; leave it out")
	case c.Notify.Dir == "" && !c.Keeps():
		return errors.New("gossip.listen is set and dir is empty: name a directory of this " +
			"process, which keeps silences and what was told")
	case c.Notify.Topic.Topic == "":
		return errors.New("gossip.listen is set and topic.topic is empty: the members hear of " +
			"each other's alerts by that topic; name one")
	}
	return nil
}

// NotifyName is what of data.dir keeps silences and what was told.
const NotifyName = "notify"

// NotifyDir is where silences and what was told are kept; empty: nowhere, and nobody is told. It is
// an error if somebody is to be told.
func (c *Config) NotifyDir() (string, error) {
	switch {
	case c.Notify.Dir != "":
		return c.Notify.Dir, nil
	case c.Keeps():
		return filepath.Join(c.Data.Dir, NotifyName), nil
	case c.Notify.asks():
		return "", errors.New("notify.dir is empty: name a directory of this process, which " +
			"keeps silences and what was told")
	}
	return "", nil
}
