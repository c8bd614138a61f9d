#!/usr/bin/env bash
# Builds the web pages and a binary that needs no library of the system, and lays the image out around it:
# FOLDER/root is the image's root, FOLDER/data what its user may write to. The Dockerfile runs this, and so does
# scripts/image.sh, so that both make the same image. PROFILE as in `make run`; release unless it is set.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -eq 1 ] || fail "Usage: scripts/image-root.sh FOLDER"
folder=$1
profile=${PROFILE:-release}
authorities=/etc/ssl/certs/ca-certificates.crt
[ -f "$authorities" ] || fail "$authorities is missing: apt-get install ca-certificates"
need_tools
scripts/install-compiler.sh
scripts/web.sh

host=$(rustc -vV | sed -n 's/^host: //p')
[[ $host == *-linux-* ]] || fail "The image is made on Linux; this is $host."
step "Building a static tidefeed (cargo, profile $profile, $host)"
# The target is named so that the flag concerns the binary alone: what runs inside the compiler is loaded by it.
RUSTFLAGS="-C target-feature=+crt-static" cargo build --locked --profile "$profile" --target "$host" --features cassandra --bin tidefeed
binary=$target_dir/$host/$([ "$profile" = dev ] && echo debug || echo "$profile")/tidefeed
if readelf --program-headers "$binary" | grep -q INTERP; then fail "$binary needs a loader: it is not static."; fi

step "Laying out the image in $folder"
rm -rf "$folder"
mkdir -p "$folder/data" "$folder/root/etc"
install -D --strip --mode 755 "$binary" "$folder/root/usr/local/bin/tidefeed"
# An external issuer's keys come over TLS ([issuer]).
install -D --mode 644 "$authorities" "$folder/root$authorities"
echo "tidefeed:x:65532:65532::/data:/sbin/nologin" >"$folder/root/etc/passwd"
echo "tidefeed:x:65532:" >"$folder/root/etc/group"
du -sh "$folder/root/usr/local/bin/tidefeed"
