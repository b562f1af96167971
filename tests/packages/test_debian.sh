#!/bin/sh
# labels: long packages
# sh tests/packages/test_debian.sh: the Debian packages, in two minimal Debians of their own. In one the source tarball
# is built by dpkg-buildpackage and examined by lintian. In the other the packages are installed, and debian/tests pass.
# Apt installs what each declares; build and tests then run as a plain user and without a network.
#
# Needs root, debootstrap and the mirror that this machine's apt uses. $MICA_BUILD_DIR/packages keeps the bare Debian
# (200 MB) and the packages.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
work=${MICA_BUILD_DIR:-$root/build}/packages
skip() {
  echo "SKIP: $1"
  exit 77
}
[ "$(id -u)" = 0 ] || skip 'a Debian is made by root'
for program in debootstrap unshare git; do
  command -v "$program" >/dev/null || skip "there is no $program"
done
mkdir -p "$work"

bare=$work/bookworm
if [ ! -e "$bare/made" ]; then
  mirror=$(sed -nE 's/^URIs: *//p; s/^deb (\[[^]]*\] )?([^ ]+).*/\2/p' /etc/apt/sources.list \
    /etc/apt/sources.list.d/* 2>/dev/null | head -n 1)
  rm -rf --one-file-system "$bare"
  debootstrap --variant=minbase bookworm "$bare" "$mirror" >"$work/debootstrap.log" 2>&1 ||
    skip "no Debian from \"$mirror\": $(tail -n 1 "$work/debootstrap.log")"
  cp /etc/resolv.conf /etc/hosts "$bare/etc/"
  touch "$bare/made"
fi

unmount() {
  for name in builder user; do
    for mounted in proc sys dev; do umount -l "$work/$name/$mounted" 2>/dev/null || true; done
  done
}
trap unmount EXIT
trap 'exit 1' HUP INT TERM # or what is mounted stays
unmount

# fresh NAME: a bare Debian in $work/NAME, with a user "mica" and the folder /package.
fresh() {
  rm -rf --one-file-system "${work:?}/$1"
  cp -a "$bare" "$work/$1"
  mount -t proc proc "$work/$1/proc"
  mount --bind /sys "$work/$1/sys"
  mount --bind /dev "$work/$1/dev"
  mkdir "$work/$1/package"
  inside "$1" useradd mica
  inside "$1" chown mica /package
  inside "$1" apt-get -q update
}
# inside NAME COMMAND...: as root, with the network, for apt.
inside() {
  name=$1
  shift
  chroot "$work/$name" env -i HOME=/nowhere PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive "$@"
}
# alone NAME COMMAND: a command line of the user mica in /package, without a network.
alone() {
  unshare --net chroot "$work/$1" runuser -u mica -- env -i HOME=/package PATH=/usr/bin:/bin LANG=C.UTF-8 \
    DEB_BUILD_OPTIONS=parallel="$(nproc)" sh -euc "cd /package; $2"
}
install='apt-get -q -o Dpkg::Use-Pty=0 --yes --no-install-recommends'

echo '== build'
fresh builder
tarball=$(sh "$root/cmake/packaging/tarball.sh" source "$work")
tar -xzf "$tarball" -C "$work/builder/package"
tree=$(cd "$work/builder/package" && echo *)
sh "$work/builder/package/$tree/cmake/packaging/debian.sh" "$work/builder/package/$tree"
# shellcheck disable=SC2086
{
  inside builder $install install dpkg-dev lintian
  inside builder $install build-dep "/package/$tree"
}
inside builder chown -R mica /package
alone builder "cd $tree; dpkg-buildpackage -b --no-sign" >"$work/build.log" 2>&1 || {
  tail -n 40 "$work/build.log"
  exit 1
}
if grep 'dpkg-shlibdeps: warning\|dh_missing: warning' "$work/build.log"; then exit 1; fi

echo '== lintian'
alone builder 'lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs *.changes'

echo '== install and use'
fresh user
rm -f "$work"/*.deb
cp "$work"/builder/package/*.deb "$work/"
rm "$work"/*-dbgsym_*.deb
cp "$work"/*.deb "$work/user/package/"
tests=$work/builder/package/$tree/debian/tests
# What debian/tests/control asks for besides the packages.
needed=$(sed -n 's/^Depends: *//p' "$tests/control" | tr -d , | tr ' ' '\n' | sort -u | grep -vx 'mica\|libmica-dev')
# shellcheck disable=SC2046,SC2086
inside user $install install $needed $(cd "$work/user" && printf '/%s ' package/*.deb)
for test in quickstart programs; do
  cp "$tests/$test" "$work/user/package/"
  alone user "sh ./$test"
done
# shellcheck disable=SC2046,SC2086
inside user $install purge $(cd "$work/user/package" && for file in *.deb; do echo "${file%%_*}"; done)
[ -z "$(find "$work/user/usr" -name '*mica*')" ] || {
  find "$work/user/usr" -name '*mica*'
  echo 'these files stay when the packages are purged'
  exit 1
}
unmount
rm -rf --one-file-system "$work/builder" "$work/user"
