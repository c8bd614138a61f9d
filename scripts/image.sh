#!/usr/bin/env bash
# Makes the container image without a registry: the root by scripts/image-root.sh, and around it the Dockerfile's last
# stage by buildah. Then scripts/image-test.sh runs it. The image stays in buildah's store as localhost/tidefeed.
# PROFILE=dev builds sooner.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=scripts/packages.sh
source scripts/packages.sh

step "Looking for buildah"
want buildah "it makes the image" have_programs buildah
install_wanted

context=$root/target/image
scripts/image-root.sh "$context"

step "Making the image: the last stage of the Dockerfile"
# What the stage copies from the one before is in the folder.
sed -n '/^FROM scratch$/,$p' Dockerfile | sed 's|--from=build \(.*\)/image/|\1|' >"$context/Dockerfile"
# A health check is a part of Docker's format alone.
buildah build --isolation chroot --format docker --tag localhost/tidefeed "$context"

if [ "$(id -u)" -eq 0 ]; then
    scripts/image-test.sh localhost/tidefeed
else
    # As root of a namespace: it may mount the image.
    buildah unshare scripts/image-test.sh localhost/tidefeed
fi
