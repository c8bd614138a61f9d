#!/usr/bin/env bash
# Builds the packages in clients/ and, on them, the web pages into web-demo/dist, which the binary embeds. Does
# nothing if neither they nor the schema have changed.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_tools
build_packages
packages web-demo

built=web-demo/node_modules/.built-from
if [ -f web-demo/dist/index.html ] && same_as_before "$built" web-demo clients/typescript/src clients/react/src schema.graphql; then
    say "web pages: unchanged"
else
    step "Building the web pages (npm run build)"
    npm --prefix web-demo run build
    fingerprint web-demo clients/typescript/src clients/react/src schema.graphql >"$built"
fi
