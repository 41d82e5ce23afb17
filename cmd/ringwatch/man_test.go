package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/ringwatch/ringwatch/cmd/ringwatch/cli/help"
	"github.com/ringwatch/ringwatch/dev/engines"
)

// TestManPages: each command has a page, and it says what the command's help does.
func TestManPages(t *testing.T) {
	app := commands(&cli{}).Model
	pages := help.ManPages(app)
	plainText := strings.NewReplacer(`\-`, "-", `\(aq`, "'", `\(dq`, `"`, `\(ga`, "`", `\(ha`, "^",
		`\(ti`, "~", `\&`, "", `\e`, `\`)
	seen := 0
	_ = kong.Visit(app.Node, func(v kong.Visitable, next kong.Next) error {
		n, is := v.(*kong.Node)
		if !is {
			return next(nil)
		}
		if n.Hidden {
			return nil
		}
		seen++
		name := strings.ReplaceAll(n.FullPath(), " ", "-") + ".1"
		page := plainText.Replace(pages[name])
		says := []string{strings.TrimSuffix(n.Help, "."), n.FullPath()}
		for paragraph := range strings.SplitSeq(n.Detail, "\n\n") {
			says = append(says, strings.TrimPrefix(paragraph, "Example: "))
		}
		for _, a := range n.Positional {
			says = append(says, a.Help, "<"+a.Name+">")
		}
		for _, f := range n.Flags {
			says = append(says, f.Help, "--"+f.Name)
			says = append(says, f.Envs...)
		}
		for _, child := range n.Children {
			if !child.Hidden {
				says = append(says, child.Help)
			}
		}
		for _, text := range says {
			if !strings.Contains(page, text) {
				t.Errorf("%s does not say %q", name, text)
			}
		}
		return next(nil)
	})
	if seen != len(pages) || seen < 30 {
		t.Errorf("%d commands, %d pages", seen, len(pages))
	}
}

// TestManReads has man read every page: no warning, and an example as it is typed.
func TestManReads(t *testing.T) {
	engines.Needed(t, "man")
	program, err := exec.LookPath("man")
	if err != nil {
		t.Fatalf("%v: on Debian, apt-get install --no-install-recommends man-db", err)
	}
	dir := t.TempDir()
	for name, text := range help.ManPages(commands(&cli{}).Model) {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), program, "--warnings", "-E", "UTF-8", "-l", file)
		cmd.Env = append(os.Environ(), "MANWIDTH=200", "LC_ALL=C.UTF-8", "MAN_KEEP_FORMATTING=")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil || errs.Len() > 0 {
			t.Errorf("%s: %v\n%s", name, err, &errs)
		}
		if name == "ringwatch-series.1" && !strings.Contains(out.String(),
			`ringwatch series 127.0.0.1 'cassandra_client_request_latency_seconds{request="Read"}' --period 15m`) {
			t.Errorf("the example is not as it is typed:\n%s", &out)
		}
	}
}
