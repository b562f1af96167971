#!/bin/sh
# labels: null
# sh tests/docs/test_generated.sh: docs/cli.md and the settings in docs/tasks agree with the command, and every task
# has a page. `sh docs/generate.sh` with mica in the path writes them anew. A self-test first: a changed default is
# found.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
PATH=${MICA_BUILD_DIR:-$root/build}/bin:$PATH
export PATH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# fresh FOLDER: true if generating its pages anew changes none.
fresh() {
  rm -rf "$work/again"
  cp -R "$1" "$work/again"
  sh "$root/docs/generate.sh" "$work/again" && diff -r "$1" "$work/again" >"$work/difference"
}

cp -R "$root/docs" "$work/docs"
sed 's/(default `128`)/(default `129`)/' "$root/docs/tasks/language.md" >"$work/docs/tasks/language.md"
if fresh "$work/docs"; then
  echo "the self-test found nothing"
  exit 1
fi
fresh "$root/docs" || { cat "$work/difference"; echo "sh docs/generate.sh writes these pages anew"; exit 1; }

mica help --markdown nonesuch >"$work/output" 2>&1 && exit 1
grep -q 'commands or the name of a task' "$work/output"
tasks=$(mica help --completion bash | sed -n "s/.*--task) COMPREPLY=(\$(compgen -W '\([^']*\)'.*/\1/p" | head -1)
for task in $tasks; do
  case $task in
  language) predict='mica generate' ;;
  speech) predict='mica transcribe' ;;
  recommend) predict='mica recommend' ;;
  speak) predict='mica speak' ;;
  *) predict='mica predict' ;;
  esac
  for line in "<!-- mica help --markdown $task -->" '## Data' '```sh run' "mica train .*--out" "$predict" report.html \
    'mica export'; do
    grep -q -e "$line" "$root/docs/tasks/$task.md" || { echo "$task.md has no \"$line\""; exit 1; }
  done
  n=$((${n:-0} + 1))
done
[ "${n:-0}" -ge 11 ]
