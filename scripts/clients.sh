#!/usr/bin/env bash
# Runs the suites of tests/clients (each protocol, with its own client), tests/frontends (Relay, Apollo, urql, the
# guide's examples) and clients/typescript (the package @tidefeed/client; it is built first, as is @tidefeed/react),
# JOBS (2) at a time. Each suite starts its own servers from the binary that is built. Arguments are names of suites, to
# run only those; those of the package begin with typescript-. If COUNTS is set, each suite appends a line to that file:
# passed <tab> failed <tab> not run <tab> name; if FAILURES is set, each failed test a line to that one. Fails if a
# suite failed.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_tools
[ -x "$tidefeed_bin" ] || fail "There is no binary yet. Build it with: cargo build"
find_browser || loud "Chromium is missing: run scripts/install-servers.sh, or name one with CHROMIUM."

scratch=$(mktemp -d "${TMPDIR:-/tmp}/tidefeed-clients.XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# name_of FILE: prints the suite's name.
name_of() {
    local prefix=
    [[ $1 != clients/* ]] || prefix=typescript-
    echo "$prefix$(basename "$1" .test.mjs)"
}

# A test that hangs is a failure with a name, not the end of the whole run; only a long run of the property test and a
# large product that moves in may take longer.
limit=(--test-timeout=900000)
[ -z "${OPERATIONS:-}${PEOPLE:-}" ] || limit=()

# run FILE: runs a suite and records it. What it says begins with its name, and ends with its log if it failed.
run() {
    local name log status=0 passed failed names began=$SECONDS
    name=$(name_of "$1")
    log=$scratch/$name.tap
    step "Clients: $name"
    (cd "$(dirname "$1")" && node --test "${limit[@]}" --test-reporter=tap "$(basename "$1")") >"$log" 2>&1 || status=$?
    passed=$(counted pass "$log")
    failed=$(($(counted fail "$log") + $(counted cancelled "$log")))
    if [ "$failed" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$passed" -eq 0 ]; }; then failed=1; fi
    say "$passed passed, $failed failed, $((SECONDS - began)) s"
    [ -z "${COUNTS:-}" ] || printf '%s\t%s\t%s\tclients: %s\n' "$passed" "$failed" "$(counted skipped "$log")" "$name" >>"$COUNTS"
    [ "$failed" -ne 0 ] || return 0
    cat "$log"
    touch "$scratch/failed"
    names=$(sed -nE "s/^ *not ok [0-9]+ - (.*)/$name: \\1/p" "$log")
    [ -z "${FAILURES:-}" ] || echo "${names:-$name}" >>"$FAILURES"
}
counted() { sed -nE "s/^# $1 ([0-9]+)\$/\\1/p" "$2" | tail -n 1 | grep . || echo 0; }

# tell: prints what the suites have said that have ended.
tell() {
    local said
    for said in "$scratch"/*.said; do
        [ -e "$said" ] || continue
        cat "$said"
        rm "$said"
    done
}

TIDEFEED_BIN=$(realpath "$tidefeed_bin")
export TIDEFEED_BIN
build_packages
for folder in tests/clients tests/frontends web-demo; do packages "$folder"; done
running=0
for file in tests/clients/*.test.mjs tests/frontends/*.test.mjs clients/typescript/tests/*.test.mjs; do
    name=$(name_of "$file")
    [ "$#" -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
    if [ "$running" -ge "${JOBS:-2}" ]; then
        wait -n || true
        tell
    else
        running=$((running + 1))
    fi
    { run "$file" >"$scratch/$name.saying" 2>&1 && mv "$scratch/$name.saying" "$scratch/$name.said"; } &
done
wait
tell
[ "$running" -gt 0 ] || fail "No suite is called $*."
[ ! -e "$scratch/failed" ]
