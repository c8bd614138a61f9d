#!/usr/bin/env bash
# Packs the binary for npm: FOLDER gets the packages of `npx tidefeed`, the launcher (clients/npx) and one with the
# binary of this platform. BINARY: an executable that is built already; without it a release with the demo is built, on
# Linux one that needs no library of the system. The version is the workspace's. GITHUB_REPOSITORY: owner/name of the
# repository that the package with the binary names, which npm compares with the workflow that publishes it.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -eq 1 ] || fail "Usage: scripts/npm-packages.sh FOLDER"
mkdir -p "$1"
folder=$(realpath "$1")
need_tools

if [ -z "${BINARY:-}" ]; then
    scripts/install-compiler.sh
    scripts/web.sh
    host=$(rustc -vV | sed -n 's/^host: //p')
    step "Building tidefeed with the demo (cargo, profile release, $host)"
    # The target is named so that the flag concerns the binary alone: what runs inside the compiler is loaded by it.
    if [[ $host == *-linux-* ]]; then export RUSTFLAGS="-C target-feature=+crt-static"; fi
    cargo build --locked --release --target "$host" --features cassandra,demo --bin tidefeed
    BINARY=$target_dir/$host/release/tidefeed
fi

scratch=$(mktemp -d "${TMPDIR:-/tmp}/tidefeed-npm.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
version=$(sed -nE '/^\[workspace.package\]/,/^\[/ s/^version = "(.*)"/\1/p' Cargo.toml)
platform=$(node -p '`${process.platform}-${process.arch}`')
step "Packing tidefeed $version for $platform"
install -d "$scratch/binary/bin"
install -m 755 "$BINARY" "$scratch/binary/bin/tidefeed"
strip "$scratch/binary/bin/tidefeed"
node - "$version" "$platform" clients/npx/package.json "$scratch/binary/package.json" <<'JS'
const [version, platform, launcher, file] = process.argv.slice(2);
const { readFileSync, writeFileSync } = require("fs");
const { license, version: stated, optionalDependencies } = JSON.parse(readFileSync(launcher, "utf8"));
const name = `@tidefeed/cli-${platform}`;
const [os, cpu] = platform.split("-");
for (const [one, wanted] of Object.entries({ tidefeed: stated, ...optionalDependencies }))
  if (wanted !== version) throw new Error(`${launcher} names version ${wanted} of ${one}, Cargo.toml ${version}.`);
if (!(name in optionalDependencies)) throw new Error(`${launcher} does not name ${name}.`);
const { GITHUB_REPOSITORY: home, GITHUB_SERVER_URL: host = "https://github.com" } = process.env;
const repository = home && { type: "git", url: `git+${host}/${home}.git` };
const description = `The tidefeed binary for ${platform}. Install the package tidefeed, which chooses it.`;
writeFileSync(file, `${JSON.stringify({ name, version, description, license, repository, os: [os], cpu: [cpu], files: ["bin"] }, null, 2)}\n`);
JS
cp LICENSE-APACHE LICENSE-MIT "$scratch/binary"
for package in "$scratch/binary" clients/npx; do
    (cd "$package" && npm pack --silent --pack-destination "$folder")
done
ls -l "$folder"
