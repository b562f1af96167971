#!/bin/sh
# labels: device single
# Tables as they are: missing cells, classes that training did not see, row numbers, rows without an answer, columns to
# ignore; in train, eval, predict and a model in ONNX.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

# A colour and a number decide the answer; a fifth of the numbers is missing.
mkdir "$work/data"
awk -v folder="$work/data" 'BEGIN {
  srand(3)
  split("red green blue", colour, " ")
  for (i = 1; i <= 500; i++) {
    file = folder (i <= 400 ? "/train.csv" : "/test.csv")
    if (i == 1 || i == 401) print "rownames,size,colour,name,weight,empty,kind" >file
    size = int(100 * rand()); k = 1 + int(3 * rand())
    kind = size > 50 || k == 1 ? "big" : "small"
    if (i % 40 == 7) kind = ""
    hue = i == 450 ? "pink" : i % 50 == 3 ? "" : colour[k]
    print 1000 - i "," (rand() < 0.2 ? "NA" : size) "," hue ",n" i "," int(1000 * rand()) ",," kind >file
  }
}'
train="train --data $work/data --epochs 20"
# shellcheck disable=SC2086
run $train --out "$work/run" --ignore weight
ends 0 '*test accuracy *' '*'
for said in "column 'rownames' numbers the rows and is not an input; --kinds rownames=number" \
  "data: missing cells: [0-9]* of 'size' become [0-9.]*, [0-9]* of 'colour' are a class of their own" \
  "data: 10 rows without an answer are left out" "data, test part: missing cells: [0-9]* of 'size' become " \
  "data, test part: 1 cell of 'colour' is read as no class, because training did not see \"pink\"" \
  "data, test part: 3 rows without an answer are left out"; do
  grep -q "$said" "$work/err" || fault "no word of $said: $(cat "$work/err")"
done
grep -q 'numbers that are inputs: size$' "$work/out" || fault 'no word of the size'
grep -q 'not used: rownames (row numbers), weight (ignored), empty (empty), name (text)$' "$work/out" ||
  fault "what is not used: $(grep 'not used' "$work/out")"
run eval --model "$work/run" --json
holds metrics.samples 97
awk -v a="$(json metrics.accuracy)" 'BEGIN { exit !(a > 0.8) }' || fault "accuracy $(json metrics.accuracy)"
accuracy=$(json metrics.accuracy)
run eval --model "$work/run" --data "$work/data/test.csv" --json
holds metrics.accuracy "$accuracy"

# A missing number is what it was in training, whatever the table holds; rows without an answer are predicted.
fill=$(sed -n "s/.*missing cells: [0-9]* of 'size' become \([0-9.]*\).*/\1/p" "$work/err" | head -1)
[ -n "$fill" ] || fill=$(sed -n 's/.*"fills": \[\([0-9.]*\).*/\1/p' "$work/run/config.json")
printf 'size,colour,kind\n,red,big\n%s,red,\n99,none of these,small\n' "$fill" >"$work/some.csv"
run predict --model "$work/run" --json "$work/some.csv"
ends 0 '*' "*missing cells: 1 of 'size' become *1 cell of 'colour' is read as no class*"
holds predictions.2.name 'row 4'
awk -v a="$(json predictions.0.classes.0.probability)" -v b="$(json predictions.1.classes.0.probability)" \
  'BEGIN { exit !((a - b) ^ 2 < 1e-6) }' || fault "not what stands for a missing number: $out"
first=$(json predictions.2.classes.0.probability)
run export "$work/run" --onnx "$work/run.onnx"
if [ "$status" = 0 ]; then
  run predict --model "$work/run.onnx" --json "$work/some.csv"
  awk -v a="$first" -v b="$(json predictions.2.classes.0.probability)" 'BEGIN { exit !((a - b) ^ 2 < 1e-8) }' ||
    fault "another answer of the model in ONNX: $first, $out"
fi

# A table of numbers alone is read by its outline.
cut -d, -f2,5,7 "$work/data/train.csv" >"$work/numbers.csv"
run train --data "$work/numbers.csv" --epochs 5 --missing median --out "$work/numbers"
ends 0 '*task      classify*' "*missing cells: * of 'size' become *rows without an answer*"
run predict --model "$work/numbers" "$work/numbers.csv" --json
ends 0 '*' "*missing cells: * of 'size' become *"
holds predictions.399.name 'row 401'
run eval --model "$work/numbers" --data "$work/numbers.csv" --json
holds metrics.samples 390

# Likewise without a line of names.
sed 1d "$work/numbers.csv" >"$work/bare.csv"
run train --data "$work/bare.csv" --epochs 2 --out "$work/bare"
ends 0 '*task      classify*' "*missing cells: * of '0' become *"
run predict --model "$work/bare" --json "$work/bare.csv"
ends 0 '*' "*missing cells: * of '0' become *"
cut -d, -f1,2 "$work/bare.csv" >"$work/inputs.csv"
run predict --model "$work/bare" --json "$work/inputs.csv"
ends 0 '*' "*missing cells: * of '0' become *"

# What is refused, and a run that refuses.
run train --data "$work/numbers.csv" --missing refuse --out "$work/none"
ends 1 '' '*numbers.csv line *: column "* has no *'
run train --data "$work/numbers.csv" --missing none --out "$work/none"
ends 2 '' '*missing cannot be "none"; choose from mean, median, most, refuse*'
run train --data "$work/numbers.csv" --ignore sizes --out "$work/none"
ends 2 '' "*ignore: *numbers.csv has no column 'sizes'*"
run train --data "$work/numbers.csv" --label kind --ignore kind --out "$work/none"
ends 2 '' '*column "kind" holds the answers, so it cannot be ignored*'
printf 'a,b,y\n1,2,p\n3,4,q\n2,1,p\n4,4,q\n' >"$work/whole.csv"
run train --data "$work/whole.csv" --epochs 1 --missing refuse --out "$work/whole"
ends 0 '*' '*'
run predict --model "$work/whole" --json - <<'END'
a,b
,2
END
ends 1 '' '*line 2: column "a" holds "", which is not a number*'

# A class of the validation part alone is like one that nobody has seen: it adds nothing.
awk 'BEGIN {
  srand(5)
  print "a,c,y"
  for (i = 0; i < 600; i++) printf "%.4f,%s,%s\n", rand(), i % 10 ? "often" : "once" i, i % 3 ? "p" : "q"
}' >"$work/once.csv"
run train --data "$work/once.csv" --epochs 5 --out "$work/once"
ends 0 '*' "*once.csv: * cells of 'c' are read as no class, because training did not see \"once*"
count=$(sed -n "s/.*once.csv: \([0-9]*\) cells of 'c'.*/\1/p" "$work/err")
awk 'BEGIN { print "a,c"; print "0.5,never"; for (i = 0; i < 600; i += 10) print "0.5,once" i }' >"$work/each.csv"
run predict --model "$work/once" --top 1 --json "$work/each.csv"
ends 0 '*' "*1 cell of 'c' is read as no class*"
grep -o '"probability": [0-9.e-]*' "$work/out" >"$work/shares"
equal=$(awk -v first="$(head -1 "$work/shares")" 'NR > 1 && $0 == first { n++ } END { print n + 0 }' "$work/shares")
[ "$equal" = "$count" ] || fault "$equal classes count as none, not $count"

# Whole numbers of many values are numbers, unless the task says that they are classes.
awk 'BEGIN { print "a,target"; for (i = 0; i < 200; i++) print i "," i % 50 ".0" }' >"$work/many.csv"
run train --data "$work/many.csv" --epochs 1 --out "$work/many"
ends 0 '*task      regress*' "*answers in 'target' are taken for numbers: the task is regress; --task classify*"
run train --data "$work/many.csv" --epochs 1 --task classify --out "$work/classes"
ends 0 '*task      classify*' '*'
run eval --model "$work/classes" --data "$work/many.csv" --json
holds metrics.samples 200

# Data of others' layouts are named, with what to do.
printf 'path: .\nnames: [cat]\n' >"$work/data.yaml"
run train --data "$work/data.yaml" --out "$work/none"
ends 1 '' '*data.yaml is not a table; --data takes the folder that holds it beside images and labels*'
run train --task keyword --data "$work/numbers.csv" --out "$work/none"
ends 1 '' '*numbers.csv has no recordings: the task keyword wants an answer*'
awk 'BEGIN { print "year,spots"; for (i = 0; i < 60; i++) print 1900 + i "," 10 * sin(i / 2) + i / 7 }' >"$work/sun.csv"
run train --data "$work/sun.csv" --epochs 1 --out "$work/sun"
ends 0 '*task      regress*' "*only input is 'year'; if the rows are a series, --task forecast *"

exit $failed
