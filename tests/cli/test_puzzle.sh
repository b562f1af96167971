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

  # In 16 bits it learns too, and mixes.
  for precision in f16 bf16; do
    run train $how --epochs 6 --puzzle 8 --precision $precision --out "$work/$precision" --json --quiet
    ends 0 '*' '*'
    awk -v a="$(json metrics.accuracy)" 'BEGIN { exit !(a > 0.9) }' || fault "$precision: accuracy $out"
    run train $how --epochs 6 --precision $precision --out "$work/plain_$precision" --quiet
    ends 0 '*' '*'
    cmp -s "$work/$precision/last.safetensors" "$work/plain_$precision/last.safetensors" &&
      fault "$precision: the setting changes nothing"
  done

  # An exported model gives a picture the same shares whatever the other picture of the batch is: light above and
  # light below, as f32.
  run export "$work/whole" --onnx "$work/whole.onnx"
  ends 0 '*' ''
  light() { yes '\000\000\200\077' | head -n 32 | tr -d '\n'; }
  dark() { yes '\000\000\000\000' | head -n 32 | tr -d '\n'; }
  above="$(light)$(dark)" below="$(dark)$(light)"
  shares() {
    {
      printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1, 8, 8), }"
      # shellcheck disable=SC2059 # escapes of bytes
      printf "$2$3"
    } >"$work/$1.npy"
    run run "$work/whole.onnx" --input "image=$work/$1.npy" --out "$work/$1"
    ends 0 '*' ''
    # Two pictures by two shares of four bytes.
    tail -c 16 "$work/$1"/*.npy | head -c 8 >"$work/$1.first"
    tail -c 8 "$work/$1"/*.npy >"$work/$1.second"
  }
  shares both "$above" "$below"
  shares swapped "$below" "$above"
  shares alike "$above" "$above"
  cmp -s "$work/both.first" "$work/both.second" && fault 'the exported model has the same shares for all pictures'
  cmp "$work/both.first" "$work/swapped.second" || fault 'the exported model mixes a batch in other order'
  cmp "$work/both.second" "$work/swapped.first" || fault 'the exported model mixes a batch in other order'
  cmp "$work/both.first" "$work/alike.first" || fault 'the exported model mixes pictures'

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
ends 2 '' '*puzzle mixes pictures, but the inputs of *rows.csv are not only pictures'
run train --data "$work/rows.csv" --task regress --puzzle 2 --out "$work/none"
ends 2 '' '*puzzle*'
[ ! -e "$work/none/config.json" ] || fault 'a run was begun'
exit $failed
