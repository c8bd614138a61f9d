#!/usr/bin/env bash
# Installs what the tests and `make run-servers` need from Debian's packages, if it is missing: MariaDB, Redis, Chromium, a C compiler.
# The tests start servers of their own from these programs. MariaDB comes without a service; the package of Redis brings one.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/packages.sh
source scripts/packages.sh

step "Looking for MariaDB, Redis, Chromium and a C compiler"
want mariadb-server-core "a private MariaDB is started from it" have_programs mariadbd mariadb-install-db
want mariadb-client-core "preparing a MariaDB needs its my_print_defaults" have_programs my_print_defaults
want redis-server "a private Redis is started from it" have_programs redis-server redis-cli
if [ -z "${CHROMIUM:-}" ]; then
    want chromium "the page is tested in a real browser" have_programs chromium
    if command -v dpkg-query >/dev/null; then
        want fonts-liberation "without a font the browser draws no text" have_package fonts-liberation
    fi
fi
want_compiler
install_wanted
case " ${wanted[*]} " in
*" redis-server "*)
    say "Debian may have started a Redis of its own on port 6379. Tidefeed's scripts and tests do not use it;"
    say "\`systemctl disable --now redis-server\` ends it for good."
    ;;
esac
