#!/bin/sh
# labels: device slow
# A teacher in each task whose answers are no classes of a sample: a student that begins as its teacher is at no
# distance of it, one that begins by itself learns otherwise than alone; teachers that answer something else.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
# shellcheck source-path=SCRIPTDIR source=detect.sh
. "$(dirname "$0")/detect.sh"
# shellcheck source-path=SCRIPTDIR source=tones.sh
. "$(dirname "$0")/tones.sh"
need_device

# loss RUN: of the last epoch's training.
loss() {
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "loss") at = i } END { print $at }' "$work/$1/history.csv"
}

# first RUN OPTION...: a run of $train that is to teach.
first() {
  name=$1
  shift
  # shellcheck disable=SC2086 # words of options
  run train $train "$@" --json --out "$work/$name"
  ends 0 '*{"task":*' '*'
}

# agrees TEACHER MOST OPTION...: the distance of a student that begins as its teacher, which stays so: it hears nothing
# else, and hardly learns. Its network is otherwise the same. MOST is 0 where training computes what testing does.
agrees() {
  of=$1
  most=$2
  shift 2
  rm -rf "$work/same"
  # shellcheck disable=SC2086
  run train $train "$@" --init "$work/$of/model.safetensors" --teacher "$work/$of" --alpha 1 --lr 1e-9 --epochs 1 \
    --out "$work/same"
  ends 0 '*' '*'
  awk -v is="$(loss same)" -v most="$most" 'BEGIN { exit !(is != "" && is >= -1e-6 && is <= most) }' ||
    fault "the distance to itself is $(loss same)"
}

# learns TEACHER OPTION...: an epoch with the teacher and one alone, with the same seed, end with other losses and
# weights; without weight a teacher changes nothing.
learns() {
  of=$1
  shift
  for share in none 0 0.7; do
    rm -rf "$work/student$share"
    with="--teacher $work/$of --alpha $share"
    [ $share = none ] && with=''
    # shellcheck disable=SC2086
    run train $train "$@" $with --epochs 1 --out "$work/student$share"
    ends 0 '*' '*'
  done
  cmp -s "$work/studentnone/model.safetensors" "$work/student0.7/model.safetensors" && fault 'nothing is learned of it'
  [ "$(loss studentnone)" != "$(loss student0.7)" ] || fault "the loss is $(loss studentnone) with and without it"
  # Another graph is fused otherwise, and may round otherwise.
  awk -v a="$(loss studentnone)" -v b="$(loss student0)" 'BEGIN { d = (a - b) / a; exit !(d * d < 1e-13) }' ||
    fault "a teacher without weight: the loss is $(loss student0), not $(loss studentnone)"
}

# alike TEACHER OPTION OTHER OPTION...: distances of a student that hardly learns are the same, however batches are
# made: by OPTION, or by OTHER.
alike() {
  of=$1
  one=$2
  other=$3
  shift 3
  by=one
  for how in "$one" "$other"; do
    rm -rf "$work/$by"
    # shellcheck disable=SC2086
    run train $train "$@" $how --teacher "$work/$of" --alpha 1 --lr 1e-9 --epochs 1 --out "$work/$by"
    ends 0 '*' '*'
    by=other
  done
  awk -v a="$(loss one)" -v b="$(loss other)" 'BEGIN { d = (a - b) / b; exit !(b > 0.01 && d * d < 1e-10) }' ||
    fault "the distance is $(loss one) with $one, $(loss other) with $other"
}

# refused SENTENCE TEACHER OPTION...
refused() {
  says=$1
  of=$2
  shift 2
  # shellcheck disable=SC2086
  run train $train "$@" --epochs 1 --teacher "$work/$of" --out "$work/none"
  ends 1 '' "*$says*"
}

# --- forecast ---

awk 'BEGIN { print "a,b"; for (i = 0; i < 400; i++)
  printf "%.3f,%.3f\n", sin(i / 6) + 0.1 * sin(i * i), 3 * cos(i / 9) }' >"$work/s.csv"
sed '1s/b/c/' "$work/s.csv" >"$work/other.csv"
sed '300q' "$work/s.csv" >"$work/shorter.csv"
train="--task forecast --data $work/s.csv --dropout 0 --seed 1 --quiet"
sizes='--horizon 4 --window 12'
# shellcheck disable=SC2086 # words of options
{
  first forecasts $sizes --epochs 3
  agrees forecasts 0 $sizes
  learns forecasts $sizes --model linear
  alike forecasts '--batch 32' '--batch 32 --devices 0:0/2' $sizes --model linear
}
refused '"horizon" is 4 in the teacher *, but 5 in these data' forecasts --horizon 5 --window 12
refused '"window" is 12 in the teacher *, but 13 in these data' forecasts --horizon 4 --window 13
train="--task forecast --data $work/other.csv --dropout 0 --seed 1 --quiet $sizes"
refused "has 'b' as series 1, but *other.csv has 'c'" forecasts
# Rows of other scales: both see and answer in their own, so that the same network is hardly another one.
train="--task forecast --data $work/shorter.csv --dropout 0 --seed 1 --quiet $sizes"
agrees forecasts 1e-3
train="--task forecast --data $work/s.csv --seed 1 --quiet --horizon 4 --window 12"
awk -v folder="$work" 'BEGIN { print "a,b,y" >folder "/n.csv"
  for (i = 0; i < 100; i++) printf "%d,%d,%.1f\n", i % 7, i % 5, i % 7 + i % 5 + 0.5 >folder "/n.csv" }'
run train --task regress --data "$work/n.csv" --epochs 1 --quiet --out "$work/numbers"
ends 0 '' ''
refused 'learned the task regress, but the run has forecast' numbers
# A model in ONNX is no teacher of windows: the run that it was made of is.
if "$mica" export "$work/forecasts" --onnx "$work/forecasts.onnx" >/dev/null 2>&1; then
  refused 'the task forecast has other inputs here; choose a run as the teacher' forecasts.onnx
fi
# A model in ONNX answers in the target's own units.
train="--task regress --data $work/n.csv --quiet"
agrees numbers 1e-12
if "$mica" export "$work/numbers" --onnx "$work/numbers.onnx" >/dev/null 2>&1; then
  # shellcheck disable=SC2086
  run train $train --init "$work/numbers/model.safetensors" --teacher "$work/numbers.onnx" --alpha 1 --lr 1e-9 \
    --epochs 1 --out "$work/onnx"
  ends 0 '*' '*'
  awk -v is="$(loss onnx)" 'BEGIN { exit !(is != "" && is < 1e-8) }' || fault "in ONNX it is at $(loss onnx)"
fi

# --- keyword ---

# A model in ONNX hears what the run that it was made of hears, so that it teaches the same.
mkdir -p "$work/words/a" "$work/words/b"
make_tones "$work/tones" 40 1 >/dev/null
for letter in a b; do mv "$work/tones/$letter"*.wav "$work/words/$letter"; done
train="--task keyword --data $work/words --batch 4 --width 8 --seconds 0.7 --mels 8 --seed 1 --dropout 0 --masks 0
  --shift 0 --quiet"
# shellcheck disable=SC2086
if "$mica" train $train --epochs 2 --out "$work/hears" >/dev/null 2>&1 &&
  "$mica" export "$work/hears" --onnx "$work/hears.onnx" >/dev/null 2>&1; then
  for teacher in hears hears.onnx; do
    run train $train --init "$work/hears/model.safetensors" --teacher "$work/$teacher" --alpha 1 --lr 1e-9 --epochs 1 \
      --out "$work/by-$teacher"
    ends 0 '*' ''
  done
  awk -v a="$(loss by-hears)" -v b="$(loss by-hears.onnx)" 'BEGIN { exit !(a > 0 && (a - b) ^ 2 < (1e-3 * a) ^ 2) }' ||
    fault "as a run it teaches by $(loss by-hears), in ONNX by $(loss by-hears.onnx)"
fi

# --- language ---

awk 'BEGIN { for (i = 0; i < 60; i++) print "the cat sat on the mat and the dog ran to the cat" }' >"$work/text.txt"
train="--task language --data $work/text.txt --layers 1 --heads 2 --width 8 --positions rotary --batch 16 --dropout 0
  --seed 1 --quiet"
first writes --context 16 --epochs 2
agrees writes 1e-6 --context 16
# A teacher of longer contexts sees those of its student.
agrees writes 1e-6 --context 9
learns writes --context 9
refused 'was trained with context 16, but the run takes 17 tokens' writes --context 17

# --- translate ---

awk -v folder="$work" 'BEGIN {
  split("one two three four five six", a, " "); split("eins zwei drei vier funf sechs", b, " "); srand(1)
  for (i = 0; i < 300; i++) {
    x = ""; y = ""
    for (k = 1 + int(4 * rand()); k > 0; k--) {
      w = 1 + int(6 * rand()); x = x (x == "" ? "" : " ") a[w]; y = y (y == "" ? "" : " ") b[w]
    }
    print x "\t" y >folder "/pairs.tsv"
  }
}'
sed -i '1i en\tde' "$work/pairs.tsv"
train="--task translate --data $work/pairs.tsv --from en --to de --vocabulary 300 --layers 1 --heads 2 --dropout 0
  --bleu-samples 20 --beam 1 --seed 1 --quiet"
first translations --width 32 --length 24 --epochs 3 --lr 1e-2
agrees translations 1e-6 --width 32 --length 24
learns translations --width 16 --length 24
# What pads a batch's texts counts for nothing, and ranks are joined by their tokens.
alike translations '--batch 6' '--batch 30' --width 16 --length 24
alike translations '--batch 30' '--batch 30 --devices 0:0/2' --width 16 --length 24
refused 'was trained with length 24, but the run takes 30 tokens' translations --width 16 --length 30
sed 's/two/to/' "$work/pairs.tsv" >"$work/spelled.tsv"
train="--task translate --data $work/spelled.tsv --from en --to de --vocabulary 300 --layers 1 --length 24 --quiet"
refused 'has another tokenizer; set tokenizer to the tokenizer.json of the teacher' translations
train="--task translate --data $work/pairs.tsv --from de --to en --vocabulary 300 --layers 1 --length 24 --quiet"
refused "has 'en' as source 0, but *pairs.tsv has 'de'" translations

# --- recommend ---

awk 'BEGIN {
  print "user,item,rating,time"
  for (u = 0; u < 40; u++)
    for (k = 0; k < 12; k++) {
      i = (u * 5 + k) % 20
      print "u" u ",i" i "," (u % 2 == i % 2 ? 5 : 1) "," 100 * u + k
    }
}' >"$work/ratings.csv"
sed 's/i7,/i70,/' "$work/ratings.csv" >"$work/elsewhere.csv"
train="--task recommend --data $work/ratings.csv --batch 64 --seed 1 --dropout 0 --l2 0 --quiet"
first rates --width 8 --epochs 3
agrees rates 1e-12 --width 8
learns rates --width 4
learns rates --model neumf --width 4
refused 'was trained with objective rating, but the run uses click' rates --objective click --clicks-from 4
first clicks --objective click --clicks-from 4 --model mf --width 8 --epochs 2
agrees clicks 1e-6 --objective click --clicks-from 4 --model mf --width 8
learns clicks --objective click --clicks-from 4 --model neumf --width 4
for model in mf neumf sasrec; do
  first "$model" --objective ranking --model $model --width 8 --negatives 8 --context 6 --epochs 2
  agrees "$model" 1e-6 --objective ranking --model $model --width 8 --negatives 8 --context 6
done
# All items are scored for a teacher, and so tables are updated as wholes.
learns neumf --objective ranking --model mf --width 4 --whole-tables
learns mf --objective ranking --model neumf --width 4 --negatives 4 --whole-tables
learns mf --objective ranking --model towers --width 4 --negatives 8 --whole-tables
learns sasrec --objective ranking --model sasrec --width 4 --negatives 8 --context 6 --whole-tables
refused 'the network sasrec cannot teach mf' sasrec --objective ranking --model mf
refused 'sees the last 6 items, but the run sees 5' sasrec --objective ranking --model sasrec --context 5
train="--task recommend --data $work/elsewhere.csv --seed 1 --quiet"
refused "has 'i7' as item *, but *elsewhere.csv has 'i70'" rates
train="--task recommend --data $work/ratings.csv --seed 2 --quiet"
refused 'was trained with seed 1, the run with 2; the seed decides how users and items are numbered' rates

# --- detect ---

make_voc "$work/voc"
train="--data $work/voc --size 64 --batch 4 --validation 0 --augment none --seed 1 --quiet"
first boxes --width 16 --epochs 20
# Batch norms see the batch in training: once the teacher's have seen the same weights for a while they agree.
first steady --width 16 --epochs 10 --lr 1e-9 --init "$work/boxes/model.safetensors"
agrees steady 0.05 --width 16
learns boxes --width 8
learns boxes --width 8 --mosaic 1
for i in 0 1 2 3 4 5; do sed -i 's/high/tall/' "$work/voc/Annotations/high$i.xml"; done
refused "has 'high' as class 0, but *voc has 'low'" boxes --width 8

# --- speech ---

mkdir "$work/tones"
make_tones "$work/tones" 60 1 >"$work/tones/train.tsv"
train="--task speech --data $work/tones --layers 1 --mels 16 --batch 8 --dropout 0 --masks 0 --validation 0
  --seed 1 --quiet"
# shellcheck disable=SC2086
run train $train --width 32 --reduction 2 --epochs 4 --lr 0.03 --warm-up 10 --out "$work/speech"
case $err$out in *'lacks libsndfile'*) exit $failed ;; esac
ends 0 '*' '*'
# Batch norms see the batch in training: once the teacher's have seen the same weights for a while they agree.
first heard --width 32 --reduction 2 --epochs 15 --lr 1e-9 --init "$work/speech/model.safetensors"
agrees heard 0.5 --width 32 --reduction 2
learns speech --width 16 --reduction 2
learns speech --width 16 --heads 2 --model conformer --reduction 2
refused 'was trained with reduction 2, but the run uses 4' speech --width 16
sed -i 's/a$/d/' "$work/tones/train.tsv"
refused 'knows 3 letters, *tones has 4' speech --width 16 --reduction 2

exit $failed
