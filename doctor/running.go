package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const daemon = "org.apache.cassandra.service.CassandraDaemon"

// running is where a Cassandra that runs on this machine has its things; what its command line
// does not tell is empty.
type running struct {
	pid    int
	conf   string // the directory of cassandra.yaml
	home   string // the directory with its jars, or the one above lib
	java   string // the home of its Java
	data   string // the data directory where cassandra.yaml names none
	jar    string // the agent's; empty: it has none
	config string // the agent's configuration
}

// String names it for people.
func (r *running) String() string {
	switch {
	case r.config != "":
		return fmt.Sprintf("%d (%s)", r.pid, r.config)
	case r.conf != "":
		return fmt.Sprintf("%d (%s)", r.pid, r.conf)
	}
	return strconv.Itoa(r.pid)
}

// processes is where the kernel shows them.
var processes = "/proc"

// findRunning looks at the processes of this machine, in the order of their numbers.
func findRunning() (found []running) {
	list, _ := filepath.Glob(filepath.Join(processes, "[0-9]*")) // the pattern is ours
	for _, process := range list {
		if r, ok := runningIn(process); ok {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b running) int { return a.pid - b.pid })
	return found
}

// choose returns the Cassandra that is meant of those that run: the only one, or that of the
// process, the directories or the configuration that were named. Empty: there is none. The error
// asks which.
func (o *Options) choose(all []running) (running, error) {
	var names []string
	for i := range all {
		names = append(names, all[i].String())
	}
	if o.PID != 0 {
		at := slices.IndexFunc(all, func(r running) bool { return r.pid == o.PID })
		switch {
		case at >= 0:
			return all[at], nil
		case len(all) == 0:
			return running{}, fmt.Errorf("process %d is no Cassandra, and none is seen here: "+
				"leave --pid out, or run doctor as root", o.PID)
		}
		return running{}, fmt.Errorf("process %d is no Cassandra: name one of %s with --pid",
			o.PID, strings.Join(names, ", "))
	}
	meant := slices.DeleteFunc(slices.Clone(all), func(r running) bool {
		return o.CassandraConf != "" && !same(r.conf, o.CassandraConf) ||
			o.CassandraHome != "" && !same(r.home, o.CassandraHome) &&
				!same(r.home, filepath.Join(o.CassandraHome, "lib"))
	})
	if o.AgentConfig != "" && len(meant) > 1 {
		meant = slices.DeleteFunc(meant, func(r running) bool {
			return !same(r.config, o.AgentConfig)
		})
	}
	switch {
	case len(meant) == 1:
		return meant[0], nil
	case len(all) > 1 && o.CassandraConf == "" && o.CassandraHome == "":
		return running{}, fmt.Errorf("several Cassandras run here: name one of %s with --pid",
			strings.Join(names, ", "))
	}
	return running{}, nil
}

// same reports whether two paths are one place.
func same(a, b string) bool {
	one, err := os.Stat(a)
	other, wrong := os.Stat(b)
	return errors.Join(err, wrong) == nil && os.SameFile(one, other)
}

// runningIn reads a process's directory in /proc; ok is false if it is no Cassandra, or one whose
// files are not this machine's, as in a container.
func runningIn(process string) (r running, ok bool) {
	raw, err := os.ReadFile(filepath.Join(process, "cmdline"))
	if err != nil || !bytes.Contains(raw, []byte("\x00"+daemon)) {
		return r, false
	}
	if r.pid, err = strconv.Atoi(filepath.Base(process)); err != nil {
		return r, false
	}
	if root := filepath.Join(process, "root"); exists(root) && !same(root, "/") {
		return r, false
	}
	cwd, _ := os.Readlink(filepath.Join(process, "cwd")) // another user's is hidden
	absolute := func(path string) string {
		switch {
		case filepath.IsAbs(path):
			return filepath.Clean(path)
		case cwd == "":
			return ""
		}
		return filepath.Join(cwd, path)
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
				if cassandraJar.MatchString(filepath.Base(entry)) ||
					filepath.Base(entry) == "*" && firstDir(jars, filepath.Dir(entry)) != "" {
					r.home = filepath.Dir(entry)
				}
			}
		case strings.HasPrefix(arg, "-Dcassandra.storagedir="):
			if dir := absolute(strings.TrimPrefix(arg, "-Dcassandra.storagedir=")); dir != "" {
				r.data = filepath.Join(dir, "data")
			}
		case strings.HasPrefix(arg, "-javaagent:") && r.config == "": // the first one counts
			jar, config, _ := strings.Cut(strings.TrimPrefix(arg, "-javaagent:"), "=")
			jar = absolute(jar)
			if config != "" && (strings.Contains(filepath.Base(jar), "ringwatch") ||
				isAgent(jar) == nil) {
				r.jar, r.config = jar, absolute(config)
			}
		}
	}
	for _, arg := range args {
		if yaml, found := strings.CutPrefix(arg, "-Dcassandra.config="); found {
			if file := absolute(strings.TrimPrefix(yaml, "file:")); file != "" {
				r.conf = filepath.Dir(file)
			}
		}
	}
	return r, true
}
