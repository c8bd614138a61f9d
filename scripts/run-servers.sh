#!/usr/bin/env bash
# Runs Tidefeed with a private MariaDB and Redis on free ports of 127.0.0.1, with their files in ./data/servers. PORT is
# 8080 by default. The rows stay for the next run (`make clean-data` removes them); the servers end with this script.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

PATH=$PATH:/usr/sbin:/sbin
servers=$root/data/servers

# end_server NAME: stops the server that NAME.pid names, if this script's servers still own that id.
end_server() {
    local pid
    pid=$(cat "$servers/$1.pid" 2>/dev/null) || return 0
    case $(readlink "/proc/$pid/cwd") in # both run in their own folder; another process with the same id does not
    "$servers"/*) end_by_pid "$pid" ;;
    esac
    rm -f "$servers/$1.pid"
}
end_servers() {
    end_server redis
    end_server mariadb
}
# start_server NAME COMMAND...: starts it in its own session, so that Ctrl-C stops tidefeed first and the servers then.
start_server() {
    local name=$1
    shift
    setsid "$@" >>"$servers/$name.log" 2>&1 </dev/null &
    echo $! >"$servers/$name.pid"
}
ready_or_fail() {
    local name=$1
    shift
    wait_until 60 "$@" || fail "$name did not start:" "$(tail -n 15 "$servers/$name.log")"
}

need_tools
need_port "${PORT:-8080}"
scripts/install-servers.sh
build_all demo
# A server clears the folder of temporary tables when it starts, so this one has its own.
mkdir -p "$servers/redis" "$servers/tmp"
end_servers # left over from a run that was killed
trap end_servers EXIT

if [ ! -d "$servers/mariadb/mysql" ]; then
    step "Preparing a new MariaDB in data/servers/mariadb"
    rm -rf "$servers/mariadb"
    mariadb-install-db --no-defaults --force --user="$(id -un)" --datadir="$servers/mariadb" --tmpdir="$servers/tmp" --skip-test-db \
        --auth-root-authentication-method=normal >"$servers/mariadb.log" 2>&1 ||
        fail "MariaDB could not be prepared:" "$(tail -n 15 "$servers/mariadb.log")"
fi
echo "CREATE DATABASE IF NOT EXISTS tidefeed CHARACTER SET utf8mb4;" >"$servers/first.sql"
mariadb_port=$(free_port)
redis_port=$(free_port)
step "Starting MariaDB on port $mariadb_port and Redis on port $redis_port"
rm -f "$servers/mariadb.ready"
start_server mariadb mariadbd --no-defaults --user="$(id -un)" --datadir="$servers/mariadb" --tmpdir="$servers/tmp" \
    --port="$mariadb_port" \
    --bind-address=127.0.0.1 --socket="$servers/mariadb.sock" --pid-file="$servers/mariadb.ready" \
    --character-set-server=utf8mb4 --innodb-flush-log-at-trx-commit=2 --init-file="$servers/first.sql"
start_server redis redis-server --port "$redis_port" --dir "$servers/redis" --bind 127.0.0.1 --save '' --appendonly no \
    --zset-max-listpack-entries 512
ready_or_fail mariadb test -s "$servers/mariadb.ready" # MariaDB writes it once it listens
ready_or_fail redis redis-cli -p "$redis_port" ping

# Nodes that share a database must share the secret, so with MySQL or MariaDB tidefeed never makes one by itself.
[ -s "$servers/secret" ] || (umask 077 && node -p 'crypto.randomBytes(48).toString("base64")' >"$servers/secret")
TIDEFEED__AUTH__SECRET=$(cat "$servers/secret")
export TIDEFEED__AUTH__SECRET
export TIDEFEED__STORE__URL=mysql://root@127.0.0.1:$mariadb_port/tidefeed
export TIDEFEED__REDIS__URL=redis://127.0.0.1:$redis_port
say "TIDEFEED__STORE__URL=$TIDEFEED__STORE__URL"
say "TIDEFEED__REDIS__URL=$TIDEFEED__REDIS__URL"

fill_store
serve_on "${PORT:-8080}"
