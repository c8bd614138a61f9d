# What the scripts share: where the project is, how they speak, how they ask for a free port and wait for a server.
# Sourced with bash, never run. The caller has set `-euo pipefail`.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# Where cargo puts what it builds, and the binary that `make` runs.
target_dir=${CARGO_TARGET_DIR:-$root/target}
tidefeed_bin=$target_dir/debug/tidefeed

step() { printf '\n==> %s\n' "$*"; }
say() { printf '    %s\n' "$*"; }
fail() {
    printf '\n*** %s\n' "$@" >&2
    exit 1
}

# A port of 127.0.0.1 that nobody listens on. Node is there wherever the project builds.
free_port() {
    node -e 'const s = require("net").createServer(); s.listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); });'
}

# wait_until SECONDS COMMAND...: true as soon as the command succeeds, false when the time is up.
wait_until() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.1
    done
}

running() { [ -n "${1:-}" ] && kill -0 "$1" 2>/dev/null; }

# end_by_pid PID: asks it to stop, insists after ten seconds.
end_by_pid() {
    running "${1:-}" || return 0
    kill "$1" 2>/dev/null || true
    wait_until 10 stopped "$1" || kill -9 "$1" 2>/dev/null || true
}
stopped() { ! running "$1"; }

# tidefeed listens where this says; the page is there too.
listen_on() {
    export TIDEFEED__HTTP__LISTEN="127.0.0.1:$1"
}

answers() { node -e 'fetch(process.argv[1]).then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))' "$1"; }
