#!/bin/sh
# sh cmake/packaging/sbom.sh BUILD: the bill of materials of the build folder's libraries in CycloneDX 1.5 (JSON): what
# they are linked with, and xxHash, whose header is compiled in; each with its version and licence. It fails if
# cmake/packaging/licences.txt lacks a library.
set -eu
# shellcheck source=cmake/packaging/common.sh
. "$(dirname "$0")/common.sh"
[ $# = 1 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
libraries=$(ls "$1/lib/libmica.so" "$1/lib/libmica_run.so" 2>/dev/null) || true # the second is optional

# The libraries that are loaded, as "name file", and the Debian packages that have them, as "package: file".
# shellcheck disable=SC2086
loaded=$(ldd $libraries | awk '$3 ~ "^/" && !seen[$1]++ { print $1, $3 }')
owners=''
if command -v dpkg-query >/dev/null; then
  # shellcheck disable=SC2046
  owners=$(dpkg-query -S $(echo "$loaded" | awk '{ print $2, "/usr" $2 }') 2>/dev/null) || true # some are not found
fi

# owner FILE: "package version architecture" of the Debian package that has it, or nothing.
owner() {
  package=$(echo "$owners" | awk -v file="$1" '$2 == file || $2 == "/usr" file { sub(/: .*/, ""); print; exit }')
  [ -z "$package" ] || dpkg-query -W -f '${Package} ${Version} ${Architecture}\n' "$package"
}

# component NAME VERSION LICENCE [PACKAGE VERSION ARCHITECTURE]
component() {
  purl=''
  [ $# = 3 ] || purl=", \"purl\": \"pkg:deb/debian/$4@$(echo "$5" | sed 's/:/%3A/g; s/+/%2B/g')?arch=$6\""
  printf '%s    {"type": "library", "name": "%s"%s, "licenses": [{"expression": "%s"}]%s}' "$separator" "$1" \
    "${2:+, \"version\": \"$2\"}" "$3" "$purl"
  separator=',
'
}

components() {
  separator=''
  # shellcheck disable=SC2086
  readelf -d $libraries | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u | while read -r needed; do
    case $needed in ld-linux* | libm.so* | libmica.so*) continue ;; esac # of glibc, like libc.so; our own
    row=$(awk -v base="${needed%%.so*}" '
      $1 != "#" && base ~ "^" $1 "[-0-9.]*$" { name = $NF; $1 = $NF = ""; gsub(/^ +| +$/, ""); print name ":" $0 }' \
      "$root/cmake/packaging/licences.txt" | head -n 1)
    [ "$row" ] || { echo "sbom.sh: cmake/packaging/licences.txt has no row for $needed" >&2; exit 1; }
    file=$(echo "$loaded" | awk -v name="$needed" '$1 == name { print $2 }')
    package=$(owner "$file")
    found=${package#* }
    # Debian's version without the epoch and the revision, else what the file's name says.
    found=$(echo "${found%% *}" | sed 's/^[0-9]*://; s/-[^-]*$//; s/[+~].*//')
    [ "$found" ] || found=$(basename "$(readlink -f "$file")" | sed -n 's/.*\.so\.//p')
    # shellcheck disable=SC2086
    component "${row%%:*}" "$found" "${row#*:}" $package
  done
  separator=',
'
  header=$(sed -n 's/^XXHASH_INCLUDE_DIR:.*=//p' "$1/CMakeCache.txt")/xxhash.h
  found=$(awk '$2 ~ /^XXH_VERSION_(MAJOR|MINOR|RELEASE)$/ { text = text dot $3; dot = "." } END { print text }' \
    "$header")
  component xxHash "$found" BSD-2-Clause
}

list=$(components "$1")
cat <<END
{
  "bomFormat": "CycloneDX",
  "specVersion": "1.5",
  "version": 1,
  "metadata": {
    "timestamp": "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)",
    "component": {
      "type": "library", "name": "mica", "version": "$version", "licenses": [{"expression": "MIT"}],
      "hashes": [{"alg": "SHA-256", "content": "$(sha256sum <"$1/lib/libmica.so" | cut -d ' ' -f 1)"}]
    }
  },
  "components": [
$list
  ]
}
END
