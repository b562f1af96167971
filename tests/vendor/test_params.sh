#!/bin/sh
# labels: null single
# The table of a kernel in C is the one list of its parameters: no file of cl/ repeats a default that every kernel gets
# by its table (mica-kernels --all), and the opening comment of its file, or of one that it includes, names each
# parameter. Files that generated kernels include keep their defaults.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
kernels=${MICA_BUILD_DIR:-build}/bin/mica-kernels
[ -x "$kernels" ] || { echo "mica-kernels is not built"; exit 77; }
work=$(mktemp -d "${MICA_BUILD_DIR:-build}/params.XXXXXX")
trap 'rm -rf "$work"' EXIT
"$kernels" --all >"$work/kernels"
mkdir "$work/src"
grep -rhoE '#include \\"[a-z_/]+\.clh' "$root/src/compile" | sed 's/.*"//' | sort -u >"$work/generated"
[ -s "$work/generated" ] || { echo "nothing is generated?"; exit 1; }

# check FOLDER: prints defaults that repeat a table, and parameters that no opening comment names.
check() {
  (cd "$1" && find . -name '*.cl' -o -name '*.clh' | sed 's,^\./,,' | sort | xargs awk '
    FNR == 1 { opens = 1 }
    opens {
      text = $0
      gsub(/[^A-Za-z0-9_]+/, " ", text)
      n = split(text, word, " ")
      for (i = 1; i <= n; i++) if (word[i] ~ /^[A-Z]/) print "name", FILENAME, word[i]
    }
    /\*\// { opens = 0 }
    /^#include "/ { split($0, quoted, "\""); print "include", FILENAME, quoted[2] }
    was == FILENAME && $1 == "#define" && $2 == guarded { print "default", FILENAME, guarded }
    { was = "" }
    $1 == "#ifndef" { was = FILENAME; guarded = $2 }') |
    awk -v generated="$work/generated" '
      function visit(file,    n, i, to) { # marks it and all that it includes
        if (file in seen) return
        seen[file] = 1
        n = split(includes[file], to)
        for (i = 1; i <= n; i++) visit(to[i])
      }
      FILENAME == "-" && $1 == "include" { includes[$2] = includes[$2] " " $3; next }
      FILENAME == "-" && $1 == "name" { named[$2, $3] = 1; next }
      FILENAME == "-" { defaults[$2] = defaults[$2] " " $3; next }
      !begun++ {
        split("", seen)
        while ((getline line < generated) > 0) visit(line)
        for (file in seen) exempt[file] = 1
      }
      {
        split($0, field, "\t")
        split("", seen)
        split("", given)
        visit(field[2])
        n = split(field[3], option, " ")
        for (i = 1; i <= n; i++) if (sub(/^-D/, "", option[i])) { sub(/=.*/, "", option[i]); given[option[i]] = 1 }
        for (option_name in given) {
          found = 0
          for (file in seen) found = found || (file, option_name) in named
          if (!found) unnamed[field[2], option_name] = 1
        }
        for (file in seen) {
          n = split(defaults[file], name)
          for (i = 1; i <= n; i++) { uses[file, name[i]]++; gets[file, name[i]] += name[i] in given }
        }
      }
      END {
        for (key in unnamed) {
          split(key, part, SUBSEP)
          print "cl/" part[1] ": no opening comment names its parameter " part[2]
        }
        for (key in uses) {
          split(key, part, SUBSEP)
          if (uses[key] == gets[key] && !(part[1] in exempt))
            print "cl/" part[1] ": the tables of all its kernels have " part[2] "; drop the default"
        }
      }' - "$work/kernels" | sort
}

check "$root/cl" >"$work/out"
[ ! -s "$work/out" ] || { cat "$work/out"; exit 1; }

# A default that repeats a table is found, and a parameter without a comment.
cp -R "$root/cl" "$work/cl"
sed -i '/#include/i #ifndef VW\n#define VW 16\n#endif' "$work/cl/quant/add.cl"
check "$work/cl" >"$work/out"
grep -q '^cl/quant/add.cl: .* VW; ' "$work/out" || { cat "$work/out"; exit 1; }
sed -i '1,/\*\//d' "$work/cl/quant/add.cl"
sed -i '1i /* Bytes. */' "$work/cl/quant/add.cl"
check "$work/cl" >"$work/out"
grep -q '^cl/quant/add.cl: .* VW$' "$work/out" || { cat "$work/out"; exit 1; }
