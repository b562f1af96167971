#!/bin/sh
# sh tests/lint/selftest.sh: every lint finds what it is there for, and nothing in a tree that has no fault.
set -u
lint=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${MICA_BUILD_DIR:-${TMPDIR:-/tmp}}/lint.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
status=0

fresh_tree() {
  rm -rf "$work/tree"
  mkdir -p "$work/tree"
  cd "$work/tree" || exit 1
  mkdir -p cmake include/mica src/base src/runtime src/ir src/nn src/io src/cli samples cl tests/lint
  cp "$lint/../../.clang-format" .
  printf '#include "base/a.h"\n#include "mica/mica.h"\n\nint a(void) { return 0; }\n' >src/base/a.c
}

# expect STATUS LINT TEXT: the lint ends so on the tree, and says TEXT.
expect() {
  output=$(sh "$lint/$2.sh" "$work/tree" 2>&1)
  got=$?
  [ "$1" = 1 ] && [ $got = 123 ] && got=1 # xargs says so when what it ran failed
  [ $got = 77 ] && [ "$1" != 77 ] && { echo "$2: $output"; return; }
  case $got$output in
    "$1"*"$3"*) ;;
    *) echo "$2 ended with $got instead of $1 and '$3': $output"; status=1 ;;
  esac
}

# finds LINT FILE TEXT CONTENT: with CONTENT (of printf) in FILE the lint fails and says TEXT.
finds() {
  fresh_tree
  mkdir -p "$(dirname "$2")"
  # shellcheck disable=SC2059
  printf "$4" >"$2"
  [ ! -d "$work/more" ] || cp -R "$work/more/." .
  expect 1 "$1" "$3"
}

lines() { awk -v n="$1" -v text="$2" 'BEGIN { while (n-- > 0) print text }'; }

fresh_tree
for name in layers circles names vendors sizes format opencl extensions hygiene words tics numbers contracts single \
  states pointers; do
  expect 0 $name ''
done

finds pointers cl/b.cl 'cl/b.cl:2: name the address space' 'typedef int4 mask;\nvoid f(const mask *m) {}\n'
finds pointers cl/b.cl 'cl/b.cl:1: name the address space' '#define CAST(x) ((const half *)&(x))\n'
finds pointers cl/b.cl 'cl/b.cl:2: name the' 'void f(__global float *x,\n       float sums[4][4], int n) {}\n'
finds pointers cl/b.cl 'cl/b.cl:1: name the' '#define STATE tiles all, *const state = &all\n'
finds pointers cl/b.clh 'cl/b.clh:1: name the' 'void f(int (*sums)[4]) {}\n'
finds pointers cl/b.cl 'cl/b.cl:2: name the' 'void f(void) {\n  const STORAGE(X_T) *x = 0;\n}\n'
finds pointers cl/b.cl 'cl/b.cl:4: name the' 'typedef struct layer {\n  int n;\n} layer;\nvoid f(layer *l) {}\n'
fresh_tree
printf '/* float *x */\ntypedef float vec;\n#define NEXT(i) (i) *n, (long)i *inner\n' >cl/b.cl
printf 'void f(__private vec sums[2], __local const float *a) {\n  vec b[2], c = x * y;\n  *a = c;\n}\n' >>cl/b.cl
expect 0 pointers ''
finds layers src/base/b.c 'src/base/b.c:1: base must not include ir/graph.h' '#include "ir/graph.h"\n'
finds layers src/runtime/b.c 'runtime must not include ir/graph.h' '#include "ir/graph.h"\n'
finds layers src/io/b.c 'io must not include nn/layer.h' '#include "nn/layer.h"\n'
finds layers src/ir/b.c 'ir must not include runtime/b.h' '#include "runtime/b.h"\n'
finds layers src/train/b.c 'train must not include io/b.h' '#include "dist/b.h"\n#include "io/b.h"\n'
finds layers src/nn/b.c 'nn must not include train/b.h' '#include "compile/b.h"\n#include "train/b.h"\n'
finds layers src/run/b.c 'run must not include task/b.h' '#include "train/b.h"\n#include "task/b.h"\n'
finds layers src/base/b.c 'base must not include report/b.h' '#include "report/b.h"\n'
finds layers src/cli/b.c 'cli must not include base/hash.h' '#include "base/hash.h"\n'
finds layers samples/b.c 'samples must not include base/hash.h' '#include "base/hash.h"\n'
finds layers include/mica/b.h 'include must not include base/hash.h' '#include "base/hash.h"\n'
finds layers src/nn/b.c 'is not spelled from src/' '#include "b.h"\n'
finds layers src/new/b.c 'src/new is no layer' '#include "base/b.h"\n'
finds layers src/base/b.c '<runtime/device.h> is ours' '#include <stdio.h>\n#include <runtime/device.h>\n'
finds layers src/base/b.def 'src/base/b.def:1: base must not include ir/b.def' '#include "ir/b.def"\n'
finds layers src/base/b.c 'base must not include cl/conv/fields.clh' '#include "cl/conv/fields.clh"\n'
finds layers src/ops/conv/b.c 'is for kernels' '#include "cl/conv/problem.clh"\n'
finds layers src/compile/b.c 'it reaches ops through' '#include "ops/conv/conv.h"\n'
finds layers tests/bench/b.c 'bench must not include train/b.h' '#include "ops/conv/b.h"\n#include "train/b.h"\n'
fresh_tree
printf '#include "ops/select/registry.h"\n#include <sys/stat.h>\n' >src/base/a.c
mkdir src/compile && mv src/base/a.c src/compile/a.c
expect 0 layers ''

two_files() { # FILE CONTENT: beside the file of `finds`
  mkdir -p "$work/more/$(dirname "$1")"
  # shellcheck disable=SC2059
  printf "$2" >"$work/more/$1"
}
two_files src/base/c.h '#include "base/d.h"\n'
two_files src/base/d.c '#include "base/c.h"\n\nint mica__d(void) { return mica__b(); }\n'
finds circles src/base/d.h 'src/base/c.h and src/base/d.h need each other' '#include "base/c.h"\n'
finds circles src/base/b.c 'src/base/b.c and src/base/d.c need each other' \
  'int mica__b(void) {\n  return mica__d();\n}\n'
rm -r "$work/more"
finds circles tests/lint/circles.allow 'base/a and base/b form no circle' 'base/a base/b they were one once\n'
finds circles tests/lint/circles.allow 'has no reason' 'base/a base/b\n'

two_files src/base/c.h 'typedef struct mica__b {\n  int b;\n} mica__b;\n'
finds names src/ir/b.h 'src/ir/b.h:1: mica__b is also defined in src/base/c.h:1' 'struct mica__b {\n  int b;\n};\n'
finds names src/ir/b.h 'src/ir/b.h:3: mica__b is also defined' 'typedef enum {\n  B\n} mica__b;\n'
rm -r "$work/more"

# Two objects of a build folder, of which the lower one calls the upper one.
call() { # FILE TEXT: compiles src/FILE
  mkdir -p "src/${1%/*}" "$MICA_BUILD_DIR/src/CMakeFiles/mica_room_${1%%/*}.dir/${1%/*}"
  printf '%s\n' "$2" >"src/$1"
  ${CC:-cc} -c -o "$MICA_BUILD_DIR/src/CMakeFiles/mica_room_${1%%/*}.dir/$1.o" "src/$1"
}
if command -v "${CC:-cc}" >/dev/null && command -v nm >/dev/null; then
  built=${MICA_BUILD_DIR:-}
  export MICA_BUILD_DIR="$work/tree/build"
  fresh_tree
  expect 77 calls 'no objects'
  call base/low.c 'int mica__high(void); int mica__low(void) { return mica__high(); }'
  call task/high.c 'int mica__low(void); int mica__high(void) { return mica__low(); }'
  expect 1 calls 'src/base/low.c: needs mica__high of src/task/high.c, but task is not below base'
  call base/twin.c 'int mica__high(void); int mica__high(void) { return 1; }'
  expect 1 calls 'src/task/high.c: defines mica__high, as src/base/twin.c does'
  rm src/base/twin.c
  printf 'src/base/low.c mica__high a test needs it\n' >tests/lint/calls.allow
  expect 0 calls ''
  printf 'src/base/low.c mica__high\n' >tests/lint/calls.allow
  expect 1 calls 'has no reason'
  rm src/base/low.c # its object is stale
  printf 'src/base/low.c mica__high a test needs it\n' >tests/lint/calls.allow
  expect 1 calls 'nothing needs "src/base/low.c mica__high'
  rm tests/lint/calls.allow
  expect 0 calls ''
  call ir/b.c 'int mica__b(void); int mica__a(void) { return mica__b(); }'
  call runtime/b.c 'int mica__b(void) { return 0; }'
  expect 1 calls 'src/ir/b.c: needs mica__b of src/runtime/b.c, but runtime is not below ir'
  MICA_BUILD_DIR=$built
fi

finds vendors src/ops/b.c 'src/ops/b.c:1' 'if (device->vendor == 3) return 1;\n'
finds vendors src/ops/b.c 'src/ops/b.c:1' 'if (v == MICA_VENDOR_INTEL) return 1;\n'
finds vendors src/ops/b.c 'src/ops/b.c:1' 'if (strstr(d->name, "NVIDIA")) return 1;\n'
finds vendors src/ops/b.c 'src/ops/b.c:1' 'if (!strcmp(d->name, "Mali-G71")) return 1;\n'
finds vendors src/ops/b.c 'src/ops/b.c:1' 'if (d->compute_capability >= 80) return 1;\n'
finds vendors src/ops/b.c 'src/ops/b.c:1' 'return mask >> MICA_VENDOR_AMD & 1;\n'
finds vendors tests/lint/vendors.allow 'src/base/a.c does not test a vendor' 'src/base/a.c it did once\n'
finds vendors tests/lint/vendors.allow 'has no reason' 'src/base/a.c\n'
fresh_tree
printf 'int b = f(device->vendor);\n' >src/runtime/core_model.c
printf 'MICA__X(.vendors = 1u << MICA_VENDOR_INTEL)\nint b = g(mica_vendor_name(info->vendor));\n' >src/base/b.c
expect 0 vendors ''

finds format src/base/b.c 'b.c:1' 'int  b ;\n'

finds extensions cl/b.cl 'cl/b.cl:1' '__builtin_prefetch(p);\n'
finds extensions cl/b.cl 'cl/b.cl:4' \
  '#ifdef MICA_HAS_PREFETCH\n__builtin_prefetch(p);\n#else\n__builtin_b(p);\n#endif\n'
finds extensions cl/b.cl 'cl/b.cl:1' '#if __has_builtin(__builtin_prefetch)\n#endif\n'
finds extensions cl/b.cl 'cl/b.cl:2' '#ifdef B\n__asm__("b");\n#endif\n'
finds extensions cl/b.cl 'cl/b.cl:1' 'asm volatile("b");\n'
finds extensions cl/b.cl 'cl/b.cl:1' '#if __NV_CL_C_VERSION\n#endif\n'
finds extensions cl/b.cl 'cl/b.cl:1' 'x = work_group_reduce_add(x);\n'
finds extensions cl/b.cl 'cl/b.cl:1' 'x = sub_group_reduce_add(x);\n'
finds extensions cl/b.cl 'cl/b.cl:1' '#pragma OPENCL EXTENSION cl_khr_subgroups : enable\n'
finds extensions cl/b.cl 'cl/b.cl:2: a kernel that declares no group' '\n__kernel void b(int b) {\n}\n'
finds extensions cl/b.cl 'cl/b.cl:1: a kernel that declares no group' \
  '__kernel __attribute__((b)) void\nb(int b) {\n}\n'
finds extensions tests/lint/extensions.allow 'all kernels declare their group' 'cl/b.cl it was different once\n'
finds extensions tests/lint/extensions.allow 'has no reason' 'cl/b.cl\n'
fresh_tree
printf '__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void\nb(int b) {\n}\n' >cl/b.cl
printf '#define K __kernel __attribute__((reqd_work_group_size(1, 1, 1))) void\n' >cl/b.clh
printf '#if MICA_SUBGROUPS == 2\nb\n#elif MICA_SUBGROUPS\nx = sub_group_reduce_add(x);\n#endif\n' >cl/c.clh
expect 0 extensions ''

finds single tests/base/test_b.c 'test_b.c:2: a test labelled single starts' \
  '/* labels: null single */\nint b = pthread_create(&t, NULL, f, NULL);\n'
finds single tests/base/test_b.c 'test_b.c:2: a test labelled single' \
  '/* labels: device single, shards: 2 */\n#include "support/members.h"\n'
finds single samples/b.c 'samples/b.c:2: a test labelled single' '/* labels: device single */\nthrd_create(b);\n'
fresh_tree
mkdir tests/base
printf '/* labels: null */\nint b = pthread_create(b);\n' >tests/base/test_b.c
printf '/* labels: null single */\nint b;\n' >tests/base/test_c.c
expect 0 single ''

finds opencl src/nn/b.c 'src/nn/b.c:1' 'int b(void) { return clFinish(q); }\n'
finds opencl src/nn/b.c 'src/nn/b.c:1' 'cl_int (*b)(cl_command_queue) = clFinish;\n'
finds opencl src/runtime/b.c 'src/runtime/b.c:3' '/* clFinish(q) is\n * clFlush(q) and more */\nint b = clFinish(q);\n'
finds opencl src/ir/b.c 'src/ir/b.c:1' '#include <CL/cl.h>\n'

two_files CMakeLists.txt 'project(a VERSION 1.4.2 LANGUAGES C)\n'
finds hygiene include/mica/b.h 'include/mica/b.h:1:' '/* Within 1.3.x nothing changes. */\n'
rm -r "$work/more"
finds hygiene src/base/b.c 'b.c:1: a tab' '\tint b;\n'
finds hygiene cl/b.cl 'b.cl:1: trailing blanks' 'int b; \n'
finds hygiene src/base/b.c 'a carriage return' 'int b;\r\n'
finds hygiene src/base/b.c 'unfinished business' '/* TO''DO: more */\n'
finds hygiene src/base/b.c 'unfinished business' '/* to''do: more */\n'
finds hygiene src/base/b.c 'unfinished business' '/* HA''CK: it works */\n'
finds hygiene tests/b.py 'b.py:1: a path of one machine' 'open("/ro''ot/x")\n'
finds hygiene src/notes.md '151 columns' "$(lines 1 "$(printf '%0151d' 0)")\n"
finds hygiene src/base/b.c 'a path of one machine' 'char *b = "/ho''me/me/x";\n'
finds hygiene src/base/b.c 'no newline at its end' 'int b;'
finds hygiene src/base/b.c 'a cast to size_t cuts' 'bool b = mica__mul_size(n, (siz''e_t)dim, &n);\n'
finds hygiene src/base/b.c '130 columns' "$(lines 1 "$(printf '%0130d' 0)")\n"
finds hygiene .github/notes.md 'notes.md:1: trailing blanks' 'x \n'
finds hygiene notes.txt 'notes.txt: does not belong at the root' 'x\n'

workflow='permissions:\n  contents: read\njobs:\n  a:\n    steps:\n'
finds workflows .github/workflows/b.yml 'b.yml:6: there is no script b.sh' "$workflow      - run: sh b.sh\n"
finds workflows .github/workflows/b.yml 'b.yml:6: a step must be' "$workflow      - run: make\n"
finds workflows .github/workflows/b.yml 'b.yml:6: a step must be' "$workflow      - run: |\n          make\n"
finds workflows .github/workflows/b.yml 'b.yml:6: a step must be' "$workflow      - run: sh -c make\n"
finds workflows .github/workflows/b.yml 'b.yml:6: a step is one' "$workflow      - run: sh src/base/a.c b; c\n"
finds workflows .github/workflows/b.yml 'b.yml:6: a command contains' "$workflow  - run: sh src/base/a.c \${{ x.y }}\n"
finds workflows .github/workflows/b.yml 'b.yml:6: an action of others' "$workflow      - uses: b/c@v1\n"
finds workflows .github/workflows/b.yml 'b.yml: says no permissions' 'jobs:\n  - run: sh src/base/a.c\n'
finds workflows .github/workflows/b.yml 'no step runs anything' "$workflow"
finds workflows .github/workflows/b.yaml 'ends in .yml' "$workflow      - run: sh src/base/a.c\n"
rm -r .github
mkdir -p .github/workflows
printf '%b' "$workflow      - uses: actions/checkout@v4\n      - run: sh src/base/a.c \${{ matrix.b }} -DB=1\n" \
  >.github/workflows/b.yml
expect 0 workflows ''

for word in Of That Those Whether 'The same'; do
  finds words src/base/b.c "b.c:1: a comment begins with \"$word\"" "/* $word which. */\n"
done
finds words src/base/b.c 'b.c:1: a comment begins with "whether"' 'int b; /* whether it is. */\n'
finds words src/base/b.h 'b.h:1: a comment begins' '/* base/b.h: Of which. */\n'
finds words src/base/b.c 'b.c:3: a comment begins' '/* A sentence.\n *\n * Of which. */\n'
finds words src/base/b.c 'b.c:1: a comment begins' 'int b; /* Of which. */\n'
finds words cl/b.cl 'b.cl:1: a comment begins' '// Those.\n'
finds words tests/b.sh 'b.sh:2: a comment begins' ': a\n# Of which\n'
finds words cmake/b.cmake 'b.cmake:3: a comment begins' '# A sentence.\n#\n# Of which\n'
long=$(printf '%085d' 0 | sed 's/00000/word /g')
finds words src/base/b.c 'b.c:3: the line above has only "a word"' \
  "/* A long $long\n * a word\n * that is followed by more. */\n"
finds words src/base/b.c 'b.c:2: "habits"; the field says' '/* One of\n * the habits. */\n'
finds words src/base/b.c 'b.c:1: "places"' 'const char *b = "all places";\n'
finds words src/base/b.c 'b.c:1: "stand-in"' '/* A stand-in. */\n'
finds words src/base/b.c 'b.c:1: "place" in b_place' 'int b_place;\n'
finds words src/base/b.c 'b.c:1: "slide" in slide_b' '#define SLIDE_B 1\n'
finds words cl/b.cl 'b.cl:1: "LEAVE"' '#define LEAVE(x) x\n'
finds words src/base/b.c 'b.c:1: "tap_runs"' '/* b */ int tap_runs;\n'
finds numbers src/io/b.c 'a float is formatted' 'void b(void) {\n  snprintf(text, 9,\n           "%%.3g", x);\n}\n'
finds numbers src/io/b.c 'numbers are read and written' 'double b(const char *t) { return strtod(t, NULL); }\n'
finds tics src/io/b.c 'src/io: 2 tics' '/* A file, which is none, is told so. */\nint b;\n'
fresh_tree
printf '/* Long %s\n * x\n *\n * more, which is long %s\n *   y\n * z. */\n' "$long" "$long" >src/base/c.c
printf '/* In place and in turn,\n * of which one is turned off. */\nint b = in_place_b; /* of b */\n' >src/base/b.c
expect 0 words ''

descriptor='const mica__op mica__op_b = {0};\n'
# describes TEXT LIST DEFINITION: with LIST as the list of ops and DEFINITION in src/base/b.c the lint says TEXT.
describes() {
  fresh_tree
  mkdir -p src/ops
  # shellcheck disable=SC2059
  printf "$2" >src/ops/ops.def
  # shellcheck disable=SC2059
  printf "$3" >src/base/b.c
  expect "${4-1}" descriptors "$1"
}
describes '' '/* base/b.c */\nOP(b)\n' "$descriptor" 0
describes '' '/* base/b.c */\nOP(b)\n' '#define OP(label) const mica__op mica__op_##label\nOP(b)\n' 0
describes '' '/* base/b.c */\nOP(b_c)\n' '#define OP(label) const mica__op mica__op_b_##label\nOP(c)\n' 0
describes 'src/base/b.c does not define mica__op_b_k' '/* base/b.c */\nOP(b)\nOP(b_k)\n' "$descriptor/* k */\n"
describes 'b has no file above it' 'OP(b)\n' "$descriptor"
describes 'there is no src/base/c.c' '/* base/c.c */\nOP(b)\n' "$descriptor"
describes 'src/base/a.c does not define mica__op_b' '/* base/a.c */\nOP(b)\n' "$descriptor"

fresh_tree
printf '/* Levels:\n *   status device    what fails: and where\n */\n#include <mica/device.h>\n' >include/mica/mica.h
: >include/mica/status.h
: >include/mica/device.h
expect 1 umbrella 'does not include status.h'
printf '#include <mica/status.h>\n' >>include/mica/mica.h
expect 0 umbrella ''
: >include/mica/queue.h
printf '#include <mica/queue.h>\n' >>include/mica/mica.h
expect 1 umbrella 'the table of levels does not name queue'

fresh_tree
mkdir -p src/ops
printf '/* base/b.c */\nOP(b)\n' >src/ops/ops.def
printf '%b' "$descriptor" >src/base/b.c
printf 'const mica__op mica__op_c = {0};\n' >src/ops/c.c
expect 1 descriptors 'c of src/ops/c.c is not listed'

printf 'MICA_API int mica_b(void);\n' >include/mica/b.h
expect 1 contracts 'include/mica/b.h: no word about threads'
finds sizes src/base/b.c 'src/base/b.c: 601 lines' "$(lines 601 'int b;')\n"
finds fields src/run/b.c 'src/run/b.c:1:' 'double b(const mica_run *run) { return mica_run_number(run, "lr"); }\n'
finds fields src/task/b.c 'read the field' 'if (mica_run_fact(run->origin, "classes", NULL)) return;\n'
finds fields src/cli/b.c 'ask for what the task does' 'if (!strcmp(mica_run_task(run), "speak")) return;\n'
finds states src/run/b.h 'src/run/b.h: 91 lines' "$(lines 91 'int b;')\n"
finds states src/run/b.c 'src/run/b.c: 6 headers of src/run/state' \
  "$(for s in a b c d e f; do echo "#include \"run/state/$s.h\""; done)\n"
fresh_tree
mkdir -p src/run/state
printf '/* A. Private to run/a.c. */\nint a;\n' >src/run/state/a.h
for s in state a b; do printf '#include "run/state/a.h"\n' >src/run/$s.c; done
expect 1 states 'src/run/b.c:1: run/state/a.h is private to src/run/a.c'
rm src/run/b.c
expect 0 states ''

finds sizes src/base/b.def 'src/base/b.def: 601 lines' "$(lines 601 'X(b)')\n"
finds sizes src/base/b.h 'src/base/b.h:BIG: 81 lines' "#define BIG(b) \\\\\n$(lines 79 '  b \\\\')\n  b\n"
finds sizes tests/b.sh 'tests/b.sh:big: 81 lines' "big() {\n$(lines 79 '  b')\n}\n"
finds sizes src/base/b.c 'src/base/b.c:big: 81 lines' "MAKE(small)\nint big(int b) {\n$(lines 79 '  b++;')\n}\n"
finds sizes cl/b.cl 'cl/b.cl: 401 lines' "$(lines 401 'int b;')\n"
finds sizes src/base/b.c 'src/base/b.c:big: 81 lines' "int *big(int b,\n    int c) {\n$(lines 78 '  b++;')\n}\n"
finds sizes cl/b.cl 'cl/b.cl:big: 81 lines' "__kernel void big(int b) {\n$(lines 79 '  b++;')\n}\n"
printf 'cl/b.cl:big it is generated\n' >tests/lint/sizes.allow
expect 0 sizes ''
finds sizes tests/lint/sizes.allow 'is not over its limit' 'src/base/a.c it was long once\n'
finds sizes tests/lint/sizes.allow 'has no reason' 'src/base/a.c\n'
exit $status
