#!/bin/sh
# sh docs/build.sh FOLDER: writes the documentation as a site into FOLDER/site, with the API reference made from the
# headers. Needs MkDocs (Debian's package mkdocs); without it FOLDER/docs holds the pages as Markdown.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# = 1 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
rm -rf "$folder/docs" "$folder/site"
mkdir "$folder/docs"
cp -R "$root"/docs/*.md "$root/docs/tasks" "$root/docs/foundation" "$root/docs/hacking" "$root/docs/pictures" \
  "$folder/docs/"
cp "$root/docs/mkdocs.yml" "$folder/"
for page in CHANGELOG:changes .github/CONTRIBUTING:contributing src/README:sources tests/README:tests \
  tests/bench/RESULTS:results; do
  cp "$root/${page%%:*}.md" "$folder/docs/${page##*:}.md"
done
# Links that lead out of docs/ lead to these copies.
sed -i -e 's|\.\./\.\./src/README\.md|../sources.md|g' \
  -e 's|\.\./\.\./tests/README\.md|../tests.md|g' -e 's|(\.\./docs/|(|g' \
  -e 's|\.\./CHANGELOG\.md|changes.md|g' -e 's|\.\./\.github/CONTRIBUTING\.md|contributing.md|g' \
  -e 's|\.\./src/README\.md|sources.md|g' -e 's|\.\./tests/README\.md|tests.md|g' \
  -e 's|\.\./tests/bench/RESULTS\.md|results.md|g' -e 's|(docs/|(|g' "$folder"/docs/*.md "$folder"/docs/hacking/*.md
mkdir "$folder/docs/api"
awk -f "$root/docs/api.awk" -v out="$folder/docs/api" -v status_file="$root/include/mica/status.h" \
  "$root"/include/mica/*.h "$root"/include/mica/version.h.in
if command -v mkdocs >/dev/null; then
  mkdocs build --quiet --strict --config-file "$folder/mkdocs.yml" --site-dir "$folder/site"
fi
