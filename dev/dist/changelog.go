package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// changeKinds are the sections that Keep a Changelog has.
var changeKinds = []string{"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}

// unreleased is the name of what is in no version yet.
const unreleased = "Unreleased"

// changelog is what checkChangelog knows while it reads.
type changelog struct {
	wrong    []error
	titles   []string // of versions, in order
	headings []*heading
}

// heading is one that has to have something below it.
type heading struct {
	line, level int
	title       string
	holds       bool // an entry, at any level below
}

var (
	versionTitle = regexp.MustCompile(`^\[([^\]]+)\](?: - (\S+))?$`)
	linkLine     = regexp.MustCompile(`^\[([^\]]+)\]: https://\S+$`)
)

// checkChangelog says all that is wrong with a changelog from which a version is made: headings
// that are not of Keep a Changelog, empty ones, versions without a date or a link, and none of this
// version. A version before a release, such as 1.2.3-rc.1, is what is not released yet.
func checkChangelog(text, version string) error {
	c, links := changelog{}, map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		if m := linkLine.FindStringSubmatch(line); m != nil {
			links[m[1]] = true
		}
		marks := len(line) - len(strings.TrimLeft(line, "#"))
		switch {
		case marks >= 2 && strings.HasPrefix(line[marks:], " "):
			c.heading(i+1, marks, line[marks+1:])
		case strings.HasPrefix(line, "- "):
			c.entry(i + 1)
		}
	}
	for _, h := range c.headings {
		if !h.holds && h.title != unreleased {
			c.fail(h.line, "nothing stands under %s: write what is new, or remove it", h.title)
		}
	}
	for _, title := range c.titles {
		if !links[title] {
			c.fail(0, "there is no line [%s]: https://…, which says where its commits are", title)
		}
	}
	title := version
	if strings.Contains(version, "-") {
		title = unreleased
	}
	if !slices.Contains(c.titles, title) {
		c.fail(0, "there is no section [%s]: write \"## [%s] - %s\" above what [%s] has", title,
			title, time.Now().UTC().Format(time.DateOnly), unreleased)
	} else if title == unreleased && !c.headings[0].holds {
		c.fail(0, "nothing stands under [%s], of which %s would be made", unreleased, version)
	}
	return errors.Join(c.wrong...)
}

func (c *changelog) fail(line int, format string, args ...any) {
	place := "CHANGELOG.md: "
	if line > 0 {
		place = fmt.Sprintf("CHANGELOG.md:%d: ", line)
	}
	c.wrong = append(c.wrong, fmt.Errorf(place+format, args...))
}

func (c *changelog) heading(line, level int, title string) {
	if level > 2 && len(c.titles) == 0 {
		c.fail(line, "%s stands above all versions: begin with ## [%s]", title, unreleased)
	}
	switch level {
	case 2:
		title = c.version(line, title)
	case 4:
		if !slices.Contains(changeKinds, title) {
			c.fail(line, "%q is none of %s", title, strings.Join(changeKinds, ", "))
		}
	case 3: // an area, or a kind where a version has no areas: entry looks which
	default:
		c.fail(line, "%s is too deep: an area has ###, a kind of changes ####", title)
	}
	c.headings = append(c.headings, &heading{line: line, level: level, title: title})
}

// version checks the heading of a version and returns its name.
func (c *changelog) version(line int, title string) string {
	m := versionTitle.FindStringSubmatch(title)
	if m == nil {
		c.fail(line, "%q is no heading of a version: write ## [1.2.3] - 2026-11-26", title)
		return title
	}
	name, date := m[1], m[2]
	switch _, bad := time.Parse(time.DateOnly, date); {
	case slices.Contains(c.titles, name):
		c.fail(line, "[%s] is there twice", name)
	case name == unreleased && len(c.titles) > 0:
		c.fail(line, "[%s] stands below a version: it comes first", unreleased)
	case name == unreleased && date != "":
		c.fail(line, "[%s] has a date: it is for a version", unreleased)
	case name == unreleased:
	case !semver.MatchString(name):
		c.fail(line, "%q is no version: write ## [1.2.3] - 2026-11-26", name)
	case bad != nil:
		c.fail(line, "[%s] has no date: write ## [%s] - 2026-11-26", name, name)
	}
	c.titles = append(c.titles, name)
	return name
}

// entry is a change. It fills the headings that it stands under.
func (c *changelog) entry(line int) {
	level := 5
	for _, h := range slices.Backward(c.headings) {
		if h.level >= level {
			continue
		}
		if level == 5 && h.level == 3 && !slices.Contains(changeKinds, h.title) && !h.holds {
			c.fail(line, "it stands under the area %s, and under none of %s", h.title,
				strings.Join(changeKinds, ", "))
		}
		level, h.holds = h.level, true
		if level == 2 {
			return
		}
	}
}
