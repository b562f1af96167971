#!/bin/sh
# labels: device
# A network from a CSV file to predictions, what lies on disk then, and what bad input is answered with.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

# Three clouds in five dimensions, which no two features tell apart alone.
awk 'BEGIN {
  srand(1)
  print "a,b,c,d,e,kind"
  for (i = 0; i < 900; i++) {
    k = i % 3
    for (j = 0; j < 5; j++) printf "%.4f,", (k == 0 ? j % 2 : k == 1 ? 1 - j % 2 : 0.5) * 3 + rand() + rand()
    print (k == 0 ? "ash" : k == 1 ? "birch" : "cedar")
  }
}' >"$work/trees.csv"
folder=$work/run

run train --data "$work/trees.csv" --model mlp --epochs 3 --batch 32 --seed 7 --out "$folder"
ends 0 '*an epoch leaves out 10 of 810 samples, others each time, *epoch 3/3*validation accuracy*' ''
for file in model.safetensors last.safetensors config.json history.csv report.html; do
  [ -s "$folder/$file" ] || fault "there is no $file"
done
[ "$(wc -l <"$folder/history.csv")" = 4 ] || fault 'history.csv has not a line an epoch'

run eval --model "$folder" --part train --json
ends 0 '*' ''
holds task classify
holds metrics.samples 810
holds classes.1.name birch
awk -v a="$(json metrics.accuracy)" 'BEGIN { exit !(a > 0.95) }' || fault "accuracy $(json metrics.accuracy)"

run info "$folder"
ends 0 '*mlp*ash, birch, cedar*fc1.weight*' ''
run info "$folder/model.safetensors" --json
holds tensors.0.type F32

# Fewer samples than a batch holds are a batch.
head -n 8 "$work/trees.csv" >"$work/few.csv"
run train --data "$work/few.csv" --model mlp --epochs 1 --validation 0 --out "$work/few"
ends 0 '*batch 64, *one batch of 7: there are no more samples*' '*'
case $out in *'leaves out'*) fault "of one batch: $out" ;; esac

# The schedule step lowers the rate after each third of the epochs, exponential per epoch, which has 25 batches.
falling=$(awk 'BEGIN { for (i = 1; i < 5; i++) printf " %.6f", 0.1 * 0.9 ^ (i - 0.04) }')
for schedule in 'step 0.1 0.1 0.01 0.01' "exponential$falling"; do
  # shellcheck disable=SC2086
  set -- $schedule
  run train --data "$work/trees.csv" --model mlp --epochs 4 --batch 32 --schedule "$1" --optimizer sgd --lr 0.1 \
    --quiet --out "$work/$1"
  ends 0 '*' ''
  awk -F, -v rates="$2 $3 $4 $5" '
    NR == 1 { for (i = 1; i <= NF; i++) if ($i == "learning_rate") at = i; split(rates, rate, " "); next }
    { if ($at < rate[NR - 1] * 0.999 || $at > rate[NR - 1] * 1.001) wrong = 1 }
    END { exit wrong || NR != 5 }' "$work/$1/history.csv" || fault "$1: $(cut -d, -f1-3 "$work/$1/history.csv")"
done

# Not over what is there; and on from there, to the bits of a run that was never stopped.
run train --data "$work/trees.csv" --model mlp --out "$folder"
ends 1 '' "*holds a run already*"
sum=$(cksum <"$folder/last.safetensors")
run train --data "$work/trees.csv" --model mlp --epochs 3 --batch 32 --seed 7 --out "$work/again"
[ "$(cksum <"$work/again/last.safetensors")" = "$sum" ] || fault 'the same seed gives other weights'
run train --resume --out "$folder"
ends 0 '*' ''
[ "$(cksum <"$folder/last.safetensors")" = "$sum" ] || fault 'a run that is done goes on'

# A disk that is full before anything is kept leaves nothing, so that the folder is free.
ran='mica train with files of 8 KiB at most'
status=0
(trap '' XFSZ && ulimit -f 16 && exec "$mica" train --data "$work/trees.csv" --model mlp --width 900 --epochs 2 \
  --quiet --out "$work/full") >"$work/out" 2>"$work/err" || status=$?
out=$(cat "$work/out")
err=$(cat "$work/err")
ends 1 '' '*mica train: cannot write *full/*'
[ ! -e "$work/full" ] || fault "left behind: $(ls "$work/full")"

# Bad input: one sentence, and nothing is lost.
run train
ends 2 '' '*--data is missing*'
run train --data "$work/none.csv" --out "$work/none"
ends 1 '' '*none.csv*'
[ ! -e "$work/none" ] || fault 'a folder for nothing'
run train --data "$work/trees.csv" --epochs 0 --out "$work/none"
ends 2 '' '*epochs wants a whole number*'
run train --data "$work/trees.csv" --model mpl --out "$work/none"
ends 2 '' '*mlp*'
run train --data "$work/trees.csv" --optimizer sdg --out "$work/none"
ends 2 '' '*sgd*'
run train --data "$work/trees.csv" --model mlp --lr 1000000 --optimizer sgd --schedule constant --out "$work/nan"
ends 1 '*' '*not a number*'
[ ! -e "$work/nan" ] || fault 'a folder of a training that failed'
run train --data "$work/trees.csv" --model mlp --lr 1000000 --optimizer sgd --schedule constant --out "$work/x/y/nan"
ends 1 '*' '*not a number*'
[ ! -e "$work/x" ] || fault 'folders of a training that failed'
run train --data "$work/trees.csv" --model mlp --epochs 1 --out "$work/deep/er/run"
[ "$status" = 0 ] && [ -e "$work/deep/er/run/model.safetensors" ] || fault "no run in folders that were missing: $out"
run train --data "$work/trees.csv" --model mlp --epochs 1 --out "$work/trees.csv/run"
ends 1 '' '*trees.csv*Not a directory*'
# A file that has the name of the folder is found before the data are read.
run train --data "$work/trees.csv" --model mlp --epochs 1 --out "$work/trees.csv"
ends 1 '' "mica train: cannot write to the folder $work/trees.csv: Not a directory"
printf 'a,b\n1,x\n2\n' >"$work/short.csv"
run train --data "$work/short.csv" --out "$work/none"
ends 1 '' '*short.csv*'
run eval --model "$work"
ends 1 '' '*holds no training run*'
run eval
ends 2 '' '*--model is missing*'
head -c 1000 "$work/again/model.safetensors" >"$work/cut" && mv "$work/cut" "$work/again/model.safetensors"
run eval --model "$work/again"
ends 1 '' '*model.safetensors*'
cp "$folder/config.json" "$work/again/config.json"
sed -i 's/"mlp"/"cnn"/' "$work/again/config.json"
run train --resume --out "$work/again"
ends 2 '' '*the network cnn takes pictures*'

# Weights know columns by their place: those of a run are refused where a table has them in another order, or others.
awk -F, '{ print $2 "," $1 "," $3 "," $4 "," $5 "," $6 }' "$work/trees.csv" >"$work/order.csv"
sed '1s/^a,b/z,b/' "$work/trees.csv" >"$work/names.csv"
run train --data "$work/order.csv" --init "$folder/model.safetensors" --epochs 1 --out "$work/none"
ends 1 '' "*read 'a' as numeric input 1, but $work/order.csv has 'b' there; give it the columns of *trees.csv*"
run train --data "$work/names.csv" --init "$folder/model.safetensors" --epochs 1 --out "$work/none"
ends 1 '' "*read 'a' as numeric input 1, but $work/names.csv has 'z'*"
run train --data "$work/trees.csv" --init "$folder/model.safetensors" --epochs 1 --out "$work/same"
ends 0 '*' 'mica train: 4 of 4 weights are taken from*'
cp "$folder/model.safetensors" "$work/away.safetensors"
run train --data "$work/order.csv" --init "$work/away.safetensors" --epochs 1 --out "$work/away"
ends 0 '*' "*away.safetensors does not say which columns it reads, so *in the order of the table$newline*"
# A reader that goes away during the summary leaves no empty folder.
ran='mica train | true'
for again in 1 2 3; do
  "$mica" train --data "$work/trees.csv" --model mlp --epochs 5000 --out "$work/piped$again" 2>"$work/err" | true
  [ ! -d "$work/piped$again" ] || [ -s "$work/piped$again/config.json" ] || fault 'an empty folder is left'
done
# Closed outputs are not the numbers of files that are written.
ran='mica train >&- 2>&-'
"$mica" train --data "$work/trees.csv" --init "$work/away.safetensors" --epochs 1 --out "$work/closed" >&- 2>&- &&
  fault 'exit status 0 though nothing could be printed'
for file in history.csv config.json report.html events*; do
  ! grep -q 'in the order of the table\|best$' "$work"/closed/$file || fault "$file has what is printed"
done
run eval --model "$work/closed" --json
ends 0 '*' '*'

run train --data "$work/trees.csv" --model unet --out "$work/none"
ends 2 '' '*unet gives an answer for each pixel*'
run train --data "$work/trees.csv" --model resnet18 --out "$work/none"
ends 2 '' '*resnet18 takes pictures*'
run train --data "$work/none.csv" --lr 0 --out "$work/none"
ends 2 '' '*lr wants a number*'
run train --resume --seed 8 --out "$folder"
ends 2 '' '*seed is "7" in the resumed run*'
run train --data "$work/trees.csv" --device null --out "$work/none"
ends 2 '' '*null computes nothing*'
run train --data "$work/trees.csv" --devices null --out "$work/none"
ends 2 '' 'mica train: the device null computes nothing*'
run train --data "$work/trees.csv" --devices null,NULL --out "$work/none"
ends 2 '' 'mica train: the device null computes nothing*'
[ ! -e "$work/none" ] || fault 'a run of the null device'
# Batches that make no step: none at all, or the last ones.
run train --data "$work/trees.csv" --batch 200 --epochs 1 --accumulate 5 --out "$work/none"
ends 2 '' '*accumulate: a step takes 5 batches, but the run has only 4, so nothing would be learnt*'
[ ! -e "$work/none" ] || fault 'a run that learnt nothing'
run train --data "$work/trees.csv" --batch 200 --epochs 2 --accumulate 5 --out "$work/steps"
ends 0 '*' '*accumulate: the last 3 of 8 batches do not change the weights, because a step takes 5*'
mkfifo "$work/fifo"
run train --data "$work/fifo" --out "$work/none"
ends 1 '' '*fifo is neither a file nor a folder*'
[ ! -e "$work/none" ] || fault 'a folder for nothing'
run predict --model "$folder" --data "$work/trees.csv" "$work/picture.png"
ends 2 '' '*give either inputs, --text or --data*'
run predict --model "$folder" "$work/picture.png"
ends 1 '' '*not trained on pictures*'
mkdir "$work/pictures"
run predict --model "$folder" "$work/pictures"
ends 1 '' '*pictures is a folder, but the network was trained on rows of a table*'

exit $failed
