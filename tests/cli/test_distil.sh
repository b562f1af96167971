#!/bin/sh
# labels: device slow
# Training with a teacher: its answers are learned, it stays out of the run's files, a run that was stopped goes on to
# the same bits; teachers that do not fit.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

awk -v folder="$work" 'BEGIN {
  srand(1)
  print "a,b,kind" >folder "/k.csv"
  print "a,b,y" >folder "/n.csv"
  for (i = 0; i < 400; i++) {
    x = i % 3 + rand(); z = rand()
    printf "%.4f,%.4f,%s\n", x, z, substr("abc", i % 3 + 1, 1) >folder "/k.csv"
    printf "%.4f,%.4f,%.4f\n", x, z, x * z + z >folder "/n.csv"
  }
}'
sed '1!s/a$/d/' "$work/k.csv" >"$work/other.csv"
sed '/a$/d' "$work/k.csv" >"$work/two.csv"
sed '1s/,/,c,/; 1!s/,/,1,/' "$work/k.csv" >"$work/wide.csv"
epochs=6
student() { run train --epochs $epochs --batch 40 --width 3 --quiet --json "$@"; }
run train --data "$work/k.csv" --epochs 20 --batch 20 --quiet --json --out "$work/teacher"
ends 0 '{"task":"classify"*' ''
run train --data "$work/n.csv" --epochs 5 --quiet --out "$work/numbers"
ends 0 '' ''

# A teacher at full weight is the only thing to learn from, and the file has the student's weights alone.
epochs=60
student --data "$work/k.csv" --teacher "$work/teacher" --alpha 1 --lr 0.05 --out "$work/taught"
epochs=6
ends 0 '{"task":"classify"*' ''
run compare "$work/teacher" "$work/taught" --data "$work/k.csv" --repeats 20 --json
awk -v a="$(json runs.1.agreement)" 'BEGIN { exit !(a > 0.9) }' || fault "agreement $(json runs.1.agreement)"
holds runs.1.parameters 21
for file in model last best; do
  ! grep -q 'teacher\.' "$work/taught/$file.safetensors" || fault "$file.safetensors has the teacher's weights"
done
run train --data "$work/n.csv" --epochs 1 --teacher "$work/numbers" --quiet --out "$work/n"
ends 0 '' ''
# Numbers have no temperature: the usual one may be named, another one would do nothing.
run train --data "$work/n.csv" --epochs 1 --teacher "$work/numbers" --temperature 4.0 --quiet --out "$work/n4"
ends 0 '' ''
run train --data "$work/n.csv" --epochs 1 --teacher "$work/numbers" --temperature 2 --quiet --out "$work/none"
ends 2 '' '*temperature divides logits, but the task regress answers with numbers here*'

# The answers of both are counted.
awk -F, 'NR == 1 { print "u,v," $0 } NR > 1 { print NR * 0.37 "," NR % 7 / 3 "," $0 }' "$work/n.csv" >"$work/uv.csv"
run train --data "$work/uv.csv" --label u,v --epochs 1 --quiet --out "$work/uv"
ends 0 '' ''
run train --data "$work/uv.csv" --label u --ignore v --epochs 1 --teacher "$work/uv" --out "$work/none"
ends 1 '' "*the teacher in $work/uv knows 2 numbers, but $work/uv.csv has 1"
run train --data "$work/uv.csv" --label u --ignore v --epochs 1 --quiet --out "$work/u"
run train --data "$work/uv.csv" --label u,v --epochs 1 --teacher "$work/u" --out "$work/none"
ends 1 '' "*the teacher in $work/u knows 1 number, but $work/uv.csv has 2"

# A teacher of texts, whose tokens are the student's.
awk 'BEGIN { print "label\ttext"; for (i = 0; i < 200; i++)
  print (i % 2 ? "good\ta fine and lovely day " : "bad\tan awful and rainy night ") i }' >"$work/t.tsv"
sed 's/lovely/pretty/' "$work/t.tsv" >"$work/u.tsv"
run train --task text --data "$work/t.tsv" --epochs 3 --quiet --out "$work/texts"
ends 0 '' ''
pupil() { run train --task text --epochs 3 --width 8 --quiet --json --alpha 1 --teacher "$work/texts" "$@"; }
pupil --data "$work/t.tsv" --out "$work/pupil"
ends 0 '{"task":"text"*' ''
run compare "$work/texts" "$work/pupil" --data "$work/t.tsv" --repeats 20 --json
awk -v a="$(json runs.1.agreement)" 'BEGIN { exit !(a > 0.9) }' || fault "texts: agreement $(json runs.1.agreement)"
pupil --data "$work/u.tsv" --out "$work/none"
ends 1 '' "*the teacher in $work/texts has another tokenizer*"
pupil --data "$work/t.tsv" --length 300 --out "$work/none"
ends 1 '' "*was trained with length 256, but the run takes 300 tokens*"

# A teacher in ONNX: exported by Mica, with its facts; and as it comes from elsewhere, without.
if "$mica" export "$work/teacher" --onnx "$work/teacher.onnx" >/dev/null 2>&1; then
  epochs=60
  student --data "$work/k.csv" --teacher "$work/teacher.onnx" --alpha 1 --lr 0.05 --out "$work/onnx_taught"
  epochs=6
  ends 0 '{"task":"classify"*' ''
  run compare "$work/teacher" "$work/onnx_taught" --data "$work/k.csv" --repeats 20 --json
  awk -v a="$(json runs.1.agreement)" 'BEGIN { exit !(a > 0.9) }' || fault "ONNX: agreement $(json runs.1.agreement)"
  ! grep -q 'teacher\.' "$work/onnx_taught/last.safetensors" || fault 'a file has the weights of the teacher in ONNX'
  run train --resume --quiet --out "$work/onnx_taught"
  ends 0 '*' '*'
  epochs=1
  "$mica" convert "$work/teacher/model.safetensors" "$work/foreign.onnx" --model mlp --shape 2 >/dev/null ||
    fault 'a foreign teacher cannot be made'
  student --data "$work/k.csv" --teacher "$work/foreign.onnx" --out "$work/foreign_taught"
  ends 0 '{"task":"classify"*' ''
  student --data "$work/wide.csv" --teacher "$work/foreign.onnx" --out "$work/none"
  ends 1 '' '*foreign.onnx takes (?, 2), but the samples are (?, 3)*'
  student --data "$work/two.csv" --teacher "$work/foreign.onnx" --out "$work/none"
  ends 1 '' '*the teacher in *foreign.onnx answers with *'
  student --data "$work/wide.csv" --teacher "$work/teacher.onnx" --out "$work/none"
  ends 1 '' '*"input" is 2 in the teacher *, but 3 in these data*'
  run train --task text --data "$work/t.tsv" --epochs 1 --teacher "$work/foreign.onnx" --out "$work/none"
  ends 1 '' '*takes pictures, numbers or *, but the task text has other inputs here; choose a run as the teacher*'
  epochs=6
fi

# Without weight a teacher changes nothing.
student --data "$work/k.csv" --out "$work/alone"
student --data "$work/k.csv" --teacher "$work/teacher" --alpha 0 --out "$work/unheard"
cmp "$work/alone/model.safetensors" "$work/unheard/model.safetensors" ||
  fault 'a teacher without weight changed weights'

# Stopped at an epoch and resumed, from another folder, it ends with the same bits.
student --data "$work/k.csv" --teacher "$work/teacher" --out "$work/whole"
cd "$work" || exit 1
"$mica" train --data k.csv --epochs 6 --batch 40 --width 3 --quiet --teacher teacher --checkpoint-steps 1 \
  --out stopped 2>/dev/null &
pid=$!
tries=0
until [ -e stopped/last.safetensors ] || [ $tries -gt 400 ]; do sleep 0.02; tries=$((tries + 1)); done
kill -KILL $pid 2>/dev/null
wait $pid
cd / || exit 1
run train --resume --quiet --out "$work/stopped"
ends 0 '' ''
cmp "$work/whole/model.safetensors" "$work/stopped/model.safetensors" || fault 'a run that was killed ends otherwise'
run train --resume --alpha 0.7 --out "$work/stopped"
ends 2 '' '*alpha is "0.5" in the resumed run*'

# Teachers that do not fit, or are none.
student --data "$work/other.csv" --teacher "$work/teacher" --out "$work/none"
ends 1 '' "*the teacher in $work/teacher has 'a' as class 0, but *other.csv has 'b'*"
student --data "$work/two.csv" --teacher "$work/teacher" --out "$work/none"
ends 1 '' '*knows 3 classes, *two.csv has 2*'
student --data "$work/wide.csv" --teacher "$work/teacher" --out "$work/none"
ends 1 '' '*"input" is 2 in the teacher *, but 3 in these data*'
student --data "$work/k.csv" --teacher "$work/numbers" --out "$work/none"
ends 1 '' '*learned the task regress, but the run has classify*'
student --data "$work/k.csv" --teacher "$work" --out "$work/none"
ends 1 '' '*holds no training run*'
student --data "$work/k.csv" --teacher "$work/nowhere" --out "$work/none"
ends 2 '' '*teacher: cannot read*'
student --data "$work/k.csv" --teacher "$work/k.csv" --out "$work/none"
ends 1 '' '*is neither the folder of a run*'
student --data "$work/k.csv" --teacher "$work/teacher" --temperature 0 --out "$work/none"
ends 2 '' '*temperature wants a number*'
for words in '--temperature 2' '--alpha 0.5'; do
  # shellcheck disable=SC2086
  student --data "$work/k.csv" $words --out "$work/none"
  ends 2 '' '*--temperature and --alpha need --teacher*'
done
student --data "$work/k.csv" --teacher "$work/teacher" --alpha 2 --out "$work/none"
ends 2 '' '*alpha wants a number from 0 to 1*'
[ ! -e "$work/none" ] || fault 'a folder for nothing'

exit $failed
