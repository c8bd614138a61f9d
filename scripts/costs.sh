#!/usr/bin/env bash
# Measures what one of each operation costs, with a release build, and writes it into the file on which `tidefeed plan`
# and docs/scaling.md stand. USERS: people of the world (20000). MILLISECONDS: of each operation (10000).
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

file=crates/capacity/measured.json
need_tools
scripts/install-compiler.sh
scripts/install-servers.sh
scripts/fetch-cassandra.sh
scripts/web.sh
cargo build --locked --release --package tidefeed --package tidefeed-bench --features tidefeed/demo,tidefeed/cassandra
while IFS= read -r name; do unset "$name"; done < <(compgen -e TIDEFEED__ || true)
step "Measuring (ten minutes)"
"$target_dir/release/tidefeed-bench" --tidefeed "$target_dir/release/tidefeed" --folder "$target_dir/bench" \
    --users "${USERS:-20000}" --milliseconds "${MILLISECONDS:-10000}" \
    costs "$file" --day "$(date -u +%F)" --commit "$(git rev-parse --short HEAD)"
say "docs/scaling.md has what \`tidefeed plan --costs\` prints; build again, and copy it there."
