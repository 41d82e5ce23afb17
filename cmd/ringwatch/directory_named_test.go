package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/exit"
	wait "github.com/ringwatch/ringwatch/dev/eventually"
)

// TestDirectoryIsNone: whatever takes a directory refuses a file, what is below a file, and an
// empty name by a sentence, and makes nothing.
func TestDirectoryIsNone(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	here := t.TempDir()
	file, config := filepath.Join(here, "file"), filepath.Join(here, "line.yaml")
	for path, text := range map[string]string{file: "mine\n",
		config: "kafka: {brokers: [\"127.0.0.1:1\"]}\ncassandra: {hosts: [\"127.0.0.1:1\"]}\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	refuses := func(want string, args ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), wait.Patience) // one that starts runs on
		defer cancel()
		cmd := exec.CommandContext(ctx, self, args...)
		cmd.Dir, cmd.Env = here, append(os.Environ(), asRingwatch)
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != exit.Misused ||
			!strings.Contains(string(out), want) || bytes.Contains(out, []byte("move.json")) {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	for _, command := range [][]string{
		{"all", "--data", "DIR"}, {"key", "list", "--data", "DIR"},
		{"schema", "show", "--data", "DIR"}, {"backfill", "--data", "DIR", file},
		{"data", "move", "--config", config, "--data", "DIR"}, {"data", "check", "DIR"},
		{"data", "backup", "DIR", filepath.Join(here, "new")}, {"data", "backup", here, "DIR"},
		{"man", "DIR"}, {"agent-jar", "DIR"}, {"doctor", "--cassandra-conf", "DIR"},
		{"doctor", "--cassandra-home", "DIR"}, {"doctor", "--java-home", "DIR"},
	} {
		for dir, want := range map[string]string{
			"":     "the name is empty: name a directory",
			"file": file + " is no directory: name a directory",
			file + "/below": file + "/below cannot be a directory, because " + file +
				" is none: name another",
		} {
			args := strings.Split(strings.Replace(strings.Join(command, "\n"), "DIR", dir, 1),
				"\n")
			refuses(want, args...)
		}
	}
	refuses("--config: the name is empty: name a file", "all", "--config", "")
	for text, want := range map[string]string{
		"data: {dir: file}":      "data.dir: file is no directory: name a directory",
		"data: {dir: file/deep}": "data.dir: file/deep cannot be a directory, because file is none",
		"data: {dir: \"\"}":      "data: dir is empty",
		"query: {active_dir: file}": "query: active_dir: file is no directory: name a " +
			"directory",
		"report: {at: \"01:30\", directory: file}": "report: directory: file is no directory",
		"watch: {spool: {directory: file}}":        "watch: spool.directory: file is no directory",
	} {
		named := filepath.Join(here, "wrong.yaml")
		if err := os.WriteFile(named, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		refuses(want, "all", "--config", named)
	}
	left, err := os.ReadDir(here)
	if err != nil || len(left) != 3 {
		t.Errorf("it left %v, %v", left, err)
	}
}
