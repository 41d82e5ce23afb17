package scrape

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/prometheus/config"
	promscrape "github.com/prometheus/prometheus/scrape"

	"github.com/ringwatch/ringwatch/frame"
)

// Target is a target and its last scrape.
type Target struct {
	ID            uuid.UUID // zero if it is not read
	Kind, Cluster string
	Job, Instance string
	Last          time.Time // zero before the first
	Took          time.Duration
	Up            bool
	Samples       int            // series of the last reading
	Left          map[string]int // series that it does not have, by reason
	Error         string         // a sentence; empty if nothing is wrong
}

// Targets returns the targets that are ours, and those that nobody can read, by job and instance.
func (s *Scraper) Targets() []Target {
	active := s.manager.TargetsActive()
	s.mu.Lock()
	list := slices.Clone(s.refused)
	states := maps.Clone(s.states)
	s.mu.Unlock()
	for job, targets := range active {
		for _, target := range targets {
			st := states[target]
			if st == nil {
				continue // it waits for its first scrape, or is not ours
			}
			list = append(list, s.target(job, target, st))
		}
	}
	slices.SortFunc(list, func(a, b Target) int {
		return strings.Compare(a.Job+"\xff"+a.Instance, b.Job+"\xff"+b.Instance)
	})
	return list
}

// Found returns how many targets discovery has found for a job, those included that relabelling
// drops.
func (s *Scraper) Found(job string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.found[job] {
		if g != nil {
			n += len(g.Targets)
		}
	}
	return n
}

// Waiting returns how many of the targets that are ours have not been scraped yet; false before
// discovery has said which there are.
func (s *Scraper) Waiting() (n int, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	scraped := 0
	for target := range s.states {
		if !target.LastScrape().IsZero() {
			scraped++
		}
	}
	return len(s.ours) - scraped, s.found != nil
}

func (s *Scraper) target(job string, target *promscrape.Target, st *state) Target {
	t := Target{ID: st.id, Kind: st.Kind, Cluster: st.Cluster, Job: st.Job, Instance: st.Instance,
		Last: target.LastScrape(), Up: target.Health() == promscrape.HealthGood}
	st.mu.Lock()
	t.Samples, t.Took, t.Left = st.samples, st.took, maps.Clone(st.left)
	st.mu.Unlock()
	t.Error = s.problem(target, job, t.Left)
	return t
}

// problem says what is wrong with a target's last scrape; "" if nothing is.
func (s *Scraper) problem(target *promscrape.Target, job string, left map[string]int) string {
	switch err := target.LastError(); {
	case err != nil:
		return s.sentence(err, job)
	case len(left) > 0:
		return leftSentence(left)
	}
	return ""
}

// sentence says in one sentence why a scrape failed. Prometheus's own words follow where they say
// more.
func (s *Scraper) sentence(err error, job string) string {
	c := s.all.ScrapeConfigs[slices.IndexFunc(s.all.ScrapeConfigs,
		func(c *config.ScrapeConfig) bool { return c.JobName == job })]
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err // its address may have a secret
	}
	text := err.Error()
	var timeout net.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("The target did not answer in full within its timeout of %s.",
			c.ScrapeTimeout)
	case text == "body size limit exceeded":
		return fmt.Sprintf("The target sent more than its body_size_limit, %s.", c.BodySizeLimit)
	case text == "sample limit exceeded":
		return fmt.Sprintf("The target has more series than its sample_limit, %d.", c.SampleLimit)
	case errors.Is(err, errAllSeries):
		return fmt.Sprintf("The target's series do not fit: all targets together have "+
			"max_all_series, %d.", s.config.MaxAllSeries)
	case strings.HasPrefix(text, "target_limit exceeded"):
		return fmt.Sprintf("The job has more targets than its target_limit, %d: none is read.",
			c.TargetLimit)
	case strings.HasPrefix(text, "server returned HTTP status "):
		return fmt.Sprintf("The target answered %s.",
			strings.TrimPrefix(text, "server returned HTTP status "))
	case errors.As(err, new(*net.OpError)):
		return fmt.Sprintf("The target cannot be reached: %s.", oneLine(text))
	}
	return fmt.Sprintf("The target's answer cannot be read: %s.", oneLine(text))
}

// oneLine bounds what a target may make an error say.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	return strings.TrimSuffix(text, ".")
}

var leftBecause = map[string]string{
	leftNames:  fmt.Sprintf("the target has more than %d metrics", maxNames),
	leftLabels: fmt.Sprintf("their metric has more than %d labels", frame.MaxLabels),
	leftName:   fmt.Sprintf("their name is longer than %d bytes", frame.MaxNameBytes),
	leftAlike: "another metric has their name, once what is no letter, digit or underscore " +
		"is written as an underscore",
	leftLabel: fmt.Sprintf("a label's name is longer than %d bytes or its value than %d",
		frame.MaxNameBytes, frame.MaxLabelBytes),
	leftDuplicate: "the target says them twice or dates them over ten minutes ahead",
	leftKind:      "others of their metric are of another kind",
	leftBounds:    "their buckets are not those of others of their metric",
	leftSets: fmt.Sprintf("the target's histograms have more than %d sets of bounds",
		frame.MaxBoundsSets),
	leftValue: "their buckets' counts are no whole numbers",
}

// leftSentence says what a reading does not have.
func leftSentence(left map[string]int) string {
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(left)) {
		parts = append(parts, fmt.Sprintf("%d because %s", left[why], leftBecause[why]))
	}
	return "Series are left out: " + strings.Join(parts, ", ") + "."
}
