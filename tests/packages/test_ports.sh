#!/bin/sh
# labels: null packages
# sh tests/packages/test_ports.sh: the packages of cmake/packaging are about this version and know every optional
# library. Each file is well-formed, if a program here reads its language.
# shellcheck source-path=SCRIPTDIR source=ports.sh
. "$(dirname "$0")/ports.sh"

# has FILE WORD: the word stands in the file.
has() {
  grep -qwF -e "$2" "$1" || fail "${1#"$root"/}: has no $2"
}
features=$(sed -n 's/^mica_feature(\([A-Z0-9]*\) .*/\1/p' "$root/CMakeLists.txt")
[ "$version" ] && [ "$(echo "$features" | wc -l)" -gt 5 ]

# Debian: names and version are filled in, and what setup.sh installs is depended on.
sh "$packaging/debian.sh" "$work"
if grep -rn '@[A-Z]*@' "$work/debian"; then fail 'debian.sh leaves these'; fi
head -n 1 "$work/debian/changelog" | grep -qxF "mica ($version-1) unstable; urgency=medium" || fail 'debian/changelog'
has "$work/debian/control" "Package: libmica${version%.*}"
has "$work/debian/control" "Package: libmica-run${version%.*}"
for file in rules tests/quickstart tests/programs; do
  [ -x "$work/debian/$file" ] || fail "debian/$file is not executable"
done
packages=$(sed -n "/^run_packages=/,/'\$/p; /^full_packages=/,/'\$/p" "$root/cmake/setup.sh" |
  sed 's/.*=//' | tr -d "'")
[ "$(echo "$packages" | wc -w)" -gt 15 ]
for package in $packages; do
  case $package in
    # The compiler is there in every build, the loader brings the headers, a driver is for users, MPI is left out.
    gcc | libc6-dev | opencl-c-headers | pocl-opencl-icd | libopenmpi-dev | openmpi-bin) ;;
    protobuf-compiler) ;; # protoc-c is a program of its own
    pkg-config) has "$work/debian/control" ' pkg-config,' ;;
    *) has "$work/debian/control" " $package" ;;
  esac
done
if command -v make >/dev/null; then
  make -C "$root" -n -f "$work/debian/rules" override_dh_auto_configure >"$work/configure" 2>&1
  for feature in $features; do
    value=ON
    [ "$feature" != MPI ] || value=OFF
    has "$work/configure" "-DMICA_WITH_$feature=$value"
  done
fi

for feature in $features; do
  has "$root/cmake/presets/features.cmake" "$feature"
  has "$packaging/conan/conanfile.py" "\"$(echo "$feature" | tr '[:upper:]' '[:lower:]')\":"
  grep -q "MICA_WITH_$feature=O" "$packaging/vcpkg/mica/portfile.cmake" || fail "portfile.cmake: no MICA_WITH_$feature"
done
has "$packaging/vcpkg/mica/vcpkg.json" "\"version\": \"$version\""

# reads PROGRAM ARGUMENT...: the program, if there is one, accepts the file.
reads() {
  if ! command -v "$1" >/dev/null; then
    echo "not checked, there is no $1: $*"
  elif ! "$@" >"$work/out" 2>&1; then
    cat "$work/out"
    fail "$*"
  fi
}
for file in "$packaging"/conan/conanfile.py "$packaging"/conan/test_package/conanfile.py; do
  reads python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$file"
done
reads python3 -m json.tool "$packaging/vcpkg/mica/vcpkg.json"
reads ruby -c "$packaging/homebrew/mica.rb"
reads nix-instantiate --parse "$packaging/nix/default.nix"
reads dpkg-parsechangelog -l "$work/debian/changelog"
exit $failed
