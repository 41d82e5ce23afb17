package main

import (
	"bufio"
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

// readReports counts the tests in surefire's reports below a Maven project.
func readReports(project string) (tally, error) {
	var sum tally
	for _, dir := range reportDirs(project) {
		files, err := filepath.Glob(filepath.Join(dir, "TEST-*.xml"))
		if err != nil {
			return sum, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return sum, fmt.Errorf("cannot read a test report: %w", err)
			}
			var suite struct {
				Tests    int `xml:"tests,attr"`
				Failures int `xml:"failures,attr"`
				Errors   int `xml:"errors,attr"`
				Skipped  int `xml:"skipped,attr"`
			}
			if err := xml.Unmarshal(text, &suite); err != nil {
				return sum, fmt.Errorf("cannot read the test report %s: %w", file, err)
			}
			failed := suite.Failures + suite.Errors
			sum.add(tally{passed: suite.Tests - failed - suite.Skipped, failed: failed,
				skipped: suite.Skipped})
		}
	}
	return sum, nil
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
