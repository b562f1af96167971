#!/bin/sh
# labels: null packages
# sh tests/packages/test_sbom.sh: the bill of materials is JSON and has a row with version and licence for every library
# that this build links; a library without a licence is refused.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${MICA_BUILD_DIR:-$root/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for program in readelf ldd python3; do
  command -v "$program" >/dev/null || { echo "SKIP: there is no $program"; exit 77; }
done
[ -e "$build/lib/libmica.so" ] || { echo 'SKIP: there is no libmica.so'; exit 77; }
if grep -q '^MICA_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then echo 'SKIP: a sanitizer is linked'; exit 77; fi

sh "$root/cmake/packaging/sbom.sh" "$build" >"$work/sbom.json"
readelf -d "$build/lib/libmica.so" "$build/lib/libmica_run.so" | grep NEEDED | grep -v libmica | sort -u |
  wc -l >"$work/needed"
python3 - "$work/sbom.json" "$(cat "$work/needed")" <<'END'
import json, re, sys
sbom = json.load(open(sys.argv[1]))
assert sbom["bomFormat"] == "CycloneDX" and sbom["specVersion"] == "1.5"
assert re.fullmatch(r"[0-9a-f]{64}", sbom["metadata"]["component"]["hashes"][0]["content"])
rows = sbom["components"]
names = [row["name"] for row in rows]
assert len(set(names)) == len(names), names
assert {"ocl-icd", "glibc", "xxHash"} <= set(names), names
assert len(rows) >= int(sys.argv[2]) - 1, names  # libm and the loader are of glibc, and xxHash is a header
for row in rows:
    assert re.match(r"[0-9]+\.[0-9]", row["version"]), row
    assert row["licenses"][0]["expression"], row
END

# A copy of the scripts whose list of licences lacks a library.
mkdir -p "$work/tree/cmake/packaging"
cp "$root/CMakeLists.txt" "$root/CHANGELOG.md" "$work/tree/"
cp "$root"/cmake/packaging/*.sh "$work/tree/cmake/packaging/"
grep -v '^libOpenCL' "$root/cmake/packaging/licences.txt" >"$work/tree/cmake/packaging/licences.txt"
if sh "$work/tree/cmake/packaging/sbom.sh" "$build" >"$work/out" 2>"$work/errors"; then
  echo 'a library without a licence is accepted'
  exit 1
fi
grep -q 'licences.txt has no row for libOpenCL' "$work/errors" || { cat "$work/errors"; exit 1; }
