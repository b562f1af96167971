#!/bin/sh
# labels: null single
# Every option that takes a number is given what is none, before any file is opened: exit status 2, nothing on stdout,
# one sentence on stderr that names the option. tests/task/test_settings.c does it with the settings of mica train.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"

# wrong OPTION 'VALUES' WORD...: the command of these words takes none of the values for the option.
wrong() {
  option=$1
  values=$2
  shift 2
  for value in $values; do
    run "$@" "--$option" "$value"
    ends 2 '' "mica $1: --$option *"
    case $err in *"$newline"*) fault "more than one line: $err" ;; esac
  done
  for value in '' ' 1' '1 '; do
    [ ! "$sanitizer" ] || [ ! "$value" ] || break
    run "$@" "--$option" "$value"
    ends 2 '' "mica $1: --$option *"
  done
}
no_number='abc 1x nan inf -inf 1e99 -1e99 0x10 1,2 = %s%n 1e 340282366920938463463374607431768211456'
# base.number and task.settings read all of them under the sanitizers too.
[ ! "$sanitizer" ] || no_number='1x 1e99'
no_integer="$no_number 1.5 1e1 9223372036854775808 18446744073709551616 -9223372036854775809"
[ ! "$sanitizer" ] || no_integer="$no_number 9223372036854775808"
no_count="$no_integer 0 -1"

none="--model $work/none"
for option in length window; do
  # shellcheck disable=SC2086 # words of options
  wrong $option "$no_count" generate $none --prompt x
done
for option in top-k seed; do
  # shellcheck disable=SC2086
  wrong $option "$no_integer -1" generate $none --prompt x
done
for option in temperature top-p repetition; do
  # shellcheck disable=SC2086
  wrong $option "$no_number -1" generate $none --prompt x
done
for option in count top beam; do
  # shellcheck disable=SC2086
  wrong $option "$no_count" predict $none --data x
done
for option in threshold length-penalty; do
  # shellcheck disable=SC2086
  wrong $option "$no_number -1" predict $none --data x
done
# A search of texts has the same options everywhere.
touch "$work/texts"
for command in predict eval transcribe; do
  # shellcheck disable=SC2086
  wrong text-order "$no_count" $command $none --text-model "$work/texts" --beam 2
  for option in text-weight text-bonus; do
    # shellcheck disable=SC2086
    wrong $option "$no_number" $command $none --text-model "$work/texts" --beam 2
  done
done
for command in eval transcribe; do
  # shellcheck disable=SC2086
  wrong beam "$no_count" $command $none
done
for option in rate channels; do
  # shellcheck disable=SC2086
  wrong $option "$no_count" transcribe $none
done
# shellcheck disable=SC2086
wrong chunk "$no_number 0 -1" transcribe $none
# shellcheck disable=SC2086
wrong top "$no_count" recommend $none --user u
for option in size min-frequency; do
  wrong $option "$no_count" tokenizer train --data "$work" --out "$work/t.json"
done
for value in i i= =5 i=x i=5x i=nan i=inf 'i= 5' i=0x5 i=1,2; do
  # shellcheck disable=SC2086
  run recommend $none --rate "$value"
  ends 2 '' "mica recommend: --rate wants *"
done
for value in , 1,,2 1, ,1 nan,1,1 0x1,1,1 '1, 2,3' 1x,1,1; do
  for option in mean deviation; do
    other=$([ $option = mean ] && echo deviation || echo mean)
    run quantize "$work/none.onnx" --data "$work" --out "$work/x.onnx" "--$option" "$value" "--$other" 1,1,1
    ends 2 '' "mica quantize: --$option wants numbers *"
  done
done
for value in , ,a a, a,,b; do
  run tokenizer train --data "$work/texts" --out "$work/t.json" --special "$value"
  ends 2 '' "mica tokenizer: --special wants tokens *"
done
wrong opset "$no_count" export "$work/none" --onnx "$work/none.onnx"
wrong opset "$no_count" convert "$work/none.safetensors" "$work/none.onnx" --model mlp
wrong shape "$no_count 3x 3x-1 x3 3x0 3x1.5 1x1x1x1x1x1x1x1x1x1" convert "$work/none.safetensors" "$work/none.onnx" \
  --model mlp
for option in bits group; do
  wrong $option "$no_count 5" quantize "$work/none" --out "$work/x" --weights-only
done
wrong samples "$no_count" quantize "$work/none" --out "$work/x"
wrong percentile "$no_number 0 -1 2" quantize "$work/none" --out "$work/x" --method percentile
for option in samples repeats; do
  wrong $option "$no_count" compare "$work/a" "$work/b"
done
for option in seed repeat; do
  wrong $option "$no_integer -1" run "$work/none.onnx"
done
wrong watchdog "$no_number 0 -1" train --data "$work"
wrong budget "$no_number 0 -1" tune gemm

# A variable of a script that is not set, in place of a setting.
for option in label augment freeze user-column from size class-weights join; do
  run train --data "$work" "--$option" ''
  ends 2 '' "mica train: --$option is empty"
done

exit $failed
