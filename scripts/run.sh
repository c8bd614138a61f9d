#!/usr/bin/env bash
# Runs Tidefeed with SQLite in ./data and everything else in the process. PORT is 8080 by default.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_tools
need_port "${PORT:-8080}"
build_all demo
fill_store
serve_on "${PORT:-8080}"
