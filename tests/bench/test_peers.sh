#!/bin/sh
# labels: null single
# A peer that is asked for and missing is said, once and in a line; and no file beside the peers' scripts stands in the
# way of a package that PyTorch imports.
set -eu
bench=${MICA_BUILD_DIR:-build}/bin/mica-bench
[ -x "$bench" ] || { echo "there is no mica-bench here"; exit 77; }
work=$(mktemp -d "${MICA_BUILD_DIR:-${TMPDIR:-/tmp}}/peers.XXXXXX")
trap 'rm -rf "$work"' EXIT

# said TEXT: a training step without its peer ends well, has no ratio, and says TEXT in the one line on stderr.
said() {
  MICA_DEVICE=null "$bench" train --model mlp --rounds 1 --steps 1 --json >"$work/out" 2>"$work/err" || {
    cat "$work/err"
    exit 1
  }
  [ "$(wc -l <"$work/err")" = 1 ] && grep -qF "$1" "$work/err" && grep -qF '"ratio":{},"versions":{}' "$work/out" || {
    echo "wanted one line on stderr with '$1', and no ratio; got:"
    cat "$work/err" "$work/out"
    exit 1
  }
}

MICA_BENCH_PYTHON="$work/no-such-python" said "no PyTorch: $work/no-such-python (MICA_BENCH_PYTHON) says: nothing"

MICA_DEVICE=null MICA_BENCH_PYTHON="$work/no-such-python" "$bench" infer --cases resnet18 >"$work/out" 2>"$work/err"
[ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" = 1 ] || {
  echo "wanted no network that nobody can make, and a line on stderr; got:"
  cat "$work/err" "$work/out"
  exit 1
}

command -v python3 >/dev/null || { echo "there is no python3 here"; exit 77; }
mkdir "$work/torch" "$work/cuda"
echo 'its_own = True' >"$work/cuda/__init__.py"
printf 'import cuda\nraise ImportError("cuda is its own" if hasattr(cuda, "its_own") else cuda.__file__)\n' \
  >"$work/torch/__init__.py"
PYTHONPATH=$work MICA_BENCH_PYTHON=python3 said 'says: cuda is its own'
