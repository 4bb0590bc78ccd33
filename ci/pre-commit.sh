#!/bin/sh
# The hook of pre-commit: imgcheck as a release has it, or as cargo builds it where none was released. Installed once beside the sources of the hook.
set -eu

sources=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' "$sources/Cargo.toml" | head -n 1)
directory=$sources/target/hook
"$directory/imgcheck" --version >/dev/null 2>&1 || "$sources/ci/install.sh" "$version" "$directory" "$sources" >&2 || {
  echo "help: the hook \`imgcheck-lint-system\` uses an imgcheck that is installed already" >&2
  exit 1
}
exec "$directory/imgcheck" "$@"
