#!/usr/bin/env bash
# Builds the web pages and installs the binary that contains them, as `cargo install` does: into ~/.cargo/bin unless
# CARGO_INSTALL_ROOT or CARGO_HOME says otherwise. Arguments go to cargo, such as `--root DIR`.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_tools
scripts/install-compiler.sh
scripts/web.sh
step "Installing tidefeed (cargo, release profile; the first time takes some minutes)"
cargo install --path . --locked --force --features cassandra "$@"
