#!/bin/sh
# sh tests/records/make.sh BUILD FOLDER: makes the data sets that run.sh trains on, FOLDER/<name>, about 400 KB. They
# are the same bytes on every machine: random numbers come from the generator below, not from awk's. Each has something
# awkward: a comma or a line break within a cell, an empty cell, a column that is no input, an umlaut.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
mkdir -p "$2"
cd "$2"

# shellcheck source-path=SCRIPTDIR source=../cli/detect.sh
. "$here/../cli/detect.sh"

# The generator of Lehmer (Park and Miller 1988) for awk: uniform in (0, 1).
random='
function seed(n) { state = n * 7919 + 1 }
function draw() { state = state * 16807 % 2147483647; return state / 2147483647 }
function any(n) { return 1 + int(n * draw()) }'
make() { LC_ALL=C awk -v folder="$name" "$random BEGIN { seed(${#name}); $1 }"; }

# --- classify: numbers, a column of classes with a comma in a name, notes that are no input; empty cells ---
name=classify
mkdir -p $name
make '
  for (part = 1; part <= 2; part++) {
    file = folder "/" (part == 1 ? "train" : "test") ".csv"
    print "width,höhe,colour,note,kind" >file
    for (i = 0; i < (part == 1 ? 180 : 40); i++) {
      a = draw(); b = draw(); c = any(2)
      kind = a + b + c / 2 > 1.75 ? "groß" : a > 0.5 ? "small" : "tiny"
      colour = i % 29 == 9 ? "" : c == 1 ? "red, dark" : "blue"
      printf "%.3f,%.2f,\"%s\",\"row %d, as\nwritten\",%s\n", a, 10 * b, colour, i, kind >file
    }
  }'

# --- labels: arrays, several labels per sample ---
name=labels
mkdir -p $name
header() { printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '$1', 'fortran_order': False, 'shape': ($2), }"; }
bits() { # COUNT YES NO COLUMNS: a word for each of the first columns of three random bits per row
  make "for (n = $1; n--;) for (k = 0; k < 3; k++) { b = draw() < 0.5; if (k < $4) printf \"%s\", b ? \"$2\" : \"$3\" }"
}
for part in train test; do
  count=32
  [ $part = test ] || count=160
  # shellcheck disable=SC2059 # the words are escapes
  { header '<f4' "$count, 3" && printf "$(bits $count '\\000\\000\\200\\077' '\\000\\000\\200\\277' 3)"; } \
    >"$name/x_$part.npy"
  # shellcheck disable=SC2059 # likewise
  { header '|u1' "$count, 2" && printf "$(bits $count '\\001' '\\000' 2)"; } >"$name/y_$part.npy"
done

# --- regress: semicolons, a semicolon in a cell, an answer that does not stand last ---
name=regress
make '
  print "größe;preis;zimmer;lage"
  for (i = 0; i < 200; i++) {
    a = 20 + 100 * draw(); z = any(5); l = any(3)
    printf "%.1f;%.0f;%d;%s\n", a, 1000 * a + 9000 * z + 20000 * l + 3000 * draw(), z,
      l == 1 ? "\"Ort; Rand\"" : l == 2 ? "" : "Land"
  }' >$name.csv

# --- pictures: classes as folders; segment: masks; detect: boxes ---
"$build/bin/tests/write_scenes" segment 16 48
rm -rf pictures
mkdir -p pictures/Mäuse 'pictures/no, none'
for i in 0 1 2 3 4 5 6 7 8 9 10 11; do
  cp "segment/images/$i.png" "pictures/Mäuse/$i.png"
  cp "segment/masks/$i.png" "pictures/no, none/$i.png"
done
make_voc detect

# --- text: quoted cells, labels of two kinds, an empty text ---
name=text
make '
  split("lunch home later mum prize call free now", words, " ")
  print "label\ttext"
  for (i = 0; i < 150; i++) {
    spam = draw() < 0.4
    line = (spam ? "spam" : "ham") "\t"
    for (k = 0; i % 40 != 39 && k <= any(7); k++) line = line (k ? " " : "") words[any(4) + (spam ? 4 : 0)]
    print line (i % 11 == 3 ? ", schöne Grüße" : "")
  }' >$name.tsv

# --- forecast: dates with a gap, an empty cell, a column that is no series ---
name=forecast
make '
  print "tag,wärme,\"umsatz, netto\",ort"
  for (i = 0; i < 180; i++)
    if (i != 77)
      printf "2021-%02d-%02d,%s,%.2f,Ort %d\n", 1 + int(i / 28), 1 + i % 28,
        i % 23 == 5 ? "" : sprintf("%.2f", 10 + 8 * (i % 7 < 5) + draw()), 200 + i + 20 * draw(), any(3)
  ' >$name.csv

# --- language: a text with umlauts ---
name=language
make '
  split("der die eine Maus Größe läuft über grünes Gras", words, " ")
  for (i = 0; i < 90; i++) {
    for (k = 0; k < 8; k++) printf "%s%s", words[any(9)], k < 7 ? " " : ".\n"
  }' >$name.txt

# --- translate: pairs of lines ---
name=translate
mkdir -p $name
make '
  split("one two three four five six", a, " "); split("eins zwei drei vier fünf sechs", b, " ")
  split("train val test", parts, " ")
  for (p = 1; p <= 3; p++)
    for (i = 0; i < (p == 1 ? 160 : 24); i++) {
      x = y = ""
      for (k = any(4); k > 0; k--) { w = any(6); x = x a[w] " "; y = y b[w] (k > 1 ? ", " : "") }
      print x "." >folder "/" parts[p] ".en"
      print y "." >folder "/" parts[p] ".de"
    }'

# --- keyword and speech: recordings of one tone, 8 bits at 8,000 Hz ---
name=keyword
for class in hoch tief; do
  mkdir -p $name/$class
  for i in 1 2 3 4 5 6 7 8 9 10; do
    # 2,400 samples behind 44 bytes: 2,436, 16, 8,000 and 2,400 in little endian.
    {
      printf 'RIFF\204\011\000\000WAVEfmt \020\000\000\000\001\000\001\000\100\037\000\000'
      printf '\100\037\000\000\001\000\010\000data\140\011\000\000'
      make "state += $i; hz = (\"$class\" == \"hoch\" ? 1100 : 450) + 20 * $i
        for (t = 0; t < 2400; t++) printf \"%c\", int(128.5 + 50 * sin(6.283185 * hz * t / 8000) + 8 * draw())"
    } >$name/$class/$i.wav
  done
done
name=speech
mkdir -p $name
for class in hoch tief; do
  for i in 1 2 3 4 5 6 7 8 9 10; do
    cp keyword/$class/$i.wav $name/$class$i.wav
    said=hö
    [ $class = hoch ] || said=ti
    printf '%s.wav\t%s\n' $class$i $said
  done
done >train.tsv
mv train.tsv $name

# --- recommend: ratings with times, titles with a comma ---
name=recommend
mkdir -p $name
make '
  file = folder "/ratings.csv"
  print "user,item,rating,time" >file
  for (u = 0; u < 40; u++)
    for (k = 0; k < 8 + any(5); k++) {
      i = (u * 3 + k) % 18
      print "u" u ",i" i "," (u % 2 == i % 2 ? 4 + any(2) / 2 : any(2)) "," 100 * u + k >file
    }
  file = folder "/items.csv"
  print "item,title\ni3,\"Three, the third\"\ni4,Vögel" >file'
