package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/prometheus/common/version"
	"github.com/prometheus/prometheus/scrape"
)

// release is what make dist and make build stamp on what they build: the version, the commit and
// its time.
var release string

// From here on Prometheus's package has the version: metrics and requests say it.
func init() {
	info, _ := debug.ReadBuildInfo()
	version.Version, version.Revision, version.BuildDate = built(release, info)
	scrape.UserAgent = version.ComponentUserAgent("ringwatch")
}

// built says what a program is made of: by its stamp, or by what Go knows of the build.
func built(stamp string, info *debug.BuildInfo) (name, revision, date string) {
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

// versionLine is the version, the commit and Go's version in a line.
func versionLine() string {
	words := []string{version.Version, version.Revision, version.GoVersion}
	if len(words[1]) > 12 {
		words[1] = words[1][:12]
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

type versionCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Help implements kong.HelpProvider.
func (*versionCmd) Help() string {
	return "Says which version this program is, of which commit and when that was made, and what " +
		"it was built with and for. The same is in each role's /metrics, as " +
		"ringwatch_build_info.\n\nExample: ringwatch version --json"
}

// Run implements the command.
func (c *versionCmd) Run() error { return c.run(os.Stdout) }

// versionInfo is what the command prints.
type versionInfo struct {
	Version   string `json:"version"`
	Revision  string `json:"revision"`
	Date      string `json:"date"`
	GoVersion string `json:"go_version"`
	Platform  string `json:"platform"`
}

func (c *versionCmd) run(out io.Writer) error {
	v := versionInfo{version.Version, version.Revision, version.BuildDate, version.GoVersion,
		version.GoOS + "/" + version.GoArch}
	if c.JSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(v)
	}
	_, err := fmt.Fprintf(out, "ringwatch %s\n  revision  %s\n  date      %s\n  go        %s\n"+
		"  platform  %s\n", v.Version, dash(v.Revision), dash(v.Date), v.GoVersion, v.Platform)
	return err
}
