#!/bin/sh
# labels: null single
# The folder of the tests' kernels (cache.sh): its name follows what machine code depends on, nobody else can write to
# it, and old ones go.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/cache.XXXXXX")
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work/home" OCL_ICD_VENDORS="$work/vendors"
mkdir -m 755 "$work/vendors"
root=$XDG_CACHE_HOME/mica-tests

fault() {
  echo "support.cache: $*"
  exit 1
}
folder() { sh "$here/cache.sh" "$1"; }
refused() {
  if folder 1 >"$work/out" 2>"$work/why"; then fault "$1 was taken"; fi
  [ ! -s "$work/out" ] || fault "$1: a folder was printed"
  grep -q "$2" "$work/why" || fault "$1: $(cat "$work/why")"
}

umask 0
first=$(folder 1)
case $first in "$root"/????????????????) ;; *) fault "$first is not below $root" ;; esac
for made in "$root" "$first"; do
  [ -n "$(find "$made" -prune -perm 700)" ] || fault "$made has the mode $(ls -ld "$made")"
done
[ "$(folder 1)" = "$first" ] || fault 'two calls differ'

# Another version of Mica, another driver, and another file of the same driver.
cp /bin/true "$work/driver.so"
[ "$(folder 2)" != "$first" ] || fault 'the version does not count'
echo "$work/driver.so" >"$work/vendors/some.icd"
second=$(folder 1)
[ "$second" != "$first" ] || fault 'the drivers do not count'
touch -d '2020-01-01' "$work/driver.so"
third=$(folder 1)
[ "$third" != "$second" ] || fault "the driver's file does not count"

# The newest three stay, and what is not one of ours.
mkdir "$root/other"
touch -d '2020-01-01' "$first" "$root/other"
touch -d '2021-01-01' "$second"
folder 3 >"$work/out"
folder 4 >"$work/out"
folder 5 >"$work/out"
left=$(find "$root" -mindepth 1 -maxdepth 1 -name '????????????????' | wc -l)
[ "$left" -eq 3 ] || fault "$left folders are left"
for gone in "$first" "$second"; do [ ! -e "$gone" ] || fault "$gone is left"; done
[ -d "$root/other" ] || fault "a folder that is not the cache's was removed"

# Entries that nobody used go, those in use stay.
now=$(folder 5)
for entry in old new; do
  mkdir -p "$now/pocl/AB/$entry/kernel" "$now/mica/programs"
  touch "$now/pocl/AB/$entry/last_accessed" "$now/pocl/AB/$entry/kernel/kernel.so" "$now/mica/programs/$entry.bin"
done
touch -d '2020-01-01' "$now/pocl/AB/old/last_accessed" "$now/mica/programs/old.bin"
folder 5 >"$work/out"
for gone in pocl/AB/old mica/programs/old.bin; do [ ! -e "$now/$gone" ] || fault "$gone is left"; done
for kept in pocl/AB/new/kernel/kernel.so mica/programs/new.bin; do [ -e "$now/$kept" ] || fault "$kept is gone"; done

# What PoCL leaves behind goes, but not what a process may be writing.
now=$(folder 5)
echo text >"$now/pocl/tempfile_text"
touch "$now/pocl/tempfile_new"
touch -d '2 hours ago' "$now/pocl/tempfile_empty" "$now/pocl/tempfile_text"
folder 5 >"$work/out"
[ ! -e "$now/pocl/tempfile_empty" ] || fault 'an old empty file is left'
for kept in text new; do [ -e "$now/pocl/tempfile_$kept" ] || fault "tempfile_$kept is gone"; done

# Folders that others could have put code into.
now=$(folder 1)
chmod 777 "$now"
refused 'a folder that others can write to' 'others can write'
chmod 700 "$now"
chmod 720 "$root"
refused 'a root that its group can write to' 'others can write'
chmod 700 "$root"
mv "$now" "$work/elsewhere"
ln -s "$work/elsewhere" "$now"
refused 'a link' 'is not a folder'
rm "$now"
touch "$now"
refused 'a file' 'is not a folder'
if [ "$(id -u)" = 0 ]; then
  rm "$now"
  mkdir -m 700 "$now"
  chown 1 "$now"
  refused "another user's folder" 'belongs to another user'
fi
unset XDG_CACHE_HOME
HOME='' refused 'no home' 'neither XDG_CACHE_HOME nor HOME'
