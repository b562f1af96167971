# shellcheck shell=sh
# For the scripts beside it: $root (the source tree), $version, $soversion, and SOURCE_DATE_EPOCH, the time that
# packaged files get: the commit's, or in an unpacked tarball that of its files.
root=$(cd "$(dirname "$0")/../.." && pwd)
version=$(sed -n 's/^project(mica VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")
# shellcheck disable=SC2034
soversion=${version%.*}

# Git in $root, whoever owns it: containers of CI run as another user.
git_here() {
  git -c "safe.directory=$root" -C "$root" "$@"
}

if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git_here log -1 --format=%ct 2>/dev/null) || SOURCE_DATE_EPOCH=$(date -r "$root/CHANGELOG.md" +%s)
fi
export SOURCE_DATE_EPOCH

# changes VERSION: the lines of its section of CHANGELOG.md, without blank ones at either end.
changes() {
  awk -v heading="## $1" '
    /^## / { inside = $0 == heading; next }
    !inside { next }
    NF { while (blank) { print ""; blank-- } print; seen = 1; next }
    seen { blank++ }' "$root/CHANGELOG.md"
}
