#!/usr/bin/env bash
# Installs a C compiler from Debian's packages if there is none. Building tidefeed needs one.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/packages.sh
source scripts/packages.sh

step "Looking for a C compiler"
want_compiler
install_wanted
