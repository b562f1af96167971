#!/bin/sh
# labels: device slow
# What each task computes on small data sets, against tests/records/golden: keys and texts exactly, numbers within a
# thousandth. These are contracts: config.json, the JSON of commands, what a model in ONNX says of itself. golden.sh
# says how to make the files anew.
# shellcheck source-path=SCRIPTDIR source=../cli/cli.sh
. "$(dirname "$0")/../cli/cli.sh"
here=$(dirname "$0")
need_device

"$mica" version >"$work/out"
lacks() { # LIBRARY: true if the build is without it
  ! grep -q "MICA_WITH_$1=1" "$work/out"
}
for library in CJSON ONNX PCRE2; do
  lacks $library && { echo "SKIP: this build lacks $library"; exit 77; }
done
names='classify labels regress text forecast language translate recommend ranking clicks'
if lacks PNG; then echo 'left out: pictures segment detect'; else names="$names pictures segment"; fi
lacks PNG || lacks EXPAT || names="$names detect"
if lacks SNDFILE; then echo 'left out: keyword speech'; else names="$names keyword speech"; fi

sh "$here/make.sh" "$MICA_BUILD_DIR" "$work/data" || exit 1
# shellcheck disable=SC2086 # words
sh "$here/run.sh" "$MICA_BUILD_DIR" "$work/data" "$work/record" $names || exit 1
sh "$here/golden.sh" "$work/record" "$work/golden"
for name in $names; do
  sh "$here/compare.sh" --near 0.001 "$here/golden/$name" "$work/golden/$name" | sed "s|^|$name: |" >"$work/differs"
  [ ! -s "$work/differs" ] || { cat "$work/differs"; failed=1; }
done
exit $failed
