#!/bin/sh
# labels: device
# The report of tests/gpu/run.sh: what its parts write becomes figures, and each stands beside what was expected, with
# a ratio. After --minutes no part begins, and what is unknown is said.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${MICA_BUILD_DIR:-build}
work=$(mktemp -d "$build/join.XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
  echo "$1"
  [ ! -e "$work/report" ] || cat "$work/report"
  exit 1
}

cat >"$work/parts" <<'EOF'
{"bench":"peak","type":"f32","gflops":61000.0}
== bf16
{"bench":"gemm","m":64,"n":32,"k":16,"batch":1,"trans":"nn","impl":"gemm_mma","gflops":210.5,"peers":{},"versions":{}}
{"bench":"gemm","summary":true,"geomean_ratio":{},"min_ratio":{},"versions":{}}
== bf16 unmeasured
{"bench":"gemm","m":64,"n":32,"k":16,"batch":1,"trans":"nn","impl":"gemm_mma","gflops":300,"peers":{},"versions":{}}
{"m": 256, "n": 256, "k": 256, "form": "int8", "ms": 0.1395, "gops": 240.49, "times_f32": 1.582}
== bf16
{"bench":"train","model":"resnet18","batch":32,"step_ms":4.5,"launches":14.0,"peers":{},"versions":{"pytorch":"2.15"}}
 76.8 %    199.7 us   5.0 launches  131.1 GFLOP/s    7.0 GB/s  gemm_mma
  6.8 %     10.3 us   5.0 launches  131.1 GFLOP/s    7.0 GB/s  fused_copy
mica-bench: nothing to compare with: no PyTorch
{"bench":"plan","launch":0,"kernel":"gemm_mma","groups":8,"items":64,"us":100.00}
{"bench":"plan","launch":1,"kernel":"fused_copy_at38","groups":8,"items":64,"us":2.00}
{"bench":"plan","launch":2,"kernel":"fused_copy","groups":8,"items":64,"us":3.00}
{"bench":"plan","model":"resnet18","batch":32,"device":"h100","ms":4.2,"starts_ms":0.9,"products":"-"}
{"bench":"sequence","name":"attention_forward_b1","mica":0.051643,"pytorch":null,"ratio":null,"unit":"seconds"}
{"bench":"language","name":"gpt_2x64","bits":8,"batch":1,"tokens_a_second":12.50,"times_f32":1.5}
{"bench":"curves","model":"cnn","dtype":"f32","loss":0.613845439}
{"bench": "torch_curves", "model": "cnn", "dtype": "f32", "device": "cpu", "loss": 0.658569, "versions": {}}
{"bench":"compilers","kernel":"gemm_mma","programs":3,"registers":224,"spills":0}
{"bench":"compilers","kernel":"fill","programs":1}
{"bench":"infer","name":"resnet50","batch":1,"mica":0.002,"unit":"seconds","dtype":"bf16","ratio":null}
{"bench": "gemm", "case": "m64 n32 k16 nn", "dtype": "bf16", "gflops": 421.0, "versions": {"pytorch": "2.11"}}
{"bench": "train", "model": "resnet18", "side": 224, "dtype": "bf16", "step_ms": 9.0, "versions": {"pytorch": "2.11"}}
{"bench": "train", "model": "resnet18", "side": 224, "dtype": "bf16", "compiled": true, "step_ms": 3.0, "versions": {}}
{"bench": "train", "model": "resnet18", "side": 32, "dtype": "bf16", "step_ms": 1.0, "versions": {"pytorch": "2.11"}}
EOF
cat >"$work/expected" <<'EOF'
# a comment
peak f32 61300 0.05 2026-11-26
gemm bf16.64x32x16.nn 421 0.1 model
train bf16.resnet18 5 0.1 model
gemm f16.64x32x16.nn 1 0.1 model
EOF
awk -f "$here/figures.awk" "$work/parts" >"$work/figures"
awk -f "$here/join.awk" "$work/expected" "$work/figures" >"$work/report"

# has WORDS...: the report has a line of these words.
has() {
  tr -s ' ' <"$work/report" | sed 's/ $//' | grep -qxF -e "$*" || fail "no line \"$*\" in the report:"
}
has peak f32 6.1e+04 6.13e+04 0.995 as expected
has gemm bf16.64x32x16.nn 210.5 421 0.500 moved
has train bf16.resnet18 4.5 5 0.900 as expected
has gemm f16.64x32x16.nn - 1 - not measured
has gemm bf16.unmeasured.64x32x16.nn 300 - - nothing expected
has int8 int8.256x256x256 240.5 - - nothing expected
has sequence bf16.attention_forward_b1 51.64 - - nothing expected
has language gpt_2x64.8.1 12.5 - - nothing expected
has curves f32.cnn 0.6138 - - nothing expected
has curves f32.cnn 0.6138 0.6586 0.932
has compilers gemm_mma.registers 224 - - nothing expected
has infer bf16.resnet50 2 - - nothing expected
has train bf16.resnet18 4.5 5.1 0.882
has train bf16.resnet18 4.5 9 0.500
has train bf16.resnet18 4.5 3 1.500
has gemm bf16.64x32x16.nn 210.5 421 0.500
has kernel bf16.resnet18.gemm_mma 199.7 100 1.997
has kernel bf16.resnet18.fused_copy 10.3 5 2.060
has 3 of 4 expected figures measured, 1 moved
! grep -q 'resnet18 *1 ' "$work/report" || fail "pictures of 32 stand beside pictures of 224:"

# The file of expected figures itself: four columns and where each is from, none twice.
awk '/^#/ { next } NF != 5 || !($3 > 0) || !($4 > 0 && $4 < 1) || seen[$1, $2]++ { print "wrong: " $0; bad = 1 }
  END { exit bad }' "$here/expected"

# A loss of nan is never as expected.
printf 'curves\tf32.cnn\tnan\n' >"$work/figures"
echo 'curves f32.cnn 0.6 0.1 model' >"$work/expected"
awk -f "$here/join.awk" "$work/expected" "$work/figures" >"$work/report"
grep -q '^curves *f32.cnn .* moved$' "$work/report" || fail "a loss of nan is as expected:"

# Trainings without a loss are not two of the same loss, and losses of nan are not near to each other.
mkdir -p "$work/without/bin"
cat >"$work/without/bin/mica" <<'EOF'
#!/bin/sh
for last; do :; done
[ "$1" = train ] && mkdir -p "$last" && printf 'epoch,loss\n1,nan\n' >"$last/history.csv" &&
  echo '{"epochs": 6, "loss": null}' && exit
printf '"id": "0:0",\n"class": "cpu",\n"global_bytes": 1,\n'
EOF
chmod +x "$work/without/bin/mica"
! build=$(cd "$work/without" && pwd) out=$(cd "$work" && pwd) MICA_DEVICE=0:0 sh "$here/faults.sh" shared \
  >"$work/said" ||
  fail "two trainings without a loss: $(cat "$work/said")"
! build=$(cd "$work/without" && pwd) out=$(cd "$work" && pwd) MICA_BENCH_PYTHON=false \
  sh "$here/curves.sh" f32.cnn bf16.cnn >"$work/said" || fail "two losses of nan: $(cat "$work/said")"

status=0
sh "$here/run.sh" no-such-part >/dev/null 2>&1 || status=$?
[ $status = 2 ] || fail "a part that does not exist: status $status, not 2"
[ -x "$build/bin/mica" ] && [ -x "$build/bin/mica-bench" ] || {
  echo "SKIP: no mica or mica-bench in $build/bin to begin the hour with"
  exit 77
}
sh "$here/run.sh" --build "$build" --device "${MICA_DEVICE:-0:0}" --out "$work/out" --minutes 0 hour >"$work/said" || {
  cat "$work/said"
  fail "the hour in no minutes fails"
}
[ "$(grep -c 'left out: no time' "$work/said")" = 18 ] || { cat "$work/said" && fail "parts begin after their time"; }
grep -q '^0 of [0-9]* expected figures measured, 0 moved$' "$work/out/report.txt" || fail "no sum in the report"

# What a driver's compiler says: the log of ptxas, in which a kernel spills.
cat >"$work/log" <<'EOF'
kernels tile;fill
ptxas info    : Compiling entry function 'tile' for 'sm_80'
ptxas info    : Function properties for tile
    72 bytes stack frame, 40 bytes spill stores, 32 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 360 bytes cmem[0]
ptxas info    : Compiling entry function 'fill' for 'sm_80'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 16 registers
EOF
! awk -f "$here/compilers.awk" "$work/log" >"$work/said" || fail "spills are passed over"
for line in '"tile","programs":1,"registers":255,"spills":72' '"fill","programs":1,"registers":16,"spills":0'; do
  grep -qF "$line}" "$work/said" || { cat "$work/said" && fail "no kernel $line"; }
done
# A log in which no kernel spills is right if it names registers, or if the driver was not asked for them.
sed '/72 bytes/d' "$work/log" >"$work/good"
awk -v verbose=1 -f "$here/compilers.awk" "$work/good" >"$work/said" || fail "no kernel spills: $(cat "$work/said")"
echo 'kernels fill' >"$work/silent"
awk -v verbose=0 -f "$here/compilers.awk" "$work/silent" >"$work/said" || fail "no registers asked for"
! awk -v verbose=1 -f "$here/compilers.awk" "$work/silent" >"$work/said" ||
  fail "no log names registers: $(cat "$work/said")"
status=0
MICA_DEVICE=${MICA_DEVICE:-0:0} build=$(cd "$build" && pwd) out=$(cd "$work" && pwd)/built \
  sh "$here/compilers.sh" fill >"$work/said" || status=$?
[ $status != 77 ] || { tail -n 1 "$work/said" && exit 77; }
[ $status = 0 ] || { cat "$work/said" && fail "the compiler's logs are not kept"; }
grep -q '"kernel":"fill","programs":[1-9]' "$work/said" || { cat "$work/said" && fail "no program of fill"; }
[ "$(find "$work/built/builds" -name '*.bin' -size +0 | wc -l)" -gt 0 ] || fail "no binary is kept"

# Its part that learns, whose loss is the expected one on a CPU, too.
MICA_DEVICE=${MICA_DEVICE:-0:0} build=$(cd "$build" && pwd) out=$(cd "$work" && pwd) MICA_BENCH_PYTHON=false \
  sh "$here/curves.sh" f32.cnn >"$work/said" || { cat "$work/said" && fail "the small CNN does not learn"; }
awk -f "$here/figures.awk" "$work/said" >"$work/figures"
awk -f "$here/join.awk" "$here/expected" "$work/figures" >"$work/report"
grep -q '^curves *f32.cnn .* as expected$' "$work/report" || fail "another loss than expected"

# What goes wrong on a device: here a CPU, whose memory is the process's.
sh "$here/run.sh" --build "$build" --device "${MICA_DEVICE:-0:0}" --out "$work/out" lost shared >"$work/said" || {
  cat "$work/said"
  fail "a lost device, or two trainings at once"
}
grep -q "loss after --resume [0-9][0-9.]*, of a run that lost nothing [0-9][0-9.]*$" "$work/out/lost.txt" ||
  fail "lost: no losses"
grep -q 'loss alone [0-9][0-9.]*, of two at once [0-9][0-9.]* and [0-9][0-9.]*$' "$work/out/shared.txt" ||
  fail "shared: no losses"
