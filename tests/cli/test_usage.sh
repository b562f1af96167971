#!/bin/sh
# labels: null single
# Mistyped words: exit status 2, nothing on stdout, one sentence on stderr that names what was near.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"

# rejects 'WORDS' SENTENCE
rejects() {
  # shellcheck disable=SC2086
  run $1
  ends 2 '' "$2"
  case $err in *"$newline"*) fault "more than one line: $err" ;; esac
}

rejects '' 'mica: a command is missing; mica help lists them'
rejects devcies 'mica: there is no command devcies; did you mean mica devices?'
rejects dcotor 'mica: there is no command dcotor; did you mean mica doctor?'
rejects xyzzy 'mica: there is no command xyzzy; mica help lists the commands'
rejects --vresion 'mica: there is no option --vresion; did you mean mica version?'
rejects 'help cahce' 'mica help: there is no command cahce; did you mean mica cache?'
rejects 'help depth' 'mica help: there is no command depth; for the task, see mica train --task depth --help'
rejects verify 'mica: there is no command verify; for the task, see mica train --task verify --help'
rejects 'devices --jsn' 'mica devices: there is no option --jsn; did you mean --json?'
rejects 'devices --xyzzy=1' 'mica devices: there is no option --xyzzy; mica devices --help lists the options'
rejects 'devices --json=yes' 'mica devices: --json takes no value'
rejects 'devices gpu' 'mica devices: "gpu" is one word too many; mica devices --help shows the usage'
rejects 'devices -- --json' 'mica devices: "--json" is one word too many; *'
rejects 'doctor --device' 'mica doctor: --device needs a value: --device SELECTOR'
rejects 'train --epochs --out z' 'mica train: --epochs needs a value: --epochs N; --out is an option (--epochs=--out, *'
rejects 'train --data --epochs=3' 'mica train: --data needs a value: --data DATA; --epochs=3 is an option *'
rejects 'predict --text --json' 'mica predict: --text needs a value: --text TEXT; --json is an option *'
rejects cache 'mica cache: ACTION is missing; mica cache --help shows the usage'
rejects 'cache lst' 'mica cache: ACTION cannot be "lst"; did you mean list?'
rejects 'cache xyzzy' 'mica cache: ACTION cannot be "xyzzy"; mica cache --help lists the possible values'

# A variable of a script that is not set.
run train --data '' --out "$work/run"
ends 2 '' 'mica train: --data is empty'
run train --data "$work" --out=
ends 2 '' 'mica train: --out is empty'
run train -q
ends 2 '' 'mica train: there is no option -q; mica train --help lists the options'
run train -- -q
ends 2 '' 'mica train: "-q" is one word too many; mica train --help shows the usage'
run info resnt18
ends 1 '' 'mica info: there is no file or network resnt18; did you mean resnet18?'
run info ''
ends 2 '' 'mica info: MODEL is empty'

run info foo
ends 1 '' 'mica info: there is no file or network foo; the networks are mlp, *'

# Names of other programs.
run train --batch-size 8
ends 2 '' 'mica train: there is no option --batch-size; did you mean --batch?'
run train --val-split=0.1
ends 2 '' 'mica train: there is no option --val-split; did you mean --validation?'
run predict --weights x
ends 2 '' 'mica predict: there is no option --weights; did you mean --model?'
run generate --temp 1
ends 2 '' 'mica generate: there is no option --temp; did you mean --temperature?'
run train table.csv
ends 2 '' 'mica train: "table.csv" is one word too many; did you mean --data table.csv?'
for pair in 'optimizer Adam adam' 'precision fp16 f16' 'schedule onecycle one_cycle'; do
  # Word splitting is wanted: a setting, what is typed, what is meant.
  # shellcheck disable=SC2086
  set -- $pair
  run train --data "$work" --task classify "--$1" "$2"
  ends 2 '' "mica train: $1 cannot be \"$2\"; did you mean $3?"
done
run train --data "$work" --task classification
ends 2 '' 'mica train: there is no task "classification"; did you mean classify?'

export MICA_VERBOSE=loud
rejects version 'mica: MICA_VERBOSE must be 0, 1 or 2, not "loud"'
export MICA_VERBOSE=2
run version
ends 0 'mica *' ''
unset MICA_VERBOSE

if [ -e /dev/full ]; then
  ran='mica version >/dev/full'
  err=$("$mica" version 2>&1 >/dev/full) && fault 'exit status 0 though nothing was written'
  case $err in 'mica: the output cannot be written') ;; *) fault "stderr is: $err" ;; esac
fi
ran='mica version >&-'
err=$("$mica" version 2>&1 >&-) && fault 'exit status 0 though there is no output'
case $err in 'mica: the output cannot be written') ;; *) fault "stderr is: $err" ;; esac

# A folder that is no run: the file that is missed is named.
run info "$work"
ends 1 "" "*$work holds no training run: there is no config.json"
run predict --model "$work/nosuch.onnx" "$work/x"
ends 1 "" "mica predict: there is no file or folder $work/nosuch.onnx"
run eval --model "$work/nosuch.onnx"
ends 1 "" "mica eval: there is no file or folder $work/nosuch.onnx"
exit "$failed"
