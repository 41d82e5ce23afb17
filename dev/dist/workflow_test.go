package main

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
)

// TestWorkflow: the workflow for GitHub is one, does what .ci/run and make dist do, and asks nobody
// for a secret or for more rights than to read. Actions are of a commit.
func TestWorkflow(t *testing.T) {
	const file = "../../.github/workflows/ci.yaml"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lint, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := lint.Lint(file, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range wrong {
		t.Error(e)
	}
	for _, word := range []string{"secrets.", "secrets:", "github.token", "pull_request_target",
		": write"} {
		if strings.Contains(string(text), word) {
			t.Errorf("it says %q", word)
		}
	}
	flow, wrong := actionlint.Parse(text)
	if len(wrong) > 0 {
		t.Fatal(wrong)
	}
	var runs []string
	for _, job := range flow.Jobs {
		if job.TimeoutMinutes == nil {
			t.Errorf("the job %s has no timeout", job.ID.Value)
		}
		for _, step := range job.Steps {
			switch does := step.Exec.(type) {
			case *actionlint.ExecRun:
				runs = append(runs, does.Run.Value)
			case *actionlint.ExecAction:
				if !regexp.MustCompile(`@[0-9a-f]{40}$`).MatchString(does.Uses.Value) {
					t.Errorf("%s is of no commit", does.Uses.Value)
				}
			}
		}
	}
	all := strings.Join(runs, "\n")
	for _, want := range []string{".ci/run", "make dist VERSION="} {
		if !strings.Contains(all, want) {
			t.Errorf("it does not run %s:\n%s", want, all)
		}
	}
}
