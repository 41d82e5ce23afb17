package profile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// criteo is a configuration of criteo's cassandra_exporter: one name, cassandra_stats, whose label
// name is a bean's path and attribute in small letters, parted by colons.
type criteo struct{ refused []*regexp.Regexp }

func newCriteo(config string) (*criteo, error) {
	var c struct {
		Refused []string         `yaml:"blacklist"`
		Wanted  map[int][]string `yaml:"maxScrapFrequencyInSec"`
	}
	if err := yaml.UnmarshalWithOptions([]byte(config), &c, yaml.Strict()); err != nil {
		return nil, err
	}
	n := &criteo{}
	for _, pattern := range c.Refused {
		of, err := regexp.Compile(`^(?:` + pattern + `)$`)
		if err != nil {
			return nil, fmt.Errorf("profile: %w", err)
		}
		n.refused = append(n.refused, of)
	}
	return n, nil
}

var criteoParts = regexp.MustCompile(`:type=|,[^=]+=|\.`)

// name implements namer.
func (c *criteo) name(b *bean, a attribute) *named {
	if len(a.path) > 1 {
		return nil
	}
	name := b.domain + ":"
	for i, p := range b.properties {
		if i > 0 {
			name += ","
		}
		name += p.key + "=" + p.value
	}
	own := append(slices.Clone(a.path), a.name)
	name = strings.ToLower(strings.ReplaceAll(criteoParts.ReplaceAllString(name, ":"), " ", "_") +
		":" + own[0])
	if slices.ContainsFunc(c.refused, func(p *regexp.Regexp) bool { return p.MatchString(name) }) {
		return nil
	}
	if len(own) > 1 {
		name += ":" + strings.ToLower(own[1])
	}
	keyspace, table := "", ""
	switch kind := b.property("type"); kind {
	case "Table", "ColumnFamily":
		if keyspace = b.property("keyspace"); keyspace != "" {
			table = b.property("scope")
		}
	case "Keyspace":
		keyspace = b.property("keyspace")
	}
	n := &named{name: text{plain: "cassandra_stats"}, kind: "gauge", factor: 1}
	for _, l := range [][2]string{{"keyspace", keyspace}, {"table", table}, {"name", name}} {
		n.labels = append(n.labels, namedLabel{text{plain: l[0]}, newText(l[1]), l[0] == "name"})
	}
	return n
}
