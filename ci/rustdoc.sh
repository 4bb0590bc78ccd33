#!/usr/bin/env bash
# Documentation of the code as `cargo doc` makes it, from the libraries that a build has made; `cargo doc` would compile all of them again:
#
#     RUSTDOC=$PWD/ci/rustdoc.sh cargo test --doc --workspace
#
# cargo calls it in place of rustdoc, with the options for tests of the documentation: those are left out.
set -euo pipefail

options=(--out-dir "${CARGO_TARGET_DIR:-$PWD/target}/doc")
while (($#)); do
  case $1 in
    --test | --no-run) shift ;;
    --test-run-directory | --test-runtool | --test-args) shift 2 ;;
    *)
      options+=("$1")
      shift
      ;;
  esac
done
exec rustdoc "${options[@]}"
