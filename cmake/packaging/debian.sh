#!/bin/sh
# sh cmake/packaging/debian.sh TREE: puts debian/ into TREE, an unpacked source tarball, where `dpkg-buildpackage -b`
# then builds the packages libmica<soversion>, libmica-run<soversion>, libmica-dev and mica. Words such as @VERSION@
# are replaced.
set -eu
# shellcheck source=cmake/packaging/common.sh
. "$(dirname "$0")/common.sh"
[ $# = 1 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }

rm -rf "$1/debian"
cp -R "$root/cmake/packaging/debian" "$1/"
date=$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
find "$1/debian" -type f -exec sed -i "s/@VERSION@/$version/g; s/@SOVERSION@/$soversion/g; s/@DATE@/$date/" {} +
chmod 755 "$1/debian/rules" "$1"/debian/tests/[!c]*
