#!/usr/bin/env bash
# Shows that a program which was built or installed tells right from wrong.
#
#     ci/smoke.sh COMMAND...
#
# COMMAND is what starts it, such as `imgcheck` or `docker run -i --rm imgcheck`. It gets the images on standard input.
set -euo pipefail

: "${1:?usage: ci/smoke.sh COMMAND...}"
samples=$(dirname "$0")/../testdata/sample

expect() { # STATUS COMMAND...
  local wanted=$1 status=0
  shift
  "$@" || status=$?
  ((status == wanted)) || {
    echo "error: exit code $status instead of $wanted: $*" >&2
    exit 1
  }
}

expect 0 "$@" - <"$samples/pytorch-pytorch-2.8.0-cuda12.8-cudnn9-runtime.tar"
expect 1 "$@" - <"$samples/pytorch-cuda-v2.9.tar"
expect 0 "$@" rules test
