#!/usr/bin/env bash
# Builds the binary of a release, so that whoever builds it again gets the same bytes: no path of the machine is in it.
#
#     ci/build.sh TARGET [WHEELS]
#
# Wants cargo-auditable, which puts the list of crates into the binary. Prints the path of the binary. With WHEELS, a directory, it also
# writes a wheel for Python there, for which it wants maturin.
set -euo pipefail

target=${1:?usage: ci/build.sh TARGET [WHEELS]}
wheels=${2:+$(realpath --canonicalize-missing "$2")}
cd "$(dirname "$0")/.."
output=$(realpath --canonicalize-missing "${CARGO_TARGET_DIR:-target}")

# The last prefix that fits counts, and the target directory often lies in the source.
rust=() c=()
for prefix in "${CARGO_HOME:-$HOME/.cargo}=/cargo" "$PWD=/imgcheck" "$output=/target"; do
  rust+=("--remap-path-prefix=$prefix")
  c+=("-ffile-prefix-map=$prefix")
done
CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && echo "${rust[*]}")
export CARGO_ENCODED_RUSTFLAGS CFLAGS="${c[*]}" CARGO_TARGET_DIR=$output

# The C of mimalloc contains the date and time of its compilation.
export SOURCE_DATE_EPOCH=0

# A hash map below parquet takes its seed from the build.
export CONST_RANDOM_SEED=imgcheck

features=gate,kube,object-storage,otel,parquet
cargo auditable build --profile dist --locked --features "$features" --target "$target" >&2
if [[ $wheels ]]; then
  # A static binary runs with glibc and with musl.
  tags=(pypi)
  [[ $target != *-musl ]] || tags=(musllinux_1_2 manylinux2014)
  maturin build --profile dist --features "$features" --target "$target" --compatibility "${tags[@]}" --out "$wheels" >&2
fi
echo "$output/$target/dist/imgcheck"
