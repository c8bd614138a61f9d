#!/usr/bin/env bash
# Checks the commits that are not on main yet (of origin, or of this clone): the subject is `area: What it does`, none
# is called WIP, and one that changes more than 150 lines says why in a body of Problem, Change and Validation. Lock
# files and merges do not count. BASE names another commit to begin after.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

most=150
wrong=0
# wrong COMMIT WHAT: reports a commit.
wrong() {
    loud "$(git log -1 --format='%h %s' "$1"): $2"
    wrong=1
}

git rev-parse --git-dir >/dev/null 2>&1 || exit 0 # an archive has no commits
base=${BASE:-$(git rev-parse --verify --quiet origin/main || git rev-parse --verify --quiet main || true)}
[ -n "$base" ] || exit 0
for commit in $(git rev-list --no-merges "$base..HEAD"); do
    subject=$(git log -1 --format=%s "$commit") body=$(git log -1 --format=%b "$commit")
    [[ $subject =~ ^[a-z0-9][^:\ ]*(,\ [^:\ ]+|\ and\ [^:\ ]+)*:\ [A-Z0-9@] ]] ||
        wrong "$commit" "begin the subject with its area, as in \"live: Share one read\""
    [[ ! $subject =~ (^|[^A-Za-z])[Ww][Ii][Pp]([^A-Za-z]|$) ]] || wrong "$commit" "say what it does instead of WIP"
    lines=$(git show --numstat --format= "$commit" -- ':!*.lock' ':!*package-lock.json' |
        awk '{ n += $1 + $2 } END { print n + 0 }')
    [ "$lines" -gt "$most" ] || continue
    for part in Problem Change Validation; do
        grep -q "^$part: " <<<"$body" || wrong "$commit" "it changes $lines lines; its body lacks \"$part: ..\""
    done
done
exit "$wrong"
