#!/bin/sh
# Installs imgcheck for a CI job: the released binary, verified by its checksum, or a build by cargo where none was released.
#
#     ci/install.sh VERSION DIRECTORY [SOURCE]
#
# VERSION    as in 0.1.0 or v0.1.0; a full commit, which is built; or `source` to build in any case
# DIRECTORY  where the binary goes
# SOURCE     the source tree to build, or a full commit of the repository; without it, the tag of the version, or the default branch
#
# IMGCHECK_RELEASES is another place that holds the releases, such as a mirror, at https: or file: below it lies v0.1.0/SHA256SUMS.
set -eu

repository=https://github.com/imgcheck/imgcheck
releases=${IMGCHECK_RELEASES:-$repository/releases/download}
version=${1:?usage: ci/install.sh VERSION DIRECTORY [SOURCE]}
version=${version#v}
directory=${2:?usage: ci/install.sh VERSION DIRECTORY [SOURCE]}
source=${3:-}
full_commit='\([0-9a-f]\{40\}\)$'
commit=$(expr "$version" : "$full_commit") || commit=$(expr "$source" : "$full_commit") || true

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$directory"

fail() {
  echo "error: $1" >&2
  exit 1
}

# Fetches a file, and prints the HTTP status, which is 000 without an answer and for file:.
fetch() { # URL FILE
  curl --fail --silent --show-error --location --proto '=https,file' --retry 3 --write-out '%{http_code}' --output "$2" "$1"
}

target() {
  case "$(uname -s) $(uname -m)" in
    'Linux x86_64') echo x86_64-unknown-linux-musl ;;
    'Linux aarch64') echo aarch64-unknown-linux-musl ;;
    *) echo none ;;
  esac
}

# The binary of a release. Returns 1 if there is none, with the reason in `missing`; a wrong checksum ends the script.
released() {
  command -v curl >/dev/null || {
    missing='curl is missing'
    return 1
  }
  code=0
  status=$(fetch "$releases/v$version/SHA256SUMS" "$work/SHA256SUMS") || code=$?
  case $code:$status in
    0:*) ;;
    22:404 | 37:*) # no such file, on a server or on the disk
      missing="there is no release v$version"
      return 1
      ;;
    22:401 | 22:403 | 22:407) fail "$releases refuses access (HTTP status $status); set IMGCHECK_RELEASES to a mirror that you may read" ;;
    22:*) fail "$releases answers with HTTP status $status; try again later, or set IMGCHECK_RELEASES to a mirror" ;;
    *) fail "$releases cannot be reached (curl exit code $code); check the network and its proxy, or set IMGCHECK_RELEASES to a mirror" ;;
  esac
  name=imgcheck-$version-$(target)
  awk -v name="$name.tar.gz" '$2 == name' "$work/SHA256SUMS" >"$work/wanted"
  test -s "$work/wanted" || {
    missing="release v$version has nothing for this platform ($(uname -s) $(uname -m))"
    return 1
  }
  fetch "$releases/v$version/$name.tar.gz" "$work/$name.tar.gz" >/dev/null || fail "$name.tar.gz cannot be fetched"
  (cd "$work" && sha256sum -c wanted >&2) || fail "$name.tar.gz does not have the checksum that SHA256SUMS names"
  tar -xzf "$work/$name.tar.gz" -C "$work"
  cp "$work/$name/imgcheck" "$directory/imgcheck"
}

built() {
  command -v cargo >/dev/null || fail "${missing:+$missing, and }there is no cargo to build imgcheck (https://rustup.rs)"
  echo "${missing:+$missing; }cargo builds imgcheck, which takes some minutes" >&2
  if test -n "$commit"; then
    set -- --git "$repository" --rev "$commit" imgcheck
  elif test -n "$source"; then
    set -- --path "$source"
  elif test "$version" = source; then
    set -- --git "$repository" imgcheck
  else
    set -- --git "$repository" --tag "v$version" imgcheck
  fi
  cargo install --locked --root "$work/built" --features object-storage "$@"
  cp "$work/built/bin/imgcheck" "$directory/imgcheck"
}

missing=
case $version in
  source | "${commit:-source}") built ;;
  *)
    expr "$version" : '\([0-9]\{1,\}\.[0-9]\{1,\}\.[0-9]\{1,\}\(-[0-9A-Za-z.-]\{1,\}\)\{0,1\}\)$' >/dev/null \
      || fail "\`$version\` is no version: write it as in 0.1.0, a full commit, or \`source\`"
    released || built
    ;;
esac
"$directory/imgcheck" --version
