# Functions that the scripts share: paths, messages, waiting for a server and stopping it.
# Sourced with bash, never run. The caller has set `-euo pipefail`.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1

# Cargo's target folder, and the binary that the scripts run.
target_dir=${CARGO_TARGET_DIR:-$root/target}
export tidefeed_bin=$target_dir/debug/tidefeed

step() { printf '\n==> %s\n' "$*"; }
say() { printf '    %s\n' "$*"; }
loud() { printf '*** %s\n' "$@" >&2; }
fail() {
    loud "$@"
    exit 1
}

# need_tools: fails, with all that is missing, if a tool is missing that no script installs, or if /dev/null has become
# an ordinary file: then cargo, dpkg and others fail with messages that name anything but it.
need_tools() {
    local missing=() node="Install Node 20.19 or later, with npm: https://nodejs.org"
    [ -c /dev/null ] || missing+=("/dev/null is not a device. As root: rm -f /dev/null; mknod -m 666 /dev/null c 1 3")
    command -v cargo >/dev/null || missing+=("cargo is missing. Install Rust: https://rustup.rs")
    if ! command -v node >/dev/null; then
        missing+=("node is missing. $node")
    elif ! node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)'; then
        missing+=("Node $(node --version) is too old. $node")
    fi
    command -v npm >/dev/null || missing+=("npm is missing. $node")
    [ ${#missing[@]} -eq 0 ] || fail "${missing[@]}"
}

# need_port PORT: fails if another process listens on it. What takes minutes asks first.
need_port() {
    node -e 'require("net").createServer().once("error", () => process.exit(1)).listen(+process.argv[1], "127.0.0.1", () => process.exit(0))' "$1" ||
        fail "Another process uses port $1. Choose another one: make run PORT=9000"
}

# find_browser: exports CHROMIUM, the browser of the tests: the one that it names already, or Debian's build of Chromium
# without windows, which takes 40 % less of the processor, or all of Chromium. Fails if there is none.
find_browser() {
    : "${CHROMIUM:=$(command -v chromium-headless-shell || command -v chromium || true)}"
    [ -n "$CHROMIUM" ] || return
    export CHROMIUM
}

# need_lints: fails if rustfmt or clippy is missing.
need_lints() {
    if ! cargo fmt --version >/dev/null 2>&1 || ! clippy-driver --version >/dev/null 2>&1; then
        fail "rustfmt or clippy is missing. Run: rustup component add rustfmt clippy"
    fi
}

# lint_while_compiling: from here on cargo lints the members while it compiles them. Who compiles them for tests says
# so first: without it they are compiled anew. What others wrote is compiled once either way.
lint_while_compiling() { export RUSTC_WORKSPACE_WRAPPER=$root/scripts/linting-compiler.sh; }

# compile_tests: compiles the binary, all tests, and what else there is to lint.
compile_tests() {
    step "Compiling the tests and the binary (cargo, dev profile; the first time takes a few minutes)"
    cargo test --locked --workspace --all-targets --no-run
}

# lints: fails if clippy has anything to say of the members, and repeats it. All targets are compiled by then.
lints() {
    cargo test --locked --workspace --all-targets --no-run --quiet --message-format=json | node -e '
        const lines = require("fs").readFileSync(0, "utf8").split("\n").filter((line) => line.startsWith("{"));
        const said = lines.map((line) => JSON.parse(line)).filter(({ reason }) => reason === "compiler-message");
        const texts = new Set(said.map(({ message }) => message.rendered));
        for (const text of texts) console.log(text);
        process.exit(texts.size === 0 ? 0 : 1);'
}

# test_binaries: prints the name of each test binary of the workspace.
test_binaries() {
    cargo metadata --locked --no-deps --format-version 1 | node -e '
        const { packages } = JSON.parse(require("fs").readFileSync(0, "utf8"));
        const targets = packages.flatMap(({ targets }) => targets).filter(({ kind }) => kind.includes("test"));
        for (const { name } of targets) console.log(name);'
}

# fresh_seed: prints a random number, from which a long run makes its choices.
fresh_seed() { od -An -N4 -tu4 /dev/urandom | tr -d ' '; }

# free_port: prints a free port of 127.0.0.1.
free_port() {
    node -e 'const s = require("net").createServer(); s.listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close(); });'
}

# may_mount: whether a test may mount a small file system of its own, to fill it. Root may, also that of a namespace
# (`unshare --map-root-user --mount`).
may_mount() {
    local folder status=1
    folder=$(mktemp -d "${TMPDIR:-/tmp}/tidefeed-mount.XXXXXX")
    if mount -t tmpfs -o size=64k tidefeed-test "$folder" 2>/dev/null; then
        umount "$folder"
        status=0
    fi
    rmdir "$folder"
    return "$status"
}

# scratch_in_memory: puts temporary files, the databases of tests among them, into memory (/dev/shm), unless TMPDIR says
# where. A test creates its tables anew, and on a disk the servers wait for it at each table. Needs 6 GB there, and 10
# GB of available memory.
scratch_in_memory() {
    local room available
    [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ] || return 0
    room=$(df --block-size=M --output=avail /dev/shm | tail -n 1 | tr -dc 0-9)
    available=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
    if [ "${room:-0}" -ge 6000 ] && [ "${available:-0}" -ge 10000 ]; then
        export TMPDIR=/dev/shm
        say "Temporary files are in /dev/shm, in memory. TMPDIR=/tmp leaves them on the disk."
    fi
}

# wait_until SECONDS COMMAND...: succeeds as soon as the command does, fails when the time is up.
wait_until() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.1
    done
}

# fingerprint PATH...: prints a hash of all files under the paths, except those that are built or downloaded.
fingerprint() {
    find "$@" \( -name node_modules -o -name dist -o -name test-results \) -prune -o -type f -print0 |
        LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum
}
# same_as_before FILE PATH...: whether FILE holds the fingerprint of the paths.
same_as_before() {
    local file=$1
    shift
    [ -f "$file" ] && [ "$(cat "$file")" = "$(fingerprint "$@")" ]
}

running() { [ -n "${1:-}" ] && kill -0 "$1" 2>/dev/null; }
stopped() { ! running "$1"; }

# end_by_pid PID: sends TERM, and KILL after fifteen seconds.
end_by_pid() {
    running "${1:-}" || return 0
    kill "$1" 2>/dev/null || true
    wait_until 15 stopped "$1" || kill -9 "$1" 2>/dev/null || true
}

# answers URL: whether an HTTP request succeeds.
answers() { node -e 'fetch(process.argv[1]).then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))' "$1"; }

ready_or_gone() { answers "$1/readyz" || stopped "$2"; }
# page_is_up URL PID: waits until the server is ready. Fails if its process ends or two minutes pass.
page_is_up() {
    wait_until 120 ready_or_gone "$1" "$2" && running "$2"
}

# packages FOLDER: installs what its lock file names, unless that is installed already.
packages() {
    local installed=$1/node_modules/.installed-from
    if same_as_before "$installed" "$1/package.json" "$1/package-lock.json"; then
        say "npm packages of $1: unchanged"
        return
    fi
    step "Installing the npm packages of $1 (npm ci)"
    npm --prefix "$1" ci --no-audit --no-fund --loglevel=error
    fingerprint "$1/package.json" "$1/package-lock.json" >"$installed"
}

# build_packages: builds @tidefeed/client and @tidefeed/react, which the page and the suites of the clients are
# built on, unless they are built already.
build_packages() {
    local folder built
    for folder in clients/typescript clients/react; do
        packages "$folder"
        built=$folder/node_modules/.built-from
        if [ -f "$folder/dist/index.js" ] && same_as_before "$built" clients/typescript "$folder"; then
            say "$folder: unchanged"
            continue
        fi
        step "Building $folder"
        npm --prefix "$folder" run build
        fingerprint clients/typescript "$folder" >"$built"
    done
}

# build_all [FEATURE...]: builds the web pages if their sources have changed, then the binary that contains them
# ($tidefeed_bin). In the profile that PROFILE names: dev, which is built in minutes and shares what others wrote with
# `make test`, or release, with Cassandra.
build_all() {
    local profile=${PROFILE:-dev} began features=cassandra takes="10 to 20 minutes"
    need_tools
    scripts/install-compiler.sh
    scripts/web.sh
    if [ "$profile" = dev ]; then
        features=as-in-tests takes="3 to 6 minutes"
    fi
    tidefeed_bin=$target_dir/$([ "$profile" = dev ] && echo debug || echo "$profile")/tidefeed
    step "Building tidefeed (cargo, profile $profile; $takes the first time on two cores, then a part of it after a change)"
    began=$SECONDS
    cargo build --locked --profile "$profile" --features "$features $*"
    say "Built in $((SECONDS - began)) s: $tidefeed_bin, $(du -h "$tidefeed_bin" | cut -f1)"
}

# say_how_fast URL: what a page takes in the dev profile, and how to get a faster one.
say_how_fast() {
    local ms
    [ "${PROFILE:-dev}" = dev ] || return 0
    ms=$(node scripts/page-time.mjs "$1" 2>/dev/null) || return 0
    say "A page of the timeline takes $ms ms in this build, which is quick to make. For a fast one, in which a page takes"
    say "a fifth of that: make run PROFILE=release (10 to 20 minutes the first time)."
}

# fill_store: brings the tables up to date, and seeds an empty database.
fill_store() {
    step "Bringing the tables up to date"
    "$tidefeed_bin" migrate
    step "Seeding, if the database is empty"
    "$tidefeed_bin" seed --if-empty
}

# serve_on PORT: starts tidefeed with public pages in the background (its pid: $app), prints the addresses once it is
# ready, and returns when it ends. The terminal sends Ctrl-C to it; this script forwards TERM and HUP. Seeded people act
# while it runs, unless LIVE=0.
serve_on() {
    local url=http://127.0.0.1:$1 status=0 command=(seed --if-empty --live)
    [ "${LIVE:-1}" != 0 ] || command=(serve)
    step "Starting tidefeed on $url (Ctrl-C stops it)"
    TIDEFEED__SERVER__LISTEN=127.0.0.1:$1 TIDEFEED__API__PUBLIC_PAGES=${TIDEFEED__API__PUBLIC_PAGES:-true} "$tidefeed_bin" "${command[@]}" &
    app=$!
    trap ':' INT
    trap 'kill "$app" 2>/dev/null || true' TERM HUP
    if page_is_up "$url" "$app"; then
        printf '\n    The page:    %s\n    GraphiQL:    %s/graphiql\n\n' "$url" "$url"
        say_how_fast "$url"
    fi
    while running "$app"; do
        status=0
        wait "$app" || status=$?
    done
    trap - INT TERM HUP
    return "$status"
}
