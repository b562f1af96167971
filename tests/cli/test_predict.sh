#!/bin/sh
# labels: device single
# A network of pictures: what predict and eval say of files and of the data's test part, in words and in JSON.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

# Two PNG files of 8 x 8, dark and light, ten times each.
for part in train test; do mkdir -p "$work/pictures/$part/dark" "$work/pictures/$part/light"; done
dark='iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAAAAADhZOFXAAAAFElEQVR42mMQERUTl5CUkmagjAEA0ngF4aNBsOoAAAAASUVORK5CYII='
light='iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAAAAADhZOFXAAAAIUlEQVR42i3BwQEAMATAwOw/o6Is4pM7QjyRokSLL0asDtBhN+EwtkSTAAAA
AElFTkSuQmCC'
for i in 0 1 2 3 4 5 6 7 8 9; do
  echo "$dark" | base64 -d >"$work/pictures/train/dark/$i.png"
  echo "$light" | base64 -d >"$work/pictures/train/light/$i.png"
done
for kind in dark light; do cp "$work/pictures/train/$kind/"[0-4].png "$work/pictures/test/$kind"; done
folder=$work/run
a=$work/pictures/test/dark/0.png
b=$work/pictures/test/light/0.png

run train --data "$work/pictures" --model mlp --epochs 6 --batch 4 --seed 3 --out "$folder"
ends 0 '*epoch 6/6*' ''

run predict --model "$folder" "$a" "$b"
ends 0 "*dark/0.png*dark *%, light*light/0.png*light *%, dark*" ''
run predict --model "$folder" "$work/pictures/test"
ends 0 "*test/dark/0.png*dark *test/light/4.png*light *" '*: 10 samples *: dark 5, light 5; 10 of 10 are right'
mkdir "$work/none"
run predict --model "$folder" "$work/pictures/test//" --csv "$work/slashes.csv"
! grep "test//" "$work/slashes.csv" || fault "a name with two slashes"
grep -q "^$work/pictures/test/[^/]" "$work/slashes.csv" || fault "no name of the folder"
run predict --model "$folder" "$work/none"
ends 1 '' '*neither the folder *none nor a folder in it holds picture*'
run predict --model "$folder" --top 1 --pictures "$a" "$b"
ends 0 '*dark*light*' ''
run predict --model "$folder" --json "$a" "$b"
holds predictions.0.classes.0.name dark
holds predictions.1.classes.0.name light
awk -v p="$(json predictions.1.classes.0.probability)" 'BEGIN { exit !(p > 0.5 && p <= 1) }' || fault 'no probability'

run predict --model "$folder" --data "$work/pictures" --count 3
ends 0 '*test/dark/0.png*right*test/dark/2.png*' ''
run predict --model "$folder" --data "$work/pictures" --count 3 --json
holds predictions.2.truth '[dl]*'
run eval --model "$folder" --data "$work/pictures"
ends 0 '*dark*light*' ''
run eval --model "$folder" --json
holds metrics.samples 10

run predict --model "$folder"
ends 2 '' '*'
run predict --model "$folder" "$work/none.png"
ends 1 '' '*none.png*'
run predict --model "$folder" --count 0 --data "$work/pictures"
ends 2 '' '*--count wants a whole number*'
echo 'no picture' >"$work/bad.png"
run predict --model "$folder" "$work/bad.png"
ends 1 '' '*bad.png*'

# Damaged pictures are named all at once, the first one of the folder among them.
cp -r "$work/pictures" "$work/damaged"
for file in dark/0 dark/7 light/3; do echo 'no picture' >"$work/damaged/train/$file.png"; done
run train --data "$work/damaged" --epochs 1 --out "$work/no"
bad="$work/damaged/train/dark/0.png, $work/damaged/train/dark/7.png, $work/damaged/train/light/3.png"
ends 1 '*' "*; of 20 pictures 3 cannot be read: $bad"
cp "$a" "$work/damaged/train/dark/0.png"
cp "$a" "$work/damaged/train/dark/7.png"
run train --data "$work/damaged" --epochs 1 --out "$work/no"
ends 1 '*' '*train/light/3.png*'
case $err in *'cannot be read'*) fault "one picture is a list: $err" ;; esac

# In 16 bits: other digits of the same classes; what cannot be computed so, and what is no precision, is said.
run predict --model "$folder" --json "$a"
was=$(json predictions.0.classes.1.probability)
run predict --model "$folder" --precision bf16 --json "$a"
holds predictions.0.classes.0.name dark
[ "$(json predictions.0.classes.1.probability)" != "$was" ] || fault 'bf16 has all digits of f32'
run eval --model "$folder" --precision f16 --json
holds metrics.samples 10
run eval --model "$folder" --precision f8
ends 2 '' '*the precision cannot be "f8"; choose f32, f16 or bf16*'
run quantize "$folder" --out "$work/integers"
run eval --model "$work/integers" --precision bf16
ends 1 '' '*integers cannot be computed in bf16, because its weights are integers*'
run eval --model "$work/integers" --precision f32
ends 0 '*' ''

# Arrays: three numbers a sample, 1 or -1, and two labels, which the signs of the first two say.
mkdir "$work/arrays"
array() { printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '$1', 'fortran_order': False, 'shape': ($2), }"; }
# values COUNT YES NO COLUMNS: a word for each of the first columns of three random bits a row.
values() {
  awk -v n="$1" -v yes="$2" -v no="$3" -v most="$4" 'BEGIN {
    srand(7)
    for (; n--;) for (k = 0; k < 3; k++) { bit = rand() < 0.5; if (k < most) printf "%s", bit ? yes : no }
  }'
}
for part in train test; do
  count=40
  [ $part = test ] || count=200
  # shellcheck disable=SC2059 # the words are escapes
  { array '<f4' "$count, 3" && printf "$(values $count '\\000\\000\\200\\077' '\\000\\000\\200\\277' 3)"; } \
    >"$work/arrays/x_$part.npy"
  # shellcheck disable=SC2059 # likewise
  { array '|u1' "$count, 2" && printf "$(values $count '\\001' '\\000' 2)"; } >"$work/arrays/y_$part.npy"
done
run train --data "$work/arrays" --epochs 8 --batch 10 --lr 0.02 --quiet --out "$work/labels"
ends 0 '*' ''
run eval --model "$work/labels" --json
holds metrics.map 1
holds metrics.f1 1
holds labels.1.name 1
holds labels.1.recall 1
holds labels.0.ap 1
yes=$(values 40 1 0 1 | tr -d 0)
holds labels.0.samples ${#yes}
run eval --model "$work/labels"
ends 0 '*labels  *precision*recall*f1*ap*' ''
run predict --model "$work/labels" --data "$work/arrays" --count 40
ends 0 '*says 0, 1  right*' ''
case $out in *'says nothing  right'*) ;; *) fault "nobody is without labels: $out" ;; esac
case $out in *wrong*) fault "$out" ;; esac
run predict --model "$work/labels" --data "$work/arrays" --count 40 --threshold 0
ends 0 '*says 0, 1  wrong: it is nothing*' ''
run predict --model "$work/labels" --data "$work/arrays" --threshold 1 --json
holds predictions.0.labels.0.said false
known=$(json predictions.0.labels.0.true)
case $known in true | false) ;; *) fault "the truth is $known" ;; esac
run predict --model "$work/labels" --data "$work/arrays" --threshold 2
ends 2 '' '*--threshold wants*'
run predict --model "$folder" --threshold 0.4 "$a"
ends 1 '' '*--threshold is for the task detect, *if samples have several labels; the task of --model is classify*'
# An array of inputs is predicted as it was trained on; nothing is known of it.
run predict --model "$work/labels" --data "$work/arrays" --count 40 --json
was=$(json predictions.39.labels.1.probability)
run predict --model "$work/labels" "$work/arrays/x_test.npy" --json
ends 0 '*' ''
holds predictions.39.labels.1.probability "$was"
json predictions.39.labels.1.true >/dev/null 2>&1 && fault 'a truth that nobody said'
run predict --model "$work/labels" "$work/arrays/y_test.npy"
ends 1 '' '*y_test.npy has inputs of (2), but the network was trained on (3)*'
run predict --model "$folder" "$work/arrays/x_test.npy"
ends 1 '' '*x_test.npy has inputs of*'
echo junk >"$work/junk.npy"
run predict --model "$work/labels" "$work/junk.npy"
ends 1 '' '*junk.npy*'
# What is no number is named, whether it is trained on, tested or predicted.
cp -r "$work/arrays" "$work/holes"
{ array '<f4' '2, 3' && printf '\000\000\200\077%.0s' 1 2 3 4 && printf '\000\000\300\177\000\000\200\077'; } \
  >"$work/holes/x_test.npy"
{ array '|u1' '2, 2' && printf '\001\000\001\001'; } >"$work/holes/y_test.npy"
run predict --model "$work/labels" "$work/holes/x_test.npy" --json
ends 1 '' '*x_test.npy: column 1 of sample 1 is nan, which is not a finite f32 number*'
run predict --model "$work/labels" --data "$work/holes"
ends 1 '' '*column 1 of sample 1 is nan*'
run eval --model "$work/labels" --data "$work/holes"
ends 1 '' '*column 1 of sample 1 is nan*'
run train --data "$work/holes" --quiet --out "$work/no"
ends 1 '' '*column 1 of sample 1 is nan*'
[ ! -e "$work/no" ] || fault 'a run of what is no number'
# One label a sample, to a network of two.
{ array '|u1' '40,' && printf '\000%.0s' $(seq 40); } >"$work/holes/y_test.npy"
cp "$work/arrays/x_test.npy" "$work/holes"
run eval --model "$work/labels" --data "$work/holes/x_test.npy"
ends 1 '' '*has 1 label per sample, but the network was trained on 2, each 0 or 1: labels must have the shape (40, 2)*'

# One class alone is refused.
printf 'x,y\n1,a\n2, a\n3,a \n4,a\n' >"$work/one.csv"
run train --data "$work/one.csv" --epochs 1 --out "$work/one"
ends 1 '' 'mica train: *one.csv: every sample has class "a"; there is nothing to learn: add samples of other classes*'

# Without a first line, what a table has beyond the network's numbers is the answer.
awk 'BEGIN { for (i = 0; i < 40; i++) print i % 4 "," i % 3 "," (i % 4 > 1 ? "up" : "down") }' >"$work/bare.csv"
run train --data "$work/bare.csv" --epochs 1 --quiet --out "$work/bare"
printf '0,1,up\n3,1,up\n' >"$work/three.csv"
run predict --model "$work/bare" "$work/three.csv" --json
ends 0 '*' 'mica predict: *three.csv has no line of column names: its column 3 is taken for the answers'
holds predictions.0.truth up
printf '0,1\n3,1\n' >"$work/two.csv"
run predict --model "$work/bare" "$work/two.csv" --json
ends 0 '*' ''

exit $failed
