#!/usr/bin/env bash
# Form of commits and of code, lints, and the repository's own rules. Compiles what `make test` compiles, and nothing
# else.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_tools
need_lints
lint_while_compiling
scripts/check-commits.sh
cargo fmt --all --check
compile_tests
lints
cargo test --locked --quiet --workspace --test tidy
