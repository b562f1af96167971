#!/bin/sh
# labels: device slow
# Tasks and settings by the command: found from the data, typed, wrong; JSON; predictions of tables; manual and
# completion.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"

# The manual and completions are made of the tables; the shell takes the script.
run help --man
ends 0 '.TH MICA 1*class?-weights*.SH EXIT STATUS*.SH ENVIRONMENT*MICA_DEVICE*.SH FILES*.SH EXAMPLES*.SH SEE ALSO*' ''
run help --completion bash
ends 0 '*--clip-norm*complete -o default -F _mica mica' ''
sh -n "$work/out" 2>/dev/null || bash -n "$work/out" || fault 'the script is no script'
# completes WORDS ANSWER: what bash offers for the last of the words, with the script in $work/out.
completes() {
  command -v bash >/dev/null || return 0
  ran="completion of $1"
  got=$(bash -c ". '$work/out'; COMP_WORDS=($1); COMP_CWORD=\$((\${#COMP_WORDS[@]} - 1)); _mica; echo \${COMPREPLY[*]}")
  [ "$got" = "$2" ] || fault "offers '$got' instead of '$2'"
}
completes 'mica train --loss h' huber
completes 'mica train --loss di' dice
completes 'mica tokenizer en' encode
completes 'mica help do' doctor
run help --completion csh
ends 2 '' '*bash, zsh or fish*'
run -V
ends 0 'mica [0-9]*' ''
run info resnet18
ends 0 'model     resnet18*family    image*' ''
run info cnn --json
holds parameters '[0-9]*'

need_device

awk 'BEGIN {
  srand(4)
  print "a;b;c;price"
  for (i = 0; i < 600; i++) {
    a = rand(); b = rand(); c = rand()
    printf "%.4f;%.4f;%.4f;%.3f\n", a, b, c, 1000 + 300 * a - 200 * b * b + 5 * rand()
  }
}' >"$work/prices.csv"
run train --data "$work/prices.csv" --epochs 60 --json --quiet --out "$work/prices"
ends 0 '{"task":"regress"*' ''
awk -v r="$(json metrics.r2)" 'BEGIN { exit !(r > 0.97) }' || fault "R2 $(json metrics.r2)"
run eval --model "$work/prices" --json
ends 0 '{"task":"regress","part":"validation","metrics":{"samples":60,*' ''
run eval --model "$work/prices" --part test
ends 1 '' '*prices.csv has no test part, because*; --part validation takes the samples*'
mkdir "$work/untested"
head -300 "$work/prices.csv" >"$work/untested/train.csv"
head -100 "$work/prices.csv" >"$work/untested/validation.csv"
run eval --model "$work/prices" --data "$work/untested"
ends 1 '' '*untested*no test*; --part validation takes the samples*'
run predict --model "$work/prices" --data "$work/untested"
ends 1 '' '*untested*no test*; to predict for other files, give them as inputs'
run eval --model "$work/prices" --data "$work/untested" --part validation --json
ends 0 '{"task":"regress","part":"validation",*' ''
# A file is in no parts: it is evaluated whole.
run eval --model "$work/prices" --data "$work/prices.csv" --json
ends 0 '{"task":"regress","part":"all","metrics":{"samples":600,*' ''
cp "$work/prices.csv" "$work/copy.csv"
run eval --model "$work/prices" --data "$work/copy.csv" --part validation
ends 1 '' '*copy.csv has no * part, because*'
# The run's own is parted as it was, named or not.
for part in train validation; do
  run eval --model "$work/prices" --part $part --json
  cp "$work/out" "$work/unnamed"
  run eval --model "$work/prices" --data "$work/prices.csv" --part $part --json
  cmp -s "$work/out" "$work/unnamed" || fault "$part: $out, and unnamed $(cat "$work/unnamed")"
done
run predict --model "$work/prices" --data "$work/prices.csv" --count 2
ends 0 'row 2*truth *row 3*' ''
# Rows are called by their lines, with answers and without, in words and in JSON.
{ echo '# prices'; head -3 "$work/prices.csv"; } >"$work/answers.csv"
awk -F, 'BEGIN { OFS = "," } NF { sub(/,[^,]*$/, "") } 1' "$work/answers.csv" >"$work/questions.csv"
for rows in answers questions; do
  run predict --model "$work/prices" "$work/$rows.csv" --json
  holds predictions.1.name 'row 4'
done
run eval --model "$work/prices" --part train --json
holds task regress
holds metrics.rmse '[0-9]*'
holds residuals.0.truth '[0-9]*'
# A table without answers, from a file and from standard input; one of another width.
cut -d';' -f1-3 "$work/prices.csv" | head -4 >"$work/rows.csv"
run predict --model "$work/prices" "$work/rows.csv"
ends 0 'row 2 *value 1*row 4 *' ''
"$mica" predict --model "$work/prices" --json - <"$work/rows.csv" >"$work/out" || fault 'nothing of standard input'
holds task regress
holds predictions.2.value '1[0-9][0-9][0-9]*'
run predict --model "$work/prices" "$work/prices.csv"
ends 0 '*truth *' ''
cut -d';' -f1-2 "$work/rows.csv" >"$work/narrow.csv"
run predict --model "$work/prices" "$work/narrow.csv"
ends 1 '' '*narrow.csv has no column "c", but the network was trained on it*'
run predict --model "$work/prices" - <"$work/narrow.csv"
ends 1 '' '*standard input has no column "c"*'
run predict --model "$work/prices" - </dev/null
ends 1 '' '*standard input is empty*'
run predict --model "$work/prices" - <"$work"
ends 1 '' '*standard input cannot be read: *'
run predict --model "$work/prices" "$work/rows.csv" "$work/narrow.csv"
ends 1 '' '*the network reads one table or array at a time; 2 files were given*'
# The weights of the last step are there, but no epoch has ended yet.
cp -r "$work/prices" "$work/begun"
rm "$work/begun/model.safetensors"
run predict --model "$work/begun" "$work/rows.csv"
ends 1 '' "*the run in $work/begun has no model.safetensors yet; wait for its first epoch*--out $work/begun goes on"
# Columns are known by their names, wherever they stand; the answer is no input.
grep -q '"table": \["number a", "number b", "number c", "label price"\]' "$work/prices/config.json" ||
  fault 'no names of columns'
printf 'a,b,c\n0.1,0.9,0.5\n' >"$work/one.csv"
run predict --model "$work/prices" --json "$work/one.csv"
value=$(json predictions.0.value)
for table in 'c,b,a\n0.5,0.9,0.1\n' 'id,c,b,a\n7,0.5,0.9,0.1\n' 'b,note,a,"c"\n0.9,"x, y",0.1,0.5\n' '0.1,0.9,0.5\n'; do
  # shellcheck disable=SC2059
  printf "$table" >"$work/one.csv"
  run predict --model "$work/prices" --json "$work/one.csv"
  holds predictions.0.value "$value"
done
awk -F';' -v OFS=, '{ print $4, $3, $2, $1 }' "$work/prices.csv" >"$work/moved.csv"
run eval --model "$work/prices" --data "$work/moved.csv" --part train --json
awk -v r="$(json metrics.r2)" 'BEGIN { exit !(r > 0.97) }' || fault "columns in another order: R2 $(json metrics.r2)"
sed '1s/b/bb/' "$work/moved.csv" >"$work/renamed.csv"
for of in predict 'eval --part train --data'; do
  # shellcheck disable=SC2086
  run $of "$work/renamed.csv" --model "$work/prices"
  ends 1 '' '*renamed.csv has no column "b"*'
done
printf 'a,b,price\n0.1,0.9,1000\n' >"$work/one.csv"
run predict --model "$work/prices" "$work/one.csv"
ends 1 '' '*one.csv has no column "c"*'
for cell in inf 1e99 0x10 none.at.all; do
  printf 'a,b,c\n1,2,3\n1,%s,3\n' "$cell" >"$work/one.csv"
  run predict --model "$work/prices" "$work/one.csv"
  ends 1 '' "*one.csv line 3: column \"b\" holds \"$cell\"*"
done
printf '1,2,3,4,5\n' >"$work/one.csv"
run predict --model "$work/prices" "$work/one.csv"
ends 1 '' '*one.csv line 1 has 5 columns, but the network was trained on 3 and the answer*'
# A column of texts that is no input may be there or not, under names or without.
awk -F';' 'BEGIN { OFS = "," } { print (NR > 1 ? "note number " NR " of this table" : "note"), $1, $2, $4 }' \
  "$work/prices.csv" >"$work/noted.csv"
run train --data "$work/noted.csv" --epochs 2 --json --quiet --out "$work/noted"
ends 0 '*' ''
run predict --model "$work/noted" --json "$work/noted.csv"
value=$(json predictions.0.value)
for columns in 1-3 2-4 2-3; do
  for from in 1 2; do
    tail -n +$from "$work/noted.csv" | cut -d, -f$columns >"$work/some.csv"
    run predict --model "$work/noted" --json "$work/some.csv"
    holds predictions.0.value "$value"
  done
done
# Codes that look like numbers, and numbers among letters, are classes where that is said: in training, tests,
# predictions, and a model in ONNX. As numbers the codes say less, and the letters are refused.
awk 'BEGIN {
  srand(5); split("10115 20095 80331 50667", zip, " "); split("3 -2 1 0", of, " "); split("1 2 A", level, " ")
  print "zip,size,level,price"
  for (i = 0; i < 400; i++) {
    z = 1 + int(4 * rand()); l = 1 + int(3 * rand()); s = rand()
    printf "%s,%.3f,%s,%.3f\n", zip[z], s, level[l], of[z] + s / 2 + (l == 2 ? 4 : l)
  }
}' >"$work/codes.csv"
codes="train --data $work/codes.csv --task regress --epochs 15 --batch 16 --quiet --json"
# shellcheck disable=SC2086 # words of options
run $codes --out "$work/none"
ends 1 '' '*column "level" holds "A" instead of a number*--kinds level=class'
# shellcheck disable=SC2086
run $codes --kinds zip=class,level=class --out "$work/codes"
ends 0 '*' ''
awk -v r="$(json metrics.r2)" 'BEGIN { exit !(r > 0.98) }' || fault "$out"
head -n 4 "$work/codes.csv" | cut -d, -f1-3 >"$work/some.csv"
run predict --model "$work/codes" --json "$work/some.csv"
value=$(json predictions.2.value)
run eval --model "$work/codes" --data "$work/codes.csv" --json
awk -v r="$(json metrics.r2)" 'BEGIN { exit !(r > 0.98) }' || fault "$out"
run export "$work/codes" --onnx "$work/codes.onnx"
ends 0 '*' '*'
run predict --model "$work/codes.onnx" --json "$work/some.csv"
awk -v a="$value" -v b="$(json predictions.2.value)" 'BEGIN { exit !((a - b) ^ 2 < 1e-8) }' || fault "$value, $out"
printf 'zip,size,level\n99999,0.5,A\n' >"$work/some.csv"
run predict --model "$work/codes" "$work/some.csv"
ends 0 'row 2 *' "*some.csv: 1 cell of 'zip' is read as no class, because training did not see \"99999\""
for wrong in zip none=class =class zip=name zip=class, zip=class,size=number,zip=number; do
  # shellcheck disable=SC2086
  run $codes --kinds "$wrong,level=class" --out "$work/none"
  ends 2 '' "mica train: kinds*"
done
# An input's name may be the one by which a dataset knows its answers.
sed '1s/level/label/' "$work/codes.csv" >"$work/named.csv"
run train --data "$work/named.csv" --task regress --label price --kinds label=class --out "$work/none"
ends 1 '' '*: rename the column "label"; that name is reserved for the answers*'
run train --data "$work" --task language --kinds a=class --out "$work/none"
[ "$status" != 0 ] || fault 'kinds of no table'
run train --data "$work/prices.csv" --task regress --augment mixup --out "$work/none"
ends 2 '' '*mixup blends classes*'
run train --data "$work/prices.csv" --task classify --out "$work/none"
ends 1 '*' "*the column 'price' has values of kind number, not a class*"
run train --data "$work/prices.csv" --task rank --out "$work/none"
ends 2 '' '*no task "rank"; choose from classify, regress*'
run train --data "$work/prices.csv" --class-weights 1,2 --out "$work/none"
ends 2 '' '*no setting class-weights of the task regress*'
run train --data "$work/prices.csv" --warm-up 10 --schedule one_cycle --out "$work/none"
ends 2 '' '*leave warm-up out*'
[ ! -e "$work/none" ] || fault 'a folder for nothing'

# Numbers that 32 bits do not tell apart are read less the smallest of them, answers too, which are given whole: in
# training, tests, predictions of rows and data, a resumed run, and a model in ONNX. Additional columns are passed over.
awk 'BEGIN {
  srand(5)
  print "t,y"
  for (i = 0; i < 600; i++) { t = rand(); printf "%.3f,%.2f\n", 1000000000 + t, 5000000000 + 1000 * t }
}' >"$work/large.csv"
awk -F, '{ print (NR == 1 ? "more," : "7,") $0 }' "$work/large.csv" >"$work/larger.csv"
head -n 4 "$work/larger.csv" >"$work/largest.csv"
run train --data "$work/large.csv" --epochs 10 --json --out "$work/large"
ends 0 '{"task":"regress"*' "*column 't' are 1000000000.00* to 1000000000.99*of 64: 1000000000.00* is subtr*"
passes="*.csv has columns that the network was not trained on, which are passed over: 'more'"
run eval --model "$work/large" --data "$work/larger.csv" --json
ends 0 '*' "mica eval: $passes"
awk -v a="$(json metrics.rmse)" 'BEGIN { exit !(a < 30) }' || fault "rmse $(json metrics.rmse) of 1000"
near() {
  awk -v t="$(json predictions.0.truth)" -v v="$(json predictions.0.value)" \
    'BEGIN { exit !(t > 5e9 && t - v < 100 && v - t < 100) }' || fault "$1: $out"
}
run predict --model "$work/large" --json "$work/largest.csv"
ends 0 '*"value": 5000000[0-9][0-9][0-9].*' "mica predict: $passes"
near rows
run predict --model "$work/large" --data "$work/large.csv" --count 1 --json
near data
run export "$work/large" --onnx "$work/large.onnx"
run predict --model "$work/large.onnx" --json "$work/largest.csv"
near ONNX
run train --resume --epochs 11 --out "$work/large"
run predict --model "$work/large" --json "$work/largest.csv"
near resumed
awk -F, '{ print $0 "," (NR == 1 ? "kind" : NR % 2 ? "none" : "NA") }' "$work/large.csv" >"$work/kinds.csv"
run train --data "$work/kinds.csv" --label y --epochs 10 --out "$work/kinds"
ends 0 "*'kind' has classes named 'NA', 'none'*classes that are inputs: kind*" '*'
awk -F, '{ print (NR == 1 ? "more," : "7,") $3 "," $2 "," $1 (NR == 1 ? ",note" : ",x") }' "$work/kinds.csv" \
  >"$work/more.csv"
passes="*.csv has columns that the network was not trained on, which are passed over: 'more', 'note'"
run eval --model "$work/kinds" --data "$work/kinds.csv" --json
all=$out
run eval --model "$work/kinds" --data "$work/more.csv" --json
ends 0 '*' "mica eval: $passes"
[ "$out" = "$all" ] || fault 'columns in another order give other metrics'
for from in --data ''; do
  # shellcheck disable=SC2086
  run predict --model "$work/kinds" $from "$work/more.csv" --json
  ends 0 '*' "mica predict: $passes"
  near "kinds $from"
done

# A colour is an input, a text is not, and both are said; rows have it by its name.
awk 'BEGIN {
  srand(4)
  split("blue green red", colour, " ")
  print "a,colour,note,price"
  for (i = 0; i < 600; i++) {
    a = rand(); k = int(3 * rand())
    printf "%.4f,%s,\"row, %d\",%.3f\n", a, colour[k + 1], i, 1000 + 300 * a - 200 * k * k
  }
}' >"$work/colours.csv"
run train --data "$work/colours.csv" --epochs 30 --out "$work/colours"
ends 0 '*task      regress*' ''
grep -q 'classes that are inputs: colour$' "$work/out" || fault 'no word of the colour'
grep -q 'not used: note (text)$' "$work/out" || fault 'no word of the note'
run eval --model "$work/colours" --json
awk -v r="$(json metrics.r2)" 'BEGIN { exit !(r > 0.97) }' || fault "R2 with a colour $(json metrics.r2)"
run train --data "$work/colours.csv" --epochs 1 --quantile 0.9 --json --out "$work/idle"
ends 0 '{"task":"regress"*' '*quantile does nothing: loss is mse*'
run predict --model "$work/idle" "$work/colours.csv" --count 2
ends 2 '' '*--count is for --data*'
run predict --model "$work/idle" "$work/colours.csv" --beam 2
ends 1 '' '*--beam has no effect on the task regress*'
# Columns in another order are evaluated by their names, and others are refused, beside a colour too.
run eval --model "$work/colours" --data "$work/colours.csv" --json
value=$(json metrics.rmse)
awk -F, -v OFS=, '{ print $NF, $2, $1 }' "$work/colours.csv" >"$work/moved.csv"
run eval --model "$work/colours" --data "$work/moved.csv" --json
holds metrics.rmse "$value"
sed '1s/a$/other/' "$work/moved.csv" >"$work/renamed.csv"
run eval --model "$work/colours" --data "$work/renamed.csv"
ends 1 '' "*renamed.csv has no column 'a', but the network was trained on it*"
# Which of two columns of a name is meant nobody can tell.
awk -F, -v OFS=, 'NR == 1 { $0 = "colour," $0 } NR > 1 { $0 = "red," $0 } 1' "$work/colours.csv" >"$work/twice.csv"
for of in predict 'eval --data'; do
  # shellcheck disable=SC2086
  run $of "$work/twice.csv" --model "$work/colours"
  ends 1 '' "*twice.csv has two columns 'colour', but the network was trained on one; rename the other*"
done
cut -d, -f1,2 "$work/colours.csv" | head -3 >"$work/rows.csv"
run predict --model "$work/colours" "$work/rows.csv"
ends 0 'row 2 *value *row 3 *' ''
printf 'colour,a\nred,0.5\n' >"$work/rows.csv"
"$mica" predict --model "$work/colours" --json - <"$work/rows.csv" >"$work/out" || fault 'no colour of a row'
awk -v v="$(json predictions.0.value)" 'BEGIN { exit !(v > 300 && v < 400) }' || fault "$(json predictions.0.value)"
mkdir "$work/parts"
{
  echo a,price,colour
  echo 0.5,350,red
  echo 0.5,1150,blue
} >"$work/parts/test.csv"
run predict --model "$work/colours" --data "$work/parts" --count 2
ends 0 '*truth *' ''
printf 'colour,a\npink,0.5\n' >"$work/rows.csv"
run predict --model "$work/colours" "$work/rows.csv"
ends 0 'row 2 *' "*1 cell of 'colour' is read as no class, because training did not see \"pink\""

# Weights to begin with, frozen ones, a rate that is found.
run train --data "$work/prices.csv" --epochs 1 --lr 1e-12 --init "$work/prices/model.safetensors" --json --quiet \
  --out "$work/init"
ends 0 '*' ''
awk -v r="$(json metrics.r2)" 'BEGIN { exit !(r > 0.97) }' || fault "begun anew: R2 $(json metrics.r2)"
run train --data "$work/prices.csv" --epochs 3 --freeze 'fc1.*' --init "$work/prices/model.safetensors" --find-lr \
  --clip-norm 1 --ema 0.9 --warm-up 5 --threads 1 --out "$work/frozen"
ends 0 '*129 are trained*' '*4 of 4 weights are taken from *2 of 4 weights are frozen by fc1.[*]*'
rate_of() { sed -n 's/.*"lr": "\([^"]*\)".*/\1/p' "$1/config.json"; }
# The sweep begins with those weights: beginning anew finds another rate.
run train --data "$work/prices.csv" --epochs 1 --freeze 'fc1.*' --find-lr --clip-norm 1 --ema 0.9 --warm-up 5 \
  --threads 1 --quiet --out "$work/anew"
ends 0 '' ''
[ "$(rate_of "$work/anew")" != "$(rate_of "$work/frozen")" ] || fault 'the rate is found without the weights'
run train --data "$work/prices.csv" --init "$work/rows.csv" --out "$work/none"
ends 1 '*' '*rows.csv*'

# Ten classes of rows that overlap little, with names that are no text for a terminal.
awk 'BEGIN { srand(5); print "a,b,kind"
  for (i = 0; i < 400; i++) printf "%.3f,%.3f,%s\n", 3 * (i % 2) + rand(), rand(), i % 2 ? "\033[31mred" : "plain" }' \
  >"$work/escapes.csv"
run train --data "$work/escapes.csv" --epochs 4 --batch 16 --loss focal --class-weights 1,2 --out "$work/escapes"
ends 0 '*?[[]31mred*' ''
case $out in *"$(printf '\033')"*) fault 'an escape reaches the terminal' ;; esac
run train --data "$work/escapes.csv" --class-weights 1,2, --out "$work/none"
ends 2 '' '*"1,2," must end in a number*'
run train --data "$work/escapes.csv" --class-weights 1,2,3 --out "$work/none"
ends 2 '' '*3 numbers, but the data have 2 classes*'

# A text that suits no other task is language's; a folder is told which names are wanted.
mkdir "$work/text"
awk 'BEGIN { for (i = 0; i < 300; i++) print "the cat sat on the mat " i }' >"$work/input.txt"
cp "$work/input.txt" "$work/text/a.txt"
run train --data "$work/text" --out "$work/none"
ends 1 '' '*text has no train.txt; give a file of text, or a folder with train.txt*'
run train --data "$work/input.txt" --epochs 1 --width 16 --layers 1 --context 16 --contexts 32 --out "$work/said"
ends 0 '*task      language*' ''

# Parts of texts and of lists of recordings have their usual names, too.
mv "$work/text/a.txt" "$work/text/Train.txt"
head -60 "$work/input.txt" >"$work/text/valid.txt"
run train --data "$work/text" --validation 0 --epochs 1 --width 16 --layers 1 --context 16 --contexts 32 --quiet \
  --out "$work/parted"
ends 0 '' ''
grep -q validation_loss "$work/parted/history.csv" || fault 'valid.txt validates nothing'

# Pictures of several sizes are brought to that of half of them, or to that of --size, which the run keeps.
scenes="$MICA_BUILD_DIR/bin/tests/write_scenes"
"$scenes" "$work/small" 8 24
"$scenes" "$work/large" 8 40
mkdir -p "$work/folders"
cp -r "$work/small/images" "$work/folders/a"
cp -r "$work/large/masks" "$work/folders/b"
for size in '' 20x28 32; do
  rm -rf "$work/sized"
  # shellcheck disable=SC2086
  run train --data "$work/folders" ${size:+--size $size} --model mlp --epochs 2 --batch 4 --seed 1 --out "$work/sized"
  case $size in '') want='24, 24' ;; 32) want='32, 32' ;; *) want='20, 28' ;; esac
  case $out in *", $want)"*) ;; *) fault "not $want: $out" ;; esac
  case $size-$out in -*'pictures of several sizes'* | [0-9]*) ;; *) fault "no word of sizes: $out" ;; esac
done
run train --resume --out "$work/sized" --epochs 3 --quiet
ends 0 '*' ''
run train --resume --out "$work/sized" --size 20 --epochs 4
ends 2 '' '*size is "32" in the resumed run and cannot become "20"*'
run eval --model "$work/sized" --data "$work/folders" --json
ends 0 '{"task":"classify","part":"all","metrics":{"samples":16,*' ''
run predict --model "$work/sized" "$work/folders/b/3.png"
ends 0 '*3.png*' ''
for size in 0 32x 9000 2x2x2 -3; do
  run train --data "$work/folders" --size=$size --task classify --out "$work/none"
  ends 2 '' "*size must be N or HxW, with sides from 1 to 8192 pixels, not \"$size\""
done
# What a network halves to nothing is named, with the least side that it takes.
run train --data "$work/folders" --model vgg11 --size 20x40 --out "$work/none"
ends 1 '' 'mica train: pictures of 20x40 are too small for the network vgg11: their sides must be at least 32*'
[ ! -e "$work/none" ] || fault 'a run is left'
run train --data "$work/folders" --model cnn --size 4 --epochs 1 --quiet --out "$work/least"
ends 0 '*' ''
printf 'x,y,label\n1,2,a\n2,1,b\n3,4,a\n4,3,b\n' >"$work/rows.csv"
run train --data "$work/rows.csv" --label label --size 20 --out "$work/none"
ends 2 '' '*size is for folders of pictures and cannot change the inputs of *rows.csv, which are (2)*'

exit $failed
