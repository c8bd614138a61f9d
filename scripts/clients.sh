#!/usr/bin/env bash
# The API as clients use it: suites of tests/clients, each against servers that it starts itself from the binary that is built.
# One line of counts a suite goes to the file COUNTS, if it is set: passed <tab> failed <tab> not run <tab> name. Names of suites as
# arguments run these alone. Fails if anything did.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_tools
[ -x "$tidefeed_bin" ] || fail "There is no binary yet. Build it: cargo build"
clients=tests/clients
modules=$clients/node_modules/.installed-from
if same_as_before "$modules" "$clients/package.json" "$clients/package-lock.json"; then
    say "npm packages of the clients: unchanged"
else
    step "Installing the clients' npm packages (npm ci)"
    npm --prefix "$clients" ci --no-audit --no-fund
    fingerprint "$clients/package.json" "$clients/package-lock.json" >"$modules"
fi

log=$(mktemp "${TMPDIR:-/tmp}/tidefeed-clients.XXXXXX")
trap 'rm -f "$log"' EXIT
counted() { sed -nE "s/^# $1 ([0-9]+)\$/\\1/p" "$log" | tail -n 1 | grep . || echo 0; }

# run SUITE: its failures in full, its passes as one number.
run() {
    local status=0 passed failed
    step "Clients: $1"
    TIDEFEED_BIN=$tidefeed_bin node --test --test-reporter=tap "$clients/$1.test.mjs" >"$log" 2>&1 || status=$?
    passed=$(counted pass)
    failed=$(($(counted fail) + $(counted cancelled)))
    if [ "$failed" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$passed" -eq 0 ]; }; then failed=1; fi
    if [ "$failed" -ne 0 ]; then cat "$log"; fi
    say "$passed passed, $failed failed"
    [ -z "${COUNTS:-}" ] || printf '%s\t%s\t%s\tclients: %s\n' "$passed" "$failed" "$(counted skipped)" "$1" >>"$COUNTS"
    [ "$failed" -eq 0 ]
}

suites=("$@")
if [ "${#suites[@]}" -eq 0 ]; then
    for file in "$clients"/*.test.mjs; do suites+=("$(basename "$file" .test.mjs)"); done
fi
result=0
for suite in "${suites[@]}"; do run "$suite" || result=1; done
exit "$result"
