package main

import (
	"fmt"
	"os"
)

// What somebody does first who has just built or installed the program, a line each.
const (
	tryFirst = "To try Ringwatch: make up, in its source, starts all that is needed and a " +
		"monitored Cassandra.\n"
	askFirst = "To ask an API that runs: set RINGWATCH_API=http://HOST:9470 and " +
		"RINGWATCH_KEY=rw_…, " +
		"then ringwatch nodes.\n"
	helpLine = "All commands: ringwatch --help\n"
)

// firstWords is what the program says that was called without a command: three lines.
func firstWords() string {
	flags := clientFlags{API: os.Getenv("RINGWATCH_API"), Key: os.Getenv("RINGWATCH_KEY")}
	api, err := flags.client()
	if err != nil {
		return tryFirst + askFirst + helpLine
	}
	return fmt.Sprintf(
		"The API is %s: ringwatch nodes lists what it monitors, ringwatch top watches it.\n"+
			"In a browser: %s/\n%s", api.base, api.base, helpLine)
}

// noKeyError is what a command says that has no key to ask with: three lines.
func noKeyError(base string) error {
	return usageError{fmt.Errorf("there is no API key for %s yet.\n%s%s", base, tryFirst,
		askFirst[:len(askFirst)-1])}
}
