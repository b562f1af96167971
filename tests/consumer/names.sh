#!/bin/sh
# sh names.sh PREFIX: the naming rule of mica/mica.h: an enumerator of the type mica_<noun> is MICA_<NOUN>_<NAME>;
# statuses (MICA_OK, MICA_E_<NAME>) and dtypes (MICA_F32) are the exceptions.
set -eu
prefix=$1
cc=${CC:-cc}
work=${MICA_BUILD_DIR:-.}/consumer
mkdir -p "$work"
printf '#include <mica/mica.h>\n' >"$work/names.c"
$cc -std=c11 -E -P -I"$prefix/include" "$work/names.c" | tr '\n' ' ' | sed 's/typedef enum/\n&/g' |
  sed -n 's/^typedef enum \(mica_[a-z0-9_]*\) {\([^}]*\)}.*/\1 \2/p' >"$work/enums"
[ "$(wc -l <"$work/enums")" -gt 20 ]
awk '{
  type = toupper($1) "_"; sub(/^[^ ]* /, "")
  count = split($0, names, ",")
  for (i = 1; i <= count; i++) {
    split(names[i], words, " ")
    if (words[1] == "" || index(words[1], type) == 1) continue
    if (type == "MICA_STATUS_" && words[1] ~ /^MICA_(OK|E_[A-Z_]+)$/) continue
    if (type == "MICA_DTYPE_" && words[1] ~ /^MICA_(B?[FIU][0-9]+|BF16|BOOL)$/) continue
    print words[1] " does not begin with " type; bad = 1
  }
} END { exit bad }' "$work/enums"
if grep -n '^MICA_API mica_status ' "$prefix"/include/mica/*.h; then
  echo 'functions that return a status are MICA_API MICA_CHECKED'
  exit 1
fi
