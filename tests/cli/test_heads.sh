#!/bin/sh
# labels: device single
# What is learned from which input: texts to a number and to labels, tables to several numbers and labels; train, eval,
# predict and a model in ONNX, each by options alone. Tests of the library (run.heads) have sounds and pictures.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

# above KEY LEAST: what JSON has at the key is above a number.
above() { awk -v a="$(json "$1")" -v b="$2" 'BEGIN { exit !(a > b) }' || fault "$1 $(json "$1")"; }

awk -v folder="$work" 'BEGIN {
  srand(3)
  split("bad poor fine good the film plot was", word, " "); split("-2 -1 0.5 2 0 0 0 0", worth, " ")
  print "review,stars" >folder "/stars.csv"
  print "review,angry,glad" >folder "/tags.csv"
  print "a,sum,b,product,large,both" >folder "/rows.csv"
  for (i = 0; i < 700; i++) {
    sum = 10; text = ""; angry = glad = 0
    for (k = 0; k < 6; k++) {
      w = 1 + int(8 * rand()); sum += worth[w]; text = text word[w] " "; angry += w == 1; glad += w == 4
    }
    print text "," sum >folder "/stars.csv"
    print text "," (angry > 0) "," (glad > 0) >folder "/tags.csv"
    a = 2 * rand() - 1; b = 2 * rand() - 1
    print a "," 100 * (a + b) "," b "," a * b "," (a + b > 0) "," (a > 0 && b > 0) >folder "/rows.csv"
  }
}'
texts='--tokenizer word --length 10 --width 32 --lr 0.01 --dropout 0 --epochs 6 --quiet'

# The task regress on a column of texts.
# shellcheck disable=SC2086
run train --data "$work/stars.csv" --label stars --task regress ${texts%--quiet} --out "$work/stars"
ends 0 '* MFLOP a step forward*' '*'
rm -r "$work/stars"
# shellcheck disable=SC2086
run train --data "$work/stars.csv" --label stars --task regress $texts --json --out "$work/stars"
ends 0 '*' '*'
holds task text_numbers
run eval --model "$work/stars" --json
above metrics.r2 0.9
run predict --model "$work/stars" --text 'good good film' --json
above predictions.0.value 12
run predict --model "$work/stars" --csv - "$work/stars.csv"
ends 0 "name,prediction,truth$newline*" '*'
run export "$work/stars" --onnx "$work/stars.onnx"
ends 0 '*' ''
run train --resume --task regress --out "$work/stars" --epochs 6 --quiet
ends 0 '*' '*'

# The task text with several labels.
# shellcheck disable=SC2086
run train --data "$work/tags.csv" --label angry,glad --task text $texts --json --out "$work/tags"
ends 0 '*' '*'
holds task text_labels
LC_ALL=C sed '30s/^/caf\xe9 /' "$work/tags.csv" >"$work/latin.csv"
# shellcheck disable=SC2086
run train --data "$work/latin.csv" --label angry,glad --task text $texts --json --out "$work/latin"
ends 1 '' "mica train: $work/latin.csv line 30: column \"review\" is not UTF-8 at byte 4 of the cell*"
LC_ALL=C sed '30s/^/caf\xe9 /' "$work/stars.csv" >"$work/latin.csv"
# shellcheck disable=SC2086
run train --data "$work/latin.csv" --label stars --task regress ${texts#*word} --json --out "$work/latin"
ends 1 '' "mica train: $work/latin.csv line 30: column \"review\" is not UTF-8 at byte 4 of the cell*"
run eval --model "$work/tags" --json
above metrics.map 0.95
printf 'review,angry,glad\nthe bad film,1,0\n' >"$work/one.csv"
run predict --model "$work/tags" "$work/one.csv" --json
holds predictions.0.labels.0.name angry
holds predictions.0.prediction.0 angry
holds predictions.0.prediction.# 1
holds predictions.0.labels.0.said true
holds predictions.0.labels.0.true true
holds predictions.0.labels.1.said false

# A table: two numbers, two labels.
run train --data "$work/rows.csv" --label sum,product --ignore large,both --epochs 40 --quiet --json --out "$work/two"
ends 0 '*' '*'
holds task regress
run eval --model "$work/two" --json
above metrics.r2_sum 0.95
above metrics.r2_product 0.8
printf 'b,a\n0.5,0.25\n' >"$work/one.csv"
run predict --model "$work/two" "$work/one.csv" --json
above predictions.0.values.0.sum 60
run predict --model "$work/two" "$work/one.csv" --csv -
ends 0 "row,sum,product${newline}2,*" '*'
printf 'b,a,sum,product\n0.5,0.25,75,0.125\n' >"$work/known.csv"
run predict --model "$work/two" "$work/known.csv" --csv -
ends 0 "row,sum,product,truth_sum,truth_product${newline}2,*,75,0.125" '*'
run export "$work/two" --onnx "$work/two.onnx"
ends 0 '*' ''
run predict --model "$work/two.onnx" "$work/one.csv" --json
above predictions.0.values.0.sum 60
run info "$work/two.onnx"
ends 0 '*answers*product*' '*'
run train --data "$work/rows.csv" --label large,both --ignore sum,product --epochs 30 --quiet --json --out "$work/flags"
ends 0 '*' '*'
holds task classify
run eval --model "$work/flags" --json
above metrics.f1 0.9

# What chooses the best epoch of several numbers, R2, is shown beside their mean error, which mixes units.
run train --data "$work/rows.csv" --label sum,product --ignore large,both --epochs 2 --out "$work/shown"
ends 0 '*epoch 1/2 *validation rmse *, r2 *, loss *kept *validation rmse *, r2 *, loss *' ''
grep -q 'epoch [12] of 2, validation rmse [0-9.e+]*, r2 [-0-9.]*' "$work/shown/report.html" ||
  fault "the report does not show R2 beside rmse"
run train --data "$work/rows.csv" --label sum --ignore large,both,product --task regress --epochs 2 --out "$work/single"
case $out in *'r2 '*', loss'*) fault "R2 beside the error of one number: $out" ;; esac

# Answers that never change are named once; the others are learned.
awk 'BEGIN { print "a,flat,steep,never,now"
  for (i = 0; i < 60; i++) print i / 60 ",7," i ",0," i % 2 }' >"$work/flat.csv"
run train --data "$work/flat.csv" --label flat,steep --ignore never,now --task regress --epochs 1 --out "$work/flat"
ends 0 '*' "*'flat' is 7 in every training sample: there is nothing to learn about it*"
run train --data "$work/flat.csv" --label flat --ignore steep,never,now --task regress --epochs 1 --out "$work/flat1"
ends 0 '*' "*'flat' is 7 in every training sample: there is nothing to learn about it*"
run train --data "$work/flat.csv" --label never,now --ignore flat,steep --epochs 1 --out "$work/flat2"
ends 0 '*' "*'never' is 0 in every training sample: there is nothing to learn about it*"
case $err in *"'now'"*) fault "a label that changes is called constant: $err" ;; esac

# One sample is not "1 samples".
printf 'a,b,sum\n0.5,0.25,75\n' >"$work/lone.csv"
run eval --model "$work/single" --data "$work/lone.csv"
ends 0 '*, 1 sample)*' '*'

# What cannot be.
run train --data "$work/rows.csv" --label sum,none --out "$work/no"
ends 1 '' '*rows.csv has no column "none" for labels'
run train --data "$work/rows.csv" --label sum,sum --out "$work/no"
ends 2 '' '*column "sum" is named twice for labels'
run train --data "$work/rows.csv" --label sum --task regress --tokenizer word --out "$work/no"
ends 2 '' '*there is no setting tokenizer of the task regress; the tasks text, *have it'
run train --data "$work/rows.csv" --label sum,product --task text --out "$work/no"
ends 1 '' '*rows.csv has no column of texts*'
exit $failed
