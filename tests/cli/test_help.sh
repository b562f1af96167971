#!/bin/sh
# labels: null single
# Every command explains itself, in three spellings, on stdout; what help lists is what the parser knows.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"

run help
ends 0 'usage: mica COMMAND*' ''
overview=$out
for spelling in --help -h; do
  run $spelling
  ends 0 'usage: mica COMMAND*' ''
  [ "$out" = "$overview" ] || fault 'not the same as mica help'
done

commands=$(printf '%s\n' "$overview" | sed -n '/^commands$/,/^$/s/^  \([a-z]*\)  .*/\1/p' | tr '\n' ' ')
case " $commands" in *' devices '*' cache '*' help '*) ;; *) fault "the list of commands is: $commands" ;; esac
for command in $commands; do
  run help "$command"
  ends 0 "usage: mica $command*" ''
  text=$out
  for spelling in --help -h; do
    [ ! "$sanitizer" ] || [ $spelling = --help ] || break
    run "$command" $spelling
    ends 0 'usage: mica*' ''
    [ "$out" = "$text" ] || fault "not the same as mica help $command"
  done
  twice=$(printf '%s\n' "$text" |
    awk '/^  -/ { n = 0 } { n += gsub(/\(default/, "") } n > 1 && /^ / { print }' | head -3)
  [ ! "$twice" ] || fault "two defaults: $twice"
  wide=$(printf '%s\n' "$text" | awk 'length($0) > 80')
  [ ! "$wide" ] || fault "wider than 80 columns: $wide"
  # Each option in the usage is explained, and known: with a value that no option takes, its name is not the complaint.
  known=0
  for option in $(printf '%s\n' "$text" | sed -n '1,/^$/s/[^-]*\(--[a-z-]*\)[^-]*/\1 /gp'); do
    case $text in *"$newline  $option "*) ;; *) fault "$option is not explained" ;; esac
    # Under a sanitizer three of a command: the parser is the same for all.
    [ ! "$sanitizer" ] || [ $((known += 1)) -le 3 ] || continue
    run "$command" "$option=" --no-such-option-anywhere
    ends 2 '' "mica $command: *"
    case $err in *"no option $option"*) fault "$option is not known" ;; esac
  done
done

# Each setting in the help of a command is one that its parser takes, and no setting has the name of another option.
for command in $commands; do
  run help "$command"
  case $out in *'[SETTING]...'*) ;; *) continue ;; esac
  own=$(printf '%s\n' "$out" | sed '/^Settings of the run/,$d' | sed -n 's/^  --\([a-z0-9-]*\).*/\1/p')
  settings=$(printf '%s\n' "$out" |
    sed -n '/^Settings of the run/,$s/^  \(--[a-z0-9-]*\)\( *\).*/\1 &/p' |
    sed -e 's/^\([^ ]*\)  *--[a-z0-9-]* [A-Z].*/\1V/' -e 's/ .*//' | sort -u)
  [ "$(printf '%s\n' "$settings" | wc -l)" -gt 60 ] || fault "few settings: $settings"
  for option in $own; do
    case "$newline$settings$newline" in *"$newline--$option$newline"* | *"$newline--$option"[A-Z]"$newline"*)
      fault "mica $command --help: --$option is an option and a setting" ;;
    esac
  done
  # The parser stops at the first word that it does not know: here at the one that no command knows.
  given='' count=0
  for setting in $settings --no-such-option-anywhere; do
    case $setting in *[A-Z]) given="$given ${setting%?}=1" ;; *) given="$given $setting" ;; esac
    [ $((count += 1)) -ge 60 ] || [ "$setting" = --no-such-option-anywhere ] || continue
    # shellcheck disable=SC2086
    run "$command" $given --no-such-option-anywhere
    ends 2 '' "mica $command: there is no option --no-such-option-anywhere*"
    given='' count=0
  done
done

# Pruning keeps a run's structure and the settings that are not given: help has neither such settings nor defaults.
run prune --help
for setting in model width layers heads groups positions vocabulary lowercase init; do
  case $out in *"$newline  --$setting "*) fault "prune cannot change --$setting" ;; esac
done
case ${out#*"Settings of the run"} in *'(default'*) fault 'defaults of training in the help of prune' ;; esac
case $out in *"$newline  --lr RATE"*"$newline  --dropout P"*) ;; *) fault 'settings are missing' ;; esac

# names FILE LIST: the names in an X-macro table of the library's.
names() { sed -n "/#define $2(X)/,/[^\\]\$/s/^  X([A-Za-z_0-9]*, \"\([a-z_0-9]*\)\".*/\1/p" "$MICA_SOURCE_DIR/$1"; }

# Networks of each task, and the settings of one task alone.
run train --task text --help
ends 0 "usage: mica train*Settings of the task text:*  networks              encoder, tagger, tcn, cnn_gru$newline*" ''
case $out in *'task detect:'*) fault 'another task is explained' ;; esac
run train --help
for networks in 'lstm, gru, tcn, cnn_gru, linear' 'gru, conformer' detector unet 'dscnn, cnn_gru' translator \
  'mf, neumf, dlrm, towers, sasrec' 'mlp, lenet, cnn, convnet, vgg11, resnet18, resnet50,'; do
  case $out in *"  networks              $networks$newline"*) ;; *) fault "networks of no task: $networks" ;; esac
done

# The setting lists the networks that tasks build themselves, each once.
model=$(printf '%s' "$out" | sed -n '/^  --model NAME/,/^  --epochs/p')
for network in cnn lstm gru dscnn conformer sasrec mf dlrm towers unet; do
  [ "$(printf '%s' "$model" | tr -s ' ,' '\n\n' | grep -cx $network)" = "$([ $network = cnn ] && echo 2 || echo 1)" ] ||
    fault "--model does not list $network once: $model"
done

# What the library has a table of, help lists in full.
lists() {
  option=$1
  shift
  # Lines that go on are indented.
  line=$(printf '%s\n' "$out" |
    awk '{ if (/^                    /) { sub(/^ */, " "); printf "%s", $0 } else printf "\n%s", $0 }' |
    sed -n "s/^  --$option [A-Z]*  *//p" | sed -e 's/,  */, /g' -e 's/ (default.*$//' -e 's/.*: //')
  [ $# -gt 2 ] || fault "--$option: a table of only $# names"
  for name in "$@"; do
    case ", $line, " in *", $name, "*) ;; *) fault "--$option does not list $name: $line" ;; esac
  done
}
run help train
# shellcheck disable=SC2046
lists optimizer $(names include/mica/optim.h MICA_OPTIMIZER_LIST)
# shellcheck disable=SC2046
lists schedule $(names include/mica/optim.h MICA_SCHEDULE_LIST)
# shellcheck disable=SC2046
lists model $(sed -n "s/^ZOO(\([a-z0-9]*\), .*/\1/p" "$MICA_SOURCE_DIR/src/nn/zoo/zoo.def")
# shellcheck disable=SC2046
lists augment $(sed -n "/define AUGMENTATIONS/,/^$/s/^  X(\([a-z]*\), .*/\1/p" \
  "$MICA_SOURCE_DIR/src/data/loader/augment_parse.c")
# Only what may be left out stands in brackets.
run export --help
ends 0 'usage: mica export RUN --onnx FILE \[--opset N\]*' ''
# Tasks that have defaults of their own say so, and which of them the run chooses.
run train --task segment --help
ends 0 '*by default *batch 4,*;*chosen*automatically:*epochs*networks*' ''
run train --task recommend --help
ends 0 '*by default *optimizer adam,*chosen*automatically:*model,*networks*' ''
run train --task speech --help
ends 0 '*chosen*automatically: lr*--layers N*(default: 1 for gru, 3 for*conformer)*' ''
for task in detect diffuse; do
  run train --task $task --help
  ends 0 '*chosen*automatically:*warm-up*networks*' ''
done
# The strengths of augmentations, and the factors of the schedules.
text=$(printf '%s' "$out" | tr -s ' \n' ' ')
case $text in *'multiplies the rate by 0.1 '*'by a factor of 0.9 '*) ;; *) fault 'no factors of --schedule' ;; esac
case $text in *'crop=4, cutout=8, elastic=4'*'mixup=0.2'*) ;; *) fault 'no strengths of --augment' ;; esac
# A default comes after the names of the values.
run help train
case $out in *'--optimizer NAME '*': sgd, '*' (default: sgd for '*) ;; *) fault 'no default of --optimizer' ;; esac
run help --man
case $out in *'decay of a moving average'*'0: off (default 0)'*) ;; *) fault 'no defaults in the manual page' ;; esac
run help train
ends 0 '*Settings of the task detect:*by default *epochs 30, batch 8,*Settings of the task segment:*batch 4,*' ''

run --version
ends 0 'mica [0-9]*' ''
run version --json
ends 0 '*' ''
holds version '[0-9]*.[0-9]*.[0-9]*'
holds opencl '1.2*'
exit "$failed"
