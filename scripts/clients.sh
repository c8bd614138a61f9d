#!/usr/bin/env bash
# Runs the suites of tests/clients (each protocol, with its own client), tests/frontends (Relay, Apollo, urql, the
# guide's examples) and clients/typescript (the package @tidefeed/client; it is built first, as is @tidefeed/react).
# Each suite starts its own servers from the binary that is built. Arguments are names of suites, to run only those;
# those of the package begin with typescript-. If COUNTS is set, each suite appends a line to that file:
# passed <tab> failed <tab> not run <tab> name; if FAILURES is set, each failed test a line to that one. With CI
# set, a suite that failed is run once more; if it passes then, its failed tests are lines of the file UNSTEADY
# instead. Fails if a suite failed.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_tools
[ -x "$tidefeed_bin" ] || fail "There is no binary yet. Build it with: cargo build"

log=$(mktemp "${TMPDIR:-/tmp}/tidefeed-clients.XXXXXX")
trap 'rm -f "$log"' EXIT
counted() { sed -nE "s/^# $1 ([0-9]+)\$/\\1/p" "$log" | tail -n 1 | grep . || echo 0; }

# name_of FILE: prints the suite's name.
name_of() {
    local prefix=
    [[ $1 != clients/* ]] || prefix=typescript-
    echo "$prefix$(basename "$1" .test.mjs)"
}

# A test that hangs is a failure with a name, not the end of the whole run; only a long run of the property test
# takes longer.
limit=(--test-timeout=900000)
[ -z "${OPERATIONS:-}" ] || limit=()

# try FILE: runs a suite; sets `passed` and `failed`. Prints failures in full.
try() {
    local status=0
    (cd "$(dirname "$1")" && node --test "${limit[@]}" --test-reporter=tap "$(basename "$1")") >"$log" 2>&1 || status=$?
    passed=$(counted pass)
    failed=$(($(counted fail) + $(counted cancelled)))
    if [ "$failed" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$passed" -eq 0 ]; }; then failed=1; fi
    [ "$failed" -eq 0 ] || cat "$log"
}

# run FILE: runs a suite, in CI once more if it failed, and records it.
run() {
    local name passed failed names
    name=$(name_of "$1")
    step "Clients: $name"
    try "$1"
    if [ "$failed" -ne 0 ]; then
        names=$(sed -nE "s/^ *not ok [0-9]+ - (.*)/$name: \\1/p" "$log")
        names=${names:-$name}
        if [ -n "${CI:-}" ]; then
            say "$passed passed, $failed failed; once more"
            try "$1"
        fi
        if [ "$failed" -ne 0 ]; then
            [ -z "${FAILURES:-}" ] || echo "$names" >>"$FAILURES"
        else
            loud "Unsteady: $names"
            [ -z "${UNSTEADY:-}" ] || echo "$names" >>"$UNSTEADY"
        fi
    fi
    say "$passed passed, $failed failed"
    [ -z "${COUNTS:-}" ] || printf '%s\t%s\t%s\tclients: %s\n' "$passed" "$failed" "$(counted skipped)" "$name" >>"$COUNTS"
    [ "$failed" -eq 0 ]
}

TIDEFEED_BIN=$(realpath "$tidefeed_bin")
export TIDEFEED_BIN
result=0
build_packages
for folder in tests/clients tests/frontends; do packages "$folder"; done
for file in tests/clients/*.test.mjs tests/frontends/*.test.mjs clients/typescript/tests/*.test.mjs; do
    [ "$#" -eq 0 ] || [[ " $* " == *" $(name_of "$file") "* ]] || continue
    run "$file" || result=1
done
exit "$result"
