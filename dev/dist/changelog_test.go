package main

import (
	"os"
	"strings"
	"testing"
)

const goodChangelog = `# Changelog

Words.

## [Unreleased]

### Agent

#### Added
- New.

### Security

#### Fixed
- Safe.

## [1.2.0] - 2026-11-26

### Added
- Old.

### Fixed

- Older,
  on two lines.

[Unreleased]: https://example.org/u
[1.2.0]: https://example.org/1
`

// TestChangelog: each thing that can be wrong is said with its line and what to do.
func TestChangelog(t *testing.T) {
	for _, c := range []struct{ version, from, to, want string }{
		{"1.2.0", "", "", ""},
		{"1.3.0-rc.1", "", "", ""},
		{"1.2.0", "### Agent\n\n#### Added\n- New.\n\n### Security\n\n#### Fixed\n- Safe.\n", "",
			""},
		{"1.3.0-rc.1", "### Agent\n\n#### Added\n- New.\n\n### Security\n\n#### Fixed\n- Safe.\n",
			"",
			"CHANGELOG.md: nothing stands under [Unreleased], of which 1.3.0-rc.1 would be made"},
		{"1.3.0", "", "", `CHANGELOG.md: there is no section [1.3.0]: write "## [1.3.0] - 20`},
		{"1.2.0", "] - 2026-11-26", "]",
			"CHANGELOG.md:17: [1.2.0] has no date: write ## [1.2.0] - "},
		{"1.2.0", "2026-11-26", "2026-11-31", "CHANGELOG.md:17: [1.2.0] has no date"},
		{"1.2.0", "#### Added", "#### News", `CHANGELOG.md:9: "News" is none of Added, Changed, `},
		{"1.2.0", "### Added\n- Old", "### News\n- Old", ":20: it stands under the area News"},
		{"1.2.0", "- New.\n", "", "CHANGELOG.md:9: nothing stands under Added: write what is new"},
		{"1.2.0", "- New.\n", "", "CHANGELOG.md:7: nothing stands under Agent"},
		{"1.2.0", "[1.2.0]: https", "[1.2]: https", "there is no line [1.2.0]: https://…"},
		{"1.2.0", "## [Unreleased]", "## Unreleased", `:5: "Unreleased" is no heading of a version`},
		{"1.2.0", "### Security", "## [1.2.0] - 2026-11-27", ":17: [1.2.0] is there twice"},
		{"1.2.0", "### Security", "## [1.3] - 2026-11-27", `:12: "1.3" is no version`},
		{"1.2.0", "#### Fixed", "##### Fixed", ":14: Fixed is too deep"},
		{"1.2.0", "[1.2.0] - 2026-11-26", "[Unreleased]", ":17: [Unreleased] is there twice"},
		{"1.2.0", "# Changelog\n", "### Agent\n", ":1: Agent stands above all versions"},
	} {
		err := checkChangelog(strings.Replace(goodChangelog, c.from, c.to, 1), c.version)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %q for %q: it says %v, want %q", c.version, c.to, c.from, err, c.want)
		}
	}
}

// TestOurChangelog: a version can be made of what CHANGELOG.md has today.
func TestOurChangelog(t *testing.T) {
	text, err := os.ReadFile("../../CHANGELOG.md")
	if err == nil {
		err = checkChangelog(string(text), "99.0.0-rc.1")
	}
	if err != nil {
		t.Error(err)
	}
}
