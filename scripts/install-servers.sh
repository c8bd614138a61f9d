#!/usr/bin/env bash
# Installs what the tests and `make run-servers` need and the system lacks, from Debian's packages: MariaDB, Redis,
# nginx, Chromium, jq, SQLite's shell, a C compiler. The tests start their own servers from these programs. MariaDB
# comes without a service; the packages of Redis and nginx start one each.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/packages.sh
source scripts/packages.sh

step "Looking for MariaDB, SQLite, Redis, nginx, Chromium and a C compiler"
want mariadb-server-core "tests and scripts start a private MariaDB from it" have_programs mariadbd mariadb-install-db
want mariadb-client-core "mariadb-install-db needs its my_print_defaults" have_programs my_print_defaults
want mariadb-client "the tests back up and restore with it, as docs/operations.md has it" have_programs mariadb mariadb-dump
want sqlite3 "the tests back up with it, as docs/operations.md has it" have_programs sqlite3
want nginx "the tests put one before the binary, as docs/operations.md has it" have_programs nginx
want openssl "the tests make certificates for nginx" have_programs openssl
want jq "the tests run the filter of docs/moving-in.md" have_programs jq
want redis-server "tests and scripts start a private Redis from it" have_programs redis-server redis-cli
# Other distributions, and Debian before 12, have one build only.
# shellcheck disable=SC1091
case $(. /etc/os-release 2>/dev/null && echo "$ID-${VERSION_ID:-testing}") in
debian-1[2-9] | debian-testing) browser=chromium-headless-shell ;;
*) browser=chromium ;;
esac
want "$browser" "the tests use the page in a real browser" find_browser
if command -v dpkg-query >/dev/null; then
    want fonts-liberation "without a font the browser draws no text" have_package fonts-liberation
fi
want_compiler
install_wanted
case " ${wanted[*]} " in
*" nginx "*)
    say "Debian may have started its own nginx on port 80. Tidefeed's tests do not use it."
    say "To stop it for good: systemctl disable --now nginx"
    ;;
esac
case " ${wanted[*]} " in
*" redis-server "*)
    say "Debian may have started its own Redis on port 6379. Tidefeed's scripts and tests do not use it."
    say "To stop it for good: systemctl disable --now redis-server"
    ;;
esac
