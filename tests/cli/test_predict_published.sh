#!/bin/sh
# labels: device single
# mica predict with published classifiers of texts: one text, lines of standard input, JSON. Wrong options, folders and
# inputs are refused with a sentence.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

golden=${MICA_SOURCE_DIR:-.}/tests/golden/foundation
model=$golden/bert-classes

run predict --model "$model" --text 'a fine film .'
case $err$out in *'lacks cJSON'*) echo 'SKIP: this build lacks cJSON' && exit 77 ;; esac
ends 0 '* %, * %, * %  a fine film .' '*'
case $out in *positive*) ;; *) fault "no name of a class: $out" ;; esac
one=$out

# Each line of standard input is a text; empty lines are skipped.
printf 'a fine film .\r\n\nthe plot is dull and long' >"$work/lines"
run predict --model "$model" - <"$work/lines"
ends 0 "* %  a fine film .
* %  the plot is dull and long" '*'
[ "$(sed -n 1p "$work/out")" = "$one" ] || fault "a line gives $out, the text alone $one"

run predict --model "$golden/distilbert-classes" --top 2 --json --text 'a fine film .'
ends 0 '*' '*'
holds task classify
holds predictions.0.class 'LABEL_[0-3]'
holds predictions.0.classes.1.probability '0.[0-9]*'
case $out in *'"a fine film ."'*) ;; *) fault "$out" ;; esac

# --- faults ---

run predict --model "$model" a.txt
ends 2 '' '*published model*--text*'
run predict --model "$model" --csv x.csv --text film
ends 2 '' '*takes only texts, --top, --json and --device*'
run predict --model "$model" - </dev/null
ends 1 '' '*empty*'
printf '\n\n' >"$work/lines"
run predict --model "$model" - <"$work/lines"
ends 1 '' '*no text*'
run predict --model "$golden/embed" --text film
ends 1 '' '*no classes of texts*'
mkdir "$work/damaged"
cp "$model/config.json" "$model/tokenizer.json" "$work/damaged"
head -c 5000 "$model/model.safetensors" >"$work/damaged/model.safetensors"
run predict --model "$work/damaged" --text film
ends 1 '' '*model.safetensors*'

exit $failed
