#!/bin/sh
# labels: null single
# mica tokenizer: trained on files, texts to ids and back, and what is wrong with files and texts.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"

file=$work/tokenizer.json
i=0
while [ $i -lt 20 ]; do
  printf 'the cat sat on the mat %d\n\nCaf\303\251, the end\n' $i
  i=$((i + 1))
done >"$work/lines.txt"

run tokenizer train --data "$work/lines.txt" --kind bpe --size 270 --special '<pad>,</s>' --out "$file"
case $err in *"this build"*) echo 'SKIP: no cJSON, PCRE2 or utf8proc'; exit 77 ;; esac
ends 0 '*BPE*270*<pad> </s>*any bytes*' ''
mv "$file" "$work/first.json"
run tokenizer train --data "$work/lines.txt" --kind bpe --size 270 --special '<pad>,</s>' --out "$file" --json
ends 0 '*' ''
holds model BPE
holds tokens 270
holds special.1 '</s>'
cmp -s "$file" "$work/first.json" || fault 'another file of the same texts'
run tokenizer train --data "$work/lines.txt" --kind word --out "$file"
ends 1 '' "mica tokenizer: $file is there already; choose another file with --out"
cmp -s "$file" "$work/first.json" || fault 'a file that was there is another one'

run tokenizer encode "$file" 'the cat'
ends 0 '[0-9]* [0-9]*' ''
ids=$out
# shellcheck disable=SC2086
run tokenizer decode "$file" $ids
ends 0 'the cat' ''
run tokenizer encode "$file" --json 'the</s>'
holds tokens.0 the
holds ids.1 1
run tokenizer decode "$file" --skip-special 0 1
ends 0 '' ''
run tokenizer info "$file"
ends 0 '*BPE*2 of them special: <pad> </s>*' ''
run tokenizer info "$file" "$work/first.json"
ends 2 '' "mica tokenizer: info takes one FILE; leave out '$work/first.json'"
# Bytes come back, a missing end of the last line and lines of nothing too; named ids are their bytes alone.
for bytes in '' '\n' '\n\n' 'end' 'the\n\377 \303\n\nend' 'the\r\n\r\n a \r' '\t a\000b  \n' '  the </s> cat\n\n'; do
  # shellcheck disable=SC2059
  printf "$bytes" >"$work/bytes"
  "$mica" tokenizer encode "$file" <"$work/bytes" | "$mica" tokenizer decode "$file" >"$work/back"
  cmp -s "$work/bytes" "$work/back" || fault "'$bytes' does not come back"
done
head -c 65536 /dev/urandom >"$work/bytes"
"$mica" tokenizer encode "$file" <"$work/bytes" | "$mica" tokenizer decode "$file" >"$work/back"
cmp -s "$work/bytes" "$work/back" || fault 'random bytes do not come back'
# shellcheck disable=SC2086
"$mica" tokenizer decode "$file" $ids >"$work/back"
[ "$(wc -c <"$work/back")" = 7 ] || fault "the bytes of 'the cat' are others"
# A line longer than memory is not the end of the input.
# shellcheck disable=SC3045 # a shell without ulimit -v skips this
if [ ! "$sanitizer" ] && (ulimit -v 200000 && "$mica" version) >/dev/null 2>&1; then
  ran='mica tokenizer encode with little memory'
  head -c 200000000 /dev/zero | tr '\0' a |
    (ulimit -v 200000 && exec "$mica" tokenizer encode "$file") >"$work/out" 2>"$work/err" && fault 'it ends well'
  grep -q 'standard input cannot be read: ' "$work/err" || fault "$(cat "$work/err")"
else
  echo 'a sanitizer, or memory cannot be limited: little memory is not tested'
fi

for kind in wordpiece unigram word character byte; do
  run tokenizer train --data "$work/lines.txt" --kind $kind --out "$work/$kind.json"
  ends 0 "*tokens*" ''
done
printf 'a\000b\377\n' | "$mica" tokenizer encode "$work/byte.json" >"$work/ids"
# shellcheck disable=SC2046
run tokenizer decode "$work/byte.json" --json $(cat "$work/ids")
ends 0 "$(printf '{"text":"a\\\\u0000b\\\\ufffd"}')" ''
run tokenizer info "$work/byte.json"
ends 0 "*tokens    256, 0 of them special${newline}texts *" ''
run tokenizer encode "$work/wordpiece.json" --frame 'the cat'
ends 0 '2 * 3' ''
printf 'the \377\n' >"$work/bytes"
"$mica" tokenizer encode "$work/word.json" <"$work/bytes" >"$work/out" 2>"$work/err" && fault 'not UTF-8 is encoded'
grep -q 'not UTF-8 at byte 4' "$work/err" || fault 'no sentence about UTF-8'

# A table's column, one of whose cells is too long for a class; texts beside each other.
long=$(printf 'one %.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26)
printf 'label\tSMS\nham\tthe %s\nspam\tthe "other\nham\t\n' "$long" >"$work/table.tsv"
run tokenizer train --data "$work/table.tsv" --column SMS --kind word --out "$work/sms.json" --min-frequency 1
ends 0 '*WordLevel*tokens    8, 4 of them special*' ''
mkdir "$work/pairs"
printf 'a dog\n' | gzip >"$work/pairs/train.en.gz"
printf 'ein Hund\n' | gzip >"$work/pairs/train.de.gz"
run tokenizer train --data "$work/pairs" --column de --kind word --min-frequency 1 --out "$work/de.json"
ends 0 '*6, 4 of them special*' ''
run tokenizer train --data "$work/pairs" --column fr --kind word --out "$work/none.json"
ends 1 '' "*no column of texts named 'fr'*"
printf 'two\nlines\n' | gzip >"$work/pairs/train.en.gz"
run tokenizer train --data "$work/pairs" --out "$work/none.json"
ends 1 '' '*train.en.gz has 2 lines, but the text in the other language has 1'

run tokenizer
ends 2 '' '*'
run tokenizer train --data "$work/lines.txt"
ends 2 '' '*needs --data and --out; the kind byte needs only --out'
run tokenizer train --data "$work/none.txt" --out "$work/none.json"
ends 1 '' '*there is no dataset *none.txt*'
run tokenizer train --data "$work/lines.txt" --size x --out "$work/none.json"
ends 2 '' '*--size*'
run tokenizer train --data "$work/lines.txt" --size 20 --out "$work/none.json"
ends 1 '' '*256*'
run tokenizer train --kind byte --size 20 --out "$work/none.json"
ends 2 '' '*--size is not for the kind byte, which always has 256 tokens'
for kind in byte unigram; do
  run tokenizer train --data "$work/lines.txt" --kind $kind --min-frequency 3 --out "$work/none.json"
  ends 2 '' "*--min-frequency is for the kinds bpe, wordpiece, word and character, not for $kind"
done
run tokenizer train --data "$work/lines.txt" --special "$(seq -s , 300)" --out "$work/none.json"
ends 2 '' 'mica tokenizer: --special names more than 256 tokens'
run tokenizer train --data "$work/lines.txt" --out /proc/none/file
ends 1 '' '*'
run tokenizer train --data "$work/lines.txt" --frame --out "$work/none.json"
ends 2 '' 'mica tokenizer: --frame is for encode, not for train'
run tokenizer decode "$file" 1 --kind byte
ends 2 '' 'mica tokenizer: --kind is for train, not for decode'
run tokenizer encode
ends 2 '' '*needs a tokenizer.json'
run tokenizer decode "$file" 99999
ends 1 '' '*no token has the id 99999 (element 0 of the ids)*'
run tokenizer decode "$file" the
ends 2 '' "*'the' is not an id, a whole number from 0 to 2147483647"
run tokenizer info "$work/lines.txt"
ends 1 '' '*lines.txt: the file is not JSON*'
exit "$failed"
