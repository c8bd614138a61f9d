#!/usr/bin/env bash
# Prints how much processor time a point of an operation's cost takes: bench/price.mjs against a release build.
# With --quick it uses the debug build and a small world. That only shows that the table can be made; the figures mean
# nothing.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_tools
if [ "${1:-}" = --quick ]; then
    cargo build --locked --features demo
else
    cargo build --locked --release --features demo
    tidefeed_bin=$target_dir/release/tidefeed
fi
installed=tests/clients/node_modules/.installed-from
if ! same_as_before "$installed" tests/clients/package.json tests/clients/package-lock.json; then
    npm --prefix tests/clients ci --no-audit --no-fund --loglevel=error
    fingerprint tests/clients/package.json tests/clients/package-lock.json >"$installed"
fi
TIDEFEED_BIN=$(realpath "$tidefeed_bin") exec node --test-reporter=tap --test-reporter-destination=/dev/null bench/price.mjs "$@"
