# docs/api.awk: writes the API reference, a Markdown page per public header, from the headers themselves.
#
#   awk -f docs/api.awk -v out=FOLDER include/mica/*.h
#
# A header opens with a comment, which begins the page. Then each comment and the declarations that follow it, up to the
# next comment or blank line, become an entry under the name of the first declaration. "--- words ---" is a section.
# X-macros (lines "X(name, "text")") become tables. Fails for a function marked MICA_API that has no comment before it,
# and for a status MICA_E_... that mica/status.h does not declare. A line MICA_EXPERIMENTAL marks the page.

function trim(text) {
  sub(/^[ \t\n]+/, "", text)
  sub(/[ \t\n]+$/, "", text)
  return text
}

function complain(text) { print FILENAME ":" FNR ": " text >"/dev/stderr"; bad = 1 }

# The text of a comment's lines without its frame.
function bare(line) {
  sub(/^[ ]*\/\*[ ]?/, "", line)
  sub(/[ ]*\*\/[ ]*$/, "", line)
  sub(/^[ ]*\*[ ]?/, "", line)
  return line
}

function put(text) { page = page text "\n" }

# Names of statuses that a text mentions must exist.
function check_statuses(text,   name) {
  while (match(text, /MICA_E_[A-Z_]+/)) {
    name = substr(text, RSTART, RLENGTH)
    text = substr(text, RSTART + RLENGTH)
    mentioned[name] = FILENAME ":" FNR
  }
}

# Writes prose. Indented lines after an empty one are a block: code if a line of it ends like C, else a listing.
function put_prose(text,   lines, n, i, block, kind) {
  check_statuses(text)
  n = split(text, lines, "\n")
  for (i = 1; i <= n; i++) {
    if (lines[i] ~ /^  [^ -]/ && (i == 1 || lines[i - 1] == "")) {
      block = ""
      kind = "text"
      for (; i <= n && (lines[i] ~ /^  / || (lines[i] == "" && lines[i + 1] ~ /^  /)); i++) {
        block = block substr(lines[i], 3) "\n"
        if (lines[i] ~ /mica_[a-z0-9_]*\(.*\);/ || lines[i] ~ /[{}]$/) kind = "c"
      }
      put("```" kind "\n" block "```")
    }
    if (i <= n) put(lines[i])
  }
  put("")
}

# The names that a declaration introduces, for headings and the index.
function declared(text,   name) {
  if (match(text, /mica_[a-z0-9_]+\(/)) return substr(text, RSTART, RLENGTH - 1)
  if (text ~ /^typedef/ && match(text, /mica_[a-z0-9_]+;[^;]*$/)) return substr(text, RSTART, index(substr(text, RSTART), ";") - 1)
  if (match(text, /(MICA|mica)_[A-Za-z0-9_]+/)) return substr(text, RSTART, RLENGTH)
  return ""
}

# Declarations without the marks of export, their continued lines moved left as far.
function plain(text,   lines, n, i, shift, result) {
  n = split(text, lines, "\n")
  for (i = 1; i <= n; i++) {
    if (lines[i] ~ /^[^ ]/) {
      shift = length(lines[i])
      gsub(/MICA_API |MICA_CHECKED /, "", lines[i])
      shift -= length(lines[i])
    } else if (shift && substr(lines[i], 1, shift) ~ /^ +$/)
      lines[i] = substr(lines[i], shift + 1)
    result = result (i > 1 ? "\n" : "") lines[i]
  }
  return result
}

# Ends the entry that is being read: its comment, its declarations, the tables of its X-macros.
function finish(   name, rows, n, i, row, text) {
  code = trim(code)
  if (code == "") {
    if (comment != "") put_prose(comment)
    comment = ""
    return
  }
  name = declared(code)
  if (code ~ /MICA_API/ && code !~ /#define MICA_API/) {
    if (comment == "" && !described) complain("no comment stands before " name)
    rest = code
    while (match(rest, /MICA_API[^;{]*/)) {
      text = substr(rest, RSTART, RLENGTH)
      rest = substr(rest, RSTART + RLENGTH)
      if (match(text, /mica_[a-z0-9_]+\(/)) index_of[substr(text, RSTART, RLENGTH - 1)] = stem
    }
  }
  if (name != "" && comment != "") put("### `" name "`\n")
  if (comment != "") { put_prose(comment); described = 1 }
  if (code ~ /#define [A-Z_]+\(X\)/) {
    put("| Name | Meaning |\n| --- | --- |")
    n = split(code, rows, "\n")
    for (i = 1; i <= n; i++)
      if (match(rows[i], /X\([A-Za-z0-9_]+, ?.*\)/)) {
        row = substr(rows[i], RSTART + 2, RLENGTH - 3)
        text = row
        sub(/,.*/, "", row)
        sub(/^[^,]*, */, "", text)
        gsub(/"/, "", text)
        gsub(/\|/, "\\|", text)
        put("| `" row "` | " text " |")
        listed[row] = stem
      }
    put("")
  } else {
    put("```c\n" plain(code) "\n```\n")
  }
  code = comment = ""
}

function write_page() {
  finish()
  print page >(out "/" stem ".md")
  close(out "/" stem ".md")
  pages[++page_count] = stem
  summaries[stem] = summary
}

FNR == 1 {
  if (stem != "") write_page()
  stem = FILENAME
  sub(/.*\//, "", stem)
  sub(/\.h(\.in)?$/, "", stem)
  page = "# mica/" stem ".h\n\n"
  opening = 1
  comment = code = summary = ""
  in_comment = depth = described = 0
}

{ line = $0 }

in_comment {
  comment = comment "\n" bare(line)
  if (line ~ /\*\/[ ]*$/) in_comment = 0
  if (!in_comment && opening) {
    text = comment
    sub(/^\n?[^:]*: */, "", text)
    text = toupper(substr(text, 1, 1)) substr(text, 2)
    summary = text
    sub(/\n.*/, "", summary)
    sub(/[.;:] .*/, ".", summary)
    put_prose(text)
    comment = ""
    opening = 0
  }
  next
}

# A comment at the margin begins an entry; one within a structure belongs to its code.
depth == 0 && line ~ /^\/\*/ {
  text = bare(line)
  if (text ~ /^--- .* ---$/) {
    finish()
    gsub(/^--- | ---$/, "", text)
    put("## " toupper(substr(text, 1, 1)) substr(text, 2) "\n")
    described = 0
    next
  }
  finish()
  comment = text
  described = 0
  in_comment = line !~ /\*\/[ ]*$/
  if (!in_comment && opening) {
    sub(/^[^:]*: */, "", comment)
    summary = comment
    put_prose(comment)
    comment = ""
    opening = 0
  }
  next
}

line == "" && depth == 0 { finish(); described = 0; next }
# Guards, includes, helpers of X-macros and what C++ needs are no part of the contract.
/^#(ifndef|define) MICA_[A-Z0-9_]*_H$/ || /^#(include|if|ifdef|else|endif|undef|elif)/ || /^MICA_(BEGIN|END)_DECLS/ { next }
# The mark of an experimental header: its level stands below the opening comment.
/^MICA_EXPERIMENTAL$/ { put("Level: **experimental**. The next minor version may change or remove this header.\n"); next }
/^#define MICA_[A-Z_]*(DECLARE|FIELD|ENUM|ENUMERATOR)/ { skipping = line ~ /\\$/; next }
skipping { skipping = line ~ /\\$/; next }

{
  sub(/[ ]+\\$/, " \\", line)
  code = code line "\n"
  depth += gsub(/{/, "{", line) - gsub(/}/, "}", line)
  if (depth < 0) depth = 0
}

END {
  write_page()
  file = out "/index.md"
  print "# API reference\n\nOne page per header. `mica/mica.h` includes all of them but `mica/opencl.h`.\n" >file
  print "| Header | What it is for |\n| --- | --- |" >file
  for (i = 1; i <= page_count; i++) print "| [mica/" pages[i] ".h](" pages[i] ".md) | " summaries[pages[i]] " |" >file
  print "\n## Functions\n" >file
  n = 0
  for (name in index_of) names[++n] = name
  for (i = 2; i <= n; i++) {
    name = names[i]
    for (j = i - 1; j > 0 && names[j] > name; j--) names[j + 1] = names[j]
    names[j + 1] = name
  }
  for (i = 1; i <= n; i++) print "- [" names[i] "](" index_of[names[i]] ".md)" >file
  for (name in mentioned)
    if (!(name in known)) missing[name]
  if (status_file != "") {
    while ((getline line <status_file) > 0)
      while (match(line, /MICA_E_[A-Z_]+|X\([A-Z_]+/)) {
        name = substr(line, RSTART, RLENGTH)
        sub(/^X\(/, "MICA_", name)
        known[name]
        line = substr(line, RSTART + RLENGTH)
      }
    for (name in mentioned)
      if (!(name in known)) { print mentioned[name] ": there is no status " name >"/dev/stderr"; bad = 1 }
  }
  exit bad
}
