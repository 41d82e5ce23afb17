package doctor

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// jars are those of a Cassandra's version.
const jars = "apache-cassandra-[0-9]*.jar"

var cassandraJar = regexp.MustCompile(`^apache-cassandra-(\d+\.\d+[^/]*)\.jar$`)

// findCassandra looks where a node that runs now has its things, then where Debian's and Red
// Hat's packages and the tarball put them, and reads the version from the jar's name.
func (n *node) findCassandra() {
	n.CassandraHome = cmp.Or(n.CassandraHome, n.runs.home)
	n.CassandraConf = cmp.Or(n.CassandraConf, n.runs.conf)
	if os.Getenv("JAVA_HOME") == "" {
		n.JavaHome = cmp.Or(n.JavaHome, n.runs.java)
	}
	n.AgentConfig = cmp.Or(n.AgentConfig, n.runs.config, DefaultAgentConfig)
	if n.AgentConfig == n.runs.config {
		n.Jar = cmp.Or(n.Jar, n.runs.jar)
	}
	if n.CassandraHome == "" {
		for _, home := range []string{os.Getenv("CASSANDRA_HOME"), "/usr/share/cassandra",
			"/opt/cassandra"} {
			if home != "" && firstDir(jars, filepath.Join(home, "lib"), home) != "" {
				n.CassandraHome = home
				break
			}
		}
	}
	if n.CassandraConf == "" {
		n.CassandraConf = firstDir("cassandra.yaml", os.Getenv("CASSANDRA_CONF"),
			under(n.CassandraHome, "conf"), "/etc/cassandra/conf", "/etc/cassandra")
	}
	if n.CassandraHome == "" {
		n.add("cassandra", Warn, "name its directory with --cassandra-home",
			"Cassandra's jars were not found, so its version is unknown")
	} else {
		n.findVersion(firstDir(jars, filepath.Join(n.CassandraHome, "lib"), n.CassandraHome))
	}
	if n.CassandraConf == "" || !exists(filepath.Join(n.CassandraConf, "cassandra.yaml")) {
		n.add("conf", Warn, "name the directory of cassandra.yaml with --cassandra-conf",
			"Cassandra's configuration was not found")
		n.CassandraConf = ""
	}
	n.findData()
}

func under(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

func (n *node) findVersion(dir string) {
	found, _ := filepath.Glob(filepath.Join(dir, jars)) // the pattern is ours
	for _, jar := range found {
		if m := cassandraJar.FindStringSubmatch(filepath.Base(jar)); m != nil {
			n.version = m[1]
		}
	}
	switch {
	case n.version == "":
		n.add("cassandra", Warn, "name its directory with --cassandra-home",
			"%s holds no apache-cassandra-VERSION.jar, so its version is unknown", n.CassandraHome)
	case len(found) > 1:
		n.add("cassandra", Warn, "remove the jars of other versions",
			"%s holds the jars of several versions", dir)
	case n.version[0] < '4' || n.version[0] > '6' || n.version[1] != '.':
		n.add("cassandra", Fail, "4.0 to 6.x are supported; on this one the agent stays off",
			"Cassandra is %s", n.version)
	default:
		n.add("cassandra", OK, "", "Cassandra is %s", n.version)
	}
}

// findData reads the data directories from cassandra.yaml; without any there, Cassandra keeps
// them in its own.
func (n *node) findData() {
	var c struct {
		Data []string `yaml:"data_file_directories"`
	}
	if n.CassandraConf != "" {
		file := filepath.Join(n.CassandraConf, "cassandra.yaml")
		text, err := os.ReadFile(file)
		if err == nil {
			err = yaml.Unmarshal(text, &c)
		}
		if err != nil {
			n.add("conf", Warn, "Cassandra itself may not start with it", "%s cannot be read: %s",
				file, oneLine(err.Error()))
		}
	}
	n.data = c.Data
	if len(n.data) == 0 {
		for _, dir := range []string{n.runs.data, under(n.CassandraHome, "data/data"),
			"/var/lib/cassandra/data"} {
			if dir != "" && exists(dir) {
				n.data = []string{dir}
				break
			}
		}
	}
}

// tableDir is the directory of a table: its name, and its id without dashes.
var tableDir = regexp.MustCompile(`^(.+)-[0-9a-f]{32}$`)

// tables counts the tables that have a directory; a table dropped long ago may still have one.
func (n *node) tables() (count int, found bool) {
	seen := map[string]bool{}
	for _, data := range n.data {
		keyspaces, err := os.ReadDir(data)
		if err != nil {
			continue
		}
		found = true
		for _, keyspace := range keyspaces {
			tables, err := os.ReadDir(filepath.Join(data, keyspace.Name()))
			if err != nil {
				continue
			}
			for _, table := range tables {
				if m := tableDir.FindStringSubmatch(table.Name()); m != nil {
					seen[keyspace.Name()+"."+m[1]] = true
				}
			}
		}
	}
	return len(seen), found
}

// Bytes and series of Cassandra 5.0.9, from the recordings in bench/recordings (148 tables, 100
// of them in use): an idle key frame has 9,990 bytes, and 9,230 with 71 tables; an idle delta
// frame 580; with reads and writes on 100 tables a delta frame has 18,400. A table has 100
// series, everything else 1,260.
const (
	keyBytes        = 8_500
	keyBytesTable   = 10
	deltaBytes      = 580
	deltaBytesTable = 180 // of a table in use
	nodeSeries      = 1_260
	windowsPerHour  = 12
)

// tableSeries is what a table has in the versions before 5.0, in proportion to the metrics that
// it registers.
func tableSeries(version string) int {
	switch {
	case strings.HasPrefix(version, "4.0"):
		return 86
	case strings.HasPrefix(version, "4."):
		return 96
	}
	return 100
}

func (n *node) estimate() {
	tables, found := n.tables()
	if !found {
		n.add("series", Warn, "run doctor as root or as Cassandra's user, or name --cassandra-conf",
			"no data directory could be read, so nothing can be estimated")
		return
	}
	interval := n.agent.interval
	if interval == 0 {
		interval = 5 * time.Second
	}
	frames := int(time.Hour/interval) - windowsPerHour
	idle := windowsPerHour*(keyBytes+keyBytesTable*tables) + frames*deltaBytes
	busy := idle + (frames+windowsPerHour)*deltaBytesTable*tables
	n.add("series", OK, "", "about %d series and %s an hour when idle, at most about %s with "+
		"every table in use (an estimate: %d tables have directories, every %s, sizes as "+
		"recorded on 5.0.9)",
		nodeSeries+tableSeries(n.version)*tables, megabytes(idle), megabytes(busy), tables,
		interval)
}

func megabytes(bytes int) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }

// findLine says which line to add, and whether it is there.
func (n *node) findLine() {
	if n.Jar == "" {
		return
	}
	n.Line = "-javaagent:" + n.Jar + "=" + n.AgentConfig
	n.File = filepath.Join(n.CassandraConf, "jvm-server.options")
	if n.CassandraConf == "" {
		n.File = "jvm-server.options in Cassandra's configuration directory"
	}
	there := n.linesThere()
	if len(there) > 0 {
		n.File = there[0].file
	}
	if n.runs.jar != "" && n.Line == "-javaagent:"+n.runs.jar+"="+n.runs.config {
		n.Present, n.Process = true, n.runs.pid
		if len(there) == 0 { // an environment variable or a script of the operator's has it
			n.File = fmt.Sprintf("the options of process %d", n.runs.pid)
		}
	}
	n.Remove = fmt.Sprintf("remove the line from %s and restart Cassandra. Delete the jar only "+
		"after that: Cassandra does not start with the line and without the jar", n.File)
	switch {
	case len(there) > 1:
		n.Present = true
		n.add("line", Warn, "keep one of them",
			"Cassandra's options name the agent %d times (%s), and the first one counts",
			len(there), there[0].file+", "+there[1].file)
	case len(there) == 1 && !strings.Contains(there[0].text, n.Line):
		n.add("line", Warn, "replace it by the one below", "%s has an agent already, as %s",
			there[0].file, there[0].text)
	case len(there) == 1:
		n.Present = true
		n.add("line", OK, "", "%s has the line", there[0].file)
	}
}

type place struct{ file, text string }

func (n *node) linesThere() (there []place) {
	if n.CassandraConf == "" {
		return nil
	}
	for _, pattern := range []string{"jvm*.options", "cassandra-env.sh"} {
		files, _ := filepath.Glob(filepath.Join(n.CassandraConf, pattern)) // the patterns are ours
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(text)) {
				line = strings.TrimSpace(line)
				if !strings.HasPrefix(line, "#") && strings.Contains(line, "-javaagent:") &&
					strings.Contains(line, "ringwatch") {
					there = append(there, place{file, line})
				}
			}
		}
	}
	return there
}
