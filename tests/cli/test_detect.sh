#!/bin/sh
# labels: device slow
# Boxes in pictures: trained, evaluated and predicted by the command, from Pascal VOC, COCO and
# YOLO; data that are wrong.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
# shellcheck source-path=SCRIPTDIR source=detect.sh
. "$(dirname "$0")/detect.sh"
need_device

make_voc "$work/voc"
make_coco "$work/coco"
make_yolo "$work/yolo"
small='--size 64 --width 8 --batch 4 --warm-up 5 --ema 0.8 --least-score 0.05'

# above NAME LEAST: a number of the last JSON is at least so large.
above() { awk -v is="$(json "$1")" -v least="$2" 'BEGIN { exit !(is >= least) }' || fault "$1 is $(json "$1")"; }

# Found from the data; the two pictures are soon known by heart. Without validation the last weights are kept, not the
# first that find all boxes.
# shellcheck disable=SC2086
run train --data "$work/voc" $small --epochs 40 --validation 0 --augment none --mosaic 0.3 --seed 1 \
  --out "$work/run" --json
[ "$status" = 0 ] || fault "$err"
holds task detect
above metrics.map_50 0.7
run eval --model "$work/run" --data "$work/coco/boxes.json" --json
above metrics.map_50 0.7
holds metrics.samples 12
of_coco=$(json metrics.map)
run eval --model "$work/run" --data "$work/yolo" --json
[ "$of_coco" ] && [ "$of_coco" = "$(json metrics.map)" ] || fault "map $of_coco by COCO, $(json metrics.map) by YOLO"
holds metrics.samples 12

run predict --model "$work/run" "$work/voc/JPEGImages/low0.png" --out "$work" --json
holds predictions.0.boxes.0.name low
for side in 0:8 1:16 2:32 3:40; do
  is=$(json "predictions.0.boxes.0.box.${side%:*}")
  awk -v is="$is" -v want="${side#*:}" 'BEGIN { exit !(is - want < 4 && want - is < 4) }' || fault "side $side is $is"
done
[ -s "$work/low0-overlay.png" ] || fault 'no picture with boxes'
# More boxes at a lower score, none at a score of 1.
run predict --model "$work/run" "$work/voc/JPEGImages/low0.png" --out "$work/t1" --threshold 1
ends 0 '*no box scores 100 % or more (--threshold)*' ''
run predict --model "$work/run" "$work/voc/JPEGImages/low0.png" --out "$work/t2" --threshold 0.001 --json
holds predictions.0.boxes.1.name '*'
# Links in the run's own folder of pictures are not written through.
mkdir "$work/elsewhere"
echo kept >"$work/elsewhere/file"
ln -s "$work/elsewhere" "$work/run/predictions"
run predict --model "$work/run" "$work/voc/JPEGImages/low0.png"
ends 1 '' '*run/predictions is a link or not a folder, and is not written to; choose another folder with --out'
rm "$work/run/predictions"
mkdir "$work/run/predictions"
ln -s "$work/elsewhere/file" "$work/run/predictions/low0-overlay.png"
run predict --model "$work/run" "$work/voc/JPEGImages/low0.png"
ends 1 '' '*predictions/low0-overlay.png is a link or not a file, and is not written to*'
[ "$(cat "$work/elsewhere"/*)" = kept ] || fault 'a link was written through'
rm "$work/run/predictions/low0-overlay.png"
for time in 1 2; do
  run predict --model "$work/run" "$work/voc/JPEGImages/low0.png"
  ends 0 "*written *predictions/low0-overlay.png*" ''
done
run predict --model "$work/run" --data "$work/voc" --count 2
ends 0 '*JPEGImages/*.png*high*% *JPEGImages/*' ''
# Boxes are in the pixels of the file, whichever way it is named and scaled.
run train --data "$work/voc" --size 96 --width 8 --batch 4 --epochs 1 --lr 1e-9 --validation 0 --ema 0 --augment none \
  --least-score 0 --init "$work/run/model.safetensors" --out "$work/scaled" --json
[ "$status" = 0 ] || fault "$err"
run predict --model "$work/scaled" --data "$work/voc" --count 1 --json
of_data=$(json predictions.0.boxes.0.box)
run predict --model "$work/scaled" "$(json predictions.0.name)" --json
[ "$of_data" ] && [ "$of_data" = "$(json predictions.0.boxes.0.box)" ] || fault "boxes $of_data, not $out"
run predict --model "$work/run" "$work/voc/JPEGImages"
ends 0 '*high0.png*low5.png*' 'mica predict: * samples were predicted'

# What lies beside the picture, in its frame, is no box, and takes no place of one: as many are found as there may be.
wide='iVBORw0KGgoAAAANSUhEUgAAAEAAAAAYCAAAAABv36SYAAAAIUlEQVR42mPQoBAwUM2AOzjAqAGjBowaMGrASDRgwEpl
ANIZQZ+EsPBUAAAAAElFTkSuQmCC'
echo "$wide" | base64 -d >"$work/wide.png"
run predict --model "$work/scaled" "$work/wide.png" --json
flat=$(tr -d ' \n' <"$work/out" | sed 's/"box":/\n/g' | awk -F '[][,]' 'NR > 1 && !($4 > $2 && $5 > $3)' | wc -l)
[ "$flat" -eq 0 ] || fault "$flat boxes without area"
[ "$(grep -o '"box":' "$work/out" | wc -l)" -eq 100 ] || fault "not 100 boxes: $out"

# Half precision; what makes no sense is said.
for precision in f16 bf16; do
  # shellcheck disable=SC2086
  run train --data "$work/coco/boxes.json" $small --epochs 12 --validation 0.4 --precision $precision --augment none \
    --out "$work/$precision" --json
  [ "$status" = 0 ] || fault "$precision: $err"
  above metrics.map_50 0.2
done
run train --data "$work/voc" --augment mixup --out "$work/no"
ends 2 '*' '*mixup cannot be used with boxes (column "boxes")*'
run train --data "$work/voc" --task detect --model resnet18 --out "$work/no"
ends 2 '*' '*the task detect takes the network detector, not resnet18*'
run train --data "$work/voc" --task detect --width 12 --out "$work/no"
ends 2 '*' '*width must be a multiple of 8*'

# Other data: a class that the run lacks, a box outside, no box at all.
cp -r "$work/voc" "$work/other"
voc_xml giraffe 1 1 20 20 >"$work/other/Annotations/low0.xml"
run eval --model "$work/run" --data "$work/other"
ends 1 '*' '*the class "giraffe" is unknown*'
voc_xml low 1 1 200 20 >"$work/other/Annotations/low0.xml"
run train --data "$work/other" --out "$work/no"
ends 1 '*' '*low0.xml, line 3: the box from (0, 0) to (200, 20) is not inside of the picture of 64 x 64*'
rm "$work/other/JPEGImages/low0.png"
run train --data "$work/other" --out "$work/no"
ends 1 '*' '*low0.xml: there is no picture*'
sed 's/"bbox":\[8,16,24,24\]/"bbox":[8,16,24]/' "$work/coco/boxes.json" >"$work/coco/bad.json"
run train --data "$work/coco/bad.json" --out "$work/no"
ends 1 '*' '*bad.json: annotation 0 has no "bbox" of four numbers*'
[ ! -e "$work/no/config.json" ] || fault 'a run is left of data that are wrong'

exit $failed
