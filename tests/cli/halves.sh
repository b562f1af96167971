# tests/cli/halves.sh: make_halves FOLDER CLASSES: 80 pictures of 8 x 8 as IDX files, light in the upper or the lower
# half by turns, with classes 0, 1, ... by turns. Read with `.`.
make_halves() {
  mkdir "$1"
  LC_ALL=C awk -v x="$1/train-images-idx3-ubyte" -v y="$1/train-labels-idx1-ubyte" -v classes="$2" '
    function number(n, f) { printf "%c%c%c%c", 0, 0, 0, n >f }
    BEGIN {
      printf "%c%c%c%c", 0, 0, 8, 3 >x; number(80, x); number(8, x); number(8, x)
      printf "%c%c%c%c", 0, 0, 8, 1 >y; number(80, y)
      for (i = 0; i < 80; i++) {
        printf "%c", i % classes >y
        for (p = 0; p < 64; p++) printf "%c", ((p < 32) == (i % 2)) ? 20 + i : 110 >x
      }
    }'
}
