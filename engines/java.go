package engines

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
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
