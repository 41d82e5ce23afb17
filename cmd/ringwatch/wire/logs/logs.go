// Package logs makes the loggers of roles and commands. What is said again and again is counted and
// said once a minute.
package logs

import (
	"log/slog"
	"os"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/settings"
)

// Repeated is of the one standard error that a process has.
var Repeated = NewRepeats()

// New writes to stderr; roles run under a supervisor that keeps it. Warnings and errors that
// are repeated are counted and said once a minute.
func New(c settings.LogConfig) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // validated with the configuration
	options := &slog.HandlerOptions{Level: level}
	if c.Format == "json" {
		return slog.New(Repeated.Wrap(slog.NewJSONHandler(os.Stderr, options)))
	}
	return slog.New(Repeated.Wrap(slog.NewTextHandler(os.Stderr, options)))
}
