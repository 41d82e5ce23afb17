package doctor

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

const daemon = "org.apache.cassandra.service.CassandraDaemon"

// running is where a Cassandra that runs on this machine has its things; what its command line
// does not tell is empty.
type running struct {
	conf string // the directory of cassandra.yaml
	home string // the directory with its jars, or the one above lib
	java string // the home of its Java
	data string // the data directory where cassandra.yaml names none
}

// findRunning looks at the processes of this machine. With several Cassandras, or none, or where
// their processes may not be looked at, it finds nothing: which of them is meant is for the
// operator to say.
func findRunning() running {
	processes, _ := filepath.Glob("/proc/[0-9]*") // the pattern is ours
	var found []running
	for _, process := range processes {
		if r, ok := runningIn(process); ok {
			found = append(found, r)
		}
	}
	if len(found) != 1 {
		return running{}
	}
	return found[0]
}

// runningIn reads a process's directory in /proc; ok is false if it is no Cassandra.
func runningIn(process string) (r running, ok bool) {
	raw, err := os.ReadFile(filepath.Join(process, "cmdline"))
	if err != nil || !bytes.Contains(raw, []byte("\x00"+daemon)) {
		return r, false
	}
	cwd, err := os.Readlink(filepath.Join(process, "cwd"))
	if err != nil {
		return r, false
	}
	absolute := func(path string) string {
		if !filepath.IsAbs(path) {
			path = filepath.Join(cwd, path)
		}
		return filepath.Clean(path)
	}
	if java, err := os.Readlink(filepath.Join(process, "exe")); err == nil &&
		filepath.Base(filepath.Dir(java)) == "bin" {
		r.java = filepath.Dir(filepath.Dir(java))
	}
	args := strings.Split(string(raw), "\x00")
	for i, arg := range args {
		switch {
		case (arg == "-cp" || arg == "-classpath" || arg == "--class-path") && i+1 < len(args):
			for _, entry := range strings.Split(args[i+1], ":") {
				entry = absolute(entry)
				if r.conf == "" && exists(filepath.Join(entry, "cassandra.yaml")) {
					r.conf = entry
				}
				if cassandraJar.MatchString(filepath.Base(entry)) {
					r.home = filepath.Dir(entry)
				}
			}
		case strings.HasPrefix(arg, "-Dcassandra.storagedir="):
			r.data = filepath.Join(absolute(strings.TrimPrefix(arg, "-Dcassandra.storagedir=")),
				"data")
		}
	}
	for _, arg := range args {
		if yaml, found := strings.CutPrefix(arg, "-Dcassandra.config="); found {
			r.conf = filepath.Dir(absolute(strings.TrimPrefix(yaml, "file:")))
		}
	}
	return r, true
}
