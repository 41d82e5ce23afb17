package silences

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/alertmanager/matcher/compat"
	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/common/model"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/client"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/fleet"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

// Labels that shipped alerts have.
const (
	nameLabel    = model.AlertNameLabel
	clusterLabel = "cluster"
	nodeLabel    = "node"
)

func equal(name, value string) *labels.Matcher {
	return &labels.Matcher{Type: labels.MatchEqual, Name: name, Value: value}
}

// parseMatchers reads words in amtool's form; one without an operator is an alert's name.
func parseMatchers(words []string) (list labels.Matchers, err error) {
	parse := compat.FallbackMatchersParser(slog.New(slog.DiscardHandler))
	for _, word := range words {
		if word != "" && !strings.ContainsAny(word, "=~!{}\"") {
			list = append(list, equal(nameLabel, word))
			continue
		}
		found, err := parse(word, "")
		if err != nil || word == "" {
			return nil, exit.Usage(fmt.Errorf("%q is no matcher%s: write cluster=shop, "+
				"alertname=~\"Cassandra.*\" or an alert's name", word, because(err)))
		}
		list = append(list, found...)
	}
	return list, contradicts(list)
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return " (" + screen.Plain(err.Error()) + ")"
}

// contradicts refuses two values of a label, which no alert has.
func contradicts(list labels.Matchers) error {
	values := map[string]string{}
	for _, m := range list {
		if m.Type != labels.MatchEqual {
			continue
		}
		if v, is := values[m.Name]; is && v != m.Value {
			return exit.Usage(fmt.Errorf("no alert has both %s=%s and %s=%s: write %s=~\"%s|%s\"",
				m.Name, screen.Plain(v), m.Name, screen.Plain(m.Value), m.Name, screen.Plain(v),
				screen.Plain(m.Value)))
		}
		values[m.Name] = m.Value
	}
	return nil
}

// anyValue are values that nothing in a fleet has. Who matches all of them names nothing.
var anyValue = []string{"a", "0", "Zz-9/é", "no such value"}

// matchesAll reports whether no matcher names anything, so that all alerts match which have these
// labels.
func matchesAll(list labels.Matchers) bool {
	for _, m := range list {
		if slices.ContainsFunc(anyValue, func(v string) bool { return !m.Matches(v) }) {
			return false
		}
	}
	return true
}

// everything matches each alert. Alertmanager takes no silence that an alert without labels would
// match.
func everything() labels.Matchers {
	m, err := labels.NewMatcher(labels.MatchRegexp, nameLabel, ".+")
	if err != nil {
		panic(err) // the expression is wrong
	}
	return labels.Matchers{m}
}

// resolver puts ids in the place of what people call nodes.
type resolver struct {
	api     *client.Client
	notes   io.Writer // is told of what does not exist and is taken as it is
	cluster string    // that nodes are looked for in; "": in all
}

// resolve changes matchers of node that name no id but a host or an address.
func (r *resolver) resolve(ctx context.Context, list labels.Matchers) error {
	for _, m := range list {
		if m.Name == clusterLabel && m.Type == labels.MatchEqual && m.Value != "" {
			r.cluster = m.Value
			if err := r.note(fleet.CheckCluster(ctx, r.api, m.Value), m); err != nil {
				return err
			}
		}
	}
	for i, m := range list {
		if m.Name != nodeLabel || m.Value == "" {
			continue
		}
		found, err := r.node(ctx, m)
		if err := r.note(err, m); err != nil {
			return err
		}
		if found != nil {
			list[i] = found
		}
	}
	return nil
}

// note tells of a name that does not exist; rules of one's own may have it all the same.
func (r *resolver) note(err error, m *labels.Matcher) error {
	refused, is := errors.AsType[client.RefusedError](err)
	unknown := is && strings.HasPrefix(refused.Reason, "unknown_")
	if !unknown && !errors.Is(err, errNoHost) {
		return err
	}
	fmt.Fprintf(r.notes, "ringwatch: %s; %s is taken as it is\n", screen.Plain(err.Error()),
		matcherText(m, nil))
	return nil
}

var errNoHost = errors.New("no node's id, host or address is like that")

// node returns a matcher of ids for one of names; nil: it is of ids already, or of none.
func (r *resolver) node(ctx context.Context, m *labels.Matcher) (*labels.Matcher, error) {
	if m.Type == labels.MatchEqual || m.Type == labels.MatchNotEqual {
		n, err := fleet.FindNodeIn(ctx, r.api, m.Value, r.cluster)
		if err != nil {
			return nil, err
		}
		return labels.NewMatcher(m.Type, m.Name, n.ID)
	}
	nodes, err := fleet.AskNodes(ctx, r.api, nil)
	if err != nil {
		return nil, err
	}
	alike, err := labels.NewMatcher(labels.MatchRegexp, m.Name, m.Value)
	if err != nil {
		return nil, err
	}
	var ids []string
	for i := range nodes {
		n := &nodes[i]
		if alike.Matches(n.ID) {
			return nil, nil
		}
		if (r.cluster == "" || r.cluster == n.Cluster) &&
			(alike.Matches(n.Facts["hostname"]) || alike.Matches(n.Address)) {
			ids = append(ids, regexp.QuoteMeta(n.ID))
		}
	}
	if len(ids) == 0 {
		return nil, errNoHost
	}
	return labels.NewMatcher(m.Type, m.Name, strings.Join(ids, "|"))
}

// nodeNames are what people call nodes, by id. It is empty where nobody can be asked: then ids are
// shown.
func nodeNames(ctx context.Context, api *client.Client) map[string]string {
	nodes, err := fleet.AskNodes(ctx, api, nil)
	if err != nil {
		return nil
	}
	names := make(map[string]string, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		names[n.ID] = cmp.Or(n.Facts["hostname"], n.Address, n.ID)
	}
	return names
}

// matchersText is what a silence matches, with nodes by their names.
func matchersText(list labels.Matchers, names map[string]string) string {
	words := make([]string, len(list))
	for i, m := range list {
		words[i] = matcherText(m, names)
	}
	return strings.Join(words, " ")
}

func matcherText(m *labels.Matcher, names map[string]string) string {
	value := m.Value
	if m.Name == nodeLabel {
		ids := strings.Split(value, "|")
		for i, id := range ids {
			ids[i] = cmp.Or(names[id], id)
		}
		value = strings.Join(ids, "|")
	}
	if value == "" || strings.ContainsAny(value, " {}!=~,\\\"'`") {
		value = strconv.Quote(value)
	}
	return screen.Plain(m.Name + m.Type.String() + value)
}
