#!/bin/sh
# sh cmake/setup.sh run|quickstart|full|test|fuzz|clang|package FOLDER [-DOPTION=VALUE...] [TARGET...]
# sh cmake/setup.sh docs
#
# Installs the Debian packages that are missing (nothing missing: no network, no root), configures FOLDER and builds the
# TARGETs there, or everything. "run" is what building and running Mica takes, "quickstart" adds the pictures it
# trains on, "full" the libraries of everything that is optional, "test" the tools of the tests as well, "fuzz" those of
# the fuzzers. "clang" is "run" and clang, "package" is "full" and what makes packages. "docs" installs what makes the
# documentation a site, and builds nothing.
set -eu
cd "$(dirname "$0")/.."

run_packages='gcc libc6-dev cmake ninja-build pkg-config
  ocl-icd-opencl-dev opencl-c-headers pocl-opencl-icd libclblast-dev libxxhash-dev libcjson-dev libdeflate-dev
  libpng-dev libjpeg-dev'
quickstart_packages='dataset-fashion-mnist'
full_packages='libexpat1-dev libsndfile1-dev libmicrohttpd-dev libsodium-dev libpcre2-dev libutf8proc-dev
  libprotobuf-c-dev protobuf-c-compiler protobuf-compiler libopenmpi-dev openmpi-bin'
test_packages='minisign check libsubunit-dev libopenblas-dev libdnnl-dev clang-format oclgrind locales'
fuzz_packages='clang libclang-rt-dev'
package_packages='git dpkg-dev debhelper lintian fakeroot'
docs_packages='mkdocs'

purpose=$1 folder=${2:-}
shift
[ $# = 0 ] || shift
case $purpose in
  run) packages=$run_packages ;;
  quickstart) packages="$run_packages $quickstart_packages" ;;
  full) packages="$run_packages $quickstart_packages $full_packages" ;;
  test) packages="$run_packages $quickstart_packages $full_packages $test_packages" ;;
  fuzz) packages="$run_packages $quickstart_packages $full_packages $test_packages $fuzz_packages" ;;
  clang) packages="$run_packages clang" ;;
  package) packages="$run_packages $full_packages $package_packages" ;;
  docs) packages=$docs_packages ;;
  *) echo "setup.sh: '$purpose' must be run, quickstart, full, test, fuzz, clang, package or docs" >&2; exit 2 ;;
esac

is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

install_missing() {
  missing=''
  for package in $packages; do
    # Debian and Ubuntu have libjpeg-dev, which brings the package with the headers. Debian calls that this:
    [ "$package" = libjpeg-dev ] && is_installed libjpeg62-turbo-dev && continue
    is_installed "$package" || missing="$missing $package"
  done
  [ "$missing" ] || return 0
  echo "installing:$missing"
  as_root=''
  if [ "$(id -u)" != 0 ]; then
    as_root='sudo'
    command -v sudo >/dev/null || { echo "setup.sh: install these as root:$missing" >&2; exit 1; }
  fi
  apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0"
  $apt update
  # Later releases of Debian lack it; the tests that use it are skipped there.
  apt-cache show oclgrind >/dev/null 2>&1 || missing=$(echo "$missing" | sed 's/ oclgrind\b//')
  # Word splitting is wanted: one argument a package.
  # shellcheck disable=SC2086
  $apt install --yes --no-install-recommends $missing
  # A folder configured before they were there keeps what it then lacked switched off.
  options="-U MICA_WITH_*"
}

options=''

if command -v dpkg-query >/dev/null; then
  install_missing
else
  echo "setup.sh: this is no Debian; there the packages are: $packages"
fi

[ "$purpose" != docs ] || exit 0
targets=''
for argument; do
  case $argument in
    -*) options="$options $argument" ;;
    *) targets="$targets $argument" ;;
  esac
done
# A folder keeps the generator that it was configured with.
[ -e "$folder/CMakeCache.txt" ] || options="-G Ninja $options"
# shellcheck disable=SC2086
cmake -S . -B "$folder" $options
# shellcheck disable=SC2086
cmake --build "$folder" ${targets:+--target} $targets
