#!/bin/sh
# labels: device slow
# mica compare: runs of several tasks side by side, as a table, as JSON and as a page; what cannot be compared.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
# shellcheck source-path=SCRIPTDIR source=detect.sh
. "$(dirname "$0")/detect.sh"

# What is wrong with the words is said before anything is opened.
run compare
ends 2 '' '*name at least two runs*'
run compare a --data "$work"
ends 2 '' '*name at least two runs*'
run compare a b --data "$work" --part none
ends 2 '' '*--part cannot be "none"*'
run compare a b --data "$work" --samples 0
ends 2 '' '*--samples wants a whole number*'
echo mine >"$work/mine.html"
run compare a b --data "$work" --report "$work/mine.html"
ends 1 '' "*mine.html*"
need_device
run compare "$work/a" "$work/b" --data "$work"
ends 1 '' '*there is no file or folder*'

awk 'BEGIN {
  srand(1)
  print "a,b,kind"
  for (i = 0; i < 120; i++) printf "%.4f,%.4f,%s\n", i % 3 + rand(), rand(), substr("abc", i % 3 + 1, 1)
}' >"$work/k.csv"
cut -d, -f1,2 "$work/k.csv" >"$work/n.csv"
for seed in 1 2; do
  run train --data "$work/k.csv" --epochs 2 --batch 40 --seed $seed --quiet --out "$work/k$seed"
  ends 0 '' ''
  run train --data "$work/n.csv" --epochs 2 --batch 40 --seed $seed --quiet --out "$work/n$seed"
  ends 0 '' ''
done
run compare "$work/k1" "$work/k2" --data "$work/k.csv" --repeats 30 --json --report "$work/k.html"
ends 0 '{"task":"classify","part":"all","runs":*' ''
holds runs.0.name "$work/k1"
holds runs.0.agreement 1
holds runs.0.timed 30
holds runs.1.answers 120
holds runs.1.metrics.samples 120
holds runs.1.parameters 771
awk -v m="$(json runs.1.latency_median)" -v p="$(json runs.1.latency_p95)" -v f="$(json runs.1.file_bytes)" \
  -v b="$(json runs.1.memory_bytes)" 'BEGIN { exit !(m > 0 && p >= m && f > 4 * 771 && b > 4 * 771) }' ||
  fault "latency, file or memory: $out"
grep -q 'size of the file' "$work/k.html" || fault 'the page has no picture of the sizes'
[ "$(grep -c '<circle class=a' "$work/k.html")" = 4 ] || fault 'the pictures have not two points each'

# Without data they are tested on what validated, as mica eval tests each, where that is the same of all.
run train --data "$work/k.csv" --epochs 1 --batch 40 --seed 1 --quiet --out "$work/k4"
ends 0 '' ''
run compare "$work/k1" "$work/k4" --repeats 20 --json
ends 0 '{"task":"classify","part":"validation","runs":*' ''
holds runs.1.metrics.samples 12
holds runs.1.answers 12
loss=$(json runs.1.metrics.loss)
run eval --model "$work/k4" --json
holds metrics.loss "$loss"
run compare "$work/k1" "$work/k2" --repeats 20 --json
ends 1 '' '*k1 and *k2 hold out different samples of *k.csv (seed 1 and 2); name the data for testing with --data'

# Data that changed since: other samples would be taken for those that validated.
cp "$work/k.csv" "$work/before.csv"
sed 2d "$work/before.csv" >"$work/k.csv"
for part in '' '--part validation' '--part train'; do
  # shellcheck disable=SC2086
  run eval --model "$work/k1" $part --json
  ends 1 '' '*k.csv has changed since *k1 was trained, so *; choose other data with --data FILE'
done
run compare "$work/k1" "$work/k4" --repeats 20
ends 1 '' '*k.csv has changed since *k1 was trained, so *'
run prune "$work/k1" --steps 1 --epochs 1 --out "$work/less"
ends 1 '' '*k.csv has changed since *k1 was trained, so *; choose data with --data FILE'
run eval --model "$work/k1" --data "$work/k.csv" --json
ends 0 '{"task":"classify","part":"all",*' ''
cp "$work/before.csv" "$work/k.csv"
run eval --model "$work/k1" --json
ends 0 '{"task":"classify","part":"validation",*' ''

# A part that is a file of its own is what it was, and may be another: nothing is said.
mkdir "$work/own"
cp "$work/k.csv" "$work/own/train.csv"
head -n 31 "$work/k.csv" >"$work/own/test.csv"
run train --data "$work/own" --epochs 1 --batch 40 --quiet --out "$work/o"
ends 0 '' ''
head -n 21 "$work/k.csv" >"$work/own/test.csv"
run eval --model "$work/o" --json
ends 0 '{"task":"classify","part":"test",*' ''
holds metrics.samples 20
# One that is gone: what validated is tested only where that is asked for.
mv "$work/own/test.csv" "$work/test.csv"
gone="$work/own no longer has the test part of 30 samples that it had when $work/o was trained; \
--part validation takes the samples that training was validated on"
run eval --model "$work/o" --json
ends 1 '' "mica eval: $gone"
run compare "$work/o" "$work/o" --repeats 20
ends 1 '' "mica compare: $gone"
run eval --model "$work/o" --part validation --json
ends 0 '{"task":"classify","part":"validation",*' ''
# Data that a run goes on with, and that never had one, have lost nothing.
mkdir "$work/alone"
cp "$work/own/train.csv" "$work/alone"
cp -r "$work/o" "$work/moved"
run train --resume --epochs 2 --data "$work/alone" --quiet --out "$work/moved"
ends 0 '' ''
run eval --model "$work/moved" --json
ends 0 '{"task":"classify","part":"validation",*' '*'
mv "$work/test.csv" "$work/own/test.csv"
# What is held out of train.csv is what it was, too, as is a validation part that is a file.
run eval --model "$work/o" --part validation --json
ends 0 '{"task":"classify","part":"validation",*' ''
head -n 41 "$work/k.csv" >"$work/own/val.csv"
run train --data "$work/own" --epochs 1 --batch 40 --quiet --out "$work/v"
ends 0 '' ''
sed -i 2d "$work/own/train.csv"
run prune "$work/v" --steps 1 --epochs 1 --quiet --out "$work/less"
ends 0 '' ''

# A forecast's parts are the ends of its rows, which may grow: they are tested, and it is said.
awk 'BEGIN { print "v"; for (i = 0; i < 200; i++) printf "%.4f\n", sin(i / 3) }' >"$work/f.csv"
run train --task forecast --data "$work/f.csv" --window 8 --horizon 2 --epochs 1 --quiet --out "$work/f"
ends 0 '' ''
run eval --model "$work/f" --json
ends 0 '{"task":"forecast","part":"test","metrics":*' ''
sed -i '2,21d' "$work/f.csv"
run eval --model "$work/f" --json
ends 0 '{"task":"forecast","part":"test","data_changed":true,*' \
  '*f.csv has changed since *f was trained: its test part may hold samples that were trained on'
run compare "$work/f" "$work/f" --repeats 20 --json
ends 0 '{"task":"forecast","part":"test","data_changed":true,*' '*f.csv has changed since *'

sed '2,9d' "$work/k.csv" >"$work/fewer.csv"
run train --data "$work/fewer.csv" --epochs 1 --batch 40 --quiet --out "$work/k3"
run compare "$work/k1" "$work/k3" --repeats 20
ends 1 '' '*k1 was trained on *k.csv, but *k3 on *fewer.csv; name the data for testing with --data*'

# Numbers: a run agrees with itself.
run compare "$work/n1" "$work/n2" "$work/n1" --data "$work/n.csv" --repeats 20
ends 0 '*run *metric*n1 *mse*100.0 %*n2 *n1 *100.0 %*120 samples tested (all)*' ''

# Runs that have nothing in common, and data that do not fit.
run compare "$work/k1" "$work/n1" --data "$work/k.csv"
ends 1 '' '*k1 is a run of the task classify, but *n1 is a run of the task regress*'
run compare "$work/k1" "$work/k2" --data "$work/none.csv"
ends 1 '' '*none.csv*'

# Masks and boxes.
"$MICA_BUILD_DIR/bin/tests/write_scenes" "$work/scenes" 6 32 || exit 1
for seed in 1 2; do
  run train --data "$work/scenes" --width 4 --depth 1 --epochs 1 --seed $seed --quiet --out "$work/s$seed"
  ends 0 '' ''
done
run compare "$work/s1" "$work/s2" --data "$work/scenes" --repeats 20 --json
ends 0 '{"task":"segment"*' ''
holds runs.0.agreement 1
holds runs.1.answers 6
awk -v a="$(json runs.1.agreement)" 'BEGIN { exit !(a >= 0 && a < 1) }' || fault "agreement $(json runs.1.agreement)"

make_voc "$work/voc"
run train --data "$work/voc" --size 64 --width 8 --batch 4 --epochs 1 --validation 0 --quiet --out "$work/d"
ends 0 '' ''
run compare "$work/d" "$work/d" --data "$work/voc" --samples 2 --repeats 20 --json
ends 0 '{"task":"detect"*' ''
holds runs.1.agreement 1
holds runs.1.answers 2

# Translations: the search is timed, not one pass of what has no answer.
mkdir "$work/pairs"
for part in train test; do
  awk 'BEGIN { for (i = 0; i < 40; i++) print i % 2 ? "one two" : "two one one" }' >"$work/pairs/$part.en"
  awk 'BEGIN { for (i = 0; i < 40; i++) print i % 2 ? "eins zwei" : "zwei eins eins" }' >"$work/pairs/$part.de"
done
run train --task translate --data "$work/pairs" --width 16 --heads 2 --layers 1 --tokenizer word --length 16 \
  --validation 0.1 --epochs 1 --quiet --out "$work/t"
ends 0 '' ''
run compare "$work/t" "$work/t" --data "$work/pairs" --samples 4 --repeats 20 --json
ends 0 '{"task":"translate"*"flops":null,"memory_bytes":null*' ''
holds runs.1.agreement 1
awk -v s="$(json runs.0.latency_median)" 'BEGIN { exit !(s > 1e-4) }' ||
  fault "a translation in $(json runs.0.latency_median) s"

exit $failed
