package settings

import (
	"cmp"
	"fmt"
	"os"
	"time"

	"github.com/ringwatch/ringwatch/access/account"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
)

// RoleFlags are what every role takes.
type RoleFlags struct {
	Config string `help:"The configuration file. Without it: ringwatch.yaml here." type:"path" env:"RINGWATCH_CONFIG" short:"c"`
	// A Cassandra that starts beside us needs most of the default.
	Wait time.Duration `help:"How long to wait for engines at the start. After that the start fails." default:"90s"`
}

// File is the configuration's.
func (f *RoleFlags) File() string { return cmp.Or(f.Config, "ringwatch.yaml") }

// Load reads the configuration and the accounts. Every error of the file is reported at once, as
// a UsageError.
func (f *RoleFlags) Load() (*Config, *account.Registry, error) {
	text, err := os.ReadFile(f.File())
	if err != nil {
		return nil, nil, exit.Usage(fmt.Errorf("%w; name the configuration with --config", err))
	}
	return Parse(f.File(), text)
}
