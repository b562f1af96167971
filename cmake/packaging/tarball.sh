#!/bin/sh
# sh cmake/packaging/tarball.sh source FOLDER          mica-<version>.tar.gz, the files of HEAD
# sh cmake/packaging/tarball.sh binary BUILD FOLDER    mica-<version>-<system>.tar.gz, what the build folder installs
#
# A commit always gives the same bytes: files are sorted, belong to root and have the commit's time. Prints the file.
set -eu
# shellcheck source=cmake/packaging/common.sh
. "$(dirname "$0")/common.sh"

usage() {
  sed -n '2,3s/^# //p' "$0" >&2
  exit 2
}

case ${1:-} in
  source)
    [ $# = 2 ] || usage
    mkdir -p "$2"
    file=$2/mica-$version.tar.gz
    git_here -c tar.umask=0022 archive --format=tar --prefix="mica-$version/" HEAD | gzip -n >"$file.new" ;;
  binary)
    [ $# = 3 ] || usage
    mkdir -p "$3"
    name=$(sed -n 's/^set(CPACK_PACKAGE_FILE_NAME "\(.*\)")$/\1/p' "$2/CPackConfig.cmake")
    file=$3/$name.tar.gz
    stage=$(mktemp -d)
    trap 'rm -rf "$stage"' EXIT
    cmake --install "$2" --strip --prefix "$stage/$name" >/dev/null
    find "$stage" -exec chmod go-w,u+w,a+rX {} +
    tar --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -C "$stage" \
      -cf - "$name" | gzip -n >"$file.new" ;;
  *) usage ;;
esac
mv "$file.new" "$file"
echo "$file"
