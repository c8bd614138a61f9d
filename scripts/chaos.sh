#!/usr/bin/env bash
# Runs OPERATIONS calls of the API (100000) on each combination of servers, while everything around the nodes fails, and
# a cluster of Cassandra nodes that loses each of them. Prints a table. SEED repeats a run's random choices; JOBS (2)
# combinations run at a time. Fails if a page was wrong or an acknowledged change was lost. What cannot be fetched is
# not run, and named at the end; with CI set, the script fails then.
# FORMER_NODES names a binary of a former version, as while a release is rolled out: it makes the tables, and runs all
# nodes but the first while this version migrates them. At half of the calls this version takes its place.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

while IFS= read -r name; do unset "$name"; done < <(compgen -e TIDEFEED__ || true)
scripts/install-servers.sh
if ! may_mount; then
    if [ -z "${WITHIN_NAMESPACE:-}" ] && unshare --map-root-user --mount true 2>/dev/null; then
        WITHIN_NAMESPACE=1 exec unshare --map-root-user --mount scripts/chaos.sh
    fi
    loud "DISK FULL IS NOT RUN: nothing can be mounted here, neither as this user nor in a namespace of its own. Run as root."
    export WITHOUT_FULL_DISK=1
fi
arguments=(--include-ignored --nocapture "--test-threads=${JOBS:-2}")
missing=()
if ! scripts/fetch-mysql.sh; then
    arguments+=(--skip ::mysql::)
    missing+=(MySQL)
fi
if ! scripts/fetch-cassandra.sh; then
    arguments+=(--skip ::cassandra::)
    missing+=(Cassandra)
fi
log=$(mktemp "${TMPDIR:-/tmp}/tidefeed-chaos.XXXXXX")
trap 'rm -f "$log"' EXIT

step "Building the nodes (cargo, profile long; the first time takes some minutes)"
cargo test --locked --profile long --test chaos --no-run
status=0
SEED=${SEED:-$(fresh_seed)}
export SEED
OPERATIONS=${OPERATIONS:-100000} cargo test --locked --profile long --test chaos -- cassandra_nodes:: combinations:: moves:: "${arguments[@]}" 2>&1 | tee "$log" || status=$?

step "Results: calls, imports, upserts and revocations beside them, pages and entries checked, faults, wrong pages or devices, longest time until the system was quiet"
printf '| servers | calls | the product | pages | entries | live events | faults | failed reads | unanswered changes | mismatches | rest, ms | devices, ms | seconds | seed |\n'
printf '|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n'
grep -o '| [A-Z][A-Za-z]* with .*|$' "$log" || true
for servers in "${missing[@]}"; do printf '| %s: NOT RUN | | | | | | | | | | | | | |\n' "$servers"; done
for servers in "${missing[@]}"; do
    loud "NOT RUN WITH ${servers^^}: it cannot be had here (see above). Its combinations have shown nothing."
done
if [ "${#missing[@]}" -gt 0 ] && [ -n "${CI:-}" ] && [ "$status" -eq 0 ]; then status=1; fi
exit "$status"
