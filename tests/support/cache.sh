#!/bin/sh
# sh tests/support/cache.sh VERSION
#
# Prints the folder where this machine keeps the kernels that tests compile, and makes it: a folder below
# ${XDG_CACHE_HOME:-~/.cache}/mica-tests, named by a hash of Mica's version, the processor, the OpenCL drivers and the
# code that names cache entries. An entry's own name covers its code, its options and its device
# (src/runtime/program.c), so an edited kernel needs no new folder.
#
# Keeps the newest three folders, and drops entries that no test has used for 14 days. Fails when there is no place, or
# when another user owns it or could write to it: machine code is taken from there.
set -eu
version=$1
runtime=$(cd "$(dirname "$0")/../../src/runtime" && pwd)
folders_kept=3
days_kept=14

fail() {
  echo "cache.sh: $*" >&2
  exit 1
}

# private FOLDER: makes it, or fails unless it is a folder of this user's that nobody else can write to.
private() {
  mkdir -m 700 "$1" 2>/dev/null || [ -e "$1" ] || fail "$1 cannot be made"
  if [ -L "$1" ] || [ ! -d "$1" ]; then fail "$1 is not a folder"; fi
  # shellcheck disable=SC2012
  set -- "$1" "$(LC_ALL=C ls -ldn "$1" | awk '{ print substr($1, 6, 1) substr($1, 9, 1), $3 }')"
  [ "$2" = "-- $(id -u)" ] || fail "$1 belongs to another user, or others can write to it; remove it"
  [ -w "$1" ] || fail "$1 is read-only"
}

# The drivers' libraries, and those that they load: LLVM decides the machine code.
drivers() {
  for icd in "${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}" "${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}"/*.icd; do
    [ -f "$icd" ] || continue
    library=$(head -n 1 "$icd")
    echo "$library"
    [ -f "$library" ] ||
      library=$(/sbin/ldconfig -p 2>/dev/null | sed -n "s|^[[:space:]]*$(basename "$library") .*=> ||p" | head -n 1)
    [ -f "$library" ] || continue
    { echo "$library"; ldd "$library" 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p'; } |
      while IFS= read -r file; do LC_ALL=C ls -lLn --time-style=+%s "$file"; done
  done
}

processor() {
  uname -m
  grep -m 2 -E '^(model name|flags|Features)' /proc/cpuinfo 2>/dev/null || true
}

# code FILE...: the files' lines without comments.
code() { cat "$@" | sed -e 's|/\*.*\*/||' -e '\|^ */\*|,\|\*/|d' -e '/^ *$/d'; }

key() {
  {
    echo "$version"
    processor
    drivers
    code "$runtime/program.c" "$runtime/kernel_code.c" "$runtime/program_file.c" "$runtime/compiler.c" \
      "$runtime/kernel_bundle.c"
  } | sha256sum | cut -c 1-16
}

prune() {
  # shellcheck disable=SC2010
  ls -1t "$root" | grep -E '^[0-9a-f]{16}$' | tail -n +$((folders_kept + 1)) |
    while IFS= read -r name; do rm -rf "${root:?}/$name"; done
  find "$folder" -depth -name last_accessed -mtime +"$days_kept" -path '*/pocl*' 2>/dev/null |
    while IFS= read -r file; do rm -rf "$(dirname "$file")"; done
  # PoCL 3 makes an empty one in every process, and leaves it there.
  find "$folder" -maxdepth 2 -name 'tempfile*' -size 0 -mmin +60 -path '*/pocl*' -delete 2>/dev/null || true
  find "$folder" -maxdepth 2 -name 'tempfile*' -mtime +1 -path '*/pocl*' -delete 2>/dev/null || true
  find "$folder" -type f -name '*.bin' -path '*/programs/*' -mtime +"$days_kept" -delete 2>/dev/null || true
}

home=${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}
[ -n "$home" ] || fail "neither XDG_CACHE_HOME nor HOME is set"
mkdir -p "$home" 2>/dev/null || fail "$home cannot be made"
root=$home/mica-tests
private "$root"
folder=$root/$(key)
private "$folder"
touch "$folder"
prune
echo "$folder"
