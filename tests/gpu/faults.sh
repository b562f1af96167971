#!/bin/sh
# sh tests/gpu/faults.sh lost|memory|shared: what goes wrong on a device, on the one of MICA_DEVICE.
#
#   lost      a kernel writes out of bounds, in the middle of a training: mica train says that the device is
#             lost and exits with 1, and --resume ends with the loss of a run that lost nothing. A CPU shares its memory
#             with the process, which ends by a signal instead
#   memory    a training that needs more memory than the device has is refused with a sentence; on a GPU, one that needs
#             eight tenths of it runs
#   shared    two trainings at once on the device end with the loss of one alone
#
# Environment: build, the build folder; out, where the runs lie. Exit status: 0 all well, 1 not, 2 usage, 77 no preload.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${build:?the build folder} out=${out:?a folder}
mica=$build/bin/mica bench=$build/bin/mica-bench
work=$(mktemp -d "$out/faults.XXXXXX")
trap 'rm -rf "$work"' EXIT
class=$("$mica" devices --json | awk '/"id":/ { id = $2; gsub(/[",]/, "", id) }
  /"class":/ && id == ENVIRON["MICA_DEVICE"] { gsub(/[",]/, "", $2); print $2 }')
memory=$("$mica" devices --json | awk '/"id":/ { id = $2; gsub(/[",]/, "", id) }
  /"global_bytes":/ && id == ENVIRON["MICA_DEVICE"] { gsub(/,/, "", $2); print $2 }')

fail() {
  echo "$1"
  exit 1
}

awk -v folder="$work" 'BEGIN {
  srand(3)
  for (i = 0; i < 480; i++) {
    k = i % 3
    for (j = 0; j < 6; j++) printf "%.4f,", (k == j % 3) + rand() >folder "/data.csv"
    print k >folder "/data.csv"
  }
}'
# train NAME WORDS...: a small training into the folder NAME.
train() {
  name=$1
  shift
  "$mica" train --data "$work/data.csv" --task classify --model mlp --batch 48 --epochs 6 --quiet --json --out \
    "$work/$name" "$@" >"$work/$name.json" 2>"$work/$name.err"
}

# loss NAME: the loss of the training NAME. Without one it names the training, so that no two compare as the same.
loss() {
  said=$(sed -n 's/.*"loss":[[:space:]]*\([0-9][0-9.e+-]*\).*/\1/p' "$work/$1.json" | tail -n 1)
  echo "${said:-(no loss of $1)}"
}

lost() {
  ${CC:-cc} -shared -fPIC -o "$work/lose.so" "$here/../cli/lose_device.c" -ldl
  LD_PRELOAD=$work/lose.so "$mica" version >/dev/null 2>&1 || { echo 'nothing can be preloaded'; exit 77; }
  status=0
  (export LD_PRELOAD="$work/lose.so" LOSE=write LOSE_AT=90 LOSE_FIRST=1 && train lost --checkpoint-steps 2) || status=$?
  echo "a kernel that writes out of bounds: status $status, $(tail -n 1 "$work/lost.err")"
  if [ "$class" = cpu ]; then
    [ $status -gt 128 ] || fail "the process was not ended"
  else
    [ $status = 1 ] || fail "not the status 1"
    grep -q 'is lost, with the content of its memory' "$work/lost.err" || fail "no sentence says that it is lost"
  fi
  "$mica" train --resume --quiet --json --out "$work/lost" >"$work/lost.json" || fail "--resume fails"
  train whole
  echo "loss after --resume $(loss lost), of a run that lost nothing $(loss whole)"
  [ "$(loss lost)" = "$(loss whole)" ]
}

# fill SHARE: one step of ResNet-50 that needs this many hundredths of the memory, 85 MB for each picture.
fill() {
  pictures=$(awk -v m="$memory" -v share="$1" 'BEGIN { print int(m * share / 100 / 85e6) }')
  status=0
  "$bench" train --model resnet50 --side 224 --batch "$pictures" --steps 1 >"$work/fill" 2>&1 || status=$?
  said=$(grep -v 'nothing to compare' "$work/fill" | tail -n 1)
  echo "$1 % of $memory bytes, $pictures pictures: status $status, $said"
}

memory() {
  fill 150
  [ $status = 1 ] || fail "not refused"
  grep -q 'needs [0-9]* bytes for its values, more than the' "$work/fill" || fail "no sentence says what it needs"
  [ "$class" = gpu ] || { echo "80 %: left out, the memory is the host's" && return; }
  fill 80
  [ $status = 0 ]
}

shared() {
  train one
  train two & first=$!
  train three & second=$!
  wait $first || fail "the first of two: $(cat "$work/two.err")"
  wait $second || fail "the second of two: $(cat "$work/three.err")"
  echo "loss alone $(loss one), of two at once $(loss two) and $(loss three)"
  [ "$(loss one)" = "$(loss two)" ] && [ "$(loss one)" = "$(loss three)" ]
}

case ${1-} in
lost | memory | shared) ;;
*) echo "usage: sh tests/gpu/faults.sh lost|memory|shared" >&2 && exit 2 ;;
esac
[ -n "$memory" ] || fail "no device ${MICA_DEVICE-} (MICA_DEVICE)"
"$1"
