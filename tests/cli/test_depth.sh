#!/bin/sh
# labels: device slow
# The task depth by the command: learned better than the mean, resumed, evaluated and predicted, pictures larger than a
# tile among them, from PNG, npy and PFM; bad input.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
# is NAME OPERATOR LIMIT...: compares figures of the last JSON; without a figure the test fails.
is() {
  while [ $# -ge 3 ]; do
    got=$(json "$1")
    awk -v a="$got" -v limit="$3" -v above="$2" \
      'BEGIN { exit a !~ /^[0-9.]+(e-?[0-9]+)?$/ || (above == ">" ? a + 0 <= limit : a + 0 >= limit) }' ||
      fault "$1 is '$got', not $2 $3"
    shift 3
  done
}
rooms="$MICA_BUILD_DIR/bin/tests/write_depths"
"$rooms" "$work/data" 48 48 png || exit 1

# What is wrong with the data is said before anything is trained.
"$rooms" "$work/odd" 2 16 png
cp "$work/data/depth/0.png" "$work/odd/depth/1.png"
run train --task depth --data "$work/odd" --out "$work/none"
ends 1 '' '*depth/1.png is a depth map of 48 x 48 pixels, but its picture *images/1.png has 16 x 16*'
rm "$work/odd/depth/1.png"
run train --task depth --data "$work/odd" --out "$work/none"
ends 1 '' '*images/1.png has no depth map: there is no 1.png, nor 1_depth.png, in *'
cp "$work/odd/images/1.png" "$work/odd/depth/1.npy"
rm "$work/odd/depth/0.png"
printf 'Pf\n16 16\n-1\n' >"$work/odd/depth/0.pfm"
run train --data "$work/odd" --out "$work/none"
ends 1 '' '*0.pfm has 0 bytes of depths, but 16 x 16 pixels need 1024*'
run train --data "$work/data" --depth-scale 0 --task depth --out "$work/none"
ends 2 '' '*depth-scale*'
run train --data "$work/data" --task segment --out "$work/none"
ends 1 '' '*the task segment wants pictures and masks*'
run train --data "$work/data" --depth-scale -1 --out "$work/none"
ends 2 '' '*depth-scale*'
# Files of other types.
mkdir -p "$work/types/train/images" "$work/types/train/depth"
cp "$work/data/images/0.png" "$work/types/train/images/0.png"
run train --data "$work/types" --task depth --out "$work/none"
ends 1 '' '*the folder *types/train/depth holds no depth maps: their names must end in .png, .npy or .pfm'
for type in exr tif; do
  cp "$work/data/depth/0.png" "$work/types/train/depth/0.$type"
  run train --data "$work/types/train" --task depth --out "$work/none"
  ends 1 '' "*train/depth holds no depth maps: their names must end in .png, .npy or .pfm, unlike 0.$type"
  rm "$work/types/train/depth/0.$type"
done
printf 'x,y,label\n1,2,5\n2,1,6\n3,4,7\n4,3,8\n' >"$work/rows.csv"
run train --task depth --data "$work/rows.csv" --label label --out "$work/none"
ends 1 '' '*the task depth wants pictures and depth maps: folders image and depth*'

need_device
small='--width 8 --depth 2 --lr 0.01 --seed 1 --quiet'
run train --data "$work/data" --augment mixup --out "$work/none"
ends 2 '' '*mixup blends classes of whole pictures*'
mkdir -p "$work/dark/images" "$work/dark/depth"
cp "$work/data/images/0.png" "$work/dark/images/0.png"
{ printf 'Pf\n48 48\n-1\n'; head -c 9216 /dev/zero; } >"$work/dark/depth/0.pfm"
run train --data "$work/dark" --out "$work/none"
ends 1 '' '*the depth maps (1) have no depth above 0; there is nothing to learn*'
[ ! -e "$work/none" ] || fault 'a folder is left'

# The task is found from the data. The mean depth has an AbsRel of 0.35 and a delta1 of 0.25 here.
# shellcheck disable=SC2086
run train --data "$work/data" $small --epochs 12 --json --out "$work/run"
ends 0 '{"task":"depth","part":"validation"*' ''
is metrics.absrel '<' 0.12 metrics.delta1 '>' 0.85
grep -q 'data:image/png' "$work/run/report.html" || fault 'no pictures in the report'
for how in '--loss l1' '--loss huber --delta 0.5' '--precision bf16 --augment cutmix --norm group'; do
  rm -rf "$work/how"
  # shellcheck disable=SC2086
  run train --data "$work/data" $small $how --epochs 6 --json --out "$work/how"
  ends 0 '{"task":"depth"*' ''
  is metrics.absrel '<' 0.25
done

# What shows a wrong scale: the range of the depths, maps of 8 bits among wider ones, a map without a depth.
run info "$work/run"
ends 0 '*' ''
mkdir -p "$work/mixed/images" "$work/mixed/depth"
for i in 0 1 2 3; do
  cp "$work/data/images/$i.png" "$work/mixed/images/$i.png"
  cp "$work/data/depth/$i.png" "$work/mixed/depth/$i.png"
done
run train --data "$work/mixed" --width 4 --depth 1 --epochs 1 --validation 0 --out "$work/plain"
ends 0 '*          depths from [0-9.]* to [0-9.]*, [0-9.]* % unknown*' ''
range=${out#*depths from }
run train --data "$work/mixed" --width 4 --depth 1 --epochs 1 --validation 0 --depth-scale 512 --out "$work/half"
ends 0 '*depths from *' ''
half=${out#*depths from }
awk -v a="${range%% *}" -v b="${half%% *}" 'BEGIN { e = a / b - 2; exit !(e < 0.02 && e > -0.02) }' ||
  fault "depths from ${range%% *}, half of them from ${half%% *}"
# If there are many maps, some are read, and the message says so.
"$rooms" "$work/many" 201 16 png
rm "$work/many/depth/0.png"
{ printf 'Pf\n16 16\n-1\n'; head -c 1024 /dev/zero; } >"$work/many/depth/0.pfm"
run train --data "$work/many" --width 4 --depth 1 --epochs 1 --validation 0 --out "$work/some"
ends 0 '*          depths from [0-9.]* to [0-9.]*, [0-9.]* % unknown, of 200 maps*' \
  'mica train: 1 of 200 depth maps that were read have no depth above 0, such as the one of *many/images/0.png'
case $range$half in *'of 200 maps'*) fault "not all of 4 maps are read: $range" ;; esac
"$MICA_BUILD_DIR/bin/tests/write_scenes" "$work/eight" 1 48 || exit 1
cp "$work/eight/masks/0.png" "$work/mixed/depth/2.png"
rm "$work/mixed/depth/3.png"
cp "$work/dark/depth/0.pfm" "$work/mixed/depth/3.pfm"
run train --data "$work/mixed" --width 4 --depth 1 --epochs 1 --validation 0 --out "$work/warned"
ends 0 "*          1 of 4 depth maps have levels of 8 bits, such as *mixed/depth/2.png, but *mixed/depth/0.png has 16 \
bits: the depth scale 256 divides the levels of all$newline*" \
  'mica train: 1 of 4 depth maps have no depth above 0, such as the one of *mixed/images/3.png'

# Stopped after half of its epochs and resumed: the same run.
# shellcheck disable=SC2086
run train --data "$work/data" $small --epochs 2 --json --out "$work/whole"
ends 0 '{"task":"depth"*' ''
is metrics.absrel '<' 1
whole=$(json metrics.absrel)
# shellcheck disable=SC2086
begin() { exec "$mica" train --data "$work/data" $small --epochs 2 --checkpoint-steps 3 --out "$@"; }
killed "$work/parts" 1 2
run eval --model "$work/parts" --json
ends 0 '{"task":"depth"*' ''
[ "$(json metrics.absrel)" = "$whole" ] || fault "resumed $(json metrics.absrel), at once $whole"

# Larger pictures come in tiles, and their errors are those of the predictions. npy and PFM hold the same depths.
for format in png npy pfm; do
  "$rooms" "$work/$format" 2 100 $format
  run eval --model "$work/run" --data "$work/$format" --json
  ends 0 '{"task":"depth","part":"all","metrics":{"samples":2,*' ''
  is metrics.absrel '<' 0.2
  json metrics.absrel >>"$work/absrel"
done
awk 'NR == 1 { first = $1 } { e = $1 / first - 1; bad += e > 0.01 || e < -0.01 } END { exit bad || NR != 3 }' \
  "$work/absrel" || fault "AbsRel of PNG, npy, PFM: $(cat "$work/absrel")"
run predict --model "$work/run" --data "$work/pfm" --json --out "$work/maps"
ends 0 '{"task": "depth", *' ''
holds predictions.0.height 100
is predictions.0.absrel '<' 0.3 predictions.1.absrel '<' 0.3
awk -v a="$(json predictions.0.absrel)" -v b="$(json predictions.1.absrel)" -v all="$(tail -n 1 "$work/absrel")" \
  'BEGIN { e = (a + b) / 2 / all - 1; exit !(e < 0.02 && e > -0.02) }' || fault "AbsRel of the predictions: $out"
for file in 0-depth.png 0-depth.npy 0-colours.png; do [ -s "$work/maps/$file" ] || fault "no $file"; done
# What was predicted can be trained on.
for format in png npy; do
  rm -rf "$work/again"
  mkdir -p "$work/again/images" "$work/again/depth"
  cp "$work/pfm/images/0.png" "$work/again/images/0.png"
  cp "$work/maps/0-depth.$format" "$work/again/depth/0.$format"
  run eval --model "$work/run" --data "$work/again" --json
  ends 0 '{"task":"depth"*' ''
  is metrics.absrel '<' 0.002
done
# A folder of pictures with their depth maps: the pictures alone are predicted.
run predict --model "$work/run" "$work/again" --json --out "$work/alone"
ends 0 '{"task": "depth", *' '*is not read: *again/depth'
holds predictions.0.name '*again/images/0.png'
case $out in *again/depth*) fault "a depth map is predicted: $out" ;; esac
# Whole numbers in another unit than in training.
"$rooms" "$work/double" 2 48 png
run eval --model "$work/run" --data "$work/double" --json
first=$(json metrics.absrel)
run eval --model "$work/run" --data "$work/double" --depth-scale 256 --json
[ "$(json metrics.absrel)" = "$first" ] || fault 'the scale of the training changes something'
run eval --model "$work/run" --data "$work/double" --depth-scale 512 --json
is metrics.absrel '>' 0.6 metrics.delta1 '<' 0.1
# Floating numbers are not divided, which is said.
for format in npy pfm; do
  run eval --model "$work/run" --data "$work/$format" --depth-scale 512 --json
  ends 0 '*' "*$format: the depth scale 512 changes nothing, because no depth map holds whole numbers"
  is metrics.absrel '<' 0.2
done
run eval --model "$work/run" --data "$work/npy" --json
ends 0 '*' ''
run eval --model "$work/run" --data "$work/png" --depth-scale 512 --json
ends 0 '*' ''
run eval --model "$work/run" --data "$work/double" --depth-scale 0
ends 2 '' '*depth-scale*'
printf 'a,label\n1,x\n2,y\n3,x\n4,y\n' >"$work/two.csv"
run train --data "$work/two.csv" --epochs 1 --validation 0 --quiet --out "$work/table"
run eval --model "$work/table" --data "$work/two.csv" --depth-scale 2
ends 2 '' 'mica eval: the depth scale is for runs with depth maps; the task of *table is classify'
# It is refused before weights are read.
rm "$work/table/model.safetensors"
run eval --model "$work/table" --data "$work/two.csv" --depth-scale 2
ends 2 '' 'mica eval: the depth scale is for runs with depth maps; the task of *table is classify'
# Millimetres.
run train --data "$work/again" --depth-scale 1000 --width 4 --depth 1 --epochs 1 --quiet --out "$work/mm"
ends 0 '' ''

exit $failed
