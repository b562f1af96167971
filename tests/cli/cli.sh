# Sourced by the tests of the command, which end with `exit $failed`.
# shellcheck shell=sh disable=SC2034
set -u
mica=$MICA_BUILD_DIR/bin/mica
work=$(mktemp -d "$MICA_BUILD_DIR/cli.XXXXXX") || exit 1
trap 'ended=$?; reports || ended=1; rm -rf "$work"; exit $ended' EXIT
unset MICA_DEVICE MICA_VERBOSE NO_COLOR
failed=0
newline='
'

# The sanitizer of this build, empty without one. It looks for faults, and another build compares results: a test that
# gives the same code many values may give it fewer.
sanitizer=$(sed -n 's/^MICA_SANITIZE:STRING=//p' "$MICA_BUILD_DIR/CMakeCache.txt" 2>/dev/null)

# What sanitizers say of any process lies in files of their own, since what it wrote to stderr is overwritten or lost.
for tool in ASAN LSAN TSAN UBSAN; do
  eval "export ${tool}_OPTIONS=\"\${${tool}_OPTIONS:+\$${tool}_OPTIONS:}log_path=\$work/sanitizer\""
done

# reports: prints them, at the end of the test, so that they stand in its log; with one of them it has failed.
reports() {
  found=0
  for report in "$work"/sanitizer.*; do
    [ -s "$report" ] || continue
    cat "$report"
    found=1
  done
  return $found
}

# run ARGUMENT...: runs mica; $status, $out and $err are how it ended and what it wrote.
run() {
  ran="mica $*"
  status=0
  "$mica" "$@" >"$work/out" 2>"$work/err" || status=$?
  out=$(cat "$work/out")
  err=$(cat "$work/err")
}

fault() {
  printf '%s: %s\n' "$ran" "$1"
  failed=1
}

# ends STATUS OUT ERR: what the last run gave; OUT and ERR are patterns of `case`.
ends() {
  [ "$status" = "$1" ] || fault "exit status $status instead of $1; stderr: $err"
  # shellcheck disable=SC2254
  case $out in $2) ;; *) fault "stdout is not '$2': $out" ;; esac
  # shellcheck disable=SC2254
  case $err in $3) ;; *) fault "stderr is not '$3': $err" ;; esac
}

# killed FOLDER SECONDS...: runs `begin FOLDER`, a command that execs, killed after each of the times and resumed, at
# last to its end.
killed() {
  killed_in=$1
  again=''
  shift
  for moment; do
    # shellcheck disable=SC2086 # no word, or one
    begin "$killed_in" $again >"$work/out" 2>&1 &
    pid=$!
    sleep "$moment"
    kill -KILL $pid 2>/dev/null
    wait $pid 2>/dev/null
    [ -s "$killed_in/config.json" ] && again=--resume
  done
  # shellcheck disable=SC2086 # likewise
  (begin "$killed_in" $again) >"$work/out" 2>&1 || fault "$(cat "$work/out")"
}

# json PATH: the value at PATH in the last output, which must be JSON.
json() { "$MICA_BUILD_DIR/bin/tests/json_value" "$1" <"$work/out"; }

# holds PATH VALUE: so it is; VALUE is a pattern.
holds() {
  got=$(json "$1") || fault "no JSON, or nothing at $1; exit status ${status-}; stderr: ${err-}"
  # shellcheck disable=SC2254
  case $got in $2) ;; *) fault "$1 is $got instead of $2" ;; esac
}

# A test that needs a device calls it first.
need_device() { "$mica" devices >/dev/null 2>&1 || { echo 'SKIP: no device'; exit 77; }; }
