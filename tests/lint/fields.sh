#!/bin/sh
# sh tests/lint/fields.sh [ROOT]: a run's settings and facts are typed fields (src/run/fields.h). Below src/run and
# src/task none is looked up by its name, but where names are tables: src/run/settings.c, which makes the fields. Below
# src/run and src/cli no task is asked for by its name: a run says what it does (mica_run_takes, run/task.h).
set -eu
cd "${1:-$(dirname "$0")/../..}"

lookups='mica_run_(setting|number|fact|fact_numbers)|mica__run_(find_fact|is_set|given|set)'
if faults=$(find src -name '*.[ch]' \( -path 'src/run/*' -o -path 'src/task/*' \) ! -path src/run/settings.c | sort |
  xargs grep -nE "\\b($lookups)\\([^;\"]*\"" /dev/null); then
  echo "$faults" | sed 's/$/: read the field (run\/fields.h)/'
  exit 1
fi

if faults=$(find src -name '*.[ch]' \( -path 'src/run/*' -o -path 'src/cli/*' \) | sort |
  xargs grep -nE "\\bstr(n|case)?cmp\\([^;\"]*task[^;\"]*\"|\\b(has|is)_task\\([^;\"]*\"" /dev/null); then
  echo "$faults" | sed 's/$/: ask for what the task does (mica_run_takes)/'
  exit 1
fi
