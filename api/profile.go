package api

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/ringwatch/ringwatch/dictionary/profile"
	"github.com/ringwatch/ringwatch/query/nearest"
	"github.com/ringwatch/ringwatch/window"
)

// ofFile are the names that the agent gives to rule files beyond the first of a kind.
var ofFile = regexp.MustCompile(`^(jmx|criteo)_exporter_\d+$`)

// profileOf returns the profile whose names a request asks for; nil: ours.
func profileOf(r *http.Request) (*profile.Profile, error) {
	values, err := parameters(r, "profile")
	if err != nil {
		return nil, err
	}
	name := values.Get("profile")
	if !values.Has("profile") || name == profile.Ringwatch {
		return nil, nil
	}
	as := profile.Named(name)
	if as == nil && ofFile.MatchString(name) {
		return nil, bad("unknown_profile", "profile", "%q is a node's own rule file, which the "+
			"API does not have: scrape the agent at /metrics?profile=%s, where profiles of "+
			"agent.yaml names the file, or ask here for one of %s",
			name, name, strings.Join(profile.Names(), ", "))
	}
	if as == nil {
		return nil, bad("unknown_profile", "profile", "unknown profile %.40q: %s", name,
			nearest.Offer(name, profile.Names()))
	}
	return as, nil
}

func nameOf(as *profile.Profile) string {
	if as == nil {
		return ""
	}
	return as.Name
}

// show returns a node's newest values under the names of a profile. What was counted lately is what
// was counted since the state of two minutes before, of which only that is read.
func (s *Server) show(ctx context.Context, accountName string, n *Node, w *window.Window,
	now []window.Series, as *profile.Profile) ([]window.Series, map[string]profile.Head, error) {
	names, err := as.NeedsBefore(now)
	if err != nil {
		return nil, nil, err
	}
	var before []window.Series
	if len(names) > 0 {
		slices.Sort(names)
		to := w.Times[len(w.Times)-1] - profile.Span
		matcher, err := labels.NewMatcher(labels.MatchRegexp, labels.MetricName,
			strings.Join(names, "|"))
		if err != nil {
			return nil, nil, err
		}
		values, err := s.deps.Reader.Range(ctx, accountName, n, to-2*w.Node.Interval, to,
			[][]*labels.Matcher{{matcher}})
		if err != nil {
			return nil, nil, err
		}
		before = values.Series
	}

	shown, err := as.Show(ctx, &w.Node, now, before)
	if err != nil {
		return nil, nil, err
	}
	return shown.Series, shown.Heads, nil
}
