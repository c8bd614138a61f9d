#!/usr/bin/env bash
# The Rust tests that need no server: pure code, memory and SQLite, with fixed seeds and small worlds (FAST).
# Arguments go to the test binaries, such as a part of a test's name. What it leaves out, `make test` runs: servers,
# the many worlds of the simulation, the search for each broken rule, the whole table of authorisation, exports of
# thousands of contents, storms of requests, examples in documents, real clients and browsers.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

while IFS= read -r name; do unset "$name"; done < <(compgen -e TIDEFEED__ || true)
unset SEED PROPTEST_RNG_SEED # the seeds never change here; `make soak` takes fresh ones
export FAST=1 SEQUENCES=40
scratch_in_memory
step "Building the tests (cargo, dev profile; the first time takes a few minutes)"
cargo test --workspace --no-run
step "Running the tests on memory and SQLite"
skipped=()
slow=(every_broken_rule every_cell_of_the_authorisation_table accounts::export a_thousand_subscribers held::storms)
for part in mariadb mysql redis cassandra cluster combinations a_server_is_gone "${slow[@]}"; do skipped+=(--skip "$part"); done
scratch=$(mktemp -d "${TMPDIR:-/tmp}/tidefeed-test-fast.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
began=$SECONDS

# run NAME ARGUMENTS...: a part of the tests. Its output comes at its end, so that parts can run beside each other.
run() {
    local name=$1 status=0
    shift
    cargo test --quiet --workspace "$@" -- "${skipped[@]}" "${asked[@]}" >"$scratch/$name.log" 2>&1 || status=$?
    cat "$scratch/$name.log"
    return "$status"
}
asked=("$@")
status=0
run it --test it &
integration=$!
run others --lib --bins --test rules --test tidy --test sim --test chaos || status=$?
wait "$integration" || status=$?
say "Took $((SECONDS - began)) s."
exit "$status"
