#!/bin/sh
# labels: device slow
# The task speech learns what tones say from a list, and its text of a pipe, raw or WAV, is that of the file and that of
# the whole at once; strings of recordings; what is wrong is said; a run that was killed ends with the same bits.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
# shellcheck source-path=SCRIPTDIR source=tones.sh
. "$(dirname "$0")/tones.sh"
need_device

mkdir "$work/train"
make_tones "$work/train" 140 1 >"$work/train/train.tsv"
make_tones "$work/train" 20 2 >"$work/train/test.tsv"
small='--width 32 --layers 1 --mels 16 --reduction 2 --batch 8 --warm-up 20 --dropout 0 --masks 0'
settings="$small --lr 0.03"
train="train --task speech --data $work/train $settings --validation 0"
conformer="train --task speech --data $work/train $small --validation 0 --model conformer"

# shellcheck disable=SC2086 # words of options
run $train --epochs 30 --json --out "$work/run"
case $err$out in *'lacks libsndfile'*) echo 'SKIP: this build lacks libsndfile' && exit 77 ;; esac
ends 0 '*{"task":"speech","part":"test"*' '*'
tail -n 1 "$work/out" >"$work/last"
mv "$work/last" "$work/out"
awk -v wer="$(json metrics.wer)" 'BEGIN { exit !(wer < 0.2) }' || fault "$out"

# --- one text, however it comes ---

# texts LIST: those of six recordings in the last output.
texts() { for i in 0 1 2 3 4 5; do json "$1.$i.text"; done; }
files=$(head -n 6 "$work/train/names" | sed "s|.*|$work/train/&.wav|")

# same RUN CHUNK...: a stream in chunks of these lengths is heard as its file; $whole is the last file's text.
same() {
  model=$1
  shift
  # shellcheck disable=SC2086 # words of names
  run predict --model "$model" $files --json
  wanted=$(texts predictions)
  whole=$(json predictions.5.text)
  for chunk; do
    # shellcheck disable=SC2086
    run transcribe --model "$model" $files --chunk "$chunk" --json
    [ "$(texts texts)" = "$wanted" ] || fault "other texts than $wanted"
    holds texts.5.seconds 0.75
  done
}
same "$work/run" 0.05 0.48 2
name=$(head -n 6 "$work/train/names" | tail -n 1)
file=$work/train/$name.wav
run transcribe --model "$work/run" - --json <"$file"
holds texts.0.text "$whole"
(head -c 100 "$file" && sleep 0.1 && tail -c +101 "$file") |
  "$mica" transcribe --model "$work/run" - --quiet >"$work/out" 2>&1
[ "$(cat "$work/out")" = "$whole" ] || fault "a slow pipe: $(cat "$work/out") instead of $whole"
run transcribe --model "$work/run" "$file" "$file"
ends 0 "$file: $whole$newline$file: $whole" "$file: 0.75 s of sound in *"

# --- by a beam and a text model ---

# However long chunks are, a search hears the same; a text model that knows nothing but c makes texts shorter.
# shellcheck disable=SC2086 # words of names
run transcribe --model "$work/run" $files --beam 8 --json
wanted=$(texts texts)
[ "$(printf '%s\n' "$wanted" | tail -n 1)" = "$whole" ] || fault "a beam hears $wanted"
for how in '--beam 8 --chunk 0.05' '--beam 8 --chunk 2'; do
  # shellcheck disable=SC2086
  run transcribe --model "$work/run" $files $how --json
  [ "$(texts texts)" = "$wanted" ] || fault "other texts than $wanted"
done
printf 'cccc\ncccc\n' >"$work/c.txt"
run transcribe --model "$work/run" "$file" --text-model "$work/c.txt" --text-weight 40 --quiet
ends 0 '*' ''
[ "${#out}" -lt "${#whole}" ] || fault "a text model changes nothing: $out"
printf '\\data\\\nngram 1=3\n\\1-grams:\n-0.3 %s\n-9 aa\n-9 bb\n\\end\\\n' "$whole" >"$work/words.arpa"
"$mica" transcribe --model "$work/run" - --text-model "$work/words.arpa" --quiet <"$file" >"$work/out" 2>&1
[ "$(cat "$work/out")" = "$whole" ] || fault "by words: $(cat "$work/out") instead of $whole"
run transcribe --model "$work/run" "$file" --text-model "$work/none.arpa"
ends 1 '' "mica transcribe: *$work/none.arpa*"
printf '\\data\\\nngram 1=1\n\\1-grams:\n2 a\n\\end\\\n' >"$work/bad.arpa"
run transcribe --model "$work/run" "$file" --text-model "$work/bad.arpa"
ends 1 '' "mica transcribe: $work/bad.arpa:4: a line must begin with the log10 of a probability, which is 0 or below"
for wrong in '--beam 0' '--beam 5000' '--text-weight 2' '--text-order 13'; do
  # shellcheck disable=SC2086
  run transcribe --model "$work/run" "$file" $wrong
  ends 2 '' 'mica transcribe: --*'
  # shellcheck disable=SC2086
  run predict --model "$work/run" "$file" $wrong
  ends 2 '' 'mica predict: --*'
  # shellcheck disable=SC2086
  run eval --model "$work/run" $wrong
  ends 2 '' 'mica eval: --*'
done

# predict finds with a text model what transcribe finds with it, and eval counts its errors.
knowing="--text-model $work/c.txt --text-weight 40"
# shellcheck disable=SC2086 # words of options and names
run transcribe --model "$work/run" $files $knowing --json
heard=$(texts texts)
[ "$heard" != "$wanted" ] || fault 'a text model changes nothing'
# shellcheck disable=SC2086
run predict --model "$work/run" $files $knowing --json
[ "$(texts predictions)" = "$heard" ] || fault "predict hears $(texts predictions), transcribe $heard"
run eval --model "$work/run" --json
plain=$(json metrics.cer)
# shellcheck disable=SC2086
run eval --model "$work/run" $knowing --json
awk -v a="$(json metrics.cer)" -v b="$plain" 'BEGIN { exit !(a > b) }' || fault "not above $plain: $out"
run eval --model "$work/run" --beam 8 --json
holds metrics.cer "$plain"
run eval --model "$work/run" --text-model "$work/bad.arpa"
ends 1 '' "mica eval: $work/bad.arpa:4: *"

# --- a Conformer ---

# shellcheck disable=SC2086
run $conformer --heads 2 --kernel 5 --context 0.2 --lr 0.01 --epochs 15 --json --out "$work/conformer"
ends 0 '*{"task":"speech","part":"test"*' '*'
tail -n 1 "$work/out" >"$work/last"
mv "$work/last" "$work/out"
awk -v wer="$(json metrics.wer)" 'BEGIN { exit !(wer < 0.2) }' || fault "$out"
same "$work/conformer" 0.05 2
# shellcheck disable=SC2086
run $conformer --heads 3 --out "$work/bad"
ends 2 '' 'mica train: width is 32, but must be a multiple of 6, twice the number of heads (3)'

# A network that was pruned has states for the heads, channels and units that are left.
for kind in run conformer; do
  run prune "$work/$kind" --flops 0.4 --steps 1 --epochs 3 --quiet --out "$work/$kind.pruned"
  ends 0 '' '*'
  same "$work/$kind.pruned" 0.05
done

# --- strings of recordings ---

# shellcheck disable=SC2086
run train --task speech --data "$work/train/train.tsv" $settings --join 2-3 --strings 40 --epochs 1 --json \
  --out "$work/join"
ends 0 '*{"task":"speech","part":"validation"*' '*'
run predict --model "$work/join" --data "$work/train/test.tsv" --count 2 --json
holds predictions.0.truth '[abc]* [abc]*'

# --- what is wrong ---

# bad LINE SENTENCE: a list with this as its third line.
bad() {
  head -n 2 "$work/train/train.tsv" >"$work/train/bad.tsv"
  printf "$1\n" >>"$work/train/bad.tsv"
  # shellcheck disable=SC2086
  run train --task speech --data "$work/train/bad.tsv" $settings --validation 0 --quiet --epochs 1 --out "$work/bad"
  ends 1 '' "mica train: $2"
  [ ! -e "$work/bad" ] || fault 'a failed training leaves a folder'
}
bad 'none.wav\tabc' "$work/train/bad.tsv:3: cannot read $work/train/none.wav: *"
bad 'alone' "$work/train/bad.tsv:3: the line lacks the file of a recording or its text; a tab separates the two"
bad '\tabc' "$work/train/bad.tsv:3: the name of the recording is empty*"
bad "$name.wav\t\377" "$work/train/bad.tsv:3: the text is not UTF-8 at byte 1"
bad "$name.wav\t$(printf '%0200d' 0)" "$work/train/bad.tsv:3: a text of 200 letters needs 399 steps of the network, *"
head -c 20 "$file" >"$work/train/short.wav"
bad 'short.wav\tabc' "$work/train/bad.tsv:3: $work/train/short.wav *"
: >"$work/train/empty.wav"
bad 'empty.wav\tabc' "$work/train/bad.tsv:3: $work/train/empty.wav *"
printf '%s.wav\ta\303\266b\n' "$name" >"$work/train/letters.tsv"
run eval --model "$work/run" --data "$work/train/letters.tsv"
ends 1 '' "mica eval: $work/train/letters.tsv:1: the letter 'ö' (U+00F6) is in no text of the training part"
run train --task speech --data "$work/train" --join 7-3 --out "$work/bad"
[ "$status" = 2 ] || fault "exit status $status"
for wrong in "--reduction 3" "--model resnet18" "--layers 0"; do
  # shellcheck disable=SC2086
  run train --task speech --data "$work/train" $wrong --out "$work/bad"
  ends 2 '' 'mica train: *'
done
run transcribe --model "$work/run" "$work/train/none.wav"
ends 1 '' "mica transcribe: cannot read $work/train/none.wav: *"
run transcribe --model "$work/run" "$work/train/short.wav"
ends 1 '' "mica transcribe: *$work/train/short.wav*"
run transcribe --model "$work/run" - <"$work/train/short.wav"
ends 1 '' 'mica transcribe: standard input: the stream ends in its WAV header'
run transcribe --model "$work/run" - </dev/null
ends 1 '' 'mica transcribe: standard input holds no samples'
run transcribe --model "$work/run" "$file" - --quiet </dev/null
ends 1 "$file: *" 'mica transcribe: standard input holds no samples'
head -c 3000 "$file" >"$work/half"
run transcribe --model "$work/run" - --quiet <"$work/half"
ends 1 '*' 'mica transcribe: standard input: the stream is truncated after 2956 frames'
# A float that is not a number: 32 bits of format 3.
{
  printf 'RIFF\377\377\377\377WAVEfmt \020\000\000\000\003\000\001\000\100\037\000\000'
  printf '\000\175\000\000\004\000\040\000data\377\377\377\377\000\000\000\000\000\000\300\177'
} >"$work/nan"
run transcribe --model "$work/run" - <"$work/nan"
ends 1 '' 'mica transcribe: standard input: sample 1 is not a finite number'
# Files of other kinds are no samples.
{
  printf 'fLaC\000\000\000\042'
  cat "$file"
} >"$work/flac"
run transcribe --model "$work/run" - --json <"$work/flac"
ends 1 '' 'mica transcribe: standard input: the stream is FLAC*'
# A recording that is broken does not take the next one along.
run transcribe --model "$work/run" --quiet "$file"
ends 0 '*' ''
text=$out
run transcribe --model "$work/run" --quiet "$work/train/short.wav" "$file"
ends 1 "$work/train/short.wav: $newline$file: $text" "mica transcribe: *short.wav*"
run transcribe --model "$work/run" --quiet --json "$work/train/short.wav" "$file"
ends 1 '{"task":"speech","texts":[*' "mica transcribe: *short.wav*"
run transcribe --model "$work/run"
ends 2 '' 'mica transcribe: FILE is missing*'
run transcribe "$file"
ends 2 '' 'mica transcribe: --model is missing*'
run transcribe --model "$work/run" "$file" --chunk 0
ends 2 '' 'mica transcribe: --chunk *'

# --- killed and resumed ---

# shellcheck disable=SC2086
begin() { exec "$mica" $train --epochs 4 --checkpoint-steps 7 --quiet --out "$@"; }
(begin "$work/whole") >"$work/out" 2>&1 || fault "$(cat "$work/out")"
killed "$work/killed" 0.9 1.2 1.6
cmp "$work/whole/last.safetensors" "$work/killed/last.safetensors" || fault 'other weights after kills'
(POCL_MAX_PTHREAD_COUNT=1 begin "$work/one") >"$work/out" 2>&1 || fault "$(cat "$work/out")"
cmp "$work/whole/last.safetensors" "$work/one/last.safetensors" || fault 'other weights on one thread'

exit $failed
