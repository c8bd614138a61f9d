#!/usr/bin/env bash
# Runs every random test ROUNDS times (10), each time with a fresh seed; `make test` runs them with one that never
# changes. Prints the seed of each round: SEED repeats it, with ROUNDS=1. Stops at the first round that fails.
# Before the rounds it runs what `make test` leaves to it: the use cases and the API on MySQL, floods, and a large
# product that moves in.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

while IFS= read -r name; do unset "$name"; done < <(compgen -e TIDEFEED__ || true)
scratch_in_memory
scripts/install-servers.sh
arguments=()
if ! scripts/fetch-mysql.sh; then arguments+=(--skip ::mysql::); fi
if ! scripts/fetch-cassandra.sh; then arguments+=(--skip ::cassandra::); fi
step "Building the tests and the binary (cargo, dev profile; the first time takes a few minutes)"
cargo test --locked --workspace --no-run
# What is ignored on MySQL is `in soak`.
step "The use cases and the API on MySQL"
cargo test --locked --quiet --test it -- --ignored ::mysql:: --skip ::tidb:: "${arguments[@]}"
step "Floods of MariaDB with Redis, of one node and of two, beside an honest client"
cargo test --locked --quiet --test it -- --ignored --nocapture held::fairness::mariadb::
step "Floods of each kind of message, ten times as long"
FLOOD_MIB=256 cargo test --locked --quiet --test it -- --include-ignored --nocapture held::floods
step "A product of 100,000 users with a post and a follow each moves in"
PEOPLE=100000 FOLLOWED=1 scripts/clients.sh moving-in
export PROPTEST_CASES=256
asked=${SEED:-}
for round in $(seq "${ROUNDS:-10}"); do
    SEED=${asked:-$(fresh_seed)}
    export SEED PROPTEST_RNG_SEED=$SEED
    step "Round $round, SEED=$SEED: property tests"
    cargo test --locked --quiet --workspace --lib
    step "Round $round, SEED=$SEED: the simulation"
    cargo test --locked --quiet --test sim -- every_page_is_the_oracles_whatever the_model_and_sqlite
    step "Round $round, SEED=$SEED: random walks and states, the invariant while everything happens at once, remembered JSON"
    cargo test --locked --quiet --test it -- --include-ignored random_walks the_invariant_holds pages_equal_the_definition remembered_json_is "${arguments[@]}"
    step "Round $round, SEED=$SEED: random worlds that are imported while processes die and readers read"
    WORLDS=${WORLDS:-100} cargo test --locked --quiet --test it -- --include-ignored random_worlds "${arguments[@]}"
    step "Round $round, SEED=$SEED: random messages and documents"
    scripts/clients.sh frame-fuzz prices
done
