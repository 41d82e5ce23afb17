package client

import (
	"fmt"
	"os"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	"github.com/ringwatch/ringwatch/cmd/ringwatch/program"
)

// What somebody does first who has just built or installed the program, a line each.
const (
	askFirst = "To ask an API that runs: set RINGWATCH_API=http://HOST:9470 and " +
		"RINGWATCH_KEY=rw_…, " +
		"then ringwatch nodes.\n"
	helpLine = "All commands: ringwatch --help\n"
)

// FirstWords is what the program says that was called without a command: three lines.
func FirstWords() string {
	flags := Flags{API: os.Getenv("RINGWATCH_API"), Key: os.Getenv("RINGWATCH_KEY")}
	api, err := flags.Client()
	if err != nil {
		return program.CameFrom().First + askFirst + helpLine
	}
	return fmt.Sprintf(
		"The API is %s: ringwatch nodes lists what it monitors, ringwatch top watches it.\n"+
			"In a browser: %s/\n%s", api.Base, api.Base, helpLine)
}

// noKeyError is what a command says that has no key to ask with: three lines.
func noKeyError(base string) error {
	return exit.Usage(fmt.Errorf("there is no API key for %s yet.\n%s%s", base,
		program.CameFrom().First,
		askFirst[:len(askFirst)-1]))
}
