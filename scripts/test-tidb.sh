#!/usr/bin/env bash
# Runs the tests of MySQL on the TiDB server at TIDB (mysql://root@host:4000): the ports of the store, fixtures, the
# worked example, use cases, the API, and the invariant. With several servers before one store, which TIDB names with
# commas between them, connections lead to them in turn. The account must be allowed to make databases and accounts, to
# see all connections (PROCESS) and to reload rights (RELOAD). The names begin with tidefeed_test_, and they go at the
# beginning and the end. THREADS (4) tests run at a time.
# What is about MySQL itself is left out, by name: its own servers, its replicas, and what EXPLAIN says there.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if [ -z "${TIDB:-}" ]; then
    loud "TIDB IS NOT SET. Start a TiDB (docs/operations.md#tidb) and name it: make test-tidb TIDB=mysql://root@127.0.0.1:4000"
    exit 2
fi
while IFS= read -r name; do unset "$name"; done < <(compgen -e TIDEFEED__ || true)
export TIDB WORLDS=${WORLDS:-1}
scratch_in_memory
scripts/install-servers.sh

# What TiDB does not have, or EXPLAIN says otherwise there: triggers, locks of tables, states of waiting sessions, a
# choice of victims, a server of the test's own, statistics of InnoDB.
of_mysql=(
    a_statement_without_room a_read_over_its_time the_victim_of_a_deadlock a_migration_waits_for_another
    process::server_promises store::full store::refused_writes store::replicas store::replication_group store::rows_touched store::transport
    store::trips usecases::targets
    store::explain first_served_readers_are_found_by_an_index the_planner_knows_of_a_seeded_world
)

# ask URL STATEMENT
ask() {
    local address=${1#mysql://}
    local account=${address%@*} place=${address##*@}
    place=${place%%/*}
    MYSQL_PWD=$(if [[ $account == *:* ]]; then printf '%s' "${account#*:}"; fi) mariadb --batch --comments --skip-column-names \
        --host="${place%:*}" --port="${place##*:}" --user="${account%%:*}" --execute="$2"
}
sweep() {
    ask "${servers[0]}" "SELECT CONCAT('DROP DATABASE \`', schema_name, '\`;') FROM information_schema.schemata WHERE schema_name LIKE 'tidefeed\\_test\\_%'
         UNION ALL SELECT CONCAT('DROP USER \`', user, '\`@\`', host, '\`;') FROM mysql.user WHERE user LIKE 'tidefeed\\_test\\_%'" |
        while IFS= read -r drop; do ask "${servers[0]}" "$drop"; done
}

IFS=, read -ra servers <<<"${TIDB// /}"
for server in "${servers[@]}"; do
    version=$(ask "$server" "SELECT CONCAT(VERSION() /*T! , ', a TiDB' */)")
    case $version in
    *TiDB) step "On $version at ${server##*@}" ;;
    *)
        loud "NOT A TIDB: the server at ${server##*@} says that it is $version."
        exit 2
        ;;
    esac
done
sweep
trap sweep EXIT
ask "${servers[0]}" "CREATE DATABASE tidefeed_test_reached"
for server in "${servers[@]}"; do
    if [ -z "$(ask "$server" "SHOW DATABASES LIKE 'tidefeed_test_reached'")" ]; then
        loud "NOT ONE STORE: the server at ${server##*@} does not see a database that was made on the one at ${servers[0]##*@}."
        exit 2
    fi
done
step "Building the tests and the binary (cargo, dev profile; the first time takes some minutes)"
cargo test --locked --workspace --no-run
arguments=("--test-threads=${THREADS:-4}" --include-ignored)
for name in "${of_mysql[@]}"; do arguments+=(--skip "$name"); done
step "The tests of MySQL, on TiDB"
cargo test --locked --quiet --test it -- ::mysql:: "${arguments[@]}"
