#!/bin/sh
# labels: device single
# A command that ends before its first step removes the folders that it made itself, and no other folder.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

awk -v folder="$work" 'BEGIN {
  print "a,b,kind" >folder "/k.csv"
  for (i = 0; i < 120; i++) print i % 3 "," i % 5 "," substr("abc", i % 3 + 1, 1) >folder "/k.csv"
}'

# unread OUT: trains into OUT, and the reader of the summary has gone before it is written.
unread() {
  ran="mica train --out $1, whose reader has gone"
  mkfifo "$work/pipe"
  sleep 60 <"$work/pipe" &
  reader=$!
  exec 3>"$work/pipe"
  kill $reader
  wait $reader 2>/dev/null
  status=0
  (cd "$work" && exec "$mica" train --data k.csv --out "$1" --epochs 2 >&3 2>"$work/err") || status=$?
  exec 3>&-
  rm "$work/pipe"
  [ $status = 141 ] || fault "exit status $status instead of 141; stderr: $(cat "$work/err")"
}

# Each of them was there, or was not.
mkdir "$work/mine" "$work/above"
unread "$work/mine"
[ -d "$work/mine" ] || fault 'removes an empty folder of the user'
[ -z "$(ls -A "$work/mine")" ] || fault "leaves something in it: $(ls -A "$work/mine")"
unread mine
[ -d "$work/mine" ] || fault 'removes an empty folder of the user, named by a relative path'
unread "$work/new"
[ ! -e "$work/new" ] || fault 'leaves the folder that it made'
unread new//deep/run/
[ ! -e "$work/new" ] || fault 'leaves the folders that it made above its own'
unread "$work/above/run"
[ ! -e "$work/above/run" ] || fault 'leaves the folder that it made'
[ -d "$work/above" ] || fault 'removes an empty folder of the user, above its own'

# The folders are free for a run that is read.
run train --data "$work/k.csv" --out "$work/mine" --epochs 1 --quiet
ends 0 '' ''

exit $failed
