#!/usr/bin/env bash
# Builds what `make run` builds, and asks it what nobody else asks: whether a binary without Cassandra says so, and
# whether the tests are compiled from the same crates of others, so that nobody waits for them twice. Before that it
# builds one without the demo, as for production, which says so too.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

while IFS= read -r name; do unset "$name"; done < <(compgen -e TIDEFEED__ || true)
unset RUSTC_WORKSPACE_WRAPPER PROFILE
scratch=$(mktemp -d "${TMPDIR:-/tmp}/tidefeed-first-run.XXXXXX")
app=
clean_up() {
    end_by_pid "$app"
    rm -rf "$scratch"
}
trap clean_up EXIT
build_all

step "Asking for the demo, which this binary has not"
export TIDEFEED__STORE__URL=sqlite://$scratch/tidefeed.db
warnings=$(cargo build --locked --features as-in-tests 2>&1 | sed -n '/^warning/,$p')
[ -z "$warnings" ] || fail "The product without the demo is compiled with warnings:" "$warnings"
for arguments in "" --if-empty "--users 30 --add"; do
    # shellcheck disable=SC2086 # several arguments
    if said=$(timeout 60 "$tidefeed_bin" seed $arguments 2>&1); then fail "\`tidefeed seed $arguments\` did something."; fi
    [[ $said == "error: This binary was built without the demo"*"make run, or cargo build --features demo." ]] ||
        fail "\`tidefeed seed $arguments\` said instead:" "$said"
done
say "tidefeed seed: refused, in one sentence"
"$tidefeed_bin" migrate
port=$(free_port)
TIDEFEED__SERVER__LISTEN=127.0.0.1:$port "$tidefeed_bin" serve >"$scratch/serve.log" 2>&1 &
app=$!
page_is_up "http://127.0.0.1:$port" "$app" || fail "The server did not become ready:" "$(cat "$scratch/serve.log")"
for drawn in pictures/1 avatars/U_AAAAAAAAAAE banners/U_AAAAAAAAAAE; do
    if answers "http://127.0.0.1:$port/$drawn.svg"; then fail "A server without the demo draws $drawn.svg."; fi
done
say "pictures, avatars and banners: not found"
end_by_pid "$app"

build_all demo

step "Asking for inboxes in Cassandra, which this binary has not"
export TIDEFEED__INBOX__STORE=cassandra
for command in config doctor migrate "seed --if-empty" serve work "inbox status" audit; do
    # shellcheck disable=SC2086 # a command and its arguments
    if said=$(timeout 60 "$tidefeed_bin" $command 2>&1); then fail "\`tidefeed $command\` accepted it."; fi
    grep -q "this binary was built without Cassandra" <<<"$said" || fail "\`tidefeed $command\` said instead:" "$said"
    say "tidefeed $command: refused, in one sentence"
done

step "Comparing the crates of the binary with those of the tests"
cargo build --locked --features as-in-tests,demo --message-format=json >"$scratch/run" 2>/dev/null
cargo test --locked --workspace --no-run --message-format=json >"$scratch/tests" 2>/dev/null
# TLS to Cassandra brings a second provider of cryptography, in C, which a first run need not wait for. So what uses
# TLS is compiled again for the tests.
of_tls=" rustls rustls-webpki tokio-rustls hyper-rustls rustls-platform-verifier reqwest redis sqlx sqlx-core"
of_tls+=" sqlx-mysql sqlx-sqlite sea-orm sea-query-sqlx "
node -e '
    const lines = (file) => require("fs").readFileSync(file, "utf8").split("\n").filter((line) => line.startsWith("{"));
    const artifacts = (file) => lines(file).map((line) => JSON.parse(line)).filter((it) => it.reason === "compiler-artifact");
    const others = (file) => artifacts(file).filter((it) => it.package_id.startsWith("registry"));
    const shared = new Set(others(process.argv[2]).flatMap((it) => it.filenames));
    const twice = others(process.argv[1]).filter((it) => !it.filenames.every((name) => shared.has(name)));
    const names = twice.map((it) => it.package_id.split("#")[1]);
    const unexpected = names.filter((name) => !process.argv[3].includes(` ${name.split("@")[0]} `));
    for (const name of unexpected) console.log(`    compiled twice: ${name}`);
    console.log(`    ${others(process.argv[1]).length - twice.length} crates are shared, ${twice.length} are not`);
    process.exit(unexpected.length === 0 ? 0 : 1);' "$scratch/run" "$scratch/tests" "$of_tls" ||
    fail "Name the features that the tests add in as-in-tests (Cargo.toml)."
