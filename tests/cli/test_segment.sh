#!/bin/sh
# labels: device slow
# The task segment by the command: learned, evaluated and predicted, pictures larger than a tile among them; bad input.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
scenes="$MICA_BUILD_DIR/bin/tests/write_scenes"
"$scenes" "$work/data" 24 48 || exit 1

# What is wrong with the data is said before anything is trained.
"$scenes" "$work/odd" 3 16
cp "$work/data/masks/0.png" "$work/odd/masks/1.png"
run train --task segment --data "$work/odd" --out "$work/none"
ends 1 '' '*masks/1.png is a mask of 48 x 48 pixels, but its picture *images/1.png has 16 x 16*'
rm "$work/odd/masks/1.png"
run train --task segment --data "$work/odd" --out "$work/none"
ends 1 '' '*images/1.png has no mask*'
run train --data "$work/data" --mask-values 0,7 --task segment --out "$work/none"
ends 1 '' '*png holds the value 255, which is not a class*'
run train --data "$work/data" --task segment --mask-values 0=wall,255=wall --out "$work/none"
ends 2 '' '*mask-values: two values have the name "wall"*'
# The task is found by data that open by the setting.
run train --data "$work/data" --mask-values 0,7 --out "$work/none"
ends 1 '' '*png holds the value 255, which is not a class*'
run train --data "$work/data" --mask-values 0,x --task segment --out "$work/none"
ends 2 '' '*mask-values*"x"*'
run train --data "$work/data" --task classify --out "$work/none"
ends 1 '' "*the column 'mask' has values of kind mask, not a class for each sample; --task segment*"
mkdir -p "$work/types/images" "$work/types/masks"
cp "$work/data/images/0.png" "$work/types/images/0.png"
cp "$work/data/masks/0.png" "$work/types/masks/0.tif"
run train --data "$work/types" --task segment --out "$work/none"
ends 1 '' '*the folder *types/masks holds no masks: their names must end in .png or .jpg, unlike 0.tif'
printf 'x,y,label\n1,2,a\n2,1,b\n3,4,a\n4,3,b\n' >"$work/rows.csv"
run train --task segment --data "$work/rows.csv" --label label --out "$work/none"
ends 1 '' '*rows.csv: the task segment wants pictures and masks: folders image and mask*'

need_device
small='--width 4 --depth 2 --batch 4'
run train --data "$work/data" --augment mixup --out "$work/none"
ends 2 '' '*mixup blends classes of whole pictures*'
run train --data "$work/data" --window 30 --out "$work/none"
ends 2 '' '*window 30 cannot be halved 4 times (depth); 16 can*'
run train --data "$work/data" --model resnet18 --out "$work/none"
ends 2 '' '*the task segment takes the network unet, not *'
[ ! -e "$work/none" ] || fault 'a folder is left'

# Found from the data; learned.
# shellcheck disable=SC2086
run train --data "$work/data" $small --epochs 16 --lr 0.03 --json --quiet --out "$work/run"
ends 0 '{"task":"segment","part":"validation"*' ''
awk -v d="$(json metrics.dice_255)" 'BEGIN { exit !(d > 0.9) }' || fault "Dice $(json metrics.dice_255)"
holds metrics.iou '0.[0-9]*'
grep -q 'data:image/png' "$work/run/report.html" || fault 'no pictures in the report'

# Where there is nothing to validate on, the training's own pictures are tested on, whole and not as windows.
"$scenes" "$work/few" 4 48
# shellcheck disable=SC2086
run train --data "$work/few" $small --window 16 --epochs 1 --json --quiet --out "$work/windows"
ends 0 '{"task":"segment","part":"train","metrics":{"samples":4,*' ''

# Larger pictures come in tiles; all their pixels count once.
"$scenes" "$work/large" 2 100
run eval --model "$work/run" --data "$work/large" --json
ends 0 '{"task":"segment","part":"all","metrics":{"samples":2,*' ''
awk -v d="$(json metrics.dice_255)" 'BEGIN { exit !(d > 0.8) }' || fault "Dice of tiles $(json metrics.dice_255)"
run predict --model "$work/run" --json --out "$work/masks" "$work/large/images/1.png" "$work/data/images/0.png"
ends 0 '{"task": "segment", *' ''
holds predictions.0.height 100
holds predictions.1.height 48
for file in 1-mask 0-mask 1-overlay; do [ -s "$work/masks/$file.png" ] || fault "no $file"; done
# Every folder of masks beside the pictures is left out, whatever the others are called and hold.
mkdir -p "$work/several/images" "$work/several/labels"
cp "$work/data/images/0.png" "$work/several/images/0.png"
echo '0 0.5 0.5 0.2 0.2' >"$work/several/labels/0.txt"
cp -r "$work/data/masks" "$work/several/masks"
run predict --model "$work/run" --json --out "$work/several0" "$work/several"
ends 0 '*' '*not read: *several/*'
holds predictions.0.name '*several/images/0.png'
json predictions.1 >/dev/null 2>&1 && fault "masks beside texts are predicted: $out"
rm "$work/several/labels/0.txt"
cp "$work/data/masks/0.png" "$work/several/labels/0.png"
run predict --model "$work/run" --json --out "$work/several1" "$work/several"
ends 0 '*' '*2 files or folders beside *are not read: *several/labels, ...'
holds predictions.0.name '*several/images/0.png'
json predictions.1 >/dev/null 2>&1 && fault "masks beside masks are predicted: $out"

# What was predicted can be trained on: its values are the masks'.
mkdir -p "$work/again/images" "$work/again/masks"
cp "$work/large/images/1.png" "$work/again/images/1.png"
cp "$work/masks/1-mask.png" "$work/again/masks/1.png"
run eval --model "$work/run" --data "$work/again" --json
awk -v d="$(json metrics.dice)" 'BEGIN { exit !(d > 0.999) }' || fault "its own mask has a Dice of $(json metrics.dice)"
run predict --model "$work/run" "$work/data/images/2.png"
ends 0 "*2.png*written *$work/run/predictions/2-mask.png*" ''
[ -s "$work/run/predictions/2-overlay.png" ] || fault 'no overlay in the folder of the run'
# Two pictures called alike get two names; what is there is not written over, and then nothing is written.
run predict --model "$work/run" --out "$work/alike" "$work/large/images/1.png" "$work/data/images/1.png"
ends 0 "*written *$work/alike/1-mask.png*written *$work/alike/1-1-mask.png*" ''
mkdir "$work/mine"
echo precious >"$work/mine/1-mask.png"
run predict --model "$work/run" --out "$work/mine" "$work/data/images/0.png" "$work/data/images/1.png"
ends 1 '' "mica predict: $work/mine/1-mask.png is there already and is not written over: \
choose another folder with --out"
[ "$(cat "$work/mine/1-mask.png")" = precious ] || fault 'a file is written over'
[ "$(ls "$work/mine")" = 1-mask.png ] || fault 'pictures are written beside one that is there'
run predict --model "$work/run" "$work/data/images/2.png"
ends 0 "*written *$work/run/predictions/2-mask.png*" ''
run predict --model "$work/run" --data "$work/large" --count 1
ends 0 "*large/images/*.png*accuracy*" ''

# Pictures of several sizes are tested as they are, whichever the first one is: by the masks that are predicted of them.
mkdir -p "$work/sizes/images" "$work/sizes/masks" "$work/order/images" "$work/order/masks"
for side in 30 48 100; do
  "$scenes" "$work/side" 1 $side
  for kind in images masks; do
    cp "$work/side/$kind/0.png" "$work/sizes/$kind/s$side.png"
    cp "$work/side/$kind/0.png" "$work/order/$kind/$((200 - side)).png"
  done
done
run eval --model "$work/run" --data "$work/sizes" --json
ends 0 '{"task":"segment","part":"all","metrics":{"samples":3,*' ''
accuracy=$(json metrics.accuracy)
dice=$(json metrics.dice)
run eval --model "$work/run" --data "$work/order" --json
awk -v a="$dice" -v b="$(json metrics.dice)" 'BEGIN { exit !(a - b < 1e-9 && b - a < 1e-9) }' ||
  fault "Dice $dice, by other names $(json metrics.dice)"
run predict --model "$work/run" --data "$work/sizes" --json
for i in 0 1 2; do
  echo "$(json predictions.$i.height) $(json predictions.$i.width) $(json predictions.$i.accuracy)"
done | awk -v a="$accuracy" '{ sides = sides " " $1; right += $1 * $2 * $3; all += $1 * $2 }
  END { e = right / all - a; exit !(sides == " 100 30 48" && e < 1e-5 && e > -1e-5) }' ||
  fault "accuracy $accuracy, not that of the predictions: $out"
run predict --model "$work/run" --out "$work/sizes/said" "$work/sizes/images"
mkdir "$work/said"
cp -r "$work/sizes/images" "$work/said/images"
mkdir "$work/said/masks"
for side in 30 48 100; do cp "$work/sizes/said/s$side-mask.png" "$work/said/masks/s$side.png"; done
run eval --model "$work/run" --data "$work/said" --json
awk -v a="$(json metrics.accuracy)" 'BEGIN { exit !(a > 0.9999) }' ||
  fault "predicted masks are not those that are tested: $(json metrics.accuracy)"
# shellcheck disable=SC2086
run train --data "$work/sizes" $small --epochs 1 --out "$work/mixed"
case $out in *'3 pictures of several sizes, 30 to 100 x 30 to 100 pixels'*) ;;
*) fault "no word of sizes: $out" ;;
esac

mkdir "$work/other"
cp -r "$work/data/images" "$work/other"
cp -r "$work/data/images" "$work/other/masks"
run eval --model "$work/run" --data "$work/other"
ends 1 '' '*which is not a class*'

# A run that says of itself to have more classes than masks can.
cp -r "$work/run" "$work/many"
many=$(awk 'BEGIN { for (i = 0; i < 300; i++) printf "%s\"c%d\"", i ? "," : "", i }')
tr '\n' ' ' <"$work/run/config.json" | sed 's/"classes": *\[[^]]*\]/"classes": ['"$many"']/' >"$work/many/config.json"
run predict --model "$work/many" "$work/data/images/2.png"
ends 1 '' '*the run has 300 classes, but masks can have at most 255*'

# Dice losses are of the whole batch, however many ranks it is divided among.
if "$mica" devices --json | grep -q '"compute_units": *[2-9]'; then
  ranks="train --data $work/data $small --norm group --epochs 3 --json --quiet"
  # shellcheck disable=SC2086
  run $ranks --out "$work/one"
  one=$(json metrics.loss)
  # shellcheck disable=SC2086
  run $ranks --devices 0:0/2 --out "$work/two"
  ends 0 '{"task":"segment"*' ''
  awk -v a="$one" -v b="$(json metrics.loss)" 'BEGIN { exit !(a > 0 && (a - b) ^ 2 < (1e-5 * a) ^ 2) }' ||
    fault "the loss of two ranks is $(json metrics.loss), of one $one"
fi

# Mixed precision, cutmix, group norm, other losses.
for how in '--precision f16' '--precision bf16 --loss dice' '--augment cutmix --norm group' \
  '--loss focal --class-weights balanced' '--loss cross_entropy_dice --class-weights 1,3'; do
  rm -rf "$work/how"
  # shellcheck disable=SC2086
  run train --data "$work/data" $small $how --epochs 24 --lr 0.03 --json --quiet --out "$work/how"
  ends 0 '{"task":"segment"*' ''
  awk -v d="$(json metrics.dice_255)" 'BEGIN { exit !(d > 0.5) }' || fault "$how: Dice $(json metrics.dice_255)"
done

exit $failed
