package engines

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// ErrNoJava is returned when no Java runtime is found.
var ErrNoJava = errors.New("found no Java runtime: apt-get install openjdk-17-jdk-headless, or set JAVA_HOME to a Java 17")

// javaProgram finds the java of home, else of JAVA_HOME, else of PATH.
func javaProgram(home string) (string, error) {
	if home == "" {
		home = os.Getenv("JAVA_HOME")
	}
	if home != "" {
		java := filepath.Join(home, "bin", "java")
		if _, err := os.Stat(java); err == nil {
			return java, nil
		}
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return "", ErrNoJava
	}
	return java, nil
}

var javaVersion = regexp.MustCompile(`version "(?:1\.)?(\d+)`)

// CheckJava returns nil when the Java that the engines would run on is of version 17 or later. It starts it once.
func CheckJava(ctx context.Context) error {
	java, err := javaProgram("")
	if err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, java, "-version").CombinedOutput()
	if err != nil {
		return fmt.Errorf("cannot run %s (%w): apt-get install openjdk-17-jdk-headless, or set JAVA_HOME to a Java 17", java, err)
	}
	found := javaVersion.FindSubmatch(out)
	if found == nil {
		return fmt.Errorf("%s does not tell its version: set JAVA_HOME to a Java 17", java)
	}
	if version, _ := strconv.Atoi(string(found[1])); version < 17 {
		return fmt.Errorf("%s is Java %d and Cassandra %s needs 17: apt-get install openjdk-17-jdk-headless, or set JAVA_HOME to a Java 17",
			java, version, CassandraVersion)
	}
	return nil
}
