#!/usr/bin/env bash
# Builds the web pages and the release binary, and leaves a stripped copy in target/tidefeed: one file to carry to a
# server.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

PROFILE=release
build_all
step "Leaving out the symbols"
strip -o "$target_dir/tidefeed" "$tidefeed_bin"
say "$target_dir/tidefeed: $(du -h "$target_dir/tidefeed" | cut -f1), $("$target_dir/tidefeed" --version)"
