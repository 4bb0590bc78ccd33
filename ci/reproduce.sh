#!/usr/bin/env bash
# Builds the binary of a release again, as differently as one machine can, and compares the bytes.
#
#     ci/reproduce.sh TARGET [BINARY]
#
# Without BINARY the other one is built, too. The two builds have different directories for source, target and CARGO_HOME, and another
# time of the files, umask, locale, time zone and number of jobs. Exit code 1 where the binaries differ.
set -euo pipefail

target=${1:?usage: ci/reproduce.sh TARGET [BINARY]}
cd "$(dirname "$0")/.."
first=${2:-$(ci/build.sh "$target")}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/elsewhere" "$work/home"
git archive HEAD | tar --extract --touch --directory "$work/elsewhere"
# The same crates under another path; cargo fetches what is not there.
for part in registry config.toml; do
  [[ ! -e ${CARGO_HOME:-$HOME/.cargo}/$part ]] || ln -s "$(realpath "${CARGO_HOME:-$HOME/.cargo}/$part")" "$work/home/"
done
second=$(
  umask 077
  export LC_ALL=C.UTF-8 TZ=Pacific/Auckland CARGO_HOME="$work/home" CARGO_TARGET_DIR="$work/target" CARGO_BUILD_JOBS=3
  "$work/elsewhere/ci/build.sh" "$target"
)

sha256sum "$first" "$second"
cmp "$first" "$second" || {
  echo "error: the two builds differ; diffoscope shows where" >&2
  exit 1
}
