#!/usr/bin/env bash
# Everything that must hold before a change is taken in: form, lints, every test on every backend, the page in a
# real browser. In stages, of which those run beside each other that leave each other room. The output of each comes
# when it ends, that of those that failed once more at the end, and all of it stays in target/stages.
#
# STAGES="clients browser" runs only these and what they need. Names: lint, build, rust (unit, it, it_cassandra, bench,
# sim, doc), chaos, clients, browser. What cannot be fetched is left out, and the summary says so; with CI set that is a
# failure.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/stages.sh
source scripts/stages.sh

need_tools
need_lints
lint_while_compiling
scratch_in_memory
while IFS= read -r name; do unset "$name"; done < <(compgen -e TIDEFEED__ || true)
unset SEED PROPTEST_RNG_SEED # the seeds never change here; `make soak` takes fresh ones
scratch=$(mktemp -d "${TMPDIR:-/tmp}/tidefeed-make-test.XXXXXX")
logs=$target_dir/stages
mkdir -p "$logs"

# Each stage writes two files: results, a line for each group of tests (passed <tab> failed <tab> not run <tab> name),
# and failures, a line for each test that failed.
record() { printf '%s\t%s\t%s\t%s\n' "$@" >>"$scratch/results.$this_stage"; }
failure() { echo "$*" >>"$scratch/failures.$this_stage"; }
# check NAME COMMAND...: a step that is one check, passed or failed.
check() {
    local name=$1
    shift
    step "$name: $*"
    if "$@"; then
        record 1 0 0 "$name"
    else
        record 0 1 0 "$name"
        failure "$name: $*"
        return 1
    fi
}

# left_out NAME SCRIPT: fetches a server or tools. Without them, what needs them is left out.
left_out() {
    scripts/"$2" && return
    touch "$scratch/without-$1"
    [ -n "${CI:-}" ] || return 0
    record 0 1 0 "$1: it cannot be fetched, and CI must not pass without it"
    failure "$1: scripts/$2"
}
is_left_out() { [ -e "$scratch/without-$1" ]; }

stage servers 0
stage_servers() { scripts/install-servers.sh; }

stage mysql 0
stage_mysql() { left_out mysql fetch-mysql.sh; }

stage cassandra 0 servers # both use apt
stage_cassandra() { left_out cassandra fetch-cassandra.sh; }

# Downloads, and what they are for: short, and beside the compiler, which waits for nobody.
stage web 0
stage_web() {
    trap 'rm -f "$PAGES_PENDING"' EXIT
    scripts/web.sh
}

# The packages that tests are written with.
stage packages 0 web
stage_packages() {
    local folder
    for folder in tests/clients tests/frontends; do packages "$folder"; done
    node tests/frontends/python.mjs
}

stage lint 0 web
stage_lint() {
    local status=0
    check "rust: form" cargo fmt --all --check || status=1
    # The stage web has checked the types, for it has built the pages.
    check "web: lint" npm --prefix web-demo run lint || status=1
    left_out tools fetch-tools.sh
    is_left_out tools || check "tools: spelling, crates, workflows, image" scripts/lint-tools.sh || status=1
    return "$status"
}

# Only the crate that contains the pages waits for them (scripts/linting-compiler.sh), hundreds of others do not.
stage build 2 +web
stage_build() {
    if is_chosen lints "${rust_stages[@]}"; then
        compile_tests
    else
        cargo build --locked --workspace --bin tidefeed --features as-in-tests,cassandra,demo
    fi
}

stage lints 0 build
stage_lints() { check "rust: lints" lints; }

# rust_tests ARGUMENT...: runs Rust tests, and counts them.
rust_tests() {
    local status=0 log=$logs/$this_stage.log
    cargo test --locked --workspace --no-fail-fast "$@" || status=$?
    awk -f scripts/count-tests.awk "$log" >>"$scratch/results.$this_stage"
    sed -nE 's/^test (.*) \.\.\. FAILED$/rust: \1/p' "$log" >>"$scratch/failures.$this_stage"
    return "$status"
}
# rust_tests_on_servers ARGUMENT...: the same without the tests of servers that are left out.
rust_tests_on_servers() {
    local skipped=()
    if is_left_out mysql; then skipped+=(--skip mysql::); fi
    if is_left_out cassandra; then skipped+=(--skip cassandra::); fi
    rust_tests "$@" "${skipped[@]}"
}

# The longest first. Servers and browsers take as much of the machine as the tests that ask them, and nodes of Cassandra
# that get too little of it lose their clients. Tests of other servers wait for them half of the time.
stage it 1 build servers mysql
stage_it() { rust_tests_on_servers --test it -- --test-threads=4 --skip cassandra::; }

stage it_cassandra 1 build cassandra
stage_it_cassandra() { is_left_out cassandra || rust_tests --test it -- cassandra::; }

# Its deliveries wait between two tries, so it begins early.
stage chaos 1 build servers mysql cassandra
stage_chaos() { rust_tests_on_servers --test chaos --; }

stage browser 1 build web servers
stage_browser() {
    local port app status=0 log=$logs/$this_stage.log
    port=$(free_port)
    step "Seeding an embedded server on port $port for the browser"
    # All the people of these tests register from one address, more than a node takes from it in an hour.
    export TIDEFEED__STORE__URL=sqlite://$scratch/tidefeed.db TIDEFEED__SERVER__LISTEN=127.0.0.1:$port TIDEFEED__AUTH__REGISTRATIONS_PER_HOUR=0
    export TIDEFEED__API__PUBLIC_PAGES=true
    "$tidefeed_bin" migrate
    "$tidefeed_bin" seed --if-empty
    "$tidefeed_bin" serve >"$logs/serve.log" 2>&1 &
    app=$!
    page_is_up "http://127.0.0.1:$port" "$app" || fail "The server did not become ready:" "$(tail -n 30 "$logs/serve.log")"
    find_browser || fail "Chromium is missing. Run scripts/install-servers.sh, or name one with CHROMIUM."
    step "Using the page in Chromium: npm run e2e (pictures in web-demo/test-results)"
    TIDEFEED_URL=http://127.0.0.1:$port TIDEFEED_BIN=$(realpath "$tidefeed_bin") npm --prefix web-demo run e2e || status=$?
    [ "$status" -eq 0 ] || tail -n 30 "$logs/serve.log"
    record_playwright "$log" "$status"
    end_by_pid "$app"
    return "$status"
}

# It counts by itself.
stage clients 1 build packages servers
stage_clients() { COUNTS=$scratch/results.clients FAILURES=$scratch/failures.clients scripts/clients.sh; }

# Every row of the benchmark, for a moment each: it waits for clocks and disks.
stage bench 1 build servers
stage_bench() { rust_tests --test quick; }

# What has no stage of its own: unit tests, and every small test binary.
stage unit 1 build
stage_unit() {
    local name others=(--lib --bins)
    while IFS= read -r name; do others+=(--test "$name"); done < <(test_binaries | grep -vxE 'it|sim|chaos|quick')
    rust_tests "${others[@]}"
}

stage sim 1 build
stage_sim() { rust_tests --test sim; }

stage doc 1 build
stage_doc() { rust_tests --doc; }

# record_playwright LOG: out of Playwright's closing lines ("12 passed (9s)", "1 failed", "2 did not run").
record_playwright() {
    local failed=0 kind
    for kind in failed interrupted "did not run" flaky; do failed=$((failed + $(playwright_count "$kind" "$1"))); done
    sed -nE 's/^ +[0-9]+\) (.*[^ ─]) *─*$/browser: \1/p' "$1" | sort -u >>"$scratch/failures.$this_stage"
    record "$(playwright_count passed "$1")" "$failed" "$(playwright_count skipped "$1")" "browser: the page in Chromium, on SQLite"
}
playwright_count() { sed -nE "s/^ +([0-9]+) $1( .*)?\$/\\1/p" "$2" | tail -n 1 | grep . || echo 0; }

# explain STAGE: sees to it that a stage that did not pass counts as a failure, and is named.
explain() {
    local this_stage=$1 why="it was not run, because what it needs has failed"
    [ "${state_of[$1]}" != failed ] || why="it ended before it had counted anything"
    [ "${state_of[$1]}" != passed ] || return 0
    if ! awk -F '\t' '{ f += $2 } END { exit f == 0 }' "$scratch/results.$1" 2>/dev/null; then
        record 0 1 0 "$1: $why"
        [ -s "$scratch/failures.$1" ] || failure "$1: $why"
    fi
}

summary() {
    local name
    for name in "${stages[@]}"; do explain "$name"; done
    for name in $(in_state failed); do
        step "The end of the output of $name, which failed"
        shown "$logs/$name.log" | tail -n 40
    done
    step "Summary"
    stage_times
    cat "$scratch"/results.* 2>/dev/null >"$scratch/results" || true
    awk -F '\t' '{ printf "    %5d passed %5d failed %5d not run   %s\n", $1, $2, $3, $4 }' "$scratch/results"
    if is_left_out mysql; then
        loud "NOT RUN ON MYSQL: MySQL 9 could not be installed (see above). Only MariaDB was tested."
    fi
    if is_left_out cassandra; then
        loud "NOT RUN ON CASSANDRA: Cassandra 5 could not be installed (see above). Inboxes in Cassandra were not tested."
    fi
    if is_left_out tools; then
        loud "NOT CHECKED: spelling, licences and versions of crates, workflows, Dockerfile, compose.yaml (no Python, see above)."
    fi
    if [ -n "${WITHOUT_FULL_DISK:-}" ]; then
        loud "NOT RUN WITH A FULL DISK: this user may not mount a file system. Run as root, or within: unshare --map-root-user --mount make test"
    fi
    if cat "$scratch"/failures.* 2>/dev/null | grep -q .; then
        say "Failed:"
        cat "$scratch"/failures.* | sed 's/^/    /'
    fi
    awk -F '\t' '{ p += $1; f += $2 } END { printf "%d passed, %d failed\n", p, f; exit f > 0 }' "$scratch/results"
}

export PAGES_PENDING=$scratch/pages-pending
rust_stages=(unit it it_cassandra bench sim doc chaos)
if [ -n "${STAGES:-}" ]; then
    wanted=()
    for name in $STAGES; do
        case $name in
        rust) wanted+=(unit it it_cassandra bench sim doc) ;;
        build) wanted+=(build lints) ;;
        *) wanted+=("$name") ;;
        esac
    done
    choose "${wanted[@]}"
fi
if is_chosen it chaos && ! may_mount; then export WITHOUT_FULL_DISK=1; fi
if is_chosen build; then
    scripts/install-compiler.sh
    touch "$PAGES_PENDING"
fi
# Who has to type a password for apt does it now.
if is_chosen servers && [ -t 0 ] && [ "$(id -u)" -ne 0 ]; then scripts/install-servers.sh; fi
open_guard
run_stages
summary
