package main

import (
	"bufio"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// reportDirs finds surefire's report directories below a Maven project.
func reportDirs(project string) []string {
	var found []string
	_ = filepath.WalkDir(project, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "surefire-reports" {
			found = append(found, path)
			return filepath.SkipDir
		}
		return nil // what cannot be read holds no reports
	})
	return found
}

// failedJava is a test that surefire reports as failed, and what it says of why.
type failedJava struct{ class, method, why string }

// name is the class's where it failed as a whole.
func (f failedJava) name(between string) string {
	if f.method == "" {
		return f.class
	}
	return f.class + between + f.method
}

// again is a line to paste into a shell that runs the test again; mvn is how Maven tests.
func (f failedJava) again(project, mvn string) string {
	return "cd " + project + " && " + mvn + " -Dtest=" + quoted(f.name("#"))
}

// tellFailed names the failed tests at the end, with what runs each of them again.
func tellFailed(show *screen, project, mvn string, failed []failedJava) {
	for _, f := range failed {
		first, _, _ := strings.Cut(f.why, "\n")
		name := project + " " + f.name(".") + ": " + first[:min(len(first), maxComplaint)]
		show.fail(name, f.why, f.again(project, mvn))
	}
}

// readReports counts the tests in surefire's reports below a Maven project, and lists those that
// failed.
func readReports(project string) (tally, []failedJava, error) {
	var sum tally
	var list []failedJava
	for _, dir := range reportDirs(project) {
		files, err := filepath.Glob(filepath.Join(dir, "TEST-*.xml"))
		if err != nil {
			return sum, list, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return sum, list, fmt.Errorf("cannot read a test report: %w", err)
			}
			var suite struct {
				Tests    int `xml:"tests,attr"`
				Failures int `xml:"failures,attr"`
				Errors   int `xml:"errors,attr"`
				Skipped  int `xml:"skipped,attr"`
				Cases    []struct {
					Class   string  `xml:"classname,attr"`
					Name    string  `xml:"name,attr"`
					Failure *string `xml:"failure"`
					Error   *string `xml:"error"`
				} `xml:"testcase"`
			}
			if err := xml.Unmarshal(text, &suite); err != nil {
				return sum, list, fmt.Errorf("cannot read the test report %s: %w", file, err)
			}
			for _, c := range suite.Cases {
				if why := cmp.Or(c.Failure, c.Error); why != nil {
					method, _, _ := strings.Cut(c.Name, "(") // of a repetition
					list = append(list, failedJava{c.Class[strings.LastIndex(c.Class, ".")+1:],
						method, *why})
				}
			}
			failed := suite.Failures + suite.Errors
			sum.add(tally{passed: suite.Tests - failed - suite.Skipped, failed: failed,
				skipped: suite.Skipped})
		}
	}
	return sum, list, nil
}

// mavenAdvice is what Maven says after every failure.
var mavenAdvice = regexp.MustCompile(
	`^\[ERROR\] *$|\[Help 1\]|Re-run Maven|To see the full stack trace|For more information about|See dump files`)

// showMaven passes on what a person wants to see of Maven's output: a line per test class, and
// complaints.
func showMaven(out io.Reader, show *screen) {
	lines := bufio.NewScanner(out)
	lines.Buffer(make([]byte, 64<<10), 16<<20)
	for lines.Scan() {
		line := lines.Text()
		if mavenAdvice.MatchString(line) {
			continue
		}
		if strings.Contains(line, "Tests run:") || strings.HasPrefix(line, "[ERROR]") ||
			strings.HasPrefix(line, "[INFO] Running ") {
			show.say(strings.TrimPrefix(line, "[INFO] "))
		}
	}
	// after a line too long to scan; Maven must not block on a full pipe
	_, _ = io.Copy(io.Discard, out)
}
