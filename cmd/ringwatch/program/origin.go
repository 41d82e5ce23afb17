package program

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Origin is how the program came to this machine. What it says to do next depends on that.
type Origin struct {
	Start string // what starts an API here
	First string // what somebody does first, a line
	Jar   string // where the agent's jar is; "": somewhere in what was unpacked
}

const packagedJar = "/usr/share/ringwatch/ringwatch-agent.jar"

var (
	FromSource = Origin{Start: "make up", First: "To try Ringwatch: make up, in its source, " +
		"starts all that is needed and a monitored Cassandra.\n",
		Jar: "agent/target/ringwatch-agent.jar"}
	fromPackage = Origin{Start: "systemctl start ringwatch", First: "To begin: systemctl enable " +
		"--now ringwatch, then ringwatch key create me --scopes operator " +
		"-c /etc/ringwatch/ringwatch.yaml.\n", Jar: packagedJar}
	fromElsewhere = Origin{Start: "ringwatch all", First: "To try Ringwatch: ringwatch all keeps " +
		"everything in a directory here, and prints a key.\n"}
)

// unitFile is the packages' unit.
const unitFile = "/usr/lib/systemd/system/ringwatch.service"

// CameFrom is the origin of this program.
func CameFrom() Origin {
	program, err := os.Executable()
	if err != nil {
		return fromElsewhere
	}
	return OriginOf(program, unitFile)
}

// OriginOf is the origin of a program: make build leaves it in bin of its source, and a package
// beside its unit.
func OriginOf(program, unit string) Origin {
	above := filepath.Dir(filepath.Dir(program))
	if exists(filepath.Join(above, "Makefile")) && exists(filepath.Join(above, "go.mod")) {
		return FromSource
	}
	if exists(unit) {
		return fromPackage
	}
	return fromElsewhere
}

// exists reports whether a file is.
func exists(file string) bool {
	_, err := os.Stat(file)
	return !errors.Is(err, fs.ErrNotExist)
}
