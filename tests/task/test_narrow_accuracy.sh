#!/bin/sh
# labels: device long
# Mixed precision costs no accuracy: a network trained in bf16 is right as often as one trained in f32, the mean over
# three seeds (SEEDS) within 0.2 points of 10,000 test pictures, and so is one trained in f32 that predicts in bf16. A
# pair of runs differs by 0.16 points by chance.
# shellcheck source-path=SCRIPTDIR/../cli source=cli.sh
. "$(dirname "$0")/../cli/cli.sh"
need_device
[ -d /usr/share/datasets/fashion-mnist ] || { echo "SKIP: Debian's dataset-fashion-mnist is not installed"; exit 77; }

# near NAME: the mean of the differences in the file, in points.
near() {
  awk -v name="$1" '{ sum += 100 * ($2 - $1) } END { printf "%s: %+.2f points of %d runs\n", name, sum / NR, NR
                                                     exit !(NR && sum / NR > -0.2 && sum / NR < 0.2) }' "$work/$1" ||
    fault "$1 is not within 0.2 points of f32"
}

for seed in ${SEEDS:-1 2 3}; do
  for precision in f32 bf16; do
    run train --data fashion-mnist --model cnn --epochs 2 --seed "$seed" --precision $precision --json --quiet \
      --out "$work/$precision$seed"
    ends 0 '{"task":"classify","part":"test"*' '*'
    json metrics.accuracy >"$work/$precision"
  done
  echo "$(cat "$work/f32") $(cat "$work/bf16")" >>"$work/trained"
  run eval --model "$work/f32$seed" --precision bf16 --json
  ends 0 '{"task":"classify","part":"test"*' '*'
  echo "$(cat "$work/f32") $(json metrics.accuracy)" >>"$work/predicted"
done
near trained
near predicted

exit $failed
