#!/usr/bin/env bash
# The Rust tests that need no server: pure code, memory and SQLite, with fixed seeds and few random cases (FAST).
# Arguments go to the test binaries, such as a part of a test's name. Tests are left out by their modules: those that
# are named after a server, which fail here if they use one under another name, and those named `slow`, which take
# seconds: the whole table of authorisation, exports of thousands of contents, a thousand subscribers, storms of
# requests, writes that fail together. `make test` runs these, and chaos, examples in documents, clients and browsers.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

while IFS= read -r name; do unset "$name"; done < <(compgen -e TIDEFEED__ || true)
unset SEED PROPTEST_RNG_SEED # the seeds never change here; `make soak` takes fresh ones
export FAST=1 SEQUENCES=40 PROPTEST_CASES=32
scratch_in_memory
apart=(--test it)
others=(--lib --bins --test rules --test tidy --test sim)
step "Building the tests (cargo, dev profile; the first time takes a few minutes)"
cargo test --locked --workspace "${apart[@]}" "${others[@]}" --no-run
step "Running the tests on memory and SQLite"
skipped=()
for module in mariadb mysql redis_server redis_cluster cassandra slow; do skipped+=(--skip "::$module::"); done
scratch=$(mktemp -d "${TMPDIR:-/tmp}/tidefeed-test-fast.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
began=$SECONDS

# run NAME ARGUMENTS...: a part of the tests. Its output comes at its end, so that parts can run beside each other.
run() {
    local name=$1 status=0
    shift
    cargo test --locked --quiet --workspace "$@" -- "${skipped[@]}" "${asked[@]}" >"$scratch/$name.log" 2>&1 || status=$?
    cat "$scratch/$name.log"
    return "$status"
}
asked=("$@")
status=0
run it "${apart[@]}" &
integration=$!
run others "${others[@]}" || status=$?
wait "$integration" || status=$?
say "Took $((SECONDS - began)) s."
exit "$status"
