#!/bin/sh
# labels: device slow
# Ratings and rankings are trained on tables, tested and asked; what is wrong is said; a run that was killed ends with
# the bits of one that was not.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

# Two tastes: users rate the items of their own half high, those of the other low; they take items in a circle.
mkdir "$work/data"
awk 'BEGIN {
  print "user,item,rating,time"
  for (u = 0; u < 60; u++)
    for (k = 0; k < 14; k++) {
      i = (u * 5 + k) % 20
      print "u" u ",i" i "," (u % 2 == i % 2 ? 5 : 1) "," 100 * u + k
    }
}' >"$work/data/ratings.csv"
printf 'item,title\ni3,"Three, the third"\ni4,Four\n' >"$work/data/items.csv"
train="train --task recommend --data $work/data --quiet"

# shellcheck disable=SC2086 # words of options
run $train --epochs 30 --lr 0.02 --width 8 --batch 64 --json --out "$work/rate"
ends 0 '{"task":"recommend","part":"test"*' ''
awk -v e="$(json metrics.rmse)" 'BEGIN { exit !(e < 0.6) }' || fault "rmse $(json metrics.rmse)"
rmse=$(json metrics.rmse)
run eval --model "$work/rate" --json
holds metrics.rmse "$rmse"
# The report's tail counts all 20 items in its groups, and all of what was shown; items stand on a map.
grep -q 'Long tail' "$work/rate/report.html" && grep -q 'first component' "$work/rate/report.html" ||
  fault 'no tail or no map in the report'
tr '<' '\n' <"$work/rate/report.html" | awk '/^h3>items by popularity/ { on = 1 } /^\/table/ { on = 0 }
  on && /^td>/ { n = (n + 1) % 4; sub(/td>/, ""); if (n == 1) items += $0; if (n == 3) shown += $0 }
  END { exit !(items == 20 && shown > 99.9 && shown < 100.1) }' || fault 'the groups of the tail are not all'
run recommend --model "$work/rate" --user u1 --top 5 --json
ends 0 '{"task": "recommend", "recommendations": *' ''
case $(json recommendations.0.items.0.item) in i*[13579]) ;; *) fault "of the other taste: $out" ;; esac
run recommend --model "$work/rate" --rate i1=5 --rate i2=1 --rate i5=5 --top 3
ends 0 'new user*' ''
case $out in *i[02468]*) fault "of the other taste: $out" ;; esac
run recommend --model "$work/rate" --like i3 --top 3
ends 0 'i3*' ''
# Titles lie in a folder of data, or beside its table where that is named itself.
(cd "$work/data" && "$mica" train --task recommend --data ratings.csv --quiet --epochs 1 --width 8 --batch 64 \
  --out "$work/file") || fault 'training on a file'
run recommend --model "$work/file" --user u1 --top 20
ends 0 'u1*Three, the third*' ''
printf 'item,rating\ni2,5\ni1,1\ni6,4\n' >"$work/new.csv"
run recommend --model "$work/rate" --ratings "$work/new.csv" --top 2 --json
case $(json recommendations.0.items.0.item) in i*[02468]) ;; *) fault "of the other taste: $out" ;; esac
# Scores are numbers, all of their digits. The training's own data are predicted as they were tested, however they are
# called; the errors of the test part are those of the metrics.
grep -Eq '"score": [0-9]+(\.[0-9]+)?[,}]' "$work/out" || fault "the score is no number: $out"
(cd "$work" && "$mica" predict --model rate --data data --count 1000 --json) >"$work/out" || fault 'predict --data'
tr '{' '\n' <"$work/out" | awk -F'[:,}]' -v rmse="$rmse" '/"truth"/ {
    n++; sum += ($4 - $6) ^ 2
  } END { e = sqrt(sum / n) - rmse; exit !(n == 84 && e < 1e-4 && e > -1e-4) }' ||
  fault "not the test part, or not its errors, by predict --data"
run predict --model "$work/rate" --data "$work/data" --count 5 --json
"$MICA_BUILD_DIR/bin/tests/json_value" predictions.5.value <"$work/out" 2>/dev/null && fault 'more than 5'
printf 'user,item\nu1,i3\nu1,i4\nnobody,nothing\n' >"$work/pairs.csv"
run predict --model "$work/rate" "$work/pairs.csv" --json
awk -v a="$(json predictions.0.value)" -v b="$(json predictions.1.value)" 'BEGIN { exit !(a > 3 && b < 3) }' ||
  fault "$out"
# Pairs are predicted and written in parts, which make one list.
awk 'BEGIN { print "user,item"; for (n = 0; n < 700; n++) print "u" n % 60 ",i" int(n / 60) }' >"$work/pairs.csv"
run predict --model "$work/rate" "$work/pairs.csv" --json
holds predictions.699.name 'line 701'
holds predictions.256.name 'line 258'
"$MICA_BUILD_DIR/bin/tests/json_value" predictions.700.name <"$work/out" 2>/dev/null && fault 'more than 700 pairs'

# A quantised run is tested, and knows new users and likenesses as the one that it was made from.
run quantize "$work/rate" --out "$work/rate8" --json
ends 0 '*' ''
run eval --model "$work/rate8" --json
ends 0 '{"task":"recommend","part":"test"*' ''
awk -v a="$rmse" -v b="$(json metrics.rmse)" 'BEGIN { exit !(a - b < 0.05 && b - a < 0.05) }' ||
  fault "rmse $rmse, quantised $(json metrics.rmse)"
run recommend --model "$work/rate8" --rate i1=5 --rate i2=1 --rate i5=5 --top 3
ends 0 'new user*' ''
case $out in *i[02468]*) fault "quantised, of the other taste: $out" ;; esac
run recommend --model "$work/rate" --like i3 --top 1 --json
like=$(json recommendations.0.items.0.score)
run recommend --model "$work/rate8" --like i3 --top 1 --json
awk -v a="$like" -v b="$(json recommendations.0.items.0.score)" 'BEGIN { exit !(a - b < 0.02 && b - a < 0.02) }' ||
  fault "likeness $like, quantised $(json recommendations.0.items.0.score)"

for model in sasrec neumf; do
  # shellcheck disable=SC2086
  run $train --objective ranking --model $model --epochs 8 --lr 0.01 --width 16 --batch 32 --negatives 8 --context 8 \
    --top 5 --json --out "$work/$model"
  ends 0 '{"task":"recommend","part":"test"*' ''
  holds metrics.popularity_ndcg '0.*'
  ndcg=$(json metrics.ndcg)
  [ $model != sasrec ] || awk -v n="$ndcg" 'BEGIN { exit !(n > 0.5) }' || fault "$model: ndcg $ndcg"
  run eval --model "$work/$model" --part test --json
  holds metrics.ndcg "$ndcg"
  run recommend --model "$work/$model" --user u7 --exclude-seen --top 6
  ends 0 'u7*' ''
  [ "$(printf '%s\n' "$out" | wc -l)" = 7 ] || fault "14 of 20 items are seen: $out"
done
run recommend --model "$work/sasrec" --rate i1=1 --rate i2=1 --rate i3=1 --top 2
ends 0 'new user*i4*' ''
case $out in *'Four'*) ;; *) fault "no title: $out" ;; esac

# A ranking is calibrated with users and their histories, which its training part has not, and compared by its metrics.
run quantize "$work/sasrec" --out "$work/sasrec8" --json
ends 0 '*' ''
run recommend --model "$work/sasrec8" --user u7 --top 3
ends 0 'u7*' ''
run compare "$work/sasrec" "$work/sasrec8" --data "$work/data" --repeats 20
ends 0 '*sasrec8*' ''
case $out in *'ndcg '[01]*'ndcg '[01]*) ;; *) fault "no metric of rankings: $out" ;; esac

# --- what is wrong ---

run recommend --model "$work/neumf" --rate i1=1
ends 1 '' 'mica recommend: the network neumf knows only the users that it was trained on*'
run recommend --model "$work/rate" --rate i1=1e30
ends 1 '' "mica recommend: the rating 1e+30 of item 'i1' is out of range: the run was trained on ratings of 1 to 5"
run recommend --model "$work/rate" --rate i1=0.5
ends 1 '' "mica recommend: the rating 0.5 of item 'i1' is out of range*"
run recommend --model "$work/rate" --rate i1=5 --rate i1=1
ends 1 '' "mica recommend: item 'i1' is rated twice"
run recommend --model "$work/rate" --user u99
ends 1 '' "mica recommend: user 'u99' is not one of the 60 users*"
run recommend --model "$work/rate" --like 18446744073709551616
ends 1 '' "mica recommend: item '18446744073709551616' is not one of *"
run recommend --model "$work/rate"
ends 2 '' 'mica recommend: --user is missing*'
run recommend --model "$work/rate" --rate i1
ends 2 '' 'mica recommend: --rate wants an item and a number*'
run recommend --user u1
ends 2 '' 'mica recommend: --model is missing*'
printf 'i1,5\ni2,x\n' >"$work/new.csv"
run recommend --model "$work/rate" --ratings "$work/new.csv"
ends 1 '' "mica recommend: $work/new.csv line 2, column 2: the rating is not a number from -3.4e38 to 3.4e38"
for table in 'user,item,rating|u,i,1|u,,2' 'user,item,rating|u,i,1|u,i,2' 'a,b|u,i' 'user,item,rating|u,i,'; do
  printf '%s\n' "$table" | tr '|' '\n' >"$work/wrong.csv"
  run train --task recommend --data "$work/wrong.csv" --out "$work/wrong"
  ends 1 '' "mica train: $work/wrong.csv line *"
  [ ! -e "$work/wrong" ] || fault 'a folder is left'
done
printf 'user,item\nu,i\nu,j\n' >"$work/wrong.csv"
run train --task recommend --data "$work/wrong.csv" --out "$work/wrong"
ends 1 '' "mica train: $work/wrong.csv has no column of ratings*"
# Files of the older MovieLens, and a title of two.
mkdir "$work/dat" "$work/tabs" "$work/twice"
awk 'BEGIN { for (n = 0; n < 90; n++) print n % 9 "\t" n % 10 "\t" 1 + n % 5 "\t" n }' >"$work/tabs/u.data"
sed 's/\t/::/g' "$work/tabs/u.data" >"$work/dat/ratings.dat"
# Titles in Latin-1 with quotes and colons, of items that are rated and of another one.
awk 'BEGIN { for (n = 0; n < 12; n++)
  printf "%d|%s (1995) |01-Jan-1995||http://x/?a|0|1\n", n, n == 3 ? "Caf\351 \"3\"" : "M: " n }' >"$work/tabs/u.item"
sed 's/|01-Jan.*/::Drama|War/; s/|/::/' "$work/tabs/u.item" >"$work/dat/movies.dat"
for form in tabs dat; do
  run train --task recommend --data "$work/$form" --epochs 1 --width 4 --quiet --out "$work/$form.run"
  ends 0 '' '*'
  run recommend --model "$work/$form.run" --user 4 --json
  for title in 'Café \"3\" (1995)' 'M: 7 (1995)'; do
    case $out in *"\"title\": \"$title\""*) ;; *) fault "titles of $form: $out" ;; esac
  done
done
cmp -s "$work/tabs.run/model.safetensors" "$work/dat.run/model.safetensors" || fault 'between "::" ratings are others'
# A new user's ratings, with the user before them as in the files that are trained on; of two users none are taken.
run recommend --model "$work/tabs.run" --rate 3=5 --rate 7=1 --json
rated=$out
printf '99\t3\t5\t8\n99\t7\t1\t9\n' >"$work/own.tsv"
run recommend --model "$work/tabs.run" --ratings "$work/own.tsv" --json
[ "$status $out" = "0 $rated" ] || fault "other ratings than --rate gives: $out"
printf '98\t4\t5\t8\n' >>"$work/own.tsv"
run recommend --model "$work/tabs.run" --ratings "$work/own.tsv"
ends 1 '' '*own.tsv line 3, column 1: the user differs from that of the lines before*'
printf '1::One::x\n\n2\n' >"$work/dat/movies.dat"
run train --task recommend --data "$work/dat" --out "$work/wrong"
ends 1 '' "mica train: $work/dat/movies.dat line 3 has no title: there is no \"::\" in it"
run train --task recommend --data "$work/dat" --titles "$work/tabs/u.item" --epochs 1 --quiet --out "$work/dat2.run"
ends 0 '' '*'
cp "$work/data/ratings.csv" "$work/twice"
printf 'item,title\ni3,Three\ni4,Four\ni3,Three\ni4,Vier\n' >"$work/twice/items.csv"
run train --task recommend --data "$work/twice" --out "$work/wrong"
ends 1 '' "mica train: $work/twice/items.csv line 5: 'i4' is already in an earlier line, with the title 'Four'"
run train --task recommend --data "$work/data" --model cnn --out "$work/wrong"
ends 2 '' 'mica train: the task recommend with the objective rating trains mf, neumf or dlrm, not cnn'

# --- clicks, with what is known of users, items and the moment ---

# A user clicks what has the tag that they like, more often on a phone; nothing else tells.
mkdir "$work/clicks"
awk -v users="$work/clicks/users.csv" -v items="$work/clicks/items.csv" 'BEGIN {
  srand(5)
  split("rock jazz folk soul", tag, " ")
  print "user,likes,age" >users
  for (u = 0; u < 80; u++) print "u" u "," tag[1 + u % 4] "," 20 + u % 31 >users
  print "item,title,tags,price" >items
  for (i = 0; i < 30; i++) print "i" i ",Item " i "," tag[1 + i % 4] "|" tag[1 + int(i / 4) % 4] "," i / 4 >items
  print "user,item,device,hour,click"
  for (n = 0; n < 4000; n++) {
    u = int(rand() * 80); i = int(rand() * 30); d = rand() < 0.5
    likes = u % 4 == i % 4 || u % 4 == int(i / 4) % 4
    print "u" u ",i" i "," (d ? "phone" : "desk") "," (n % 7 ? n % 24 : "") "," (rand() < 0.1 + 0.6 * likes + 0.2 * d)
  }
}' >"$work/clicks/interactions.csv"
clicks="train --task recommend --objective click --data $work/clicks --quiet"
# shellcheck disable=SC2086
run $clicks --epochs 8 --lr 0.01 --width 8 --batch 64 --categorical hour --json --out "$work/dlrm"
ends 0 '{"task":"recommend","part":"test"*' ''
auc=$(json metrics.auc)
# The best that can be told is 0.84.
awk -v auc="$auc" -v loss="$(json metrics.log_loss)" -v base="$(json metrics.base_log_loss)" \
  'BEGIN { exit !(auc > 0.75 && auc < 0.95 && loss < base - 0.08) }' || fault "clicks: $out"
# Plain orders: no item is better than another, nor is a user.
for plain in popularity item_mean biases; do
  awk -v a="$(json metrics.${plain}_auc)" 'BEGIN { exit !(a > 0.4 && a < 0.65) }' || fault "$plain: $out"
done
run eval --model "$work/dlrm" --part test --json
holds metrics.auc "$auc"
run recommend --model "$work/dlrm" --user u1 --top 4 --context device=phone --json
ends 0 '{"task": "recommend", "recommendations": *' ''
high=$(json recommendations.0.items.0.score)
case $(json recommendations.0.items.0.title) in 'Item '*) ;; *) fault "no title: $out" ;; esac
run recommend --model "$work/dlrm" --user u1 --top 4 --context device=desk --json
awk -v a="$high" -v b="$(json recommendations.0.items.0.score)" 'BEGIN { exit !(a > b) }' ||
  fault "$high on a phone: $out"
run recommend --model "$work/dlrm" --like i1 --top 2
ends 0 'i1*' ''
run predict --model "$work/dlrm" --data "$work/clicks" --count 3 --json
holds predictions.2.value '0.*'
printf 'user,item,device,hour\nu1,i1,phone,3\nnobody,i1,fax,\n' >"$work/pairs.csv"
run predict --model "$work/dlrm" "$work/pairs.csv" --json
holds predictions.1.value '0.*'
# More pairs than are read at once: those of a later part have the features of their own lines.
awk 'BEGIN {
  print "user,item,device,hour"
  for (i = 0; i < 66000; i++) print i % 2 ? "nobody,i1,fax," : "u1,i1,phone,3"
}' >"$work/many.csv"
run predict --model "$work/dlrm" "$work/many.csv"
echo "$out" | awk '{ v = sprintf("%.3f", $NF); if (NR <= 2) first[NR % 2] = v; else wrong += v != first[NR % 2] }
  END { exit !(NR == 66000 && !wrong && first[0] != first[1]) }' || fault 'pairs of a later part have other values'
# Ratings are told from such columns too, where there are any.
# shellcheck disable=SC2086
run $train --model dlrm --epochs 2 --width 8 --batch 64 --ignore title --json --out "$work/features"
ends 0 '{"task":"recommend","part":"test"*' ''

run recommend --model "$work/dlrm" --user u1 --context weather=rain
ends 1 '' "*context: 'weather' is not a column of the interactions that the run reads; those are: device, hour"
run recommend --model "$work/rate" --user u1 --context hour=3
ends 1 '' 'mica recommend: the network mf reads only users and items, so it takes no context'
run recommend --model "$work/dlrm" --user u1 --context hour
ends 2 '' 'mica recommend: --context wants a column and a value*'
printf 'user,item,hour\nu1,i1,3\n' >"$work/pairs.csv"
run predict --model "$work/dlrm" "$work/pairs.csv"
ends 1 '' "mica predict: $work/pairs.csv line 1: there is no column 'device'*"
printf 'user,item,click\nu,i,1\nu,j,2\n' >"$work/wrong.csv"
run train --task recommend --objective click --data "$work/wrong.csv" --out "$work/wrong"
ends 1 '' "mica train: $work/wrong.csv line 3, column 3: a click must be 0 or 1, not 2; --clicks-from *"
printf 'user,item,click\nu,i,1\nu,j,1\nv,j,1\nv,i,1\n' >"$work/wrong.csv"
run train --task recommend --objective click --data "$work/wrong.csv" --top 1 --out "$work/wrong"
ends 1 '' "mica train: $work/wrong.csv: every sample for training is a click; training needs both kinds"
# shellcheck disable=SC2086
run $clicks --categorical fax --out "$work/wrong"
ends 2 '' "mica train: categorical: no table has a column 'fax'"
# shellcheck disable=SC2086
run $clicks --separator '||' --out "$work/wrong"
ends 2 '' 'mica train: separator must be one ASCII character, not "||"'
# shellcheck disable=SC2086
run $train --objective ranking --model dlrm --out "$work/wrong"
ends 2 '' 'mica train: the task recommend with the objective ranking trains *'

# Clicks are made of ratings; two tastes need both sides of a pair.
# shellcheck disable=SC2086
run $train --objective click --clicks-from 4 --model mf --epochs 20 --lr 0.02 --width 8 --batch 64 --json \
  --out "$work/from"
ends 0 '{"task":"recommend","part":"test"*' ''
awk -v a="$(json metrics.auc)" -v b="$(json metrics.biases_auc)" 'BEGIN { exit !(a > 0.9 && b < 0.7) }' || fault "$out"
auc=$(json metrics.auc)
run eval --model "$work/from" --part test --json
holds metrics.auc "$auc"
# shellcheck disable=SC2086
run $train --objective click --clicks-from four --out "$work/wrong"
ends 2 '' 'mica train: *clicks-from*'

# --- killed and resumed; one thread as two ---

for options in '--objective rating' '--objective ranking --model sasrec --negatives 8 --top 5' '--model dlrm'; do
  name=${options##* }
  # shellcheck disable=SC2086
  begin() { exec "$mica" $train $options --epochs 4 --dropout 0.1 --width 16 --checkpoint-steps 3 --out "$@"; }
  (begin "$work/whole.$name") >"$work/out" 2>&1 || fault "$(cat "$work/out")"
  again=''
  # Before and right behind a checkpoint.
  for moment in 0.3 0 0 0; do
    begin "$work/killed.$name" $again >"$work/out" 2>&1 &
    pid=$!
    sleep $moment
    touch "$work/mark"
    while [ $moment = 0 ] && kill -0 $pid 2>/dev/null; do
      [ -z "$(find "$work/killed.$name/last.safetensors" -newer "$work/mark" 2>/dev/null)" ] || break
      sleep 0.01
    done
    kill -KILL $pid 2>/dev/null
    wait $pid 2>/dev/null
    [ -s "$work/killed.$name/config.json" ] && again=--resume
  done
  (begin "$work/killed.$name" $again) >"$work/out" 2>&1 || fault "$(cat "$work/out")"
  cmp "$work/whole.$name/last.safetensors" "$work/killed.$name/last.safetensors" || fault "$name: other weights"
  (export POCL_MAX_PTHREAD_COUNT=1 POCL_CPU_MAX_CU_COUNT=1 && begin "$work/one.$name") >"$work/out" 2>&1 ||
    fault "$(cat "$work/out")"
  cmp "$work/whole.$name/last.safetensors" "$work/one.$name/last.safetensors" || fault "$name: other bits on one thread"
done

# Tables are updated as wholes where there are several ranks, or where that is asked for: with the same steps.
# shellcheck disable=SC2086
run $train --epochs 1 --width 4 --devices 0:0/2 --json --out "$work/ranks"
ends 0 '{"task":"recommend"*' ''
loss=$(json metrics.loss)
# shellcheck disable=SC2086
run $train --epochs 1 --width 4 --whole-tables --json --out "$work/wholes"
awk -v a="$loss" -v b="$(json metrics.loss)" 'BEGIN { exit !((a - b) ^ 2 < 1e-8 * b ^ 2) }' ||
  fault "a loss of $loss on two ranks: $out"

exit $failed
