#!/bin/sh
# sh docs/pictures.sh [PICTURE...]: makes the pictures of these pages again, or those named, in docs/pictures:
# TASK.png, the report of the example on that task's page, and terminal.svg, what the example of classify prints. Needs
# mica in the path, and chromium and pngquant for the reports. Its parts:
#   --list             the pictures that it makes
#   --example TASK     prints the commands of a page's example
#   --page REPORT      prints a report as it is shown: without the folders of its data
#   --terminal         makes SVG of a terminal's lines, which it reads from its input; "$ " begins a command
set -eu
docs=$(cd "$(dirname "$0")" && pwd)

# A picture per page that shows one.
list() {
  sed -n 's|.*](\(\.\./\)*pictures/\([a-z_]*\.[a-z]*\)).*|\2|p' "$docs"/*.md "$docs"/tasks/*.md | sort -u
}

example() {
  awk '/^```sh run/ && !done { on = 1; next } on && /^```/ { on = 0; done = 1 } on' "$docs/tasks/$1.md"
}

page() {
  sed 's|\(<th>data</th><td class=t>\)/[^<]*/\([^</]*<\)|\1\2|' "$1"
}

# Lines longer than 100 columns continue on the next, as in a terminal.
terminal() {
  awk '
    function escaped(text) {
      gsub(/&/, "\\&amp;", text)
      gsub(/</, "\\&lt;", text)
      gsub(/>/, "\\&gt;", text)
      return text
    }
    {
      do { line[++lines] = substr($0, 1, 100); $0 = substr($0, 101) } while ($0 != "")
    }
    END {
      height = 18 * lines + 28
      printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"820\" height=\"%d\" viewBox=\"0 0 820 %d\">\n", \
        height, height
      print "<style>text{font:13px monospace;fill:#d4d4d4;white-space:pre}"
      print ".command{fill:#7dd3fc;font-weight:bold}</style>"
      print "<rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1e1e1e\"/>"
      for (i = 1; i <= lines; i++)
        if (line[i] != "")
          printf "<text x=\"16\" y=\"%d\"%s xml:space=\"preserve\">%s</text>\n", 18 * i + 8,
            line[i] ~ /^\$ / ? " class=\"command\"" : "", escaped(line[i])
      print "</svg>"
    }'
}

# browse ARGUMENT...: the page $work/report.html in a browser without a window.
browse() {
  chromium --headless=new --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=0.7 "$@" \
    "file://$work/report.html" 2>/dev/null
}

# report TASK: runs the page's example, and takes a picture of its report from top to bottom.
report() {
  for program in chromium pngquant; do
    command -v $program >/dev/null || { echo "$program is missing" >&2; exit 1; }
  done
  mkdir "$work/$1"
  example "$1" >"$work/$1/example.sh"
  (cd "$work/$1" && sh -e ./example.sh >log 2>&1) || { tail -n 20 "$work/$1/log" >&2; exit 1; }
  page "$work/$1"/*/report.html >"$work/report.html"
  cp "$work/report.html" "$work/bare.html"
  echo '<script>document.title = document.documentElement.offsetHeight + 40</script>' >>"$work/report.html"
  height=$(browse --window-size=980,600 --dump-dom | sed -n 's|.*<title>\([0-9]*\)</title>.*|\1|p')
  mv "$work/bare.html" "$work/report.html"
  browse --window-size="980,$height" --screenshot="$work/report.png" >/dev/null
  pngquant --force --strip --output "$docs/pictures/$1.png" 64 "$work/report.png"
}

# The commands of the example of classify, and what they print.
example_in_terminal() {
  example classify | sed 's|^mica .*|run "&"|; s|^head .*|run "&"|' >"$work/example.sh"
  {
    # shellcheck disable=SC2016 # for the example to expand
    echo 'run() { echo "\$ $1"; eval "$1" 2>&1; }'
    cat "$work/example.sh"
  } >"$work/session.sh"
  (cd "$work" && sh -e ./session.sh) | sed "s|$work/||" >"$work/session"
  terminal <"$work/session" >"$docs/pictures/terminal.svg"
}

case ${1:-} in
  --list) list; exit ;;
  --example) example "$2"; exit ;;
  --page) page "$2"; exit ;;
  --terminal) terminal; exit ;;
  -*) sed -n '2,8s/^# //p' "$0" >&2; exit 2 ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2046 # names without blanks
[ $# -gt 0 ] || set -- $(list)
for picture; do
  echo "$picture"
  case $picture in
    *.svg) example_in_terminal ;;
    *) report "${picture%.png}" ;;
  esac
done
