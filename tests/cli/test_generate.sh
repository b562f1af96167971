#!/bin/sh
# labels: device slow
# A language model is trained on a file, tested, asked and lets texts go on; what is wrong is said; a run that was
# killed ends with the bits of one that was not.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

# A text of which the network learns soon what follows what.
awk 'BEGIN { for (i = 0; i < 600; i++) print "the cat sat on the mat and the dog ran to the cat" }' >"$work/text.txt"
train="train --task language --data $work/text.txt --context 32 --layers 2 --width 48 --heads 2 --batch 16"
train="$train --lr 5e-3 --quiet"

# shellcheck disable=SC2086 # words of options
run $train --epochs 8 --json --out "$work/run"
ends 0 '{"task":"language","part":"validation"*' ''
awk -v p="$(json metrics.perplexity)" 'BEGIN { exit !(p < 1.3) }' || fault "perplexity $(json metrics.perplexity)"
bits=$(json metrics.bits_per_byte)

run eval --model "$work/run" --part validation --json
holds metrics.bits_per_byte "$bits"
head -c 400 "$work/text.txt" >"$work/some.txt"
run predict --model "$work/run" "$work/some.txt" --json
holds task language
awk -v p="$(json predictions.0.perplexity)" 'BEGIN { exit !(p < 1.5) }' || fault "predict: $out"

run generate --model "$work/run" --prompt 'the cat ' --temperature 0 --length 60
ends 0 'the cat sat on the mat and the dog ran*' ''
# Several at once are each alone, with the same seed, and another seed writes another text.
run generate --model "$work/run" --prompt 'the dog' --prompt 'ran' --length 40 --temperature 2 --seed 7 --json
ends 0 '{"task":"language","texts":*' ''
first=$(json texts.0.text) second=$(json texts.1.text)
run generate --model "$work/run" --prompt 'the dog' --length 40 --temperature 2 --seed 7 --json
[ "$(json texts.0.text)" = "$first" ] || fault "alone: $out"
run generate --model "$work/run" --prompt=ran --length 40 --temperature 2 --seed 7 --json
[ "$(json texts.0.text)" = "$second" ] || fault "alone: $out"
run generate --model "$work/run" --prompt ran --length 40 --temperature 3 --seed 8 --json
[ "$(json texts.0.text)" != "$second" ] || fault 'another seed writes the same text'
run generate --model "$work/run" --prompt ran --length 9 --top-k 3 --top-p 0.9 --repetition 1.2 --seed 8
ends 0 'ran*' ''

# --- tokens of a tokeniser ---

# shellcheck disable=SC2086
run $train --epochs 6 --tokenizer bpe --vocabulary 280 --json --out "$work/bpe"
case $err in
*'this build'*) echo 'bpe: not trained: this build lacks cJSON or PCRE2' ;;
*)
  ends 0 '{"task":"language","part":"validation"*' ''
  # Fewer and dearer tokens; a byte costs what it did.
  p=$(json metrics.perplexity) b=$(json metrics.bits_per_byte) n=$(json metrics.bytes_per_token)
  awk -v p="$p" -v b="$b" -v n="$n" 'BEGIN { exit !(n > 1.5 && (log(p) / log(2) / n - b) ^ 2 < 1e-8 && b < 0.4) }' ||
    fault "bpe: perplexity $p, $b bits a byte, $n bytes a token"
  run eval --model "$work/bpe" --part validation --json
  holds metrics.bits_per_byte "$b"
  run predict --model "$work/bpe" "$work/some.txt" --json
  holds predictions.0.bytes 400
  awk -v t="$(json predictions.0.tokens)" 'BEGIN { exit !(t > 50 && t < 300) }' || fault "predict: $out"
  run generate --model "$work/bpe" --prompt 'the cat ' --prompt 'dog' --temperature 0 --length 30
  ends 0 'the cat *the*' ''
  # Words that stand alone lose the space before them, and count with it.
  run train --task language --data "$work/text.txt" --context 32 --layers 1 --width 16 --heads 2 --batch 16 --quiet \
    --epochs 1 --tokenizer wordpiece --vocabulary 60 --json --out "$work/words"
  n=$(json metrics.bytes_per_token)
  run predict --model "$work/words" "$work/text.txt" --json
  awk -v n="$n" -v b="$(json predictions.0.bytes)" -v t="$(json predictions.0.tokens)" \
    'BEGIN { exit !((n * t / b - 1) ^ 2 < 0.05 ^ 2) }' || fault "$n bytes a token: $out"
  "$mica" tokenizer train --data "$work/text.txt" --kind bpe --size 270 --out "$work/bpe.json" >"$work/out" ||
    fault "$(cat "$work/out")"
  cp "$work/bpe.json" "$work/bpe/tokenizer.json"
  run generate --model "$work/bpe" --prompt the
  ends 1 '' 'mica generate: the run in *bpe is damaged: *is not the run*s own tokeniser: its *'
  # shellcheck disable=SC2086
  run $train --epochs 1 --tokenizer "$work/bpe.json" --json --out "$work/given"
  ends 0 '{"task":"language"*' ''
  cmp -s "$work/bpe.json" "$work/given/tokenizer.json" || fault 'another tokeniser than the one that was given'
  printf '{"model": {"type": "Unigram"}}' >"$work/bad.json"
  run train --task language --data "$work/text.txt" --tokenizer "$work/bad.json" --out "$work/x"
  ends 1 '' 'mica train: *bad.json*'
  ;;
esac
run train --task language --data "$work/text.txt" --tokenizer syllable --out "$work/x"
ends 2 '' 'mica train: tokenizer cannot be "syllable"; choose a tokenizer.json or one of bpe, *'

# --- what is wrong ---

long='the cat sat on the mat and the dog ran to the cat'
run generate --model "$work/run" --prompt "$long"
ends 1 '' "mica generate: prompt 1 has 49 tokens, but the network's context holds 32; with --window N, *"
run generate --model "$work/run" --prompt "$long" --window 20 --temperature 0 --length 10
ends 0 "$long*" ''
run generate --model "$work/run" --prompt a --window 32
ends 1 '' 'mica generate: the window is 32, but must be at least 0 and less than the context (32)'
# A text of any length is shown whole.
long=$(awk 'BEGIN { for (i = 0; i < 150; i++) printf "the cat ran "; print "away" }')
run predict --model "$work/run" --text "$long"
ends 0 '*the cat ran away*' ''
run generate --model "$work/run" --prompt ''
ends 2 '' 'mica generate: prompt 1 is empty'
run generate --model "$work/run"
ends 2 '' 'mica generate: --prompt is missing*'
run generate --prompt a
ends 2 '' 'mica generate: --model is missing*'
run generate --model "$work/run" --prompt a --top-p 2
ends 2 '' 'mica generate: --top-p *'
run generate --model "$work/run" --prompt a --temperature -1
ends 2 '' 'mica generate: --temperature *'
run generate --model "$work/none" --prompt a
ends 1 '' "mica generate: *$work/none*"

awk 'BEGIN { srand(1); for (i = 0; i < 200; i++) print rand() "," rand() "," i % 2 }' >"$work/table.csv"
run train --data "$work/table.csv" --epochs 1 --quiet --json --out "$work/table"
run generate --model "$work/table" --prompt a
ends 1 '' 'mica generate: *is a run of the task classify, which does not generate texts'

: >"$work/empty.txt"
run train --task language --data "$work/empty.txt" --out "$work/x"
ends 1 '' "mica train: $work/empty.txt is empty"
printf 'a short text' >"$work/short.txt"
run train --task language --data "$work/short.txt" --validation 0 --out "$work/x"
ends 1 '' "mica train: $work/short.txt has 12 tokens: a context of 128 tokens and its next token need 129"
run train --task language --data "$work/none.txt" --out "$work/x"
ends 1 '' "mica train: *none.txt: there is no such file or folder, or it cannot be read"
run train --task language --data "$work/text.txt" --model resnet18 --out "$work/x"
ends 2 '' 'mica train: the task language takes the network gpt, not resnet18'
run train --task language --data "$work/text.txt" --width 30 --out "$work/x"
ends 2 '' 'mica train: a width of 30 cannot be shared by 4 heads: width must be a multiple of heads'
run train --task language --data "$work/text.txt" --groups 3 --out "$work/x"
ends 2 '' 'mica train: 4 heads cannot share 3 groups: heads must be a multiple of groups'
run train --task language --data "$work/text.txt" --width 36 --positions rotary --out "$work/x"
ends 2 '' 'mica train: rotary positions rotate pairs, so width (36) divided by heads (4) must be even'
run predict --model "$work/run" "$work/empty.txt"
ends 1 '' "mica predict: $work/empty.txt has too few bytes (0): *"

# --- killed and resumed; 16-bit types ---

# shellcheck disable=SC2086
begin() { exec "$mica" $train --epochs 4 --dropout 0.1 --checkpoint-steps 7 --out "$@"; }
(begin "$work/whole") >"$work/out" 2>&1 || fault "$(cat "$work/out")"
killed "$work/killed" 1.1 1.3 1.7 2.3
cmp "$work/whole/last.safetensors" "$work/killed/last.safetensors" || fault 'other weights after kills'

for type in f16 bf16; do
  # shellcheck disable=SC2086
  run $train --epochs 6 --precision $type --json --out "$work/$type"
  ends 0 '{"task":"language"*' ''
  p=$(json metrics.perplexity)
  awk -v p="$p" 'BEGIN { exit !(p < 1.5) }' || fault "$type: perplexity $p"
  run generate --model "$work/$type" --prompt 'the cat ' --temperature 0 --length 40
  ends 0 'the cat sat on the mat and the*' ''
done

exit $failed
