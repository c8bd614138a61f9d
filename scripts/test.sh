#!/usr/bin/env bash
# Everything that must hold before a change is taken in: form, lints, every test on every backend, the page in a
# real browser.
# Without what they need nothing begins. Then all steps run, whatever the earlier ones say; the summary at the end
# counts what really ran, and where. Fails if anything did. With CI set, what failed is run once more: a test that
# passes then is named as unsteady, and fails nothing; without CI a failure is a failure at once. With CI set, MySQL
# has to be there, too.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_tools
need_lints
scratch_in_memory
while IFS= read -r name; do unset "$name"; done < <(compgen -e TIDEFEED__ || true)
unset SEED PROPTEST_RNG_SEED # the seeds never change here; `make soak` takes fresh ones
scratch=$(mktemp -d "${TMPDIR:-/tmp}/tidefeed-make-test.XXXXXX")
results=$scratch/results # one line per group: passed <tab> failed <tab> not run <tab> name
failures=$scratch/failures # the failed tests, a line each
unsteady=$scratch/unsteady # those that passed when they were run once more
: >"$results" >"$failures" >"$unsteady"
app=
clean_up() {
    end_by_pid "$app"
    rm -rf "$scratch"
}
trap clean_up EXIT

record() { printf '%s\t%s\t%s\t%s\n' "$@" >>"$results"; }
# check NAME COMMAND...: a step that is one check, passed or failed.
check() {
    local name=$1
    shift
    step "$name: $*"
    if "$@"; then record 1 0 0 "$name"; else record 0 1 0 "$name"; echo "$name: $*" >>"$failures"; fi
}
# tool NAME COMMAND...: a step that only shows in the summary if it fails.
tool() {
    local name=$1
    shift
    "$@" || record 0 1 0 "$name"
}

rust_tests() {
    local log=$scratch/cargo-test.log status=0
    local arguments=(--workspace --no-fail-fast)
    step "Building the tests and the binary (cargo, dev profile; the first time takes a few minutes)"
    if ! cargo test --workspace --no-run; then
        record 0 1 0 "rust: the tests do not build"
        return
    fi
    built=yes
    if [ -z "$mysql" ] || [ -z "$cassandra" ]; then arguments+=(--); fi
    [ -n "$mysql" ] || arguments+=(--skip mysql::)
    [ -n "$cassandra" ] || arguments+=(--skip cassandra)
    [ -n "$mounts" ] || export WITHOUT_FULL_DISK=1
    step "Running the Rust tests: cargo test ${arguments[*]}"
    cargo test "${arguments[@]}" 2>&1 | tee "$log" || status=$?
    if [ "$status" -ne 0 ] && ! grep -q '^test .*FAILED$' "$log"; then
        record 0 1 0 "rust: a test binary ended before its tests did"
    elif [ "$status" -ne 0 ] && [ -n "${CI:-}" ] && rust_tests_pass_again "$log"; then
        sed -nE 's/^test (.*) \.\.\. FAILED$/rust: \1/p' "$log" >>"$unsteady"
        sed -i -E 's/^(test .* \.\.\. )FAILED$/\1ok/' "$log"
    fi
    awk -f scripts/count-tests.awk "$log" >>"$results"
    sed -nE 's/^test (.*) \.\.\. FAILED$/rust: \1/p' "$log" >>"$failures"
}

# rust_tests_pass_again LOG: runs the tests that failed in LOG once more, alone. More than five are no accident.
rust_tests_pass_again() {
    local names
    mapfile -t names < <(sed -nE 's/^test (.*) \.\.\. FAILED$/\1/p' "$1")
    [ "${#names[@]}" -le 5 ] || return 1
    step "Running once more what failed: ${names[*]}"
    cargo test --workspace --no-fail-fast -- --exact "${names[@]}" 2>&1 | tee "$1.again" || return 1
    [ "$(grep -c '^test .* \.\.\. ok$' "$1.again")" -ge "${#names[@]}" ]
}

# Counts come from the script; it says 1 where it could not even begin.
client_tests() {
    local before after status=0
    before=$(wc -l <"$results")
    step "Speaking to the binary with real clients: scripts/clients.sh"
    COUNTS=$results FAILURES=$failures UNSTEADY=$unsteady scripts/clients.sh || status=$?
    after=$(wc -l <"$results")
    if [ "$status" -ne 0 ] && [ "$before" -eq "$after" ]; then record 0 1 0 "clients: the suites did not run"; fi
}

browser_tests() {
    local port log=$scratch/playwright.log status=0
    port=$(free_port)
    step "Seeding an embedded server on port $port for the browser"
    # All the people of these tests register from one address, more than a node takes from it in an hour.
    export TIDEFEED__STORE__URL=sqlite://$scratch/tidefeed.db TIDEFEED__SERVER__LISTEN=127.0.0.1:$port TIDEFEED__AUTH__REGISTRATIONS_PER_HOUR=0
    if ! "$tidefeed_bin" migrate || ! "$tidefeed_bin" seed --if-empty; then
        record 0 1 0 "browser: the server could not be seeded"
        return
    fi
    "$tidefeed_bin" serve >"$scratch/serve.log" 2>&1 &
    app=$!
    if ! page_is_up "http://127.0.0.1:$port" "$app"; then
        tail -n 30 "$scratch/serve.log"
        record 0 1 0 "browser: the server did not become ready"
        return
    fi
    step "Using the page in Chromium: npm run e2e (pictures in web-demo/test-results)"
    TIDEFEED_URL=http://127.0.0.1:$port TIDEFEED_BIN=$(realpath "$tidefeed_bin") npm --prefix web-demo run e2e 2>&1 | tee "$log" || status=$?
    [ "$status" -eq 0 ] || tail -n 30 "$scratch/serve.log"
    record_playwright "$log" "$status"
}

# record_playwright LOG STATUS: out of Playwright's closing lines ("12 passed (9s)", "1 failed", "2 did not run").
record_playwright() {
    local passed failed unrun skipped named=$failures
    passed=$(playwright_count passed "$1")
    unrun=$(playwright_count "did not run" "$1")
    skipped=$(playwright_count skipped "$1")
    failed=$(($(playwright_count failed "$1") + $(playwright_count interrupted "$1") + unrun))
    if [ "$failed" -eq 0 ] && { [ "$2" -ne 0 ] || [ "$passed" -eq 0 ]; }; then failed=1; fi
    if [ "$failed" -eq 0 ]; then named=$unsteady; fi
    sed -nE 's/^ +[0-9]+\) (.*[^ ─]) *─*$/browser: \1/p' "$1" | sort -u >>"$named"
    passed=$((passed + $(playwright_count flaky "$1")))
    record "$passed" "$failed" "$skipped" "browser: the page in Chromium, on SQLite"
}
playwright_count() { sed -nE "s/^ +([0-9]+) $1( .*)?\$/\\1/p" "$2" | tail -n 1 | grep . || echo 0; }

summary() {
    step "Summary"
    awk -F '\t' '{ printf "    %5d passed %5d failed %5d not run   %s\n", $1, $2, $3, $4 }' "$results"
    if [ -z "$mysql" ]; then
        loud "NOT RUN ON MYSQL: MySQL 9 could not be installed (see above). Only MariaDB was tested."
    fi
    if [ -z "$cassandra" ]; then
        loud "NOT RUN ON CASSANDRA: Cassandra 5 could not be installed (see above). Inboxes in Cassandra were not tested."
    fi
    if [ -z "$mounts" ]; then
        loud "NOT RUN WITH A FULL DISK: this user may not mount a file system. Run as root, or within: unshare --map-root-user --mount make test"
    fi
    if [ -s "$unsteady" ]; then
        loud "UNSTEADY: these failed, and passed when they were run once more. Each is a defect of the test or of the code:"
        sed 's/^/    /' "$unsteady"
    fi
    if [ -s "$failures" ]; then
        say "Failed:"
        sed 's/^/    /' "$failures"
    fi
    awk -F '\t' '{ p += $1; f += $2 } END { printf "%d passed, %d failed\n", p, f; exit f > 0 }' "$results"
}

built=
mysql=yes
cassandra=yes
mounts=
if may_mount; then mounts=yes; fi
scripts/install-servers.sh || fail "Nothing has been tested: what the tests need is not there (see above)."
if ! scripts/fetch-mysql.sh; then
    mysql=
    # Elsewhere the summary says it loudly; CI has to try every engine.
    if [ -n "${CI:-}" ]; then
        record 0 1 0 "mysql: it cannot be fetched, and CI must not pass without it"
        echo "mysql: scripts/fetch-mysql.sh" >>"$failures"
    fi
fi
if ! scripts/fetch-cassandra.sh; then
    cassandra=
    if [ -n "${CI:-}" ]; then
        record 0 1 0 "cassandra: it cannot be fetched, and CI must not pass without it"
        echo "cassandra: scripts/fetch-cassandra.sh" >>"$failures"
    fi
fi
tool "web: build" scripts/web.sh
check "web: types and lint" npm --prefix web-demo run check
check "rust: form" cargo fmt --all --check
check "rust: lints" cargo clippy --workspace --all-targets -- -D warnings
rust_tests
if [ -n "$built" ]; then client_tests; else record 0 1 0 "clients: no binary to try"; fi
if [ -n "$built" ]; then browser_tests; else record 0 1 0 "browser: no binary to try"; fi
end_by_pid "$app"
summary
