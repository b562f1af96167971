# tests/cli/tones.sh: recordings that say what tones they are of. Read with `.`, behind cli.sh.
# shellcheck shell=sh

# make_tones FOLDER COUNT SEED: wav files of four tones at 8,000 Hz (a high, b middle, c low), and their list; what each
# says is its name. raw/NAME has the samples of each file alone.
make_tones() {
  mkdir -p "$1/raw"
  LC_ALL=C awk -v folder="$1" -v count="$2" -v seed="$3" '
    BEGIN {
      srand(seed)
      for (i = 0; i < count; i++) {
        text = ""
        for (k = 0; k < 4; k++) text = text substr("abc", 1 + int(3 * rand()), 1)
        print text
        raw = folder "/raw/" text
        printf "" >raw
        for (k = 0; k < 4; k++) {
          hz = 2000 / 2 ^ (index("abc", substr(text, k + 1, 1)) - 1) * (0.95 + 0.1 * rand())
          loud = 20 + 60 * rand()
          for (t = 0; t < 1500; t++)
            printf "%c", int(128.5 + (t < 1000 ? loud * sin(6.283185 * hz * t / 8000) : 0) + rand() * 2 - 1) >raw
        }
        close(raw)
      }
    }' | sort -u >"$1/names"
  while read -r name; do
    # 6,000 samples of 8 bits at 8,000 Hz: 6,036, 16, 8,000 and 6,000 in little endian.
    printf 'RIFF\224\027\000\000WAVEfmt \020\000\000\000\001\000\001\000\100\037\000\000' >"$1/$name.wav"
    printf '\100\037\000\000\001\000\010\000data\160\027\000\000' >>"$1/$name.wav"
    cat "$1/raw/$name" >>"$1/$name.wav"
    printf '%s.wav\t%s\n' "$name" "$name"
  done <"$1/names"
}
