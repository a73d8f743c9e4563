#!/bin/sh
# SPDX-License-Identifier: MIT
# Called as root by whatever builds a dev container with this feature; the package lies beside it.
set -eu
cd "$(dirname "$0")"
deb=$(ls ryefs_*_"$(dpkg --print-architecture)".deb 2>/dev/null) || {
  echo "ryefs: this feature has no package for $(dpkg --print-architecture)" >&2
  exit 1
}
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends "./$deb" ca-certificates libcurl4 python3
[ "${MOUNT:-false}" != true ] || apt-get install -y --no-install-recommends fuse3
rm -rf /var/lib/apt/lists/*
ryefs --version
