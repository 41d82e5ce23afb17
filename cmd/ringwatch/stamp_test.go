package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestStamp: what make build stamps names the commit and its time, with a tag and without, and
// whether files were changed. Without a repository there is no stamp, and no failure.
func TestStamp(t *testing.T) {
	dir := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org",
			"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org",
			"GIT_COMMITTER_DATE=2026-11-27T12:00:00+01:00", "GIT_CONFIG_GLOBAL=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git := func(args ...string) string {
		return run("git",
			append([]string{"-C", dir}, args...)...)
	}
	stamp := func(want string) {
		t.Helper()
		got := run("../../dev/stamp.sh", dir)
		if is := regexp.MustCompile("^" + want + "$").MatchString(got); !is {
			t.Errorf("the stamp is %q, want %s", got, want)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "file"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stamp("")
	git("init", "-q")
	stamp("") // no commit yet
	write("1")
	git("add", "file")
	git("commit", "-q", "-m", "a")
	commit := git("rev-parse", "HEAD")
	const date = " 2026-11-27T11:00:00Z"
	stamp("devel-" + commit[:12] + " " + commit + date)
	git("tag", "v1.2.3")
	stamp("1.2.3 " + commit + date)
	write("2")
	stamp("1.2.3-changed " + commit + "-changed" + date)
	git("commit", "-q", "-a", "-m", "b")
	commit = git("rev-parse", "HEAD")
	stamp("1.2.3-1-g" + commit[:12] + " " + commit + date)

	text, err := os.ReadFile("../../Makefile")
	if err != nil || !strings.Contains(string(text), "main.release=$$(dev/stamp.sh)") {
		t.Errorf("make build does not stamp: %v", err)
	}
}
