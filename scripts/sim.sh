#!/usr/bin/env bash
# The long simulation: OPERATIONS (10000000) client operations in worlds where everything fails, then each rule of docs/coverage.md broken in turn, in up to
# WORLDS (20000) worlds, 1000 of them as clients alone see it, and the table of what was wrong. SEED repeats a run. Fails if any page was wrong, or a broken rule was not seen.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

while IFS= read -r name; do unset "$name"; done < <(compgen -e TIDEFEED__ || true)
step "Building the simulation (cargo, profile long; the first time takes some minutes)"
cargo test --profile long --test sim --no-run
step "Running worlds, two at a time"
cargo test --profile long --test sim -- --ignored --nocapture every_page_is_the_oracles_for_very_long
step "Breaking the rules"
cargo test --profile long --test sim -- --ignored --nocapture the_table_of_broken_rules
