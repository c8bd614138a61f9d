#!/usr/bin/env bash
# Tidefeed on this machine alone: SQLite in ./data, everything else in the process. PORT=8080 unless told otherwise.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

build_all
fill_store
serve_on "${PORT:-8080}"
