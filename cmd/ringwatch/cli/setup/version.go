package setup

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/prometheus/common/version"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/screen"
)

// VersionCmd is ringwatch version.
type VersionCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Help implements kong.HelpProvider.
func (*VersionCmd) Help() string {
	return "Says which version this program is, of which commit and when that was made, and what " +
		"it was built with and for. The same is in each role's /metrics, as " +
		"ringwatch_build_info.\n\nExample: ringwatch version --json"
}

// Run implements the command.
func (c *VersionCmd) Run() error { return c.RunTo(os.Stdout) }

// VersionInfo is what the command prints.
type VersionInfo struct {
	Version   string `json:"version"`
	Revision  string `json:"revision"`
	Date      string `json:"date"`
	GoVersion string `json:"go_version"`
	Platform  string `json:"platform"`
}

// RunTo is Run for another output than the process has.
func (c *VersionCmd) RunTo(out io.Writer) error {
	v := VersionInfo{version.Version, version.Revision, version.BuildDate, version.GoVersion,
		version.GoOS + "/" + version.GoArch}
	if c.JSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(v)
	}
	_, err := fmt.Fprintf(out, "ringwatch %s\n  revision  %s\n  date      %s\n  go        %s\n"+
		"  platform  %s\n", v.Version, screen.Dash(v.Revision), screen.Dash(v.Date), v.GoVersion,
		v.Platform)
	return err
}
