#!/usr/bin/env bash
# Writes the bill of materials of a built binary (CycloneDX, JSON), out of the list of crates that the binary itself carries.
#
#     ci/sbom.sh BINARY TARGET FILE
#
# Wants auditable2cdx. Exit code 1 unless the bill names every crate that cargo builds for the target, each in the version of Cargo.lock.
set -euo pipefail

binary=${1:?usage: ci/sbom.sh BINARY TARGET FILE} target=$2 file=$3
auditable2cdx "$binary" >"$file"

cd "$(dirname "$0")/.."
python3 - "$file" <(cargo tree --locked --features gate,kube,object-storage,otel,parquet --target "$target" --edges normal,build --prefix none --format '{p}') <<'PYTHON'
import json, sys

bill = json.load(open(sys.argv[1], encoding="utf-8"))
own = bill.get("metadata", {}).get("component")
named = {(part["name"], part["version"]) for part in [*filter(None, [own]), *bill["components"]]}
# As in `serde v1.0.228 (proc-macro)`
built = {tuple(line.split()[:2]) for line in open(sys.argv[2], encoding="utf-8") if line.strip()}
absent = sorted(f"{name} {version}" for name, version in built if (name, version.removeprefix("v")) not in named)
if absent:
    sys.exit(f"error: the bill of materials lacks {', '.join(absent)}")
print(f"{len(named)} crates, all {len(built)} that are built among them")
PYTHON
