#!/bin/sh
# sh tests/lint/words.sh [ROOT [FOLDER...]]: comments are sentences with their subject, and words are the field's.
#
# A comment, or a paragraph of one, does not begin with Of, That, Those, Whether or The same, and no line of one or two
# words stands between full ones: a replacement that broke a line without refilling the paragraph leaves such. Names
# and prose do without the private words below; src/README.md has the glossary of those that remain. FOLDERs: all,
# unless given. The lints themselves are not read: they name what they refuse.
set -eu
cd "${1:-$(dirname "$0")/../..}"
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- include src cl tests samples cmake

find "$@" -type f \( -name '*.[ch]' -o -name '*.in' -o -name '*.cl' -o -name '*.clh' -o -name '*.def' -o -name '*.sh' \
  -o -name '*.cmake' -o -name CMakeLists.txt \) ! -path 'tests/lint/*' | sort | xargs awk '
  BEGIN {
    # What is refused in names (n) and in prose (p), and what the field says.
    list = "absorb np epilogue fusion;absorbs np;absorbed np;acquit np release from quarantine;asking n prefetch;" \
      "band np row strip;bands np;barren np row without taps;beforehand np prologue;coming np prefetch;" \
      "habit np default;habits np;parting np store segment;place n position, index, slot;places np;" \
      "prescale np scale folding;prescaled np;promise n placeholder;recipe np template;" \
      "rehearsal np dry run;rehearse np;rehearsed np;residue np stride phase;residues np;settle np drain;settled np;" \
      "slide np stride;slides np;spread np dilation;spreads np;stretch np range;stretches np;" \
      "turn n rotate, swap or transpose;turned np;turning np;turns n"
    for (i = split(list, rows, ";"); i > 0; i--) {
      split(rows[i], parts, " ")
      if (parts[2] ~ /n/) in_names[parts[1]] = 1
      if (parts[2] ~ /p/) in_prose[parts[1]] = 1
      said[parts[1]] = substr(rows[i], length(parts[1]) + length(parts[2]) + 3)
    }
  }
  function complain(text) { print FILENAME ":" FNR ": " text; bad = 1 }
  function refuse(word, name,   stem) {
    stem = word
    if (said[stem] == "") sub(/(s|ed|ing)$/, "", stem)
    complain("\"" word "\"" (name == word ? "" : " in " name) (said[stem] == "" ? "" : "; the field says " said[stem]))
  }
  function check_prose(text,   words, n, i) {
    if (text ~ /[Ss]tand-ins?([^a-z]|$)/) refuse("stand-in", "stand-in")
    gsub(/turned (on|off)|decimal places/, "", text)
    n = split(tolower(text), words, /[^a-z_]+/)
    for (i = 1; i <= n; i++) {
      if (words[i] ~ /_/) check_name(words[i])
      else if (words[i] in in_prose) refuse(words[i], words[i])
    }
  }
  function check_name(name,   words, n, i) {
    if (match(name, /tap_runs|stand_in|(^|_)(LEAVE|ASK)(_|$)/)) refuse(substr(name, RSTART, RLENGTH), name)
    name = tolower(name)
    gsub(/in_(its_)?place|the_place|in_turn/, "", name)
    n = split(name, words, "_")
    for (i = 1; i <= n; i++)
      if (words[i] in in_names) refuse(words[i], name)
  }
  function check_code(text,   names, n, i) {
    n = split(text, names, /[^A-Za-z0-9_]+/)
    for (i = 1; i <= n; i++) check_name(names[i])
  }
  # The first words of a comment or of a paragraph of one; "file.h: " before them is its title.
  function check_opening(text) {
    sub(/^[ *]*([a-z_0-9\/<>.]+\.[a-z]+: )?/, "", text)
    if (match(text, /^(Of|That|Those|[Ww]hether|The same)([^A-Za-z]|$)/))
      complain("a comment begins with \"" substr(text, 1, RLENGTH - 1) "\"; begin with its subject")
  }
  # A line that lies in a comment from its beginning; `full` and `torn` are about the line before. A line
  # further to the left begins another item of a list.
  function check_filling(text,   words, n, ends, indent) {
    ends = index(text, "*/")
    match(text, /^[ *]*/)
    indent = RLENGTH
    sub(/\*\/.*/, "", text)
    sub(/^[ *]*/, "", text)
    n = split(text, words, " ")
    if (torn && n > 0 && indent >= torn_indent) complain("the line above has only \"" torn "\"; refill the paragraph")
    torn = full && n > 0 && n < 3 && !ends ? text : ""
    torn_indent = indent
    full = n > 2 && length($0) >= 90
  }
  FNR == 1 {
    inside = full = 0
    fresh = 1
    torn = ""
    hashes = FILENAME ~ /(\.sh|\.cmake|CMakeLists\.txt)$/
  }
  hashes {
    if (match($0, /(^|[ \t])#/)) {
      text = substr($0, RSTART + RLENGTH)
      code = substr($0, 1, RSTART - 1)
      alone = code ~ /^[ \t]*$/
      if (alone && text ~ /^[ \t]*$/) { fresh = 1; next }
      if (fresh || !alone) check_opening(text)
      check_prose(text)
      fresh = !alone
      if (!alone) check_code(code)
    } else { fresh = 1; check_code($0) }
    next
  }
  {
    if (inside) check_filling($0)
    else { torn = ""; full = length($0) >= 90 }
    rest = $0
    code = ""
    while (rest != "") {
      if (inside) {
        at = index(rest, "*/")
        text = at ? substr(rest, 1, at - 1) : rest
        if (text ~ /^[ *]*$/) fresh = 1
        else {
          if (fresh) check_opening(text)
          check_prose(text)
          fresh = 0
        }
        if (!at) break
        inside = 0
        rest = substr(rest, at + 2)
      } else if (match(rest, /"([^"\\]|\\.)*"|\047([^\047\\]|\\.)*\047|\/\*|\/\/.*/)) {
        code = code " " substr(rest, 1, RSTART - 1)
        text = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        if (text == "/*") inside = fresh = 1
        else {
          if (text ~ /^\/\//) check_opening(substr(text, 3))
          if (code !~ /# *include/) check_prose(text)
        }
      } else { code = code " " rest; rest = "" }
    }
    if (code !~ /# *include/) check_code(code)
  }
  END { exit bad }'
