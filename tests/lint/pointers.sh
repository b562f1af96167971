#!/bin/sh
# sh tests/lint/pointers.sh [ROOT]: every pointer in cl/ names its address space, as does an array that is a parameter.
# Without one it is private in OpenCL C 1.2. Newer compilers make it generic, and then a function that takes a private
# pointer refuses it.
set -eu
cd "${1:-$(dirname "$0")/../..}"

find cl -name '*.cl' -o -name '*.clh' | sort | xargs awk '
  BEGIN {
    word = "[A-Za-z0-9_#]"
    plain = "^(u?(char|short|int|long)|float|double|half|bool|void|size_t)(2|3|4|8|16|n|##[a-z]+)?$"
    space = "(^|[^A-Za-z0-9_])(__(global|local|private|constant)|[A-Z_]*SPACE|space|PACKED)([^A-Za-z0-9_]|$)"
    ends = ",;{}=?:&|+<>!-[]\"%/*"
  }

  # The text without comments, with the lines that there were.
  function uncommented(text,    out, at, end, comment) {
    while ((at = index(text, "/*"))) {
      end = index(substr(text, at), "*/")
      if (!end) break
      comment = substr(text, at, end + 1)
      gsub(/[^\n]/, " ", comment)
      out = out substr(text, 1, at - 1) comment
      text = substr(text, at + end + 1)
    }
    return out text
  }

  # Where what declares the name or star at `i` begins.
  function begins(text, i,    depth, c) {
    for (i--; i > 0; i--) {
      c = substr(text, i, 1)
      if (c == ")") depth++
      else if (c == "(" && !depth--) break
      else if (!depth && (index(ends, c) || c == "\n" && substr(text, i - 1, 1) != "\\")) {
        if (c != "\n" || in_directive(text, i)) break
      }
    }
    return i + 1
  }
  function in_directive(text, i) {
    do i--
    while (i > 0 && substr(text, i, 1) != "\n")
    do i++
    while (substr(text, i, 1) == " ")
    return substr(text, i, 1) == "#"
  }

  # True inside the parentheses of parameters.
  function is_parameter(text, i,    depth, c, before) {
    for (i--; i > 0; i--) {
      c = substr(text, i, 1)
      if (c == ")") depth++
      else if (c == "(" && !depth--) {
        before = substr(text, i < 40 ? 1 : i - 40, i < 40 ? i - 1 : 40)
        return before !~ /(for|if|while) *$/ && before !~ /#define [A-Za-z0-9_]+$/
      }
      else if (c ~ /[;{}]/) return 0
    }
    return 0
  }

  function is_type(declared,    last) {
    gsub(/[\\\n]/, " ", declared)
    sub(/ +$/, "", declared)
    if (declared ~ /(^|[^A-Za-z0-9_])return( |$)/) return 0
    if (declared ~ /(STORAGE|COMPUTE|MICA_PASTE)\([^()]*\)$/) return 1
    if (!match(declared, /[A-Za-z0-9_#]+$/)) return 0
    last = substr(declared, RSTART)
    return last ~ plain || last ~ /^([A-Z]+_TYPE|REAL|V)$/ || last in types
  }

  function look(file, text, pattern, parameters,    rest, done, start, length_, at, from, declared, before) {
    rest = text
    while (match(rest, pattern)) {
      start = RSTART
      length_ = RLENGTH
      at = done + start + !parameters
      from = begins(text, at)
      declared = substr(text, from, at - from)
      if (is_type(declared) && declared !~ space && (!parameters || is_parameter(text, from))) {
        before = substr(text, 1, at)
        print file ":" gsub(/\n/, "\n", before) + 1 ": name the address space of " substr(rest, start, length_)
        bad = 1
      }
      done += start + (parameters ? length_ - 2 : 0)
      rest = substr(text, done + 1)
    }
  }

  # A pointer behind the comma of a declaration, whose address space is that of its first word.
  function later(file, text,    lines, n, i, line) {
    n = split(text, lines, "\n")
    for (i = 1; i <= n; i++) {
      line = lines[i]
      sub(/^#define [A-Za-z0-9_]+ /, "", line)
      if (line !~ /^ *[A-Za-z0-9_ ]+ [A-Za-z0-9_]+(\[[^]]*\])*, [*]+(const )?[A-Za-z0-9_]+ = /) continue
      if (line ~ space) continue
      print file ":" i ": name the address space of the pointers of " line
      bad = 1
    }
  }

  FNR == 1 { files[++count] = FILENAME }
  { texts[count] = texts[count] $0 "\n" }
  /^ *typedef .*;/ || /^ *} *[A-Za-z0-9_]+;/ {
    name = $0
    sub(/;.*/, "", name)
    sub(/.*[^A-Za-z0-9_]/, "", name)
    types[name]
  }
  /^#define [A-Za-z0-9_]+ [A-Za-z0-9_]+$/ && ($3 ~ plain || $3 ~ /_TYPE$/) { types[$2] }
  END {
    for (f = 1; f <= count; f++) {
      text = uncommented(texts[f])
      look(files[f], text, "[A-Za-z0-9_)#] ?[*]+(const |restrict |volatile )*[A-Za-z_)]", 0)
      later(files[f], text)
      look(files[f], text, "[A-Za-z0-9_)#] [(][*]+[A-Za-z0-9_]+[)][[(]", 0)
      look(files[f], text, "[A-Za-z_][A-Za-z0-9_]*([[][^]\n]*[]])+[ \n]*[,)]", 1)
    }
    exit bad
  }'
