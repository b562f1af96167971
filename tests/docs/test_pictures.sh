#!/bin/sh
# labels: null
# sh tests/docs/test_pictures.sh: each picture in docs/pictures is shown by a page, each shown picture is there and
# small, each report comes from an example, and the parts of docs/pictures.sh that need no browser do their work.
set -eu
docs=$(cd "$(dirname "$0")/../../docs" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
complain() {
  echo "$1"
  failed=1
}

sh "$docs/pictures.sh" --list >"$work/shown"
(cd "$docs/pictures" && ls) >"$work/there"
diff "$work/shown" "$work/there" || complain 'the pictures that pages show (<) are not those in docs/pictures (>)'
[ "$(wc -l <"$work/there")" -ge 6 ] || complain 'there are fewer than six pictures'
while read -r picture; do
  file=$docs/pictures/$picture
  [ "$(wc -c <"$file")" -le 122880 ] || complain "$picture has more than 120 KB"
  case $picture in
    *.png)
      [ "$(head -c 8 "$file" | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a ] || complain "$picture is no PNG"
      sh "$docs/pictures.sh" --example "${picture%.png}" >"$work/example"
      grep -q '^mica train .*--out [a-z]' "$work/example" || complain "the example of $picture trains no network"
      grep -q "](../pictures/$picture)" "$docs/tasks/${picture%.png}.md" || complain "its page does not show $picture"
      ;;
    *.svg)
      for command in train predict; do
        grep -q ">[$] mica $command " "$file" || complain "$picture has no command mica $command"
      done
      # Outside the element's head a path would be one of the machine that made it.
      ! grep -n '> *[^<]* /[a-z]*/' "$file" || complain "$picture shows an absolute path"
      ;;
    *) complain "$picture is neither PNG nor SVG" ;;
  esac
done <"$work/there"

# A terminal: text is escaped, a command is marked, empty lines take space, and long lines continue on the next.
{
  echo '$ mica train --data a&b'
  echo
  echo '  1 < 2'
  printf '%0120d\n' 7
} >"$work/session"
sh "$docs/pictures.sh" --terminal <"$work/session" >"$work/picture"
for line in '<text x="16" y="26" class="command" xml:space="preserve">\$ mica train --data a&amp;b</text>' \
  '<text x="16" y="62" xml:space="preserve">  1 &lt; 2</text>' \
  '<text x="16" y="98" xml:space="preserve">0\{19\}7</text>' 'height="118"' '^</svg>$'; do
  grep -q "$line" "$work/picture" || complain "the terminal has no $line"
done
[ "$(grep -c '<text' "$work/picture")" = 4 ] || complain 'the terminal has not four lines of text'

# A report: the folder of its data is the machine's business.
echo '<tr><th>data</th><td class=t>/tmp/some where/flowers.csv</td></tr>' >"$work/report"
[ "$(sh "$docs/pictures.sh" --page "$work/report")" = '<tr><th>data</th><td class=t>flowers.csv</td></tr>' ] ||
  complain 'a report shows the folder of its data'
[ $failed = 0 ] || cat "$work/picture"
exit $failed
