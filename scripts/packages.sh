# Installs Debian packages: `want` notes a missing one, `install_wanted` installs all noted ones.
# Sourced with bash after lib.sh, never run.
# shellcheck shell=bash

PATH=$PATH:/usr/sbin:/sbin
wanted=()

# want PACKAGE WHY TEST...: notes the package if the test, a command, fails.
want() {
    local package=$1 why=$2
    shift 2
    "$@" >/dev/null 2>&1 && return
    say "$package is missing: $why."
    wanted+=("$package")
}

# Tests for `want`.
have_programs() {
    local program
    for program in "$@"; do command -v "$program" || return 1; done
}
have_c_headers() { echo '#include <stdio.h>' | cc -E -; }
have_package() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1")" = installed ]; }

want_compiler() {
    local why="SQLite and the allocator are built from C sources, and Rust links with cc"
    want gcc "$why" have_programs cc
    want libc6-dev "$why" have_c_headers
}

# install_wanted: installs the noted packages, or prints the command to run and ends the script.
install_wanted() {
    local as_root=()
    if [ ${#wanted[@]} -eq 0 ]; then
        say "Nothing is missing."
        return
    fi
    command -v apt-get >/dev/null ||
        fail "This system has no apt-get. Install ${wanted[*]} with its own package manager; the programs must be on the PATH."
    if [ "$(id -u)" -ne 0 ]; then
        if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
            as_root=(sudo)
        else
            fail "Installing needs root. Run this as root, then try again:" \
                "    apt-get update && apt-get install --no-install-recommends ${wanted[*]}"
        fi
    fi
    step "Installing ${wanted[*]} with apt-get"
    "${as_root[@]}" apt-get -q update
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install "${wanted[@]}"
}
