#!/bin/sh
# labels: device slow
# The task segment_volumes by the command: learned, stopped and resumed, evaluated, predicted and exported; bad input.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
volumes="$MICA_BUILD_DIR/bin/tests/write_volumes"
"$volumes" "$work/data" 10 16 || exit 1

# What is wrong with the data is said before anything is trained.
"$volumes" "$work/odd" 3 20
cp "$work/data/masks/0.nii" "$work/odd/masks/1.nii"
run train --task segment --data "$work/odd" --out "$work/none"
ends 1 '' '*masks/1.nii is a mask of 16 x 16 x 12 voxels, but its volume *images/1.nii has 20 x 20 x 16*'
head -c 400 "$work/data/images/0.nii" >"$work/odd/images/1.nii"
run train --task segment --data "$work/odd" --out "$work/none"
ends 1 '' '*images/1.nii is truncated: it has 400 of the 6496 bytes that its header says*'
printf 'no volume' >"$work/odd/images/1.nii"
run train --task segment --data "$work/odd" --out "$work/none"
ends 1 '' '*images/1.nii is not a NIfTI file*'
rm "$work/odd/images/1.nii"
run train --task segment --data "$work/odd" --out "$work/none"
ends 1 '' '*masks/1.nii is a mask that belongs to none of the volumes: there is no 1.nii or .nii.gz*'
run train --data "$work/data" --mask-values 0,2 --out "$work/none"
ends 1 '' '*masks/0.nii holds the value 1, which is not a class of mask-values*'
run train --data "$work/data" --mask-values 0,#ff0000 --out "$work/none"
ends 2 '' '*mask-values of volumes must be numbers from 0 to 255*'

need_device
small='--width 4 --depth 2 --window 16 --windows 2 --batch 2'
run train --data "$work/data" --augment flip --out "$work/none"
ends 2 '' '*augment is for pictures; the task segment_volumes mirrors windows*'
run train --data "$work/data" --window 30 --out "$work/none"
ends 2 '' '*window 30 cannot be halved 3 times (depth); 24 can*'
[ ! -e "$work/none" ] || fault 'a folder is left'

# Found from the data; learned.
# shellcheck disable=SC2086
run train --data "$work/data" $small --epochs 40 --lr 0.01 --json --quiet --out "$work/run"
ends 0 '{"task":"segment_volumes","part":"validation"*' ''
awk -v d="$(json metrics.dice)" 'BEGIN { exit !(d > 0.8) }' || fault "Dice $(json metrics.dice)"
holds metrics.hausdorff_95 '[0-9]*'
grep -q 'data:image/png' "$work/run/report.html" || fault 'no slices in the report'

# The accuracy counts voxels, not volumes.
# shellcheck disable=SC2086
run train --data "$work/data" $small --epochs 1 --out "$work/few"
ends 0 '*hausdorff_95 *only 1 volume is held out for validation; hold out more*' '*'

# There is room for the means of many classes, though not for all classes of each.
# shellcheck disable=SC2086
run train --data "$work/data" $small --epochs 1 --mask-values "$(seq -s, 0 39)" --json --quiet --out "$work/many"
ends 0 '{"task":"segment_volumes","part":"validation"*' ''
for metric in accuracy dice iou hausdorff hausdorff_95; do holds metrics.$metric '[0-9]*'; done

# Half of it, and the rest later: the same weights.
for epochs in 2 4; do
  # shellcheck disable=SC2086
  if [ $epochs = 4 ]; then rest=--resume; else rest="--data $work/data $small"; fi
  # shellcheck disable=SC2086
  run train $rest --schedule constant --epochs $epochs --quiet --json --out "$work/parts"
  ends 0 '{"task":"segment_volumes"*' ''
done
# shellcheck disable=SC2086
run train --data "$work/data" $small --schedule constant --epochs 4 --quiet --json --out "$work/whole"
cmp -s "$work/parts/model.safetensors" "$work/whole/model.safetensors" || fault 'a resumed run has other weights'

# Larger volumes come in windows; one that differs in size, too.
"$volumes" "$work/large" 2 28
run eval --model "$work/run" --data "$work/large" --json
ends 0 '{"task":"segment_volumes","part":"all","metrics":{"samples":2,*' ''
awk -v d="$(json metrics.dice)" 'BEGIN { exit !(d > 0.6) }' || fault "Dice of windows $(json metrics.dice)"
run predict --model "$work/run" --json --out "$work/masks" "$work/large/images/1.nii" "$work/data/images/0.nii"
ends 0 '{"task": "segment_volumes", *' ''
holds predictions.0.depth 24
holds predictions.1.width 16
holds predictions.0.classes.1.name 1
# Masks are packed where the build can.
if [ -e "$work/masks/1-mask.nii" ]; then ending=nii; else ending=nii.gz; fi
for file in 1-mask.$ending 0-mask.$ending 1-axial.png; do [ -s "$work/masks/$file" ] || fault "no $file"; done
# What was predicted can be trained on: its values are the masks', its space is the volume's.
mkdir -p "$work/again/images" "$work/again/masks"
cp "$work/large/images/1.nii" "$work/again/images/1.nii"
run predict --model "$work/run" "$work/large/images/1.nii" --out "$work/again/masks/1.$ending"
ends 0 "*written *1.$ending*" ''
run eval --model "$work/run" --data "$work/again" --json
ends 0 '{"task":"segment_volumes","part":"all","metrics":{"samples":1,*' ''
holds metrics.dice 1
holds metrics.hausdorff 0
run predict --model "$work/run" "$work/large/images" --out "$work/one.nii.gz"
ends 1 '' '*--out *one.nii.gz is for the mask of exactly one volume*'
# Without compression: the mask is in the space of the volume.
run predict --model "$work/run" "$work/large/images/1.nii" --json --out "$work/plain.nii"
ends 0 '{"task": "segment_volumes", *' ''
[ "$(wc -c <"$work/plain.nii")" = $((352 + 28 * 28 * 24)) ] || fault "plain.nii has $(wc -c <"$work/plain.nii") bytes"
# Sides and spacing are the volume's.
for part in '40 16' '76 32' '252 92'; do
  # shellcheck disable=SC2086
  set -- $part
  for file in plain large/images/1; do od -An -tx1 -j "$1" -N "$2" "$work/$file.nii" >"$work/${file%%/*}.bytes"; done
  cmp -s "$work/plain.bytes" "$work/large.bytes" ||
    fault "bytes from $1 on of the header differ"
done
if [ $ending = nii.gz ]; then
  gzip -dc "$work/again/masks/1.nii.gz" | cmp - "$work/plain.nii" || fault 'the plain mask differs from the packed one'
else
  cmp "$work/again/masks/1.nii" "$work/plain.nii" || fault 'the plain mask differs'
  run predict --model "$work/run" "$work/large/images/1.nii" --out "$work/one.nii.gz"
  ends 1 '' '*one.nii.gz: this build cannot compress masks; choose NAME.nii*'
fi
cp "$work/plain.nii" "$work/again/masks/1.nii" && rm -f "$work/again/masks/1.nii.gz"
run eval --model "$work/run" --data "$work/again" --json
ends 0 '{"task":"segment_volumes","part":"all","metrics":{"samples":1,*' ''
holds metrics.dice 1
# Masks that lie among the volumes are no volumes: of a folder that was predicted into itself, the same are predicted
# again; and such a folder can be trained on.
mkdir "$work/mixed"
for i in 0 1; do
  cp "$work/large/images/$i.nii" "$work/mixed/case$i.nii"
  cp "$work/large/masks/$i.nii" "$work/mixed/case${i}_seg.nii"
done
for folder in drawn mixed; do
  run predict --model "$work/run" "$work/mixed" --out "$work/$folder" --json
  ends 0 '{"task": "segment_volumes", *' \
    '*2 files or folders beside the volumes (.nii, .nii.gz, without masks of other volumes) are*case0_seg.nii, ...'
  case $out in *_seg*) fault "a mask was predicted: $out" ;; esac
done
[ -e "$work/mixed/case0-mask.$ending" ] || fault 'no mask beside the volume'
run predict --model "$work/run" "$work/mixed" --out "$work/twice" --json
ends 0 '{"task": "segment_volumes", *' '*beside the volumes*'
for file in "$work"/twice/*-mask.*; do
  case $file in *case[01]-mask.*) ;; *) fault "a mask of a mask: $file" ;; esac
done
rm "$work"/mixed/*-mask.* "$work"/mixed/*.png
run eval --model "$work/run" --data "$work/mixed" --json
ends 0 '{"task":"segment_volumes","part":"all","metrics":{"samples":2,*' ''
awk -v d="$(json metrics.dice)" 'BEGIN { exit !(d > 0.6) }' || fault "Dice of one folder $(json metrics.dice)"
rm "$work/mixed/case1_seg.nii"
run eval --model "$work/run" --data "$work/mixed"
ends 1 '' '*case1.nii has no mask: there is no case1_mask.nii.gz in the folder'
# Two channels: a fourth axis of two in the header, and the voxels twice.
{
  head -c 40 "$work/data/images/0.nii"
  printf '\004\000' # dim[0]
  tail -c +43 "$work/data/images/0.nii" | head -c 6
  printf '\002\000' # dim[4]
  tail -c +51 "$work/data/images/0.nii" | head -c 302
  tail -c +353 "$work/data/images/0.nii"
  tail -c +353 "$work/data/images/0.nii"
} >"$work/two.nii"
run predict --model "$work/run" "$work/two.nii"
ends 1 '' '*two.nii has 2 channels, but the run was trained on 1*'
run predict --model "$work/run" "$work/odd/masks/none.nii"
ends 1 '' '*none.nii*'

run export "$work/run" --onnx "$work/run.onnx"
case $status in
0) [ -s "$work/run.onnx" ] || fault 'no model is written' ;;
*) ends 1 '' '*lacks*' ;;
esac

exit $failed
