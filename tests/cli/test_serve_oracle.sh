#!/bin/sh
# labels: device oracle
# mica serve answers the Python packages openai and httpx.
# shellcheck source-path=SCRIPTDIR source=cli.sh
. "$(dirname "$0")/cli.sh"
need_device
python=${MICA_ORACLE_PYTHON:-python3}
"$python" -c 'import httpx, openai' 2>/dev/null || { echo "SKIP: $python has no openai"; exit 77; }
"$mica" version | grep -q MICA_WITH_MICROHTTPD=1 || { echo 'SKIP: a build without libmicrohttpd'; exit 77; }

golden=${MICA_SOURCE_DIR:-.}/tests/golden/foundation
"$mica" serve "$golden/chat" --port 0 --slots 8 >"$work/said" 2>"$work/err" &
server=$!
"$mica" serve "$golden/embed" --port 0 >"$work/said_too" 2>"$work/err_too" &
embedder=$!
i=0
while { [ ! -s "$work/said" ] || [ ! -s "$work/said_too" ]; } && kill -0 $server && kill -0 $embedder &&
  [ $((i += 1)) -lt 1200 ]; do sleep 0.1; done
url() { sed -n 's|.*\(http://.*\)/v1|\1|p' "$1"; }
ran='serve_oracle.py'
timeout 200 "$python" "$(dirname "$0")/serve_oracle.py" "$(url "$work/said")" "$(url "$work/said_too")" \
  "$golden/embed" ||
  fault "exit status $?"
kill $server $embedder
wait $embedder || fault "the other server's exit status is $?: $(cat "$work/err_too")"
wait $server || fault "the server's exit status is $?: $(cat "$work/err")"
exit $failed
