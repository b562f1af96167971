#!/bin/sh
# labels: device
# A network of pictures: what predict and eval say of files and of the data's test part, in words and in JSON.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

# Two PNG files of 8 x 8, dark and light, ten times each.
for part in train test; do mkdir -p "$work/pictures/$part/dark" "$work/pictures/$part/light"; done
dark='iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAAAAADhZOFXAAAAFElEQVR42mMQERUTl5CUkmagjAEA0ngF4aNBsOoAAAAASUVORK5CYII='
light='iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAAAAADhZOFXAAAAIUlEQVR42i3BwQEAMATAwOw/o6Is4pM7QjyRokSLL0asDtBhN+EwtkSTAAAA
AElFTkSuQmCC'
for i in 0 1 2 3 4 5 6 7 8 9; do
  echo "$dark" | base64 -d >"$work/pictures/train/dark/$i.png"
  echo "$light" | base64 -d >"$work/pictures/train/light/$i.png"
done
for kind in dark light; do cp "$work/pictures/train/$kind/"[0-4].png "$work/pictures/test/$kind"; done
folder=$work/run
a=$work/pictures/test/dark/0.png
b=$work/pictures/test/light/0.png

run train --data "$work/pictures" --model mlp --epochs 6 --batch 4 --seed 3 --out "$folder"
ends 0 '*epoch 6/6*' ''

run predict --model "$folder" "$a" "$b"
ends 0 "*dark/0.png*dark *%, light*light/0.png*light *%, dark*" ''
run predict --model "$folder" "$work/pictures/test"
ends 0 "*test/dark/0.png*dark *test/light/4.png*light *" ''
mkdir "$work/none"
run predict --model "$folder" "$work/none"
ends 1 '' '*none: the folder holds no picture*'
run predict --model "$folder" --top 1 --pictures "$a" "$b"
ends 0 '*dark*light*' ''
run predict --model "$folder" --json "$a" "$b"
holds predictions.0.classes.0.name dark
holds predictions.1.classes.0.name light
awk -v p="$(json predictions.1.classes.0.probability)" 'BEGIN { exit !(p > 0.5 && p <= 1) }' || fault 'no probability'

run predict --model "$folder" --data "$work/pictures" --count 3
ends 0 '*test/dark/0.png*right*test/dark/2.png*' ''
run predict --model "$folder" --data "$work/pictures" --count 3 --json
holds predictions.2.truth '[dl]*'
run eval --model "$folder" --data "$work/pictures"
ends 0 '*dark*light*' ''
run eval --model "$folder" --json
holds metrics.samples 10

run predict --model "$folder"
ends 2 '' '*'
run predict --model "$folder" "$work/none.png"
ends 1 '' '*none.png*'
run predict --model "$folder" --count 0 --data "$work/pictures"
ends 2 '' '*--count wants a whole number*'
echo 'no picture' >"$work/bad.png"
run predict --model "$folder" "$work/bad.png"
ends 1 '' '*bad.png*'

exit $failed
