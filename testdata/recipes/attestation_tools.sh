#!/usr/bin/env bash
# cosign and oras, which stable releases of Debian do not have, from its unstable suite: programs that need no other package.
#
#     testdata/recipes/attestation_tools.sh     # into testdata/real/tools/usr/bin, or $IMGCHECK_REAL/tools/usr/bin
#
# Nothing is installed: the packages are unpacked.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools=$(realpath -m "${IMGCHECK_REAL:-testdata/real}/tools")
[[ -x $tools/usr/bin/cosign && -x $tools/usr/bin/oras ]] && exit 0

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$tools" "$scratch/lists/partial" "$scratch/cache/archives/partial"
# shellcheck disable=SC2016 # apt-get expands it
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -v security | head -n 1)
keys=/usr/share/keyrings/debian-archive-keyring.gpg
echo "deb [signed-by=$keys] $mirror unstable main" >"$scratch/sources.list"
options=(
  -qq -o "Dir::Etc::SourceList=$scratch/sources.list" -o Dir::Etc::SourceParts=/dev/null
  -o "Dir::State::Lists=$scratch/lists" -o "Dir::Cache=$scratch/cache" -o APT::Sandbox::User=root
)
cd "$scratch"
apt-get "${options[@]}" update
for package in cosign oras; do
  apt-get "${options[@]}" download "$package"
  dpkg-deb --extract "$package"_*.deb "$tools"
done
"$tools/usr/bin/cosign" version >/dev/null 2>&1
