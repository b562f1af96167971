#!/bin/sh
# labels: device single
# Tasks on graphs: molecules, nodes and pairs of nodes; train, stop and resume, eval, predict; and what is refused.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device

# above KEY LEAST: what JSON has at the key is above a number.
above() { awk -v a="$(json "$1")" -v b="$2" 'BEGIN { exit !(a > b) }' || fault "$1 $(json "$1")"; }

mkdir "$work/club" "$work/pairs" "$work/bad"
awk -v folder="$work" 'BEGIN {
  srand(5)
  split("C CC CO CN", part, " "); split("C(=O)O C#N", end, " "); split("acid nitrile", name, " ")
  print "smiles,label" >folder "/molecules.csv"; print "smiles,atoms" >folder "/atoms.csv"
  for (i = 0; i < 200; i++) {
    k = 1 + i % 2; s = "C"
    for (j = 0; j < 1 + 3 * rand(); j++) s = s part[1 + int(4 * rand())]
    print s end[k] "," name[k] >folder "/molecules.csv"
    print s "," (length(s) + 0.5) >folder "/atoms.csv"
  }
  print "source,target" >folder "/club/edges.csv"; print "node,label" >folder "/club/train.csv"
  print "node,label" >folder "/club/test.csv"; print "node,size,kind" >folder "/club/nodes.csv"
  print "node,other,label" >folder "/pairs/train.csv"
  for (i = 0; i < 40; i++) {
    print "p" i "," (i % 2 ? "odd" : "even") >folder (i % 3 ? "/club/test.csv" : "/club/train.csv")
    print "p" i "," 10 + rand() "," (i < 4 ? i % 2 : 0) >folder "/club/nodes.csv"
    for (k = 0; k < 4; k++) {
      j = (i + 2 + 2 * int(19 * rand())) % 40
      print "p" i ",p" j >folder "/club/edges.csv"
      print "p" i ",p" (i + 2 * k + k % 2 + 1) % 40 "," (k % 2 ? "near" : "far") >folder "/pairs/train.csv"
    }
  }
}'
cp "$work/club/edges.csv" "$work/pairs"

# Molecules, by the data alone; the same bits after a stop.
how='--width 16 --batch 32 --seed 2 --quiet'
# shellcheck disable=SC2086
run train --data "$work/molecules.csv" $how --epochs 40 --json --out "$work/a"
ends 0 '*' '*'
holds task graph
# shellcheck disable=SC2086,SC2154
"$mica" train --data "$work/molecules.csv" $how --epochs 40 --checkpoint-steps 3 --out "$work/b" >"$work/out" 2>&1 &
pid=$!
while kill -0 $pid 2>/dev/null && ! [ -s "$work/b/last.safetensors" ]; do sleep 0.05; done
kill -KILL $pid 2>/dev/null
wait $pid 2>/dev/null
run train --resume --out "$work/b" --quiet
ends 0 '*' '*'
cmp "$work/a/last.safetensors" "$work/b/last.safetensors" || fault 'other weights after a stop'
run eval --model "$work/a" --data "$work/molecules.csv" --part train --json
above metrics.accuracy 0.9
# Molecules of several sizes in half precision.
# shellcheck disable=SC2086
run train --data "$work/molecules.csv" $how --model gat --precision f16 --epochs 20 --json --out "$work/half"
ends 0 '*' '*'
above metrics.accuracy 0.8
run predict --model "$work/a" --text CCCC#N --json
holds predictions.0.prediction nitrile
run predict --model "$work/a" "$work/molecules.csv" --json
holds predictions.1.truth nitrile
printf 'smiles\nCCC#N\nCCC(=O)O\n' >"$work/asked.csv"
run predict --model "$work/a" "$work/asked.csv" --json
holds predictions.0.prediction nitrile
holds predictions.1.prediction acid
printf 'id,smiles\n1,CCC#N\n' >"$work/asked.csv"
run predict --model "$work/a" "$work/asked.csv" --json
holds predictions.0.name 'CCC#N'
printf 'CCO\nCC(=O)O\n' >"$work/lines.smi"
run predict --model "$work/a" "$work/lines.smi" --json
holds predictions.1.name 'CC(=O)O'
run predict --model "$work/a" --text 'CC('
ends 1 '' '*SMILES ends too early*'
run predict --model "$work/a" "$work/club/train.csv"
ends 1 '' '*smiles*'
printf 'smiles,label\nCC,a\nCX,b\n' >"$work/bad.csv"
run train --task graph --data "$work/bad.csv" --out "$work/x"
ends 1 '' "*bad.csv line 3: SMILES character 2, 'X'*"

# Numbers.
# shellcheck disable=SC2086
run train --task graph_numbers --data "$work/atoms.csv" --model gin --dropout 0 $how --epochs 30 --json --out "$work/n"
holds task graph_numbers
run eval --model "$work/n" --part validation --json
above metrics.r2 0.5

# Nodes and pairs.
for model in gcn gat gin; do
  # shellcheck disable=SC2086
  run train --task graph --data "$work/club" --model $model $how --epochs 60 --json --out "$work/$model"
  ends 0 '*' '*'
  run eval --model "$work/$model" --part test --json
  above metrics.accuracy 0.5
done
run predict --model "$work/gcn" --text p7 --json
holds predictions.0.name p7
run predict --model "$work/gcn" --text p99
ends 1 '' "*the graph has no node 'p99'*"
mkdir "$work/twice"
cp "$work/club/edges.csv" "$work/twice"
printf 'node,label\np1,odd\np2,even\np1,even\n' >"$work/twice/train.csv"
run train --task graph --data "$work/twice" --epochs 1 --out "$work/no"
ends 1 '*' "*line 4: an earlier line gives another class to node 'p1'"
# shellcheck disable=SC2086
run train --task graph --data "$work/pairs" $how --epochs 2 --out "$work/p"
ends 0 '*' '*'
printf 'node,other\np1,p2\np1,p3\n' >"$work/asked.csv"
run predict --model "$work/p" "$work/asked.csv" --json
holds predictions.1.name 'p1 p3'
run predict --model "$work/p" "$work/pairs/train.csv" --json
holds predictions.0.name 'p0 p1'

# Many graphs: rings and stars.
mkdir "$work/many"
awk -v folder="$work/many" 'BEGIN {
  srand(6)
  print "graph,label" >folder "/train.csv"; print "graph,label" >folder "/test.csv"
  print "node,graph" >folder "/nodes.csv"; print "source,target" >folder "/edges.csv"
  for (g = 1; g <= 160; g++) {
    n = 4 + int(5 * rand()); ring = g % 2
    print g "," (ring ? "ring" : "star") >folder (g % 4 < 2 ? "/train.csv" : "/test.csv")
    for (i = 0; i < n; i++) {
      print ++v "," g >folder "/nodes.csv"
      if (ring || i) print v "," (!ring ? v - i : i ? v - 1 : v + n - 1) >folder "/edges.csv"
    }
  }
}'
for model in gcn gin; do
  # shellcheck disable=SC2086
  run train --task graph --data "$work/many" --model $model $how --lr 0.01 --epochs 60 --out "$work/many_$model"
  ends 0 '*' '*'
  run eval --model "$work/many_$model" --part test --json
  above metrics.accuracy 0.9
done
run predict --model "$work/many_gcn" --text 7 --json
holds predictions.0.prediction ring
run predict --model "$work/many_gcn" --text 999
ends 1 '' "*nodes.csv has no graph '999'*"
printf '1,3\n1,9\n' >>"$work/many/edges.csv"
run train --task graph --data "$work/many" --out "$work/x"
ends 1 '' "*an edge joins nodes of two graphs; its second node is '9'*"
printf '999999,1\n' >>"$work/many/nodes.csv"
run train --task graph --data "$work/many" --out "$work/x"
ends 1 '' "*the rows of a graph must follow each other, but other graphs come between the rows of '1'*"
printf 'node\n1\n' >"$work/many/nodes.csv"
run train --task graph --data "$work/many" --out "$work/x"
ends 1 '' '*the second column must be called graph*'
rm "$work/many/nodes.csv"
run train --task graph --data "$work/many" --out "$work/x"
ends 1 '' '*graphs need nodes.csv*'

# Bad graphs.
cp "$work/club/train.csv" "$work/bad"
run train --task graph --data "$work/bad" --out "$work/x"
ends 1 '' '*has no edges.csv*'
printf 'a,b\np0,p1\n' >"$work/bad/edges.csv"
run train --task graph --data "$work/bad" --out "$work/x"
ends 1 '' '*must be called source and target*'
printf 'source,target\n' >"$work/bad/edges.csv"
run train --task graph --data "$work/bad" --out "$work/x"
ends 1 '' '*edges.csv has no edges*'
cp "$work/club/edges.csv" "$work/bad"
printf 'node,f\np0,1\np0,2\n' >"$work/bad/nodes.csv"
run train --task graph --data "$work/bad" --out "$work/x"
ends 1 '' "*nodes.csv line 3: there are two nodes 'p0'*"
printf 'node,f\np0,one\n' >"$work/bad/nodes.csv"
run train --task graph --data "$work/bad" --out "$work/x"
ends 1 '' "*a feature must be a number*"
printf 'node,f\np0,1\n' >"$work/bad/nodes.csv"
run train --task graph --data "$work/bad" --out "$work/x"
ends 1 '' "*edges.csv line 2: nodes.csv has no node*"
run train --task graph --data "$work/molecules.csv" --model gat --width 6 --heads 4 --out "$work/x"
ends 2 '' '*width must be a multiple of heads*'
exit $failed
