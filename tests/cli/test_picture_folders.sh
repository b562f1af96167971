#!/bin/sh
# labels: device single
# Folders of pictures as people have them: what train, eval and predict say of parts, sub-folders, empty folders, files
# that cannot be read, and of the epoch that is kept.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

# Two PNG files of 8 x 8, dark and light.
dark='iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAAAAADhZOFXAAAAFElEQVR42mMQERUTl5CUkmagjAEA0ngF4aNBsOoAAAAASUVORK5CYII='
light='iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAAAAADhZOFXAAAAIUlEQVR42i3BwQEAMATAwOw/o6Is4pM7QjyRokSLL0asDtBhN+EwtkSTAAAA
AElFTkSuQmCC'
data=$work/data
for part in Train VALID; do
  mkdir -p "$data/$part/dark/more" "$data/$part/light"
  for i in 0 1 2 3 4 5 6 7; do
    echo "$dark" | base64 -d >"$data/$part/dark/$i.png"
    echo "$light" | base64 -d >"$data/$part/light/$i.png"
  done
  mv "$data/$part/dark/"[67].png "$data/$part/dark/more"
done
mkdir -p "$data/unlabelled" "$data/Train/empty" "$data/Train/@eaDir" "$data/__MACOSX/dark"
echo none >"$data/Train/dark/Thumbs.db"
folder=$work/run

# The parts have other names and cases; what is not used is named, and so is the epoch that is kept.
run train --data "$data" --model mlp --epochs 6 --batch 4 --seed 3 --out "$folder"
ends 0 '*16 to train on, 16 to validate, 0 to test*2 classes*epoch 6/6*' ''
for sentence in '1 folder beside the parts is not used: unlabelled' \
  '2 of 16 pictures lie in folders within their class, such as *Train/dark/more/6.png' \
  '1 folder holds no pictures and is not a class: *Train/empty' \
  'kept      the weights of epoch [1-6] of 6, validation accuracy *' \
  'only 16 samples are held out for validation, so the accuracy is uncertain by about 12 percentage points*'; do
  # shellcheck disable=SC2254
  case $out in *$sentence*) ;; *) fault "no \"$sentence\": $out" ;; esac
done
[ "$(printf '%s\n' "$out" | grep -c '^          [12] ')" = 3 ] || fault "no line a sentence: $out"
case $out in *Thumbs.db* | *eaDir* | *MACOSX*) fault "litter is named: $out" ;; esac
best=$(printf '%s\n' "$out" | grep -c '  best$')
[ "$best" -gt 0 ] || fault "no epoch is the best: $out"
run eval --model "$folder" --part validation --json
holds epoch '[1-6]'
kept=$(json epoch)
for fact in "<th>weights</th><td class=t>epoch $kept of 6, validation accuracy" '<th>seconds of training</th>' \
  'text-anchor=middle>epoch</text>'; do
  grep -q "$fact" "$folder/report.html" || fault "the report has no $fact"
done

# A run does not lie in its data, nor its data in it, whatever the path is called; only folders are meant.
for to in "$data" "$data/" "$data/Train/../run" "$data/new/run" "$data/dark/./" "$work/"; do
  for given in "$data" "$data/."; do
    run train --data "$given" --out "$to"
    ends 2 '' "mica train: *$to*folder*; choose *(--out)"
  done
done
ln -s "$data" "$work/link"
run train --data "$data" --out "$work/link/run"
ends 2 '' "*the folder $work/link/run of the run would lie in the folder $data of the data; *outside it (--out)"
rm "$work/link"
(cd "$data/Train" && "$mica" train --data ../ --out run >"$work/out" 2>&1)
grep -q 'the folder run of the run would lie in the folder ../ of the data' "$work/out" || fault "$(cat "$work/out")"
for file in run new config.json Train/run dark; do [ ! -e "$data/$file" ] || fault "$file lies in the data"; done
run quantize "$folder" --out "$data/small"
ends 1 '' "*the folder $data/small of the run would lie in the folder * of the data*"
run prune "$folder" --flops 0.5 --out "$data/small"
ends 2 '' "*the folder $data/small of the run would lie in the folder * of the data*"

# Weights to begin with: of a run, of which the network's defaults for few pictures stay; of a file most of which fits;
# and of another network, of which one weight of 11 fits by chance.
run train --data "$data" --epochs 1 --seed 3 --quiet --out "$work/conv"
ends 0 '' ''
run train --data "$data" --epochs 1 --init "$work/conv" --json --out "$work/begun"
ends 0 '*' "*11 of 11 weights are taken from $work/conv/model.safetensors*"
case $err in *'batch 16, f32, augmentation crop=1,'*) ;; *) fault "other defaults: $err" ;; esac
grep -q "\"init\": \".*conv/model.safetensors\"" "$work/begun/config.json" || fault 'init is not recorded'
renamed() { LC_ALL=C sed "s/mica.hash/some.hash/; $1" "$work/conv/model.safetensors" >"$work/renamed.safetensors"; }
renamed 's/fc\./gg./g'
run train --data "$data" --epochs 1 --init "$work/renamed.safetensors" --out "$work/most"
ends 0 '*' '*9 of 11 weights are taken from *, the others begin at random: fc.weight is not in the file*'
renamed 's/weight/other_/g; s/bias/ibas/g; s/bn2.other_/bn2.weight/'
run train --data "$data" --epochs 1 --init "$work/renamed.safetensors" --out "$work/none"
ends 1 '' '*is of another network: 1 of 11 weights of convnet fit by name and shape, and half of them must (*--model'
run train --data "$data" --epochs 1 --init "$work/conv" --model mlp --out "$work/none"
ends 1 '' '*conv/model.safetensors fits the network mlp by name and shape; the network has fc1.weight*'
[ ! -e "$work/none" ] || fault 'a folder for nothing'

# Each class validates with its share, whatever the seed; a run that began without regard to classes goes on so.
few=$work/few
mkdir -p "$few/dark" "$few/light"
for i in $(seq 30); do cp "$data/VALID/dark/1.png" "$few/dark/$i.png"; done
for i in $(seq 10); do cp "$data/VALID/light/1.png" "$few/light/$i.png"; done
for seed in 1 2 3 4; do
  run train --data "$few" --model mlp --validation 0.2 --epochs 1 --seed $seed --out "$work/few$seed"
  ends 0 '*dark * 6 *light * 2 *' '*'
done
run eval --model "$work/few1" --part validation
ends 0 '*dark * 6 *light * 2 *' ''
# A part that holds nothing is named.
mkdir -p "$work/hollow/train/images" "$work/hollow/train/masks" "$work/hollow/val"
cp -r "$few/dark" "$work/hollow/val/images"
cp -r "$few/dark" "$work/hollow/val/masks"
cp "$few"/dark/* "$work/hollow/train/images"
run train --task segment --data "$work/hollow" --out "$work/none"
ends 1 '*' "*hollow has no train part: $work/hollow/train does not hold what the other parts hold"
# A small share has one of each class.
mkdir -p "$work/small/dark" "$work/small/light"
for i in 1 2 3 4 5 6 7 8 9; do
  cp "$few/dark/$i.png" "$work/small/dark"
  cp "$few/light/$i.png" "$work/small/light"
done
run train --data "$work/small" --model mlp --validation 0.1 --epochs 1 --out "$work/smallrun"
ends 0 '*16 to train on, 2 to validate*dark * 1 *light * 1 *' '*'
run train --resume --epochs 2 --out "$work/few1"
ends 0 '*dark * 6 *light * 2 *' '*'
for seed in 1 2 3 4; do
  sed 's/"validation_by_class": \[1\]/"validation_by_class": [0]/' "$work/few$seed/config.json" >"$work/config"
  cp "$work/config" "$work/few$seed/config.json"
  run eval --model "$work/few$seed" --part validation
  case $out in *'dark '*' 6 '*'light '*' 2 '*) ;; *) old=yes ;; esac
  run train --resume --epochs 3 --quiet --out "$work/few$seed"
  ends 0 '' '*'
done
[ "${old-}" ] || fault 'a run that began without regard to classes has another part'

# A run that is there goes on, or another folder is named.
run train --data "$data" --out "$folder"
ends 1 '' "*run holds a run already; mica train --resume --out $folder continues it, another --out begins a new one"

# The truth is known in a folder of folders named after classes; files that cannot be read are named, and the others
# are predicted.
run predict --model "$folder" "$data/VALID" --json
holds predictions.0.prediction 'dark'
holds predictions.7.truth dark
ends 0 '*' ''
holds predictions.8.truth light
holds predictions.15.classes.0.name light
ln -s . "$data/VALID/dark/loop"
run predict --model "$folder" "$data/VALID" --json
holds predictions.15.truth light
json predictions.16 >/dev/null 2>&1 && fault 'a folder that lies in itself is read again'
rm "$data/VALID/dark/loop"
run predict --model "$folder" "$data/VALID/dark/0.png" --json
json predictions.0.truth >/dev/null 2>&1 && fault 'a truth that nobody said'
echo 'no picture' >"$data/VALID/dark/3.png"
: >"$data/VALID/light/5.png"
echo none >"$data/VALID/light/notes.txt"
run predict --model "$folder" "$data/VALID"
ends 1 '*dark/0.png*right*light/7.png*right*' \
  '*: 14 samples were predicted: *[37]; 1* of 14 are right*mica predict: 2 files cannot be read'
case $err in *VALID/dark/3.png\ is\ neither\ PNG\ nor\ JPEG*VALID/light/5.png\ is\ an\ empty\ file*) ;;
*) fault "does not name both files: $err" ;; esac
case $err in *'1 file or folder beside the pictures (.png, .jpg, .jpeg) is not read: '*VALID/light/notes.txt*) ;;
*) fault "no word of the notes: $err" ;; esac
run predict --model "$folder" "$data/VALID" --csv "$work/table.csv"
ends 1 "written   $work/table.csv" '*'
[ "$(wc -l <"$work/table.csv")" = 15 ] || fault "the table has other lines: $(cat "$work/table.csv")"
[ "$(head -1 "$work/table.csv")" = name,prediction,probability,p_dark,p_light,truth ] || fault 'another header'
run predict --model "$folder" "$data/VALID" --json
[ "$status" = 1 ] || fault "exit status $status"
holds predictions.13.prediction light
run predict --model "$folder" "$data/VALID/dark/3.png"
ends 1 '' '*3.png is neither PNG nor JPEG'
run predict --model "$folder" "$data/VALID/dark/3.png" "$data/VALID/light/5.png"
ends 1 '' '*3.png*5.png*none of the 2 files can be read'
# A network is tested on all samples or on none: all damaged ones are named. So it is for samples of data.
damaged=$work/damaged
mkdir -p "$damaged/test/dark" "$damaged/test/light" "$damaged/train/dark"
cp "$data/VALID/dark/1.png" "$damaged/test/dark"
cp "$data/VALID/light/2.png" "$damaged/test/light"
echo none >"$damaged/test/dark/2.png"
echo none >"$damaged/test/light/1.png"
run eval --model "$folder" --data "$data" --part validation
ends 1 '' '*; of 16 pictures 2 cannot be read: *VALID/dark/3.png, *VALID/light/5.png'

rm "$data/VALID/dark/3.png" "$data/VALID/light/5.png"
run eval --model "$folder" --data "$data" --part validation
ends 0 '*' '*1 file is not PNG or JPEG and is not used: *VALID/light/notes.txt*'

run predict --model "$folder" --data "$damaged"
ends 1 '' '*; of 4 pictures 2 cannot be read: *damaged/test/dark/2.png, *damaged/test/light/1.png'

# What is damaged in the test part is found after the training, which is not lost: the validation part is shown.
mkdir -p "$data/test/dark" "$data/test/light"
echo 'no picture' >"$data/test/dark/1.png"
cp "$data/VALID/light/1.png" "$data/test/light"
run train --data "$data" --model mlp --epochs 2 --batch 4 --seed 3 --json --out "$work/tested"
[ "$status" = 1 ] || fault "exit status $status"
holds part validation
holds metrics.samples 14
case $err in *test/dark/1.png\ is\ neither*'the validation part stands in for the test part'*) ;;
*) fault "the damaged picture is not named: $err" ;; esac
[ -s "$work/tested/report.html" ] || fault 'there is no report'

# A test part that is mended, and litter, change nothing of what a run is trained on.
cp "$data/VALID/dark/1.png" "$data/test/dark"
echo none >"$data/Train/dark/desktop.ini"
run train --resume --epochs 3 --quiet --out "$work/tested"
ends 0 '' ''

# A folder called as folders of masks are is a class if the network has such a class, or if no pictures lie beside it.
mkdir -p "$work/named/dark" "$work/named/labels"
cp "$data/VALID/dark/"[01].png "$work/named/dark"
cp "$data/VALID/light/"[01].png "$work/named/labels"
run train --data "$work/named" --model mlp --epochs 1 --validation 0 --quiet --out "$work/calls"
ends 0 '*' '*'
run predict --model "$folder" "$work/named" --json
ends 0 '*' ''
holds predictions.2.name '*named/labels/0.png'
holds predictions.3.name '*named/labels/1.png'
mv "$work/named/dark" "$work/named/images"
run predict --model "$work/calls" "$work/named" --json
ends 0 '*' ''
holds predictions.2.truth labels
holds predictions.3.truth labels
run predict --model "$folder" "$work/named" --json
ends 0 '*' '*is not read: *named/labels'
json predictions.2 >/dev/null 2>&1 && fault "masks are predicted: $out"

# A table that names pictures is read as in training; answers may be missing.
echo picture,shade >"$work/shades.csv"
for i in 1 2 3 4 5 6 7 8 9; do
  printf 'few/dark/%s.png,0.1%s\nfew/light/%s.png,0.8%s\n' $i $i $i $i >>"$work/shades.csv"
done
run train --data "$work/shades.csv" --model mlp --epochs 1 --quiet --out "$work/shade"
ends 0 '' ''
run predict --model "$work/shade" "$work/shades.csv" --json
ends 0 '{"task": "regress", *' ''
holds predictions.# 18
holds predictions.0.name "$work/few/dark/1.png"
holds predictions.17.truth '0.8*'
printf 'picture,shade\nfew/dark/1.png,\nfew/light/2.png,0.5\n' >"$work/half.csv"
run predict --model "$work/shade" "$work/half.csv" --json
ends 0 '{"task": "regress", *' ''
holds predictions.# 2
json predictions.0.truth >/dev/null 2>&1 && fault 'a truth that the table does not have'
holds predictions.1.truth 0.5
printf 'picture\nfew/dark/1.png\n' >"$work/bare.csv"
run predict --model "$work/shade" "$work/bare.csv"
ends 1 '' "*bare.csv *; if there are no answers, give the pictures or their folder instead of a table"

# A folder above the classes, and one above the parts.
mkdir "$work/high"
cp -r "$data/Train" "$work/high/animals"
run train --data "$work/high" --out "$work/none"
ends 1 '' "*high holds samples: animals, with the folders dark, empty, light; *classes or parts, use $work/high/animals"
mkdir "$work/higher"
cp -r "$data" "$work/higher/pictures"
run train --data "$work/higher" --out "$work/none"
ends 1 '' "*holds samples: pictures, with the folders Train, VALID, test, unlabelled; *, use $work/higher/pictures"
mkdir "$work/nothing"
run predict --model "$folder" "$work/nothing"
ends 1 '' '*neither the folder *nothing nor a folder in it holds pictures (.png, .jpg, .jpeg)'
exit $failed
