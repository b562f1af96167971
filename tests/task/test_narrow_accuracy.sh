#!/bin/sh
# labels: device long
# Mixed precision costs no accuracy: a network trained in bf16 is right as often as one trained in f32, and so is one
# trained in f32 that predicts in bf16. A pair of runs differs by 0.16 points of 10,000 test pictures by chance, its
# standard deviation, so the mean over the seeds (SEEDS) must be within three of its own: 0.16 * 3 / sqrt(seeds), 0.2
# for six of them.
# shellcheck source-path=SCRIPTDIR/../cli source=cli.sh
. "$(dirname "$0")/../cli/cli.sh"
need_device
[ -d /usr/share/datasets/fashion-mnist ] || { echo "SKIP: Debian's dataset-fashion-mnist is not installed"; exit 77; }

# near NAME: the mean of the differences in the file, in points.
near() {
  awk -v name="$1" '{ sum += 100 * ($2 - $1) } NF != 2 { lacks = 1 }
    END {
      if (!NR || lacks) exit 1
      bound = 3 * 0.16 / sqrt(NR)
      printf "%s: %+.2f points of %d runs, %.2f at most\n", name, sum / NR, NR, bound
      exit !(sum / NR > -bound && sum / NR < bound)
    }' "$work/$1" || fault "$1 is further from f32 than by chance"
}

for seed in ${SEEDS:-1 2 3 4 5 6}; do
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
