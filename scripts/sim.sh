#!/usr/bin/env bash
# Runs the long simulation: OPERATIONS (10000000) client operations in worlds where everything fails, then WALKS
# (1000000) with inboxes outside SQL. Then it breaks each rule of docs/protocol.md in turn, from seed 0 on, in up to
# WORLDS (20000) worlds, or WALKS walks, until something is wrong. SEED repeats the first two. Fails if a page was
# wrong, if a broken rule was not noticed, or if docs/broken-rules.md keeps other worlds than those that were found.
#
# KEEP=1 breaks the rules only, and writes the worlds that it finds into docs/broken-rules.md, for `make test` to
# replay: after a change that has changed the worlds. RULE breaks the rules with that in their names only.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

while IFS= read -r name; do unset "$name"; done < <(compgen -e TIDEFEED__ || true)
step "Building the simulation (cargo, profile long; the first time takes some minutes)"
cargo test --locked --profile long --test sim --no-run

# simulate TEST: one of the long tests.
simulate() { cargo test --locked --profile long --test sim -- --ignored --nocapture "$1"; }

if [ -z "${KEEP:-}${RULE:-}" ]; then
    SEED=${SEED:-$(fresh_seed)}
    export SEED
    step "Running worlds from seed $SEED on, two at a time"
    simulate every_page_is_the_oracles_for_very_long
    step "Walking with inboxes outside SQL"
    simulate every_believed_page_is_the_oracles_for_very_long
fi
step "Breaking the rules"
simulate the_table_of_broken_rules
step "Breaking the rules of outside inboxes"
simulate the_table_of_broken_outside_rules
