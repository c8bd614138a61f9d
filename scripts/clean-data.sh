#!/usr/bin/env bash
# Removes ./data, unless a process still uses it.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# in_use: the ids of processes that hold a file under ./data open.
in_use() { find /proc/[0-9]*/fd -lname "$root/data/*" 2>/dev/null | cut -d / -f 3 | sort -un | paste -sd ' ' -; }

users=$(in_use || true)
[ -z "$users" ] || fail "Process $users uses ./data. Stop it first (Ctrl-C where it runs), then try again."
if [ -d data ]; then
    say "Removing ./data ($(du -sh data | cut -f 1))."
    rm -rf data
else
    say "There is no ./data."
fi
