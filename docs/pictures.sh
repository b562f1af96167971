#!/bin/sh
# sh docs/pictures.sh RUN PICTURE.png: a picture of the beginning of a run's report, for these pages. Needs chromium.
set -eu
[ $# = 2 ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
command -v chromium >/dev/null || { echo "chromium is missing" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The folder of the data is the machine's business.
sed 's|>/[^<]*/\([^</]*\)<|>\1<|' "$1/report.html" >"$work/report.html"
chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --window-size=620,1240 \
  --screenshot="$work/report.png" "file://$work/report.html" >/dev/null 2>&1
cp "$work/report.png" "$2"
