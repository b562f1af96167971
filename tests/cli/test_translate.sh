#!/bin/sh
# labels: device slow
# A network learns to translate from pairs of lines, is tested, and translates texts and files; what is wrong is said; a
# run that was killed ends with the bits of one that was not.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

# A language of six words in another, word by word.
pairs() {
  awk -v n="$2" -v seed="$3" -v from="$1.en" -v to="$1.de" 'BEGIN {
    split("one two three four five six", a, " "); split("eins zwei drei vier f\303\274nf sechs", b, " "); srand(seed)
    for (i = 0; i < n; i++) {
      x = ""; y = ""
      for (k = 1 + int(4 * rand()); k > 0; k--) {
        w = 1 + int(6 * rand()); x = x (x == "" ? "" : " ") a[w]; y = y (y == "" ? "" : " ") b[w]
      }
      print x " ." >from; print y "." >to
    }
  }'
}
mkdir "$work/data"
pairs "$work/data/train" 800 1
pairs "$work/data/val" 60 2
pairs "$work/data/test" 60 3
train="train --task translate --data $work/data --vocabulary 300 --layers 1 --length 24 --batch 32 --lr 1e-2 --quiet"
small="--width 32 --heads 2"
learn="--dropout 0 --label-smoothing 0 --bleu-samples 20 --beam 2"

# shellcheck disable=SC2086 # words of options
run $train $small $learn --from en --to de --epochs 12 --json --out "$work/run"
ends 0 '{"task":"translate","part":"test"*' ''
bleu=$(json metrics.bleu)
awk -v b="$bleu" 'BEGIN { exit !(b > 90) }' || fault "bleu $bleu"
awk -v b="$(json metrics.bleu_beam)" 'BEGIN { exit !(b > 90) }' || fault "by beams: $out"
for file in tokenizer.json model.safetensors config.json history.csv report.html; do
  [ -s "$work/run/$file" ] || fault "no $file"
done
grep -q 'attention, in percent' "$work/run/report.html" || fault 'the report shows no attention'
grep -q translations "$work/run/report.html" || fault 'the report shows no translations'

run eval --model "$work/run" --json
holds metrics.bleu "$bleu"
# A run of integers translates by these: a float network on its folder would have weights that nobody has set.
for how in '' --weights-only; do
  rm -rf "$work/integers"
  # shellcheck disable=SC2086 # no word, or one
  run quantize "$work/run" $how --out "$work/integers"
  ends 0 '*bytes,*' ''
  run eval --model "$work/integers" --json
  awk -v b="$(json metrics.bleu)" 'BEGIN { exit !(b > 80) }' || fault "quantised $how: $out"
done
# Columns of a table by their names.
{ printf 'en\tde\n' && paste "$work/data/train.en" "$work/data/train.de"; } >"$work/train.tsv"
run train --task translate --data "$work/train.tsv" --epochs 1 --vocabulary 300 --layers 1 --length 24 --quiet --json \
  --width 8 --heads 1 --out "$work/table"
ends 0 '{"task":"translate","part":"validation"*' ''
run eval --model "$work/table" --data "$work/train.tsv" --json
holds metrics.samples 800
tail -n +2 "$work/train.tsv" >"$work/nameless.tsv"
run train --task translate --data "$work/nameless.tsv" --epochs 1 --vocabulary 300 --layers 1 --length 24 --json \
  --width 8 --heads 1 --out "$work/nameless"
ends 0 '*{"task":"translate","part":"validation"*' '*mica train: the first row of *nameless.tsv is taken for texts; *'
{ printf 'en\tde\n' && paste "$work/data/test.en" "$work/data/test.de"; } >"$work/test.tsv"
run eval --model "$work/run" --data "$work/test.tsv" --json
holds metrics.bleu "$bleu"

run predict --model "$work/run" --text 'five one .' --json
holds predictions.0.translation 'fünf eins.'
run predict --model "$work/run" --text 'five one .' --beam 3 --length-penalty 0
ends 0 'line 1 *fünf eins.*' ''
# A line that is empty stays so; the last one needs no end.
printf 'six .\r\n\nfour two .' >"$work/lines.en"
run predict --model "$work/run" "$work/lines.en" --json
holds predictions.0.translation 'sechs.'
holds predictions.1.translation ''
holds predictions.2.translation 'vier zwei.'
# A table is read by the run's columns: no names, no quotes, the answers beside it where they are there.
printf 'id,de,en\r\n1,"sechs, ""so""","six ."\r\n2,,four two .\r\n' >"$work/rows.csv"
run predict --model "$work/run" "$work/rows.csv" --json
holds predictions.0.name 'line 2'
holds predictions.0.source 'six .'
holds predictions.0.translation 'sechs.'
holds predictions.0.truth 'sechs, "so"'
holds predictions.1.source 'four two .'
holds predictions.1.translation 'vier zwei.'
case $out in *'line 4'*) fault "$out" ;; esac
printf 'en\n"six ."\nfour two .\n' >"$work/alone.tsv"
run predict --model "$work/run" "$work/alone.tsv" --json
holds predictions.0.source 'six .'
holds predictions.1.translation 'vier zwei.'
printf 'six .\tsechs.\n' >"$work/columns.tsv"
run predict --model "$work/nameless" "$work/columns.tsv" --json
holds predictions.0.source 'six .'
holds predictions.0.truth 'sechs.'
printf 'six, .\n' >"$work/lines.txt"
run predict --model "$work/run" "$work/lines.txt" --json
holds predictions.0.source 'six, .'
run predict --model "$work/run" --data "$work/data" --count 3 --json
holds predictions.2.truth '*.'

# --- what is wrong ---

run predict --model "$work/run" --text ''
ends 1 '' 'mica predict: the text is empty, or has only empty lines: there is nothing to translate'
long=$(awk 'BEGIN { for (i = 0; i < 40; i++) printf "six two " }')
printf 'one .\n%s\n' "$long" >"$work/long.en"
run predict --model "$work/run" "$work/long.en"
ends 0 'line 1 *line 2 *' 'mica predict: 1 of 2 texts are longer than 23 tokens: their ends are not read'
printf 'one .\ntwo \377 .\n' >"$work/bytes.en"
run predict --model "$work/run" "$work/bytes.en"
ends 1 '' "mica predict: $work/bytes.en line 2 is not UTF-8 at byte 5"
run predict --model "$work/run" "$work/columns.tsv"
ends 1 '' "mica predict: $work/columns.tsv line 1: there is no column 'en', but the run translates from it; *"
printf 'en\nsix .\nfour, two .\n' >"$work/odd.csv"
run predict --model "$work/run" "$work/odd.csv"
ends 1 '' "mica predict: $work/odd.csv line 3 has 2 columns, but the first row has 1; *"
printf 'en,de\n' >"$work/names.csv"
run predict --model "$work/run" "$work/names.csv"
ends 1 '' "mica predict: $work/names.csv holds only the names of columns: there is nothing to translate"
printf '' >"$work/empty.csv"
run predict --model "$work/run" "$work/empty.csv"
ends 1 '' "mica predict: *empty.csv is empty*"
{ printf 'en\tde\n' && sed 's/$/\t/' "$work/data/test.en"; } >"$work/targetless.tsv"
run train --task translate --data "$work/targetless.tsv" --out "$work/x"
ends 1 '' 'mica train: *column "de" has no text; 60 of 60 lines have none: *'
run predict --model "$work/run" --text one --beam 0
ends 2 '' 'mica predict: --beam *'
run predict --model "$work/run" --text one --length-penalty -1
ends 2 '' 'mica predict: --length-penalty *'
run predict --model "$work/run" "$work/none.en"
ends 1 '' "mica predict: *none.en*"
mkdir "$work/odd"
cp "$work/data/train.en" "$work/odd/train.en"
head -n 799 "$work/data/train.de" >"$work/odd/train.de"
run train --task translate --data "$work/odd" --out "$work/x"
ends 1 '' 'mica train: *train.* has * lines, but the text in the other language has *'
cp "$work/bytes.en" "$work/odd/train.en"
printf 'eins.\nzwei.\n' >"$work/odd/train.de"
run train --task translate --data "$work/odd" --from en --to de --validation 0 --out "$work/x"
ends 1 '' "mica train: *line 2 of 'en' is not UTF-8 at byte 5"
# shellcheck disable=SC2086
run $train $small --to fr --out "$work/x"
ends 1 '' "mica train: *has no texts 'fr', which the setting to names; its texts: *"
# shellcheck disable=SC2086
run $train $small --from en --to en --out "$work/x"
ends 2 '' 'mica train: from and to are both en: nothing is translated'
# shellcheck disable=SC2086
run $train --width 30 --heads 4 --out "$work/x"
ends 2 '' 'mica train: a width of 30 cannot be shared by 4 heads: width must be a multiple of heads'
# shellcheck disable=SC2086
run $train $small --model gpt --out "$work/x"
ends 2 '' 'mica train: the task translate takes the network translator, not gpt'
run train --task translate --data "$work/data/train.en" --out "$work/x"
ends 1 '' 'mica train: *the task translate needs two columns of texts, or two files *'
run eval --model "$work/run" --data "$work/lines.en"
ends 1 '' "mica eval: *has no texts 'en', *"

# --- killed and resumed ---

# shellcheck disable=SC2086
begin() { exec "$mica" $train $small --epochs 3 --checkpoint-steps 7 --out "$@"; }
(begin "$work/whole") >"$work/out" 2>&1 || fault "$(cat "$work/out")"
killed "$work/killed" 0.9 1.1 1.4
cmp "$work/whole/last.safetensors" "$work/killed/last.safetensors" || fault 'other weights after kills'

exit $failed
