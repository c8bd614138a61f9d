#!/usr/bin/env bash
# Installs what the tests and `make run-servers` need from Debian's packages, if it is missing: MariaDB, Redis, Chromium, a C compiler.
# The tests start servers of their own from these programs; a service that a package may set up is not used.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

PATH=$PATH:/usr/sbin:/sbin
missing=()
# want PACKAGE WHY PROGRAM...: notes the package if a program of it is not there.
want() {
    local package=$1 why=$2 program
    shift 2
    for program in "$@"; do
        command -v "$program" >/dev/null && continue
        say "$package is missing: $why"
        missing+=("$package")
        return
    done
}

step "Looking for MariaDB, Redis, Chromium and a C compiler"
want mariadb-server-core "the tests run on a private MariaDB" mariadbd mariadb-install-db
want mariadb-client-core "preparing a MariaDB needs its my_print_defaults" my_print_defaults
want redis-server "queue, cache and announcements are tested on a private Redis" redis-server redis-cli
if [ -z "${CHROMIUM:-}" ]; then
    want chromium "the page is tested in a real browser" chromium
    want fonts-liberation "without a font the browser draws no text" chromium
fi
want gcc "SQLite and the allocator are built from C sources" cc
want libc6-dev "SQLite and the allocator are built from C sources" cc

if [ ${#missing[@]} -eq 0 ]; then
    say "all there"
    exit 0
fi
command -v apt-get >/dev/null ||
    fail "This is no Debian. Please install ${missing[*]} in your system's way; the programs must be on the PATH."

install=(env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install "${missing[@]}")
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
        as_root=(sudo)
    else
        fail "Installing needs root. Please run, as root:" "    apt-get update && apt-get install ${missing[*]}"
    fi
fi
step "Installing ${missing[*]} with apt-get"
"${as_root[@]}" apt-get -q update
"${as_root[@]}" "${install[@]}"
