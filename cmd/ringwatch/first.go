package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// origin is how the program came to this machine. What it says to do next depends on that.
type origin struct {
	start string // what starts an API here
	first string // what somebody does first, a line
	jar   string // where the agent's jar is; "": somewhere in what was unpacked
}

const packagedJar = "/usr/share/ringwatch/ringwatch-agent.jar"

var (
	fromSource = origin{start: "make up", first: "To try Ringwatch: make up, in its source, " +
		"starts all that is needed and a monitored Cassandra.\n",
		jar: "agent/target/ringwatch-agent.jar"}
	fromPackage = origin{start: "systemctl start ringwatch", first: "To begin: systemctl enable " +
		"--now ringwatch, then ringwatch key create me --scopes operator " +
		"-c /etc/ringwatch/ringwatch.yaml.\n", jar: packagedJar}
	fromElsewhere = origin{start: "ringwatch all", first: "To try Ringwatch: ringwatch all keeps " +
		"everything in a directory here, and prints a key.\n"}
)

// unitFile is the packages' unit.
const unitFile = "/usr/lib/systemd/system/ringwatch.service"

// cameFrom is the origin of this program.
func cameFrom() origin {
	program, err := os.Executable()
	if err != nil {
		return fromElsewhere
	}
	return originOf(program, unitFile)
}

// originOf is the origin of a program: make build leaves it in bin of its source, and a package
// beside its unit.
func originOf(program, unit string) origin {
	above := filepath.Dir(filepath.Dir(program))
	if isThere(filepath.Join(above, "Makefile")) && isThere(filepath.Join(above, "go.mod")) {
		return fromSource
	}
	if isThere(unit) {
		return fromPackage
	}
	return fromElsewhere
}

// What somebody does first who has just built or installed the program, a line each.
const (
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
		return cameFrom().first + askFirst + helpLine
	}
	return fmt.Sprintf(
		"The API is %s: ringwatch nodes lists what it monitors, ringwatch top watches it.\n"+
			"In a browser: %s/\n%s", api.base, api.base, helpLine)
}

// noKeyError is what a command says that has no key to ask with: three lines.
func noKeyError(base string) error {
	return usageError{fmt.Errorf("there is no API key for %s yet.\n%s%s", base, cameFrom().first,
		askFirst[:len(askFirst)-1])}
}
