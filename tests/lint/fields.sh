#!/bin/sh
# sh tests/lint/fields.sh [ROOT]: a run's settings and facts are typed fields (src/run/fields.h). Below src/run and
# src/task none is looked up by its name, but where names are tables: src/run/settings.c, which makes the fields.
set -eu
cd "${1:-$(dirname "$0")/../..}"

lookups='mica_run_(setting|number|fact|fact_numbers)|mica__run_(find_fact|is_set|given|set)'
if faults=$(find src -name '*.[ch]' \( -path 'src/run/*' -o -path 'src/task/*' \) ! -path src/run/settings.c | sort |
  xargs grep -nE "\\b($lookups)\\([^;\"]*\"" /dev/null); then
  echo "$faults" | sed 's/$/: read the field (run\/fields.h)/'
  exit 1
fi
