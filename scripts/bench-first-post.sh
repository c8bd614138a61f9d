#!/usr/bin/env bash
# Prints how long the demo's first post takes on a slow phone: web-demo/e2e/first-post.spec.ts against a release
# build with the seeded world.
# With --quick it uses the debug build and makes one try. That only shows that the table can be made.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_tools
find_browser || fail "Chromium is missing. Run scripts/install-servers.sh, or name one with CHROMIUM."
scripts/web.sh
if [ "${1:-}" = --quick ]; then
    cargo build --locked --features demo
    export TRIES=1
else
    cargo build --locked --release --features demo
    tidefeed_bin=$target_dir/release/tidefeed
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/tidefeed-first-post.XXXXXX")
app=
clean_up() {
    end_by_pid "$app"
    rm -rf "$scratch"
}
trap clean_up EXIT
port=$(free_port)
export TIDEFEED__STORE__URL=sqlite://$scratch/tidefeed.db
fill_store
TIDEFEED__SERVER__LISTEN=127.0.0.1:$port "$tidefeed_bin" serve >"$scratch/serve.log" 2>&1 &
app=$!
page_is_up "http://127.0.0.1:$port" "$app" || fail "$(tail -n 30 "$scratch/serve.log")"
step "Opening the page as a slow phone does"
TIDEFEED_URL=http://127.0.0.1:$port npm --prefix web-demo run --silent first-post
