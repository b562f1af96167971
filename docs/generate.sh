#!/bin/sh
# sh docs/generate.sh [DOCS]: writes what the command knows into the pages below DOCS (default: this folder). These are
# docs/cli.md and the settings of each page of docs/tasks. The command is mica of the path.
set -eu
docs=${1:-$(cd "$(dirname "$0")" && pwd)}
mica help --markdown commands >"$docs/cli.md"
for page in "$docs"/tasks/*.md; do
  task=$(basename "$page" .md)
  mica help --markdown "$task" >"$page.table"
  # The table takes the place of the lines between the two comments.
  awk -v table="$page.table" '
    /^<!-- end -->$/ { skip = 0 }
    !skip { print }
    /^<!-- mica help --markdown / {
      skip = 1
      print ""
      while ((getline line <table) > 0) print line
      print ""
    }' "$page" >"$page.new"
  mv "$page.new" "$page"
  rm "$page.table"
done
