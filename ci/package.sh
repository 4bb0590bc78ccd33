#!/usr/bin/env bash
# Packs a built binary with its man pages and shell completions, as a release holds it.
#
#     ci/package.sh BINARY TARGET DIRECTORY
#
# Writes DIRECTORY/imgcheck-VERSION-TARGET.tar.gz. The same binary gives the same bytes.
set -euo pipefail

binary=$(realpath "$1")
target=$2
directory=$(realpath "$3")
cd "$(dirname "$0")/.."

version=$("$binary" --version | cut -d ' ' -f 2)
name=imgcheck-$version-$target
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/$name/completions" "$work/$name/man"
install -m 755 "$binary" "$work/$name/imgcheck"
cp README.md CHANGELOG.md LICENSE "$work/$name/"
for shell in bash zsh fish; do
  "$binary" completions "$shell" >"$work/$name/completions/imgcheck.$shell"
done
"$binary" man "$work/$name/man"

tar --directory "$work" --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w \
  --mtime="@${SOURCE_DATE_EPOCH:-0}" --create "$name" | gzip --no-name -9 >"$directory/$name.tar.gz"
echo "$directory/$name.tar.gz"
