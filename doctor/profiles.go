package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/version"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"github.com/ringwatch/ringwatch/dictionary/profile"
)

// namesSaid is how many names of a loss are told.
const namesSaid = 5

// oldInstaclustr is what the agent calls a profile too.
const oldInstaclustr = "cassandra_exporter"

// checkRules says what the agent's own code makes of the files of rules.
func (n *node) checkRules() {
	a := &n.agent
	for _, wrong := range a.rulesWrong {
		n.add("rules", Fail, "correct it; until then this profile is empty, and all else is served",
			"%s", wrong)
	}
	for _, ignored := range a.rulesIgnored {
		n.add("rules", Warn, "correct it, or leave it: the rest counts", "%s", ignored)
	}
	if len(a.rulesUnread) > 0 {
		n.add("rules", Warn, "name Cassandra's directory with --cassandra-home",
			"the rules of %s were not read: that takes Cassandra's SnakeYAML, which was not found",
			strings.Join(a.rulesUnread, ", "))
	}
	if len(a.rulesRead) > 0 {
		n.add("rules", OK, "", "the rules of %s can be used",
			strings.Join(a.rulesRead, ", "))
	}
}

// checkProfiles looks for names that a profile loses on /metrics to one that stands before it. An
// agent that runs with these profiles says so itself; else what profiles show is known here, but
// for those of a file.
func (n *node) checkProfiles(ctx context.Context) {
	if n.agent.listen == "" || len(n.agent.profiles) < 2 {
		return
	}
	losses, known := n.runningLosses(ctx)
	if !known {
		losses = n.knownLosses(n.agent.profiles)
	}
	for _, l := range losses {
		names := strings.Join(l.Names[:min(namesSaid, len(l.Names))], ", ")
		if more := len(l.Names) - namesSaid; more > 0 {
			names += fmt.Sprintf(" and %d more", more)
		}
		remedy := fmt.Sprintf("let who needs them scrape /metrics?profile=%s", l.Profile)
		if turned := slices.Clone(n.agent.profiles); l.By != "" {
			i, j := slices.Index(turned, l.By), slices.Index(turned, l.Profile)
			turned[i], turned[j] = turned[j], turned[i]
			if len(n.agent.files) == 0 && lost(n.knownLosses(turned)) < lost(losses) {
				remedy += fmt.Sprintf(", or write profiles: [%s], which loses fewer",
					strings.Join(turned, ", "))
			}
		}
		by := "to those before it"
		if l.By != "" {
			by = "to " + l.By
		}
		n.add("profiles", Warn, remedy, "%s loses series of %d names on /metrics %s: %s", l.Profile,
			len(l.Names), by, names)
	}
	if !known && len(n.agent.files) > 0 {
		n.add("profiles", Warn, "run doctor again when the agent runs with them, or scrape "+
			"/metrics?profile=NAME", "what %s shows is not known before the agent runs",
			strings.Join(n.agent.files, ", "))
	} else if len(losses) == 0 {
		n.add("profiles", OK, "", "no profile loses a name on /metrics: %s",
			strings.Join(n.agent.profiles, ", "))
	}
}

func lost(losses []profile.Loss) (names int) {
	for _, l := range losses {
		names += len(l.Names)
	}
	return names
}

// knownLosses is what is known of an order before the agent runs with it: of profiles of a file,
// nothing.
func (n *node) knownLosses(order []string) []profile.Loss {
	order = slices.DeleteFunc(slices.Clone(order), func(p string) bool {
		return slices.Contains(n.agent.files, p)
	})
	for i := range order {
		if order[i] == oldInstaclustr {
			order[i] = "instaclustr_exporter"
		}
	}
	losses, err := profile.Losses(order)
	if err != nil {
		panic(err) // the data is ours, and tested
	}
	return losses
}

// maxPage is how much of a page of an agent is read: more than the largest of 20,000 entities.
const maxPage = 256 << 20

// runningLosses compares what the agent that listens there shows of all profiles with what it shows
// of each; false if none does, or it has other profiles. What is lost is so twice: between two
// pages a table may be dropped.
func (n *node) runningLosses(ctx context.Context) ([]profile.Loss, bool) {
	lost := map[string]int{} // by profile and name
	for range 2 {
		alone := make([]*page, len(n.agent.profiles))
		for i, p := range n.agent.profiles {
			if alone[i] = n.page(ctx, "?profile="+p); alone[i] == nil {
				return nil, false
			}
		}
		all := n.page(ctx, "")
		if all == nil {
			return nil, false
		}
		for i, p := range n.agent.profiles {
			for name, series := range alone[i].series {
				if slices.ContainsFunc(series, func(s labels.Labels) bool {
					return !all.has(name, s)
				}) {
					lost[p+" "+name]++
				}
			}
		}
	}
	var losses []profile.Loss
	for _, p := range n.agent.profiles {
		l := profile.Loss{Profile: p}
		for key, times := range lost {
			if name, ok := strings.CutPrefix(key, p+" "); ok && times == 2 {
				l.Names = append(l.Names, name)
			}
		}
		if slices.Sort(l.Names); len(l.Names) > 0 {
			losses = append(losses, l)
		}
	}
	return losses, true
}

// page is an agent's answer: its series by name.
type page struct {
	series map[string][]labels.Labels
	hashes map[uint64]bool
}

// page asks the agent that listens there; nil: there is none, or not with that profile.
func (n *node) page(ctx context.Context, query string) *page {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet,
		"http://"+n.agent.listen+"/metrics"+query, nil)
	if err != nil {
		return nil
	}
	r.Header.Set("User-Agent", version.ComponentUserAgent("ringwatch"))
	answer, err := (&http.Client{Timeout: time.Minute}).Do(r)
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxPage))
	if err != nil || answer.StatusCode != http.StatusOK {
		return nil
	}
	p := &page{map[string][]labels.Labels{}, map[uint64]bool{}}
	parser := textparse.NewPromParser(body, labels.NewSymbolTable(), false)
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			return p
		}
		if err != nil {
			return nil
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var l labels.Labels
		parser.Labels(&l)
		name := l.Get(labels.MetricName)
		p.series[name] = append(p.series[name], l)
		p.hashes[l.Hash()] = true
	}
}

// has reports whether a series with these labels, or more, is on the page.
func (p *page) has(name string, of labels.Labels) bool {
	return p.hashes[of.Hash()] || slices.ContainsFunc(p.series[name], func(s labels.Labels) bool {
		all := true
		of.Range(func(l labels.Label) { all = all && s.Get(l.Name) == l.Value })
		return all
	})
}
