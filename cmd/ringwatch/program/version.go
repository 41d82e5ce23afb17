// Package program says what this program is: its version, and how it came to this machine.
package program

import (
	"runtime/debug"
	"strings"

	"github.com/prometheus/common/version"
	"github.com/prometheus/prometheus/scrape"
)

// Stamp says what make dist and make build stamped on this program, or nothing: the version, the
// commit and its time. From then on Prometheus's package has them, and metrics and requests say
// them.
func Stamp(stamp string) {
	info, _ := debug.ReadBuildInfo()
	version.Version, version.Revision, version.BuildDate = Built(stamp, info)
	scrape.UserAgent = version.ComponentUserAgent("ringwatch")
}

// Built says what a program is made of: by its stamp, or by what Go knows of the build.
func Built(stamp string, info *debug.BuildInfo) (name, revision, date string) {
	settings := map[string]string{}
	if info != nil {
		name = strings.Trim(strings.TrimPrefix(info.Main.Version, "v"), "()")
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
	}
	if name == "" {
		name = "devel"
	}
	revision, date = settings["vcs.revision"], settings["vcs.time"]
	if revision != "" && settings["vcs.modified"] == "true" {
		revision += "-changed"
	}
	for i, word := range strings.Fields(stamp) {
		if word == "-" {
			word = "" // made without git
		}
		*[]*string{&name, &revision, &date}[min(i, 2)] = word
	}
	return name, revision, date
}

// Version is the version, the commit and Go's version in a line.
func Version() string {
	words := []string{version.Version, version.Revision, version.GoVersion}
	if len(words[1]) > 12 {
		words[1] = words[1][:12]
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}
