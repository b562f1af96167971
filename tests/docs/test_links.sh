#!/bin/sh
# labels: null
# sh tests/docs/test_links.sh [ROOT]: relative links of every Markdown page lead to a file, and their anchors to a
# heading of it. External links are not followed. A self-test first: a broken link and a broken anchor are found.
set -eu
root=${1:-$(cd "$(dirname "$0")/../.." && pwd)}

# check ROOT FILE...: prints each broken link.
check() {
  (
    cd "$1"
    shift
    awk '
      # The anchor that GitHub makes of a heading.
      function anchor(text) {
        text = tolower(text)
        gsub(/`/, "", text)
        gsub(/[^a-z0-9 _-]/, "", text)
        gsub(/ /, "-", text)
        return text
      }
      function has_anchor(file, name,   line, found, code) {
        while ((getline line <file) > 0) {
          if (line ~ /^```/) code = !code
          if (!code && line ~ /^#+ /) { sub(/^#+ /, "", line); if (anchor(line) == name) found = 1 }
        }
        close(file)
        return found
      }
      function exists(path) { return system("test -e \"" path "\"") == 0 }
      FNR == 1 { code = 0 }
      /^```/ { code = !code }
      code { next }
      {
        rest = $0
        while (match(rest, /\]\([^) ]+\)/)) {
          link = substr(rest, RSTART + 2, RLENGTH - 3)
          rest = substr(rest, RSTART + RLENGTH)
          if (link ~ /^[a-z]+:/) continue
          dir = FILENAME
          sub(/[^\/]*$/, "", dir)
          path = link
          sub(/#.*/, "", path)
          file = path == "" ? FILENAME : dir path
          if (!exists(file)) { print FILENAME ":" FNR ": no file for the link " link; continue }
          if (index(link, "#") && !has_anchor(file, substr(link, index(link, "#") + 1)))
            print FILENAME ":" FNR ": no heading for the link " link
        }
      }' "$@"
  )
}

self=$(mktemp -d)
trap 'rm -rf "$self"' EXIT
printf '# A page\n\n[good](b.md#part-two) [bad](c.md) [worse](b.md#part-three) [out](https://example.org/x)\n' \
  >"$self/a.md"
printf '# B\n\n## Part two\n' >"$self/b.md"
[ "$(check "$self" a.md | wc -l)" = 2 ] || { echo "the self-test failed:"; check "$self" a.md; exit 1; }

pages=$(cd "$root" && find README.md CHANGELOG.md docs src tests .github -name '*.md' | sort)
# Word splitting is wanted: one argument per page.
# shellcheck disable=SC2086
broken=$(check "$root" $pages)
[ -z "$broken" ] || { echo "$broken"; exit 1; }
