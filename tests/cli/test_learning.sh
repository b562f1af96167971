#!/bin/sh
# labels: device single
# How long a run trains by default, and what it says of a network that has learned little or is still learning.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

# Two classes by the sign of a sum; N rows.
rows() {
  awk -v n="$1" 'BEGIN {
    srand(5)
    print "a,b,kind"
    for (i = 0; i < n; i++) {
      a = rand() - 0.5
      b = rand() - 0.5
      printf "%.4f,%.4f,%s\n", a, b, (a + b > 0) ? "up" : "down"
    }
  }'
}

# 180 rows to train on make 2 steps of 64: ten times the default epochs, the most.
rows 200 >"$work/few.csv"
run train --data "$work/few.csv" --task classify --out "$work/few"
ends 0 '*100 epochs of 2 steps*epoch 100/100*' ''
[ "$(wc -l <"$work/few/history.csv")" = 101 ] || fault 'history.csv has no 100 epochs'
# 1800 rows make 28: enough epochs for 300 steps.
rows 2000 >"$work/some.csv"
run train --data "$work/some.csv" --task classify --out "$work/some"
ends 0 '*11 epochs of 28 steps*epoch 11/11*' ''
# A given number is used, and a resumed run keeps its own.
run train --data "$work/few.csv" --task classify --epochs 2 --out "$work/two"
ends 0 '*2 epochs of 2 steps*epoch 2/2*' ''
run train --resume --epochs 4 --out "$work/two"
ends 0 '*4 epochs of 2 steps*epoch 4/4*' ''
run train --resume --out "$work/two"
ends 0 '*' ''
[ "$(wc -l <"$work/two/history.csv")" = 5 ] || fault 'a resumed run has another number of epochs'

# Inputs without information about the class: the best accuracy is the share of the most frequent one.
awk 'BEGIN {
  print "a,b,kind"
  for (i = 0; i < 400; i++) printf "1,%d,%s\n", i % 2, (i % 8 < 5) ? "often" : "seldom"
}' >"$work/blind.csv"
run train --data "$work/blind.csv" --task classify --epochs 2 --out "$work/blind"
ends 0 '*the network has learned little: its best accuracy is *"often" as the answer to all samples has *' ''
case $(cat "$work/out") in *'still falling'*) fault 'a loss falls that cannot' ;; esac

# A rate at which the loss falls to the end.
run train --data "$work/some.csv" --task classify --epochs 8 --lr 0.0002 --schedule constant --out "$work/slow"
ends 0 '*the last epoch was the best, and the loss was still falling: more epochs may help (--resume --epochs 16)*' ''
case $(cat "$work/out") in *'learned little'*) fault 'an accurate network is called poor' ;; esac
run train --data "$work/some.csv" --task classify --epochs 8 --lr 0.0002 --quiet --out "$work/silent"
ends 0 '' ''

# Answers by chance are learned by heart: more epochs are not proposed.
awk 'BEGIN {
  srand(4)
  print "a,b,c,d,kind"
  for (i = 0; i < 120; i++) print rand() "," rand() "," rand() "," rand() "," (rand() < 0.5 ? "yes" : "no")
}' >"$work/chance.csv"
run train --data "$work/chance.csv" --task classify --epochs 60 --lr 0.02 --width 256 --validation 0.4 \
  --out "$work/chance"
ends 0 '*the network overfits: its accuracy is * in training and at best * in validation; *smaller network *' ''
case $(cat "$work/out") in *'learned little'*) fault 'what overfits has learned little' ;; esac
run train --data "$work/some.csv" --task classify --epochs 8 --out "$work/well"
case $(cat "$work/out") in *overfits*) fault 'an accurate network overfits' ;; esac

# One window cannot choose an epoch.
awk 'BEGIN { print "a"; for (i = 0; i < 60; i++) print i % 7 }' >"$work/series.csv"
run train --data "$work/series.csv" --task forecast --window 7 --horizon 2 --epochs 1 --out "$work/series"
ends 0 '*' '*windows are held out for validation, so the best epoch is found by chance; hold out more (--validation)*'
exit $failed
