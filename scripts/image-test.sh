#!/usr/bin/env bash
# Runs an image of buildah's store as it is meant to run: as its own user, without capabilities, on a root that nothing
# can write to, with one writable volume. Needs root, or that of a namespace (`buildah unshare`): it mounts the image.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

[ $# -eq 1 ] || fail "Usage: scripts/image-test.sh IMAGE"
image=$1
scratch=$(mktemp -d "${TMPDIR:-/tmp}/tidefeed-image.XXXXXX")
log=$scratch/serve.log
app=
node= # the node's own process, below $app
container=
clean_up() {
    end_by_pid "$node"
    end_by_pid "$app"
    if [ -n "$container" ]; then buildah rm "$container" >/dev/null; fi
    rm -rf "$scratch"
}
trap clean_up EXIT
not_as_meant() {
    [ ! -s "$log" ] || tail -n 30 "$log" >&2
    fail "The image does not run as it should: $1."
}

# setting NAME: one of the image's settings, or its words, a line each.
setting() { buildah inspect --type image --format "{{.Docker.Config.$1}}" "$image"; }
words() { buildah inspect --type image --format "{{range .Docker.Config.$1}}{{println .}}{{end}}" "$image" | grep .; }

step "Running $image on a read-only root"
user=$(setting User)
mapfile -t entrypoint < <(words Entrypoint)
mapfile -t command < <(words Cmd)
mapfile -t environment < <(words Env)
mapfile -t health < <(words Healthcheck.Test)
[[ $user =~ ^[1-9][0-9]*:[1-9][0-9]*$ ]] || not_as_meant "its user is \"$user\", not a number other than root's"
[ "$(setting WorkingDir)" = / ] || not_as_meant "its working folder is not /"
[ "${health[0]}" = CMD ] || not_as_meant "its health check needs a shell"

container=$(buildah from "$image")
mount=$(buildah mount "$container")
# What an engine provides.
mkdir -p "$mount/proc" "$mount/dev" "$scratch/data"
printf '127.0.0.1 localhost cache.test\n' >"$mount/etc/hosts"
# An engine fills a new volume with what the image has at its place, owner included.
[ "$(stat -c %u:%g "$mount/data")" = "$user" ] || not_as_meant "/data belongs to somebody else"
chown "$user" "$scratch/data"
chmod 755 "$scratch"

# inside VARIABLE=VALUE... -- PROGRAM ARGUMENT...: runs it in the image, as process 1, with the image's environment.
inside() {
    local variables=()
    while [ "$1" != -- ]; do variables+=("$1") && shift; done
    shift
    # shellcheck disable=SC2016 # the inner shell expands them
    unshare --mount --pid --fork --kill-child sh -euc '
        root=$1 data=$2
        mount --bind "$root" "$root"
        mount -o remount,bind,ro "$root"
        mount --bind "$data" "$root/data"
        mount -t proc proc "$root/proc"
        mount --rbind /dev "$root/dev"
        shift 2
        exec "$@"' sh "$mount" "$scratch/data" \
        "$(command -v env)" -i "${environment[@]}" "${variables[@]}" \
        "$(command -v setpriv)" --no-new-privs "$(command -v chroot)" --userspec="$user" --groups= "$mount" "$@"
}

# has_begun: whether the program runs, the last of a chain of processes, each of which has one child.
has_begun() {
    local child=$app
    while [ -n "$child" ]; do
        node=$child
        child=$(cut -d ' ' -f 1 "/proc/$node/task/$node/children")
    done
    [[ $(readlink "/proc/$node/exe") == *"${entrypoint[0]}" ]]
}

# Refused by a binary that was built without.
inside TIDEFEED__INBOX__STORE=cassandra TIDEFEED__CASSANDRA__CONTACT_POINTS=cache.test:1 -- "${entrypoint[@]}" config >/dev/null ||
    not_as_meant "it has no Cassandra"
inside -- "${entrypoint[@]}" migrate
# What is for trying out is not in what is for production.
if inside -- "${entrypoint[@]}" seed >"$scratch/seed.log" 2>&1; then not_as_meant "it has the demo"; fi
grep -q "built without the demo" "$scratch/seed.log" || not_as_meant "seed says: $(cat "$scratch/seed.log")"

# An issuer needs the list of certificate authorities at the start, though nobody asks it here.
address=127.0.0.1:$(free_port)
issuer=(TIDEFEED__ISSUER__URL=https://issuer.test TIDEFEED__ISSUER__AUDIENCE=tidefeed TIDEFEED__ISSUER__JWKS_URL=https://issuer.test/keys)
inside "TIDEFEED__SERVER__LISTEN=$address" "${issuer[@]}" -- "${entrypoint[@]}" "${command[@]}" >"$log" 2>&1 &
app=$!
wait_until 10 has_begun || not_as_meant "it does not begin"
page_is_up "http://$address" "$app" || not_as_meant "/readyz does not become 200"
say "/readyz: 200"

status() { awk -v name="$1:" '$1 == name { print $2 }' "/proc/$node/status"; }
[ "$(status CapPrm)$(status CapEff)" = 00000000000000000000000000000000 ] || not_as_meant "it has capabilities"
[ "$(status NoNewPrivs)" = 1 ] || not_as_meant "it could get privileges"
awk '$5 == "/" { print $6 }' "/proc/$node/mountinfo" | grep -q '^ro' || not_as_meant "its root can be written to"
say "Its root is read-only, and it has no capability."

inside "TIDEFEED__SERVER__LISTEN=$address" -- "${health[@]:1}" >"$scratch/health.log" 2>&1 ||
    not_as_meant "its health check fails: $(cat "$scratch/health.log")"
say "Health check: $(cat "$scratch/health.log")"

node scripts/image-client.mjs "http://$address" || not_as_meant "a client is not served"

# A static C library looks names up by itself. The answer is a refused connection, not an unknown name.
inside TIDEFEED__REDIS__URLS=redis://cache.test:1/ -- "${entrypoint[@]}" doctor >"$scratch/doctor.log" 2>&1 || true
grep -qi "refused" "$scratch/doctor.log" || not_as_meant "names are not looked up: $(cat "$scratch/doctor.log")"
say "Names are looked up."

kill -TERM "$node"
status=0
wait "$app" || status=$?
app=
if [ "$status" -ne 0 ] || ! grep -q "Stopped." "$log"; then not_as_meant "it does not stop cleanly: exit code $status"; fi
say "It stops cleanly on SIGTERM, as process 1."
