#!/usr/bin/env bash
# The API as clients use it: suites of tests/clients (protocols, by their own clients) and tests/frontends (Relay, Apollo, urql, and the guide's
# examples), each against servers that it starts itself from the binary that is built.
# One line of counts a suite goes to the file COUNTS, if it is set: passed <tab> failed <tab> not run <tab> name. Names of suites as
# arguments run these alone. Fails if anything did.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_tools
[ -x "$tidefeed_bin" ] || fail "There is no binary yet. Build it: cargo build"

# packages FOLDER: what its lock file names, installed once.
packages() {
    local installed=$1/node_modules/.installed-from
    if same_as_before "$installed" "$1/package.json" "$1/package-lock.json"; then
        say "npm packages of $1: unchanged"
        return
    fi
    step "Installing the npm packages of $1 (npm ci)"
    npm --prefix "$1" ci --no-audit --no-fund --loglevel=error
    fingerprint "$1/package.json" "$1/package-lock.json" >"$installed"
}

log=$(mktemp "${TMPDIR:-/tmp}/tidefeed-clients.XXXXXX")
trap 'rm -f "$log"' EXIT
counted() { sed -nE "s/^# $1 ([0-9]+)\$/\\1/p" "$log" | tail -n 1 | grep . || echo 0; }

# run FILE: its failures in full, its passes as one number.
run() {
    local status=0 name passed failed
    name=$(basename "$1" .test.mjs)
    step "Clients: $name"
    (cd "$(dirname "$1")" && node --test --test-reporter=tap "$(basename "$1")") >"$log" 2>&1 || status=$?
    passed=$(counted pass)
    failed=$(($(counted fail) + $(counted cancelled)))
    if [ "$failed" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$passed" -eq 0 ]; }; then failed=1; fi
    if [ "$failed" -ne 0 ]; then cat "$log"; fi
    say "$passed passed, $failed failed"
    [ -z "${COUNTS:-}" ] || printf '%s\t%s\t%s\tclients: %s\n' "$passed" "$failed" "$(counted skipped)" "$name" >>"$COUNTS"
    [ "$failed" -eq 0 ]
}

TIDEFEED_BIN=$(realpath "$tidefeed_bin")
export TIDEFEED_BIN
result=0
for folder in tests/clients tests/frontends; do
    packages "$folder"
    for file in "$folder"/*.test.mjs; do
        [ "$#" -eq 0 ] || [[ " $* " == *" $(basename "$file" .test.mjs) "* ]] || continue
        run "$file" || result=1
    done
done
exit "$result"
