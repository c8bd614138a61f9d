#!/usr/bin/env bash
# Prints what a release build costs, as ratios to limits and peers that run in the same minute
# (docs/benchmarks/README.md).
# ROW: rows by name or by how their names begin, separated by commas; all without it. USERS: people of the seeded
# worlds.
# SUBSCRIBERS: of the row crowd (50000). IMPORTED: contents, follows and reactions of the row import, each (1000000).
# ROUNDS, MILLISECONDS: how often both sides of a row take turns, and for how long. FRESH=1 seeds the worlds anew.
# Further rows, which run last: engine-page, engine-writes, engine-fanout and hot (without HTTP), engine-api (without
# sockets), price-of-a-point, first-post (the demo's page on a slow phone).
# With --quick: the dev build and a small world. That only shows that the table can be made.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

quick=
if [ "${1:-}" = --quick ]; then quick=--quick; fi
IFS=, read -ra asked <<<"${ROW:-}"
# wanted NAME: whether it was asked for, by the beginning of its name.
wanted() {
    local row
    [ "${#asked[@]}" -gt 0 ] || return 0
    for row in "${asked[@]}"; do
        case $1 in "$row"*) return 0 ;; esac
    done
    return 1
}

need_tools
scripts/install-compiler.sh
scripts/web.sh
if [ -n "$quick" ]; then
    cargo build --locked --package tidefeed --package tidefeed-bench --features tidefeed/demo
    bench_bin=$target_dir/debug/tidefeed-bench
else
    cargo build --locked --release --package tidefeed --package tidefeed-bench --features tidefeed/demo
    tidefeed_bin=$target_dir/release/tidefeed
    bench_bin=$target_dir/release/tidefeed-bench
fi
if [ -z "$quick" ] && wanted peer; then
    # shellcheck source=scripts/packages.sh
    source scripts/packages.sh
    want postgresql "the peer of the rows peer-sqlite and peer-mariadb keeps its rows in it" test -d /usr/lib/postgresql
    install_wanted
    step "Installing PostGraphile (npm ci in bench/postgraphile)"
    (cd bench/postgraphile && npm ci --no-audit --no-fund)
fi
while IFS= read -r name; do unset "$name"; done < <(compgen -e TIDEFEED__ || true)

arguments=(--tidefeed "$tidefeed_bin" --folder "$target_dir/bench")
[ -z "$quick" ] || arguments+=(--quick)
[ -z "${FRESH:-}" ] || arguments+=(--fresh)
[ -z "${USERS:-}" ] || arguments+=(--users "$USERS")
[ -z "${SUBSCRIBERS:-}" ] || arguments+=(--subscribers "$SUBSCRIBERS")
[ -z "${IMPORTED:-}" ] || arguments+=(--imported "$IMPORTED")
[ -z "${ROUNDS:-}" ] || arguments+=(--rounds "$ROUNDS")
[ -z "${MILLISECONDS:-}" ] || arguments+=(--milliseconds "$MILLISECONDS")
mapfile -t rows < <("$bench_bin" --tidefeed "$tidefeed_bin" --list | while IFS= read -r row; do if wanted "$row"; then echo "$row"; fi; done)
others=
for row in engine-page engine-writes engine-fanout engine-api hot price-of-a-point first-post; do if wanted "$row"; then others=yes; fi; done
if [ "${#rows[@]}" -eq 0 ] && [ -z "$others" ]; then fail "No row is called ${ROW:-}."; fi
if [ "${#rows[@]}" -gt 0 ]; then
    say "commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)$(git diff --quiet HEAD 2>/dev/null || echo ', changed'), $(date -u +%FT%H:%MZ)"
    arguments+=(--row "$(IFS=, && echo "${rows[*]}")")
    "$bench_bin" "${arguments[@]}"
fi
if [ -z "$quick" ] && wanted engine-page; then cargo bench --locked --package tidefeed-bench --bench page; fi
if [ -z "$quick" ] && wanted engine-writes; then cargo bench --locked --package tidefeed-bench --bench writes; fi
if [ -z "$quick" ] && wanted hot; then cargo bench --locked --package tidefeed-bench --bench hot; fi
if [ -z "$quick" ] && wanted engine-fanout; then cargo bench --locked --package tidefeed-bench --bench fanout; fi
if [ -z "$quick" ] && wanted engine-api; then cargo bench --locked --package tidefeed-bench --bench api; fi
if wanted price-of-a-point; then scripts/bench-prices.sh ${quick:+"$quick"}; fi
if wanted first-post; then scripts/bench-first-post.sh ${quick:+"$quick"}; fi
