package docs_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// pages returns the documents that people read, as paths from docs/: README.md and the other pages
// beside it, those in docs/ and its folders, and those beside the code that they describe.
func pages(t *testing.T) (list []string) {
	t.Helper()
	for _, pattern := range []string{"../*.md", "*.md", "*/*.md", "../*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range found {
			if !strings.HasPrefix(page, "../docs/") { // it is there without
				list = append(list, page)
			}
		}
	}
	if len(list) < 10 {
		t.Fatalf("only %d pages were found", len(list))
	}
	return list
}

// prose returns a page's lines without code blocks: those are empty lines.
func prose(text string) []string {
	lines := strings.Split(text, "\n")
	fence := ""
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == "" {
				fence = ""
			}
			lines[i] = ""
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			fence = trimmed[:3]
			lines[i] = ""
		}
	}
	return lines
}

var (
	inlineCode = regexp.MustCompile("`[^`]*`")
	link       = regexp.MustCompile(`\[[^\]]*\]\(([^()\s]+)\)`)
	heading    = regexp.MustCompile(`^#{1,6} +(.*?)[ #]*$`)
	htmlAnchor = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	htmlLink   = regexp.MustCompile(`(?:src|srcset|href)="([^"]+)"`)
)

// anchors returns what a page's headings are called in links, as GitHub makes them.
func anchors(text string) map[string]bool {
	known := map[string]bool{}
	for _, line := range prose(text) {
		if m := htmlAnchor.FindStringSubmatch(line); m != nil {
			known[m[1]] = true
		}
		m := heading.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ' || r == '-':
				return '-'
			case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, link.ReplaceAllStringFunc(m[1], func(s string) string {
			return s[1:strings.Index(s, "]")]
		}))
		again := name
		for i := 1; known[again]; i++ {
			again = fmt.Sprintf("%s-%d", name, i)
		}
		known[again] = true
	}
	return known
}

// TestLinksResolve: what a page links to in the repository is there, its section too.
func TestLinksResolve(t *testing.T) {
	checked := 0
	for _, page := range pages(t) {
		for n, line := range prose(mustRead(t, page)) {
			line = inlineCode.ReplaceAllString(line, "")
			var targets []string
			for _, m := range append(link.FindAllStringSubmatch(line, -1),
				htmlLink.FindAllStringSubmatch(line, -1)...) {
				targets = append(targets, m[1])
			}
			for _, target := range targets {
				u, err := url.Parse(target)
				if err != nil {
					t.Errorf("%s:%d: %q is no link", page, n+1, target)
					continue
				}
				if u.Scheme != "" {
					continue // another site's
				}
				checked++
				file := page
				if u.Path != "" {
					file = filepath.Join(filepath.Dir(page), u.Path)
				}
				if _, err := os.Stat(file); err != nil {
					t.Errorf("%s:%d: %s is not there", page, n+1, target)
				} else if u.Fragment != "" && strings.HasSuffix(file, ".md") &&
					!anchors(mustRead(t, file))[u.Fragment] {
					t.Errorf("%s:%d: %s has no section %q", page, n+1, file, u.Fragment)
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d links were found", checked)
	}
}

// TestPagesAreNarrow: prose fits a terminal. Tables, code and links alone on their line may be
// wider.
func TestPagesAreNarrow(t *testing.T) {
	for _, page := range pages(t) {
		for n, line := range prose(mustRead(t, page)) {
			table := strings.HasPrefix(strings.TrimSpace(line), "|")
			alone := !strings.Contains(strings.TrimSpace(line), " ")
			if width := utf8.RuneCountInString(line); width > 100 && !table && !alone {
				t.Errorf("%s:%d has %d columns: 100 are enough", page, n+1, width)
			}
		}
	}
}

// longestPage is how many lines a page of docs/ may have: it has one reader, who has one task.
// Runbooks and CONFIG.md are looked up by a name and not read through.
const longestPage = 360

func TestPagesAreShort(t *testing.T) {
	read := 0
	for _, page := range pages(t) {
		if strings.HasPrefix(page, "..") || strings.HasPrefix(page, "runbooks/") ||
			page == "CONFIG.md" {
			continue
		}
		read++
		if n := strings.Count(mustRead(t, page), "\n"); n > longestPage {
			t.Errorf("%s has %d lines, and a page may have %d: split it by its readers", page, n,
				longestPage)
		}
	}
	if read < 30 {
		t.Errorf("only %d pages were read", read)
	}
}

// TestMergesAreWhole: no page has the marks of a merge that nobody finished.
func TestMergesAreWhole(t *testing.T) {
	for _, page := range pages(t) {
		for n, line := range strings.Split(mustRead(t, page), "\n") {
			if strings.HasPrefix(line, "<<<<<<< ") || strings.HasPrefix(line, ">>>>>>> ") {
				t.Errorf("%s:%d is the mark of a merge: keep what is right of both sides",
					page, n+1)
			}
		}
	}
}

// TestReadmeIsShort: a reader knows after a minute what this is.
func TestReadmeIsShort(t *testing.T) {
	lines := strings.Split(strings.TrimRight(mustRead(t, "../README.md"), "\n"), "\n")
	if len(lines) > 140 {
		t.Errorf("README.md has %d lines, 140 are enough: the rest belongs to docs/", len(lines))
	}
	for n, line := range lines {
		if width := utf8.RuneCountInString(line); width > 100 {
			t.Errorf("README.md:%d has %d columns: 100 are enough, in tables and code too",
				n+1, width)
		}
	}
}

// TestReadmeNumbersAreMeasured: each number that README.md gives with a file of bench/results is in
// that file, rounded, and in the table of bench/README.md that says where it is from.
func TestReadmeNumbersAreMeasured(t *testing.T) {
	readme, measured := mustRead(t, "../README.md"), mustRead(t, "../bench/README.md")
	for _, fact := range []struct {
		file, key string
		factor    float64
		text      string
	}{
		{"agent-1000", "idle_pass_cpu_ms", 1, "5.0 ms"},
		{"agent-1000", "jmx_scrape_cpu_ms", 1, "1960 ms"},
		{"agent-1000", "wire_mb_h", 1, "0.58 MB"},
		{"freshness", "p50_ms", 1, "24 ms"},
		{"store-peers", "bytes_per_sample", 1, "0.34 bytes"},
		{"store-peers", "victoriametrics_bytes_per_sample", 1, "0.55"},
		{"store-peers", "prometheus_bytes_per_sample", 1, "3.25"},
		{"api", "json_redis_32_rps", 1, "2300"},
		{"fleet", "ack_p99_ms", 1, "81 ms"},
		{"fleet", "freshness_p50_ms", 0.001, "0.13 s"},
		{"rules", "cycle_s", 1, "0.77 s"},
		{"console", "fleet_10000_ms", 0.001, "0.70 s"},
	} {
		value := resultValue(t, fact.file, fact.key) * fact.factor
		number, unit, _ := strings.Cut(fact.text, " ")
		_, decimals, _ := strings.Cut(number, ".")
		if got := strconv.FormatFloat(value, 'f', len(decimals), 64); got != number {
			t.Errorf("bench/results/%s.json has %s = %v, which is %s %s, not %s", fact.file,
				fact.key, value, got, unit, fact.text)
		}
		if !strings.Contains(strings.ReplaceAll(readme, ",", ""), fact.text) {
			t.Errorf("README.md does not say %q any more: take it out of this test, too", fact.text)
		}
		if !strings.Contains(strings.ReplaceAll(measured, ",", ""), fact.text) {
			t.Errorf("bench/README.md does not say where README's %q is from", fact.text)
		}
	}
}
