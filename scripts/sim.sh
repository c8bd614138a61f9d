#!/usr/bin/env bash
# Runs the long simulation: OPERATIONS (10000000) client operations in worlds where everything fails. Then it breaks
# each rule of docs/protocol.md in turn, in up to WORLDS (20000) worlds, 1000 of them judged by what clients see, and
# prints the table of what went wrong. Between the two it does the same for inboxes outside SQL, in WALKS (1000000)
# walks. SEED repeats a run. Fails if a page was wrong or a broken rule was not noticed. Unless RULE names one rule,
# writes both tables into docs/broken-rules.md.
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
cargo test --profile long --test sim -- --ignored --nocapture the_table_of_broken_outside_rules | tee "$target_dir/broken-outside-rules.txt"
step "Breaking the rules"
cargo test --profile long --test sim -- --ignored --nocapture the_table_of_broken_rules | tee "$target_dir/broken-rules.txt"

# rows: one row for each rule, from the two that the first table's test prints: judged by clients, and by rows.
rows() {
    awk -F'|' '/^\| [A-Z]/ {
        worlds = $6 ~ /-/ ? " > 1000 " : $6
        if ($5 ~ /clients/) { seen[$2] = worlds; next }
        print "|" $2 "|" $3 "|" $4 "|" ($2 in seen ? seen[$2] : " ") "|" $6 "|" $7 "|"
    }' "$1"
}

[ -z "${RULE:-}" ] || exit 0
page=docs/broken-rules.md
{
    sed '/^| /,$d' "$page"
    printf '| broken rule | of | what is done instead | worlds, clients | worlds, rows too | what was wrong |\n|---|---|---|---|---|---|\n'
    rows "$target_dir/broken-rules.txt"
    printf '\n## Rules of OUTSIDE\n\nWalks of inboxes outside SQL, from seed 0 on, until a believed page is wrong.\n\n'
    grep '^|' "$target_dir/broken-outside-rules.txt"
} >"$target_dir/broken-rules.md"
mv "$target_dir/broken-rules.md" "$page"
say "$page has the tables."
