#!/bin/sh
# labels: null single
# Finding, listing and clearing the cache where there is nothing to list; second_start fills one.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"

export MICA_CACHE_DIR="$work/cache"
run cache path
ends 0 "$work/cache" ''
run cache list
ends 0 "0 programs, 0 B, in $work/cache" ''
run cache clear
ends 0 "0 files deleted in $work/cache" ''
[ ! -e "$work/cache" ] || fault 'looking made a directory'

# What only other processes of mica ask for is in no list.
run cache --help
ends 0 '*bundle *' ''
case $out in *build*|*doctor*|*--device*) fault 'the help lists an action for internal use' ;; esac
run cache biuld
ends 2 '' 'mica cache: ACTION cannot be "biuld"; mica cache --help lists the possible values'

# What is no program of ours is not listed; what has such a name goes all the same, and nothing else does.
mkdir -p "$work/cache/programs"
echo foreign >"$work/cache/programs/0123456789abcdef0123456789abcdef.bin"
echo kept >"$work/cache/programs/notes.txt"
run cache list --json
ends 0 '*' ''
holds path "$work/cache"
holds bytes 0
holds programs.# 0
run cache clear --json
ends 0 '*' ''
holds deleted 1
[ -z "$(find "$work/cache" -name '*.bin')" ] || fault 'files are left'
[ -e "$work/cache/programs/notes.txt" ] || fault 'a foreign file is gone'

unset MICA_CACHE_DIR
XDG_CACHE_HOME=$work/xdg run cache path --json
ends 0 '*' ''
holds path "$work/xdg/mica"
XDG_CACHE_HOME='' HOME=$work run cache path
ends 0 "$work/.cache/mica" ''
export MICA_CACHE_DIR=''
for action in path list clear; do
  run cache $action
  ends 1 '' 'mica cache: there is no cache: *'
done
exit "$failed"
