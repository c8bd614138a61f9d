#!/usr/bin/env bash
# Builds the web pages into web-demo/dist, which the binary embeds. Does nothing if neither they nor the schema have
# changed.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_tools
modules=web-demo/node_modules/.installed-from
if same_as_before "$modules" web-demo/package.json web-demo/package-lock.json; then
    say "npm packages: unchanged"
else
    step "Installing the web pages' npm packages (npm ci)"
    npm --prefix web-demo ci --no-audit --no-fund
    fingerprint web-demo/package.json web-demo/package-lock.json >"$modules"
fi

built=web-demo/node_modules/.built-from
if [ -f web-demo/dist/index.html ] && same_as_before "$built" web-demo schema.graphql; then
    say "web pages: unchanged"
else
    step "Building the web pages (npm run build)"
    npm --prefix web-demo run build
    fingerprint web-demo schema.graphql >"$built"
fi
