#!/usr/bin/env bash
# Installs the Docker of Debian's unstable suite beside that of Debian 12, which is too old to keep images in containerd.
#
#     testdata/recipes/docker_sid.sh [DIRECTORY]      default: IMGCHECK_DOCKER, or docker beside the real images
#     PATH=DIRECTORY/bin:$PATH cargo test --features gate,kube --test engines daemon::
#
# Takes a minute and 600 MB of disk; does nothing if it is there. As root, on Debian.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
directory=${1:-${IMGCHECK_DOCKER:-${IMGCHECK_REAL:-$root/testdata/real}/docker}}
mkdir -p "$directory/bin"
directory=$(cd "$directory" && pwd)

if [ ! -x "$directory/root/usr/sbin/dockerd" ]; then
  rm -rf "$directory/root"
  debootstrap --variant=minbase --include=docker.io,docker-cli,containerd,runc sid "$directory/root" >/dev/null
fi

# Each command has a mount namespace of its own, so that nothing stays mounted. /tmp is that of the tests.
command_in_root() { # NAME PATH
  cat >"$directory/bin/$1" <<EOF
#!/bin/sh
exec unshare --mount --propagation private sh -c '
  mount --bind "$directory/root" "$directory/root"
  for name in proc sys dev tmp; do mount --rbind "/\$name" "$directory/root/\$name"; done
  exec chroot "$directory/root" $2 "\$@"' $1 "\$@"
EOF
  chmod +x "$directory/bin/$1"
}
command_in_root docker /usr/bin/docker
command_in_root dockerd /usr/sbin/dockerd
"$directory/bin/dockerd" --version
