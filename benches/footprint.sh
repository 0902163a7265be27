#!/usr/bin/env bash
# Prints what the crate costs a build: packages, time of a clean release build beside `backon`'s, lines of code.
set -euo pipefail
unset CARGO_TARGET_DIR
cd "$(dirname "$0")/.."
directory=$(mktemp -d)
trap 'rm -r "$directory"' EXIT

# A package of its own for each, so that both are built as dependencies, with their default features.
build_time() {
    cargo new --quiet --vcs none "$directory/with-$1"
    cargo add --quiet --manifest-path "$directory/with-$1/Cargo.toml" "${@:2}" 2> /dev/null
    cargo fetch --quiet --manifest-path "$directory/with-$1/Cargo.toml"
    local start=$EPOCHREALTIME
    cargo build --quiet --release --manifest-path "$directory/with-$1/Cargo.toml"
    awk "BEGIN { print $EPOCHREALTIME - $start }"
}

ours=$(build_time retry-machine --path .)
backons=$(build_time backon backon)
echo "packages (cargo tree -e normal): $(cargo tree -e normal --prefix none --no-dedupe | cut -d ' ' -f 1,2 | sort -u | wc -l), itself included"
echo "clean release build: $(awk "BEGIN { printf \"%.1f\", $ours / $backons }") times that of backon ($ours s and $backons s)"
echo "lines of code, without comments, blank lines and tests: $(
    awk 'FNR == 1 { tests = 0 } /^#\[cfg\(test\)\]/ { tests = 1 } !tests && NF && !/^ *\/\// { lines++ } END { print lines }' $(find src -name '*.rs')
)"
