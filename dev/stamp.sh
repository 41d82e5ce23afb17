#!/bin/sh
# Prints what main.release of a checkout's program is: version, commit and the commit's time. Prints
# nothing where there is no git repository (an unpacked archive) or no git: the build goes on.
cd "${1:-$(dirname "$0")/..}" && [ -e .git ] || exit 0
commit=$(git rev-parse HEAD 2>/dev/null) || exit 0
date=$(TZ=UTC0 git show -s --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd HEAD) || exit 0
# A file that git does not follow is not told: a test or an editor may have left it.
changed=
[ -z "$(git status --porcelain --untracked-files=no 2>/dev/null)" ] || changed=-changed
name=$(git describe --tags --match 'v[0-9]*' --abbrev=12 2>/dev/null) ||
	name=devel-$(printf %.12s "$commit")
echo "${name#v}$changed $commit$changed $date"
