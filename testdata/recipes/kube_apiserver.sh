#!/usr/bin/env bash
# Builds a Kubernetes API server for the tests: kube-apiserver 1.20 from the source package of Debian 12, and kubectl of Debian's
# unstable suite (a static program, with kustomize).
#
#     testdata/recipes/kube_apiserver.sh [DIRECTORY]      default: IMGCHECK_KUBE, or kube beside the real images
#
# Takes about 6 minutes on 2 cores and 2 GB of disk, of which 140 MB stay; does nothing if both programs are there. As root, on Debian 12,
# it installs Go, etcd and what reads source packages. Nothing newer is packaged. 1.20 has no matchConditions, no native sidecars and
# no ResourceSlices, so tests of these use recorded requests.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
directory=${1:-${IMGCHECK_KUBE:-${IMGCHECK_REAL:-$root/testdata/real}/kube}}
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)

work=
trap 'rm -rf "$work"' EXIT

# apt-get with package lists of its own; the first argument is a line of sources.list without type and address.
apt() {
  local suite=$1 mirror
  shift
  # Of the two places, one may be missing.
  mirror=$({ grep -rhoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null || true; } | head -1 | tr -d ' ')
  mkdir -p "$work/lists-$suite/partial"
  printf '%s [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' \
    deb "$mirror" "$suite" deb-src "$mirror" "$suite" >"$work/$suite.list"
  local -a options=(
    -qq -o "Dir::Etc::sourcelist=$work/$suite.list" -o Dir::Etc::sourceparts=/dev/null
    -o "Dir::State::lists=$work/lists-$suite" -o APT::Sandbox::User=root
  )
  # The packages of another suite do not count as upgrades of this system.
  [ "$suite" = bookworm ] || options+=(-o Dir::State::status=/dev/null)
  apt-get "${options[@]}" update
  apt-get "${options[@]}" "$@"
}

install_tools() {
  local -a missing=()
  command -v etcd >/dev/null || missing+=(etcd-server)
  [ -x /usr/lib/go-1.19/bin/go ] || missing+=(golang-1.19-go)
  command -v dpkg-source >/dev/null || missing+=(dpkg-dev)
  ((${#missing[@]} == 0)) || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

fetch_kubectl() {
  (cd "$work" && apt sid download kubectl && dpkg-deb -x kubectl_*.deb kubectl)
  mv "$work/kubectl/usr/bin/kubectl" "$directory/kubectl"
}

# Debian's package leaves out the generated OpenAPI code, so it is generated first, for the packages that ask for it.
build_server() {
  export PATH=/usr/lib/go-1.19/bin:$PATH GOPATH=$work/go GOCACHE=$work/cache GO111MODULE=off CGO_ENABLED=0 GOFLAGS=
  local source=$GOPATH/src/k8s.io/kubernetes packages
  (cd "$work" && apt bookworm source --download-only kubernetes)
  mkdir -p "$(dirname "$source")"
  dpkg-source --no-check -x "$work"/kubernetes_*.dsc "$source" >/dev/null
  cd "$source"
  packages=$(
    grep -rlE '\+k8s:openapi-gen=true' --include=*.go pkg staging/src cmd vendor/k8s.io \
      | grep -vE '_test\.go$|kube-openapi/test|/examples?/|sample-' | xargs -n1 dirname \
      | sed -e 's,^staging/src/,,' -e 's,^vendor/,,' -e 's,^\(pkg\|cmd\),k8s.io/kubernetes/\1,' | sort -u | paste -sd,
  )
  go run ./vendor/k8s.io/kube-openapi/cmd/openapi-gen --go-header-file hack/boilerplate/boilerplate.generatego.txt -i "$packages" \
    -p k8s.io/kubernetes/pkg/generated/openapi -O zz_generated.openapi -r "$work/violations" --output-base "$GOPATH/src"
  go build -ldflags '-s -w' -o "$directory/kube-apiserver.part" ./cmd/kube-apiserver
  mv "$directory/kube-apiserver.part" "$directory/kube-apiserver"
}

if [ -x "$directory/kube-apiserver" ] && [ -x "$directory/kubectl" ] && command -v etcd >/dev/null; then
  echo "kube-apiserver and kubectl: already there"
  exit
fi
work=$(mktemp -d "$directory/.making-XXXX")
install_tools
[ -x "$directory/kubectl" ] || fetch_kubectl
[ -x "$directory/kube-apiserver" ] || build_server
echo "kube-apiserver and kubectl: made in $SECONDS s"
