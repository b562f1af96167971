#!/bin/sh
# labels: device slow
# PuzzleMix by the command: it learns, a run that is resumed ends with the bits of one that was not, an exported model
# does not mix, and what is refused.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
# shellcheck source-path=SCRIPTDIR source=halves.sh
. "$(dirname "$0")/halves.sh"

make_halves "$work/data" 2
how="--data $work/data --task classify --model cnn --width 8 --batch 16 --schedule constant --seed 3 --validation 0.2"

# shellcheck disable=SC2086
{
  run train $how --epochs 6 --puzzle 4 --out "$work/whole" --json --quiet
  ends 0 '*' ''
  awk -v a="$(json metrics.accuracy)" 'BEGIN { exit !(a > 0.9) }' || fault "accuracy $out"
  run train $how --epochs 3 --puzzle 4 --out "$work/parts" --quiet
  ends 0 '*' '*'
  run train --resume --out "$work/parts" --epochs 6 --quiet
  ends 0 '*' '*'
  cmp -s "$work/whole/last.safetensors" "$work/parts/last.safetensors" || fault 'a resumed run has other weights'
  run train $how --epochs 6 --out "$work/plain" --quiet
  ends 0 '*' '*'
  cmp -s "$work/whole/last.safetensors" "$work/plain/last.safetensors" && fault 'the setting changes nothing'

  for precision in f16 bf16; do
    run train $how --epochs 2 --puzzle 8 --precision $precision --out "$work/$precision" --quiet
    ends 0 '*' '*'
  done

  run train $how --puzzle 3 --out "$work/none"
  ends 2 '' '*puzzle 3: pictures of 8 x 8 pixels cannot be cut into that many blocks per side; choose a divisor*'
  run train $how --puzzle 1 --out "$work/none"
  ends 2 '' '*puzzle 1: pictures of 8 x 8 pixels cannot be cut*'
  for wrong in 9 -1 x 2.5; do
    run train $how --puzzle=$wrong --out "$work/none"
    ends 2 '' '*puzzle*'
  done
  for other in mixup cutmix; do
    run train $how --puzzle 4 --augment $other --out "$work/none"
    ends 2 '' "*$other and puzzle both mix pictures; choose one"
  done
}
printf 'a,b,label\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n' >"$work/rows.csv"
run train --data "$work/rows.csv" --task classify --puzzle 2 --out "$work/none"
ends 2 '' '*puzzle mixes pictures, but *rows.csv has rows'
run train --data "$work/rows.csv" --task regress --puzzle 2 --out "$work/none"
ends 2 '' '*puzzle*'
[ ! -e "$work/none/config.json" ] || fault 'a run was begun'
exit $failed
