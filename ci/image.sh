#!/usr/bin/env bash
# Makes the container image: a static binary, the certificates of this machine, an empty directory for state, and nothing else.
#
#     ci/image.sh BINARY TAG
#
# Needs no network: the image starts from scratch.
set -euo pipefail

binary=$(realpath "${1:?usage: ci/image.sh BINARY TAG}")
tag=${2:?usage: ci/image.sh BINARY TAG}
cd "$(dirname "$0")/.."

context=$(mktemp -d)
trap 'rm -rf "$context"' EXIT
mkdir -p "$context/certs" "$context/state"
install -m 755 "$binary" "$context/imgcheck"
install -m 644 /etc/ssl/certs/ca-certificates.crt "$context/certs/"
docker build --network none --file deploy/Dockerfile --tag "$tag" "$context" >&2
