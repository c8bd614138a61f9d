#!/usr/bin/env bash
# Runs the long simulation: OPERATIONS (10000000) client operations in worlds where everything fails. Then it breaks
# each rule of docs/coverage.md in turn, in up to WORLDS (20000) worlds, 1000 of them judged by what clients see, and
# prints the table of what went wrong. Between the two it does the same for inboxes outside SQL, in WALKS (1000000)
# walks. SEED repeats a run. Fails if a page was wrong or a broken rule was not noticed.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

while IFS= read -r name; do unset "$name"; done < <(compgen -e TIDEFEED__ || true)
step "Building the simulation (cargo, profile long; the first time takes some minutes)"
cargo test --profile long --test sim --no-run
SEED=${SEED:-$(fresh_seed)}
export SEED
step "Running worlds from seed $SEED on, two at a time"
cargo test --profile long --test sim -- --ignored --nocapture every_page_is_the_oracles_for_very_long
step "Walking with inboxes outside SQL"
cargo test --profile long --test sim -- --ignored --nocapture every_believed_page_is_the_oracles_for_very_long
step "Breaking the rules of outside inboxes"
cargo test --profile long --test sim -- --ignored --nocapture the_table_of_broken_outside_rules
step "Breaking the rules"
cargo test --profile long --test sim -- --ignored --nocapture the_table_of_broken_rules
