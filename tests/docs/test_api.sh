#!/bin/sh
# labels: null
# sh tests/docs/test_api.sh: the API reference can be made from the headers, every function that the library exports is
# on a page of it, and no page is empty. A self-test first: it finds a bare function and an unknown status.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${MICA_BUILD_DIR:-$root/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/self"
cat >"$work/self.h" <<'EOF'
/* mica/self.h: a header. MICA_E_NONESUCH is no status. */
MICA_BEGIN_DECLS

MICA_API int mica_self_bare(void);

/* This one has a comment. */
MICA_API int mica_self_good(void);
EOF
if awk -f "$root/docs/api.awk" -v out="$work/self" -v status_file="$root/include/mica/status.h" "$work/self.h" \
  2>"$work/errors"; then
  echo "the self-test found nothing"
  exit 1
fi
grep -q mica_self_bare "$work/errors" && grep -q MICA_E_NONESUCH "$work/errors" && ! grep -q good "$work/errors" || {
  echo "the self-test found something else:"
  cat "$work/errors"
  exit 1
}

sh "$root/docs/build.sh" "$work/docs"
# Experimental headers say so, the others do not.
grep -q 'Level: \*\*experimental' "$work/docs/docs/api/sparse.md"
if grep 'Level:' "$work/docs/docs/api/tensor.md"; then exit 1; fi
find "$work/docs/docs/api" -name '*.md' -size -100c | { ! grep .; }
library=$build/lib/libmica
[ -e "$library.so" ] || { echo "SKIP: no shared library to ask for its symbols"; exit 77; }
nm -D --defined-only "$library.so" "${library}_run.so" |
  awk '$2 == "T" && $3 ~ /^mica_[a-z]/ { sub(/@.*/, "", $3); print $3 }' >"$work/names"
[ "$(wc -l <"$work/names")" -gt 500 ]
cat "$work"/docs/docs/api/*.md >"$work/all"
while read -r name; do
  grep -qw "$name" "$work/all" || grep -q "^| \`${name#mica_}\` |" "$work/all" || echo "$name is on no page"
done <"$work/names" >"$work/missing"
[ ! -s "$work/missing" ] || { cat "$work/missing"; exit 1; }
