#!/bin/sh
# labels: device single
# Files of others that want too much, or change: gzip that unpacks to far more than it should, a text that is cut short
# while a network trains on it, a cache that others can write.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

# Five pictures of 2 x 2 by the header, and 80 MB behind them.
if "$mica" version | grep -q 'MICA_WITH_DEFLATE=1'; then
  mkdir "$work/idx"
  { printf '\0\0\010\003\0\0\0\005\0\0\0\002\0\0\0\002' && head -c 80000000 /dev/zero; } | gzip -9 \
    >"$work/idx/train-images-idx3-ubyte.gz"
  printf '\0\0\010\001\0\0\0\005\0\001\002\001\0' >"$work/idx/train-labels-idx1-ubyte"
  run train --data "$work/idx" --epochs 1 --quiet --out "$work/none"
  ends 1 '' '*train-images-idx3-ubyte.gz unpacks to more than the 36 bytes that its header says*'
  # Without a header that says it, a ratio decides; a file of such a ratio that is small is read.
  awk 'BEGIN { for (i = 0; i < 5000000; i++) print "1.000,2.000,a" }' | gzip -9 >"$work/bomb.csv.gz"
  run train --data "$work/bomb.csv.gz" --epochs 1 --quiet --out "$work/none"
  ends 1 '' '*bomb.csv.gz unpacks to more than 64 MiB, the limit for a file of its size; if that is right, unpack it*'
  awk 'BEGIN { for (i = 0; i < 5000; i++) print "1.000," i % 2 "," substr("ab", i % 2 + 1, 1) }' | gzip \
    >"$work/k.csv.gz"
  run train --data "$work/k.csv.gz" --model mlp --epochs 1 --quiet --out "$work/packed"
  ends 0 '' '*'
fi

# A text that is emptied in place.
awk 'BEGIN { for (i = 0; i < 1000; i++) printf "to be or not to be that is the question " }' >"$work/text.txt"
"$mica" train --task language --data "$work/text.txt" --width 16 --layers 1 --heads 2 --context 16 --epochs 9999 \
  --quiet --out "$work/text" >"$work/out" 2>"$work/err" &
pid=$!
# epochs_done N: waits until the history has N epochs.
epochs_done() {
  tries=0
  until [ -e "$work/text/history.csv" ] && [ "$(wc -l <"$work/text/history.csv")" -gt "$1" ]; do
    sleep 0.1
    tries=$((tries + 1))
    [ $tries -lt 1800 ] && kill -0 $pid 2>/dev/null || break
  done
}
epochs_done 1
: >"$work/text.txt"
epochs_done $(($(wc -l <"$work/text/history.csv") + 1))
kill -INT $pid
wait $pid
status=$?
ran='mica train, its text cut short' out='' err=$(cat "$work/err")
ends 130 '' '*the checkpoint is written*'

# A cache that others can write is not used, and said so; what is written anew is.
printf '1,2,a\n2,1,b\n3,2,a\n1,3,b\n' >"$work/few.csv"
cached() {
  MICA_CACHE_DIR=$work/cache run train --data "$work/few.csv" --model mlp --epochs 1 --quiet --out "$work/$1"
}
cached first
[ "$(find "$work/cache/programs" -maxdepth 0 -perm 700)" ] || fault 'programs/ is open to others'
[ ! "$(find "$work/cache/programs" -name '*.bin' ! -perm 600)" ] || fault 'a program is open to others'
cached second
case $err in *'is not used'*) fault "its own cache is not used: $err" ;; esac
chmod 666 "$work/cache/programs"/*.bin
cached third
ends 0 '' '*WARNING: *.bin is not used, because the file or its folder belongs to another user*'
cached fourth
case $err in *'is not used'*) fault "what was written anew is not used: $err" ;; esac
chmod 777 "$work/cache/programs"
cached fifth
ends 0 '' '*WARNING: *.bin is not used, because the file or its folder belongs to another user*'

exit $failed
