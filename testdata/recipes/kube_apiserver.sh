#!/usr/bin/env bash
# Builds a Kubernetes API server for the tests: kube-apiserver 1.20 from the source package of Debian 12, and kubectl of Debian's
# unstable suite (a static program, with kustomize).
#
#     testdata/recipes/kube_apiserver.sh [DIRECTORY]      default: IMGCHECK_KUBE, or imgcheck/kube in the user's cache
#
# Takes about 3 minutes on 2 cores and 2 GB of disk, of which 140 MB stay; does nothing if both programs are there. As root, on Debian 12,
# it installs Go, etcd and what reads source packages. Nothing newer is packaged. 1.20 has no matchConditions, no native sidecars and
# no ResourceSlices, so tests of these use recorded requests.
#
# The server is built without cloud providers and without OpenAPI, which saves half of the time: kubectl cannot validate by its schemas,
# and there is no server-side apply.
set -euo pipefail
directory=${1:-${IMGCHECK_KUBE:-${XDG_CACHE_HOME:-$HOME/.cache}/imgcheck/kube}}
mkdir -p "$directory"
directory=$(cd "$directory" && pwd)

# The version of this library that Kubernetes 1.20 has crashes with Go 1.18 and later, at the first object of a custom kind.
reflect2=/usr/share/gocode/src/github.com/modern-go/reflect2

work=
trap 'rm -rf "$work"' EXIT

# apt-get with package lists of its own: those of a type (deb or deb-src) and a suite.
apt() {
  local type=$1 suite=$2 mirror
  shift 2
  # Of the two places, one may be missing.
  mirror=$({ grep -rhoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null || true; } | head -1 | tr -d ' ')
  mkdir -p "$work/lists-$suite/partial"
  printf '%s [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$type" "$mirror" "$suite" >"$work/$suite.list"
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
  [ -d "$reflect2" ] || missing+=(golang-github-modern-go-reflect2-dev)
  ((${#missing[@]} == 0)) || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

fetch_kubectl() {
  (cd "$work" && apt deb sid download kubectl && dpkg-deb -x kubectl_*.deb kubectl)
  mv "$work/kubectl/usr/bin/kubectl" "$directory/kubectl"
}

# Debian's package leaves out the generated OpenAPI code, so the server does without; authentication, which needs its configuration, is set
# up before. A larger GOGC: more memory for less time.
build_server() {
  export PATH=/usr/lib/go-1.19/bin:$PATH GOPATH=$work/go GOCACHE=$work/cache GO111MODULE=off CGO_ENABLED=0 GOGC=400 GOFLAGS=
  local source=$GOPATH/src/k8s.io/kubernetes
  (cd "$work" && apt deb-src bookworm source --download-only kubernetes)
  mkdir -p "$(dirname "$source")"
  dpkg-source --no-check -x "$work"/kubernetes_*.dsc "$source" >/dev/null
  cd "$source"
  rm -r vendor/github.com/modern-go/reflect2
  cp -r "$reflect2" vendor/github.com/modern-go/
  cat >pkg/generated/openapi/none.go <<'GO'
package openapi

import "k8s.io/kube-openapi/pkg/common"

func GetOpenAPIDefinitions(common.ReferenceCallback) map[string]common.OpenAPIDefinition { return nil }
GO
  sed -i '/genericConfig.Authorization.Authorizer, /i genericConfig.OpenAPIConfig = nil' cmd/kube-apiserver/app/server.go
  grep -q 'OpenAPIConfig = nil' cmd/kube-apiserver/app/server.go
  go build -tags providerless -ldflags '-s -w' -gcflags 'k8s.io/kubernetes/...=-dwarf=false' -o "$directory/kube-apiserver.part" ./cmd/kube-apiserver
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
