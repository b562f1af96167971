#!/bin/sh
# labels: device slow
# Pictures drawn by the command: training on made pictures, grids and folders of drawn ones, the same bits for the same
# seed, a model in ONNX, and what is refused.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
# shellcheck source-path=SCRIPTDIR source=halves.sh
. "$(dirname "$0")/halves.sh"
need_device

make_halves "$work/halves" 2
how='--width 4 --batch 16 --noise-steps 20 --sample-steps 5'

# shellcheck disable=SC2086
run train --task diffuse --data "$work/halves" $how --epochs 2 --json --quiet --out "$work/run"
ends 0 '*' '*'
holds task diffuse
awk -v e="$(json metrics.noise_mse)" 'BEGIN { exit !(e > 0 && e < 2) }' || fault "noise_mse $(json metrics.noise_mse)"
grep -q 'Drawn' "$work/run/report.html" || fault 'no drawn pictures in the report'
run eval --model "$work/run" --part validation --json
holds metrics.samples 8

# One grid; the same one again; another one by another seed; a file for each picture.
run predict --model "$work/run" --class 1 --count 5 --seed 3 --out "$work/grid.png"
ends 0 "*written*grid.png*1 1*1 5*" ''
run predict --model "$work/run" --class 1 --count 5 --seed 3 --out "$work/again.png"
cmp -s "$work/grid.png" "$work/again.png" || fault 'another grid with the same seed'
run predict --model "$work/run" --class 1 --count 5 --seed 4 --out "$work/other.png"
cmp -s "$work/grid.png" "$work/other.png" && fault 'the same grid with another seed'
run predict --model "$work/run" --class 1 --count 5 --seed 3 --out "$work/grid.png"
ends 1 '' '*grid.png*choose another file with --out*'
# Only PNG is written: another ending is not taken for a folder's name.
for name in k.jpg k.JPEG k.webp; do
  run predict --model "$work/run" --class 1 --count 1 --out "$work/$name"
  ends 2 '' "*--out *$name: pictures are written as PNG; choose NAME.png, or a folder"
  [ ! -e "$work/$name" ] || fault "a folder $name"
done
run predict --model "$work/run" --class 1 --count 1 --steps 2 --out "$work/one.PNG"
[ -f "$work/one.PNG" ] || fault 'no file one.PNG'
run predict --model "$work/run" --count 4 --steps 2 --guidance 1 --out "$work/drawn" --json
holds predictions.0.class 0
holds predictions.3.class 1
[ "$(find "$work/drawn" -name '*.png' | wc -l)" -eq 4 ] || fault 'not 4 pictures'

run predict --model "$work/run" --class 1 --count 2 --pictures --out "$work/shown.png"
[ "$(echo "$out" | wc -l)" -ge 8 ] || fault 'no pictures in the terminal'

# What is refused, in sentences.
run predict --model "$work/run" --class 7
ends 1 '' '*no class "7"; choose from 0, 1*'
run predict --model "$work/run" --steps 21
ends 1 '' '*the number of steps is 21, but may be at most 20*'
run predict --model "$work/run" "$work/grid.png"
ends 2 '' '*draws pictures and takes no inputs*'
run predict --model "$work/run" --seed x
ends 2 '' '*--seed wants a whole number*'
# shellcheck disable=SC2086
run train --task diffuse --data "$work/halves" $how --depth 5 --out "$work/bad"
ends 2 '' '*pictures of 8x8; the network needs sides of 32 or more*'
awk 'BEGIN { for (i = 0; i < 20; i++) print i "," i % 2 }' >"$work/table.csv"
run train --task diffuse --data "$work/table.csv" --out "$work/bad"
ends 1 '' '*no pictures of 8 bits*'

run export "$work/run" --onnx "$work/model.onnx"
case $err in *'needs protobuf-c'*) ;; *) ends 0 'written*' '' ;; esac
exit $failed
