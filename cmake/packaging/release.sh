#!/bin/sh
# sh cmake/packaging/release.sh FOLDER: builds what is published of the tagged commit that is checked out, into FOLDER:
# source and binary tarballs, Debian packages, the bill of materials, the changes as notes.md, and SHA256SUMS.
# sh cmake/packaging/release.sh --check: only checks what a release needs. The tag is v and the project's version, the
# tree does not differ from it, and CHANGELOG.md has that version's entry and nothing unreleased.
set -eu
# shellcheck source=cmake/packaging/common.sh
. "$(dirname "$0")/common.sh"
[ $# = 1 ] || { sed -n '2,5s/^# //p' "$0" >&2; exit 2; }
fail() {
  echo "release.sh: $1" >&2
  exit 1
}

tag=$(git_here tag --points-at HEAD | grep '^v' | head -n 1)
[ "$tag" ] || fail "HEAD has no tag v$version"
[ "$tag" = "v$version" ] || fail "the tag is $tag, but CMakeLists.txt says version $version"
[ -z "$(git_here status --porcelain)" ] || fail 'the tree differs from the tag: git status'
[ "$(changes "$version")" ] || fail "CHANGELOG.md has no entry for $version"
[ -z "$(changes Unreleased)" ] || fail "CHANGELOG.md has unreleased changes; they belong to $version"
[ "$1" != --check ] || exit 0

mkdir -p "$1"
folder=$(cd "$1" && pwd)
build=$root/build-release
cd "$root"
sh cmake/setup.sh package "$build" -DMICA_BUILD_TESTS=OFF -DMICA_BUILD_SAMPLES=OFF -DMICA_WITH_MPI=OFF
tarball=$(sh cmake/packaging/tarball.sh source "$folder")
sh cmake/packaging/tarball.sh binary "$build" "$folder"
sh cmake/packaging/sbom.sh "$build" >"$folder/mica-$version.cdx.json"
changes "$version" >"$folder/notes.md"

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
tar -xzf "$tarball" -C "$stage"
sh cmake/packaging/debian.sh "$stage/mica-$version"
(cd "$stage/mica-$version" && DEB_BUILD_OPTIONS=parallel=$(nproc) dpkg-buildpackage -b --no-sign)
rm -f "$stage"/*-dbgsym_*.deb
cp "$stage"/*.deb "$folder/"

cd "$folder"
rm -f SHA256SUMS
sha256sum -- * >"$stage/sums"
mv "$stage/sums" SHA256SUMS
