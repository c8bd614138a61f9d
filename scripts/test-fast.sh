#!/usr/bin/env bash
# The Rust tests that need no server: pure code, memory and SQLite, with fixed seeds. Arguments go to the test binaries,
# such as a part of a test's name. What it leaves out, `make test` runs.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

while IFS= read -r name; do unset "$name"; done < <(compgen -e TIDEFEED__ || true)
step "Building the tests (cargo, dev profile; the first time takes a few minutes)"
cargo test --workspace --no-run
step "Running the tests on memory and SQLite"
skipped=()
for server in mariadb mysql redis cluster combinations; do skipped+=(--skip "$server"); done
cargo test --quiet --workspace -- "${skipped[@]}" "$@"
