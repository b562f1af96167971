#!/bin/sh
# labels: device single
# MICA_REQUIRE_KEY over runs and bundles: unsigned and changed ones are refused, signed ones work, a training may use
# what it wrote itself.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
cd "$work" || exit 1
"$mica" version | grep -q MICA_WITH_SODIUM || { echo 'SKIP: built without libsodium'; exit 77; }
run sign --new-key v --no-password
ends 0 '*' ''

awk 'BEGIN {
  srand(1)
  print "a,b,kind"
  for (i = 0; i < 60; i++) printf "%.3f,%.3f,%s\n", i % 2 + rand(), rand(), substr("ab", i % 2 + 1, 1)
}' >k.csv
MICA_REQUIRE_KEY=v.pub run train --data k.csv --epochs 2 --batch 20 --quiet --out r
ends 0 '' ''
MICA_REQUIRE_KEY=v.pub run eval --model r --data k.csv
ends 1 '' '*r/config.json is not signed*'
run sign r --key v.key
ends 0 '* files signed' ''
MICA_REQUIRE_KEY=v.pub run eval --model r --data k.csv --json
ends 0 '*accuracy*' ''
MICA_REQUIRE_KEY=v.pub run predict --model r k.csv
ends 0 '*' ''
cp r/model.safetensors kept
rm r/model.safetensors.minisig
MICA_REQUIRE_KEY=v.pub run predict --model r k.csv
ends 1 '' '*r/model.safetensors is not signed*'
run sign r --key v.key
for file in config.json model.safetensors; do
  printf ' ' >>"r/$file"
  MICA_REQUIRE_KEY=v.pub run predict --model r k.csv
  ends 1 '' "*r/$file does not match its signature*"
  if [ $file = config.json ]; then run sign r --key v.key; fi
done
cp kept r/model.safetensors
MICA_REQUIRE_KEY=v.pub run predict --model r k.csv
ends 0 '*' ''

# Bundles: the first answer from one is refused, then given.
umask 022
MICA_CACHE_DIR=$work/cache MICA_BUNDLE_OUT=b.bundle run predict --model r k.csv
ends 0 '*' ''
answer=$out
if [ -e b.bundle ]; then
  MICA_REQUIRE_KEY=v.pub MICA_BUNDLE=b.bundle run predict --model r k.csv
  ends 1 '' '*b.bundle is not signed*'
  MICA_REQUIRE_KEY=v.pub run cache bundle --file b.bundle
  ends 1 '' '*b.bundle is not signed*'
  run sign b.bundle --key v.key
  MICA_REQUIRE_KEY=v.pub run cache bundle --file b.bundle
  ends 0 '*' ''
  MICA_REQUIRE_KEY=v.pub MICA_BUNDLE=b.bundle run predict --model r k.csv
  ends 0 '*' ''
  [ "$out" = "$answer" ] || fault 'a signed bundle gives another answer'
else
  fault 'there is no bundle'
fi
exit "$failed"
