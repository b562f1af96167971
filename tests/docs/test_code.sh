#!/bin/sh
# labels: device
# sh tests/docs/test_code.sh: what README.md and docs/ show works.
#
# - A block "```c" that holds main compiles without a warning against the headers and links with the library.
# - The blocks "```sh run" of a page run one after the other in an empty folder, with mica in the path. If a block
#   "```text" follows, its lines appear in the output in that order; numbers may differ, "..." stands for any lines.
#   A page that needs Python or a library that this build lacks is named and not run.
#
# Sanitizers look for faults, and the other builds compare results. Under them a training has one epoch, because later
# epochs run the same code, and no output is compared. Under ThreadSanitizer trainings alone run: the other commands
# start no threads of their own. Programs in C are the same in every build, and are left out.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${MICA_BUILD_DIR:-$root/build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$build/bin:$PATH
export PATH
failed=0

sanitizer=$(sed -n 's/^MICA_SANITIZE:STRING=//p' "$build/CMakeCache.txt")
if [ "$sanitizer" ]; then
  # shellcheck disable=SC2016 # for the script to expand
  others='exec "$mica" "$@"'
  [ "$sanitizer" != thread ] || others='exit 0'
  mkdir "$work/bin"
  cat >"$work/bin/mica" <<EOF
#!/bin/sh
mica='$build/bin/mica'
[ "\$1" = train ] || $others
left=\$#
while [ \$left -gt 0 ]; do
  word=\$1
  shift
  left=\$((left - 1))
  if [ "\$word" = --epochs ]; then
    shift
    left=\$((left - 1))
  else
    set -- "\$@" "\$word"
  fi
done
exec "\$mica" "\$@" --epochs 1
EOF
  chmod +x "$work/bin/mica"
  PATH=$work/bin:$PATH
fi

# blocks PAGE: writes $work/N.c, N.sh and N.text for the blocks of a page, numbered in their order.
blocks() {
  rm -f "$work"/[0-9]*
  awk -v work="$work" '
    /^```c$/ { n++; out = sprintf("%s/%03d.c", work, n); next }
    /^```sh run$/ { n++; out = sprintf("%s/%03d.sh", work, n); last = n; next }
    /^```text$/ { if (last) out = sprintf("%s/%03d.text", work, last); next }
    /^```/ { out = ""; next }
    out { print >out }' "$1"
}

# The lines of a block in an output, in order, with each number as N and blanks squeezed.
appears() {
  awk '
    function plain(line) {
      gsub(/[0-9]+([.:][0-9]+)*/, "N", line)
      gsub(/ +/, " ", line)
      sub(/ $/, "", line)
      return line
    }
    NR == FNR { if ($0 != "...") want[++count] = plain($0); next }
    { if (at < count && plain($0) == want[at + 1]) at++ }
    END { if (at < count) { print "not in the output: " want[at + 1]; exit 1 } }' "$1" "$2"
}

compile() {
  grep -q 'main(' "$1" && [ ! "$sanitizer" ] || return 0
  ${CC:-cc} -std=c11 -Wall -Wextra -Werror -I"$root/include" -I"$build/include" -c -o "$work/program.o" "$1" ||
    return 1
  ${CC:-cc} -o "$work/program" "$work/program.o" -L"$build/lib" -lmica_run -lmica -Wl,-rpath,"$build/lib"
}

cd "$root"
for page in README.md $(find docs -name '*.md' | sort); do
  blocks "$page"
  folder=$work/folder
  rm -rf "$folder"
  mkdir "$folder"
  for block in "$work"/[0-9]*.c "$work"/[0-9]*.sh; do
    [ -e "$block" ] || continue
    case $block in
      *.c) compile "$block" || { echo "$page: a program does not compile"; failed=1; } ;;
      *.sh)
        ! grep -q '^python3 ' "$block" || command -v python3 >/dev/null || { echo "$page: not run: no python3"; break; }
        (cd "$folder" && sh -eu "$block") >"$work/output" 2>&1 || {
          grep -q 'no OpenCL device' "$work/output" && exit 77
          if grep -q 'needs .*, which this build lacks' "$work/output"; then
            echo "$page: not run: $(tail -1 "$work/output")"
            break
          fi
          echo "$page: a block of commands fails:"; tail -20 "$work/output"; failed=1
        }
        if [ ! "$sanitizer" ] && [ -e "${block%.sh}.text" ] && ! appears "${block%.sh}.text" "$work/output"; then
          echo "$page: the output is another:"; cat "$work/output"; failed=1
        fi ;;
    esac
  done
done
exit $failed
