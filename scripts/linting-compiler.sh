#!/usr/bin/env bash
# Stands between cargo and the compiler of the workspace's members (RUSTC_WORKSPACE_WRAPPER): clippy, which lints what
# it compiles. Lints only warn here, so that tests run whatever they say; `lints` of lib.sh fails for each warning.
# (Not sh: dash keeps variables such as CARGO_BIN_EXE_tidefeed-bench from the compiler.)
#
# The build script of tidefeed puts the web pages into the binary. While the file that PAGES_PENDING names is there,
# they are being built, and it waits.
case "${CARGO_PKG_NAME:-} $*" in
"tidefeed "*--crate-name\ build_script_build*) while [ -e "${PAGES_PENDING:-}" ]; do sleep 0.2; done ;;
esac
exec clippy-driver "$@" --cap-lints=warn
