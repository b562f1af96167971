#include "bench/bench.h"
#include "compile/fused.h"
#include "ops/select/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A list that is being written, and the number that its time may be of that of a copy. */
typedef struct entry {
  const char *name;
  double limit; /* 0: only reported */
  mica__fused fused;
  mica_tensor *tensors[MICA__FUSED_OPERANDS];
  double bytes, seconds, copy_seconds;
} entry;

static const mica__op *find(const char *name) {
  for (size_t i = 0; i < mica__op_count; i++)
    if (!strcmp(mica__ops[i]->name, name)) return mica__ops[i];
  fprintf(stderr, "no op %s\n", name);
  exit(1);
}

static int32_t push(mica__fused *f, mica__fused_instr instr) {
  f->instrs[f->count] = instr;
  return f->count++;
}

/* Row-major over the dimensions in `dims`. */
static mica__access access_of(const mica__fused *f, unsigned dims) {
  mica__access access = {0};
  int64_t step = 1;
  for (int32_t d = f->rank - 1; d >= 0; d--)
    if (dims >> d & 1) {
      access.stride[d] = step;
      step *= f->extent[d];
    }
  return access;
}

static int32_t load(mica__fused *f, unsigned dims) {
  int32_t operand = f->operand_count++;
  f->operand_dtype[operand] = MICA_F32;
  return push(f, (mica__fused_instr){
                     .kind = MICA__FUSED_LOAD, .operand = operand, .dtype = MICA_F32, .access = access_of(f, dims)});
}

static void store(mica__fused *f, int32_t value, unsigned dims) {
  int32_t operand = f->operand_count++;
  f->operand_dtype[operand] = MICA_F32;
  push(f, (mica__fused_instr){.kind = MICA__FUSED_STORE,
                              .operand = operand,
                              .dtype = MICA_F32,
                              .args = {value},
                              .access = access_of(f, dims)});
}

static int32_t op1(mica__fused *f, const char *name, int32_t a) {
  return push(
      f, (mica__fused_instr){.kind = MICA__FUSED_OP, .op = find(name), .dtype = MICA_F32, .arg_count = 1, .args = {a}});
}

static int32_t op2(mica__fused *f, const char *name, int32_t a, int32_t b) {
  return push(f, (mica__fused_instr){
                     .kind = MICA__FUSED_OP, .op = find(name), .dtype = MICA_F32, .arg_count = 2, .args = {a, b}});
}

static int32_t reduce(mica__fused *f, const char *name, int32_t a) {
  return push(f, (mica__fused_instr){.kind = MICA__FUSED_REDUCE, .op = find(name), .dtype = MICA_F32, .args = {a}});
}

static int32_t constant(mica__fused *f, double value) {
  return push(f, (mica__fused_instr){.kind = MICA__FUSED_VALUE, .dtype = MICA_F32, .value = value});
}

#define ROWS 4096
#define COLUMNS 1024
#define BOTH 3u /* the dimensions of a matrix */
#define ROW 1u
#define COLUMN 2u

static void gelu_chain(mica__fused *f) {
  *f = (mica__fused){.rank = 1, .extent = {16 << 20}};
  int32_t a = load(f, 1), b = load(f, 1), c = load(f, 1), d = load(f, 1);
  store(f, op2(f, "mul", op1(f, "gelu", op2(f, "add", op2(f, "mul", a, b), c)), d), 1);
}

static void matrix(mica__fused *f, int32_t reduced) {
  *f = (mica__fused){.rank = 2, .extent = {ROWS, COLUMNS}, .reduced = reduced};
}

static void transpose(mica__fused *f) {
  matrix(f, 0);
  int32_t x = load(f, BOTH);
  f->instrs[x].access.stride[0] = 1;
  f->instrs[x].access.stride[1] = ROWS;
  store(f, x, BOTH);
}

static void row_sum(mica__fused *f) {
  matrix(f, 1);
  store(f, reduce(f, "sum", load(f, BOTH)), ROW);
}

static void column_sum(mica__fused *f) {
  *f = (mica__fused){.rank = 2, .extent = {COLUMNS, ROWS}, .reduced = 1};
  int32_t x = load(f, BOTH);
  f->instrs[x].access.stride[0] = 1;
  f->instrs[x].access.stride[1] = COLUMNS;
  store(f, reduce(f, "sum", x), 1);
}

static void total_sum(mica__fused *f) {
  *f = (mica__fused){.rank = 1, .extent = {16 << 20}, .reduced = 1};
  store(f, reduce(f, "sum", load(f, 1)), 0);
}

static void row_argmax(mica__fused *f) {
  matrix(f, 1);
  int32_t x = load(f, BOTH), at = reduce(f, "argmax", x);
  f->instrs[at].dtype = MICA_I64;
  store(f, at, ROW);
}

static void softmax(mica__fused *f) {
  matrix(f, 1);
  int32_t x = load(f, BOTH), e = op1(f, "exp", op2(f, "sub", x, reduce(f, "max", x)));
  store(f, op2(f, "mul", e, op1(f, "reciprocal", reduce(f, "sum", e))), BOTH);
}

/* dx = y (dy - sum(y dy)) */
static void softmax_backward(mica__fused *f) {
  matrix(f, 1);
  int32_t y = load(f, BOTH), dy = load(f, BOTH), s = reduce(f, "sum", op2(f, "mul", y, dy));
  store(f, op2(f, "mul", y, op2(f, "sub", dy, s)), BOTH);
}

static void layer_norm(mica__fused *f) {
  matrix(f, 1);
  int32_t x = load(f, BOTH), gamma = load(f, COLUMN), beta = load(f, COLUMN), share = constant(f, 1.0 / COLUMNS);
  int32_t mean = op2(f, "mul", reduce(f, "sum", x), share), d = op2(f, "sub", x, mean);
  int32_t variance = op2(f, "mul", reduce(f, "sum", op1(f, "square", d)), share);
  int32_t r = op1(f, "rsqrt", op2(f, "add", variance, constant(f, 1e-5)));
  store(f, op2(f, "add", op2(f, "mul", op2(f, "mul", d, r), gamma), beta), BOTH);
  store(f, mean, ROW);
  store(f, r, ROW);
}

/* h = (x - mean) r, g = dy gamma: dx = r (g - mean(g) - h mean(g h)) */
static void layer_norm_backward(mica__fused *f) {
  matrix(f, 1);
  int32_t x = load(f, BOTH), dy = load(f, BOTH), gamma = load(f, COLUMN), mean = load(f, ROW), r = load(f, ROW);
  int32_t share = constant(f, 1.0 / COLUMNS), h = op2(f, "mul", op2(f, "sub", x, mean), r);
  int32_t g = op2(f, "mul", dy, gamma), mg = op2(f, "mul", reduce(f, "sum", g), share);
  int32_t mh = op2(f, "mul", reduce(f, "sum", op2(f, "mul", g, h)), share);
  store(f, op2(f, "mul", r, op2(f, "sub", op2(f, "sub", g, mg), op2(f, "mul", h, mh))), BOTH);
}

/* dgamma = sum(dy h) and dbeta = sum(dy) over the rows */
static void layer_norm_parameters(mica__fused *f) {
  *f = (mica__fused){.rank = 2, .extent = {COLUMNS, ROWS}, .reduced = 1};
  int32_t x = load(f, BOTH), dy = load(f, BOTH), mean = load(f, 2), r = load(f, 2);
  for (int32_t k = x; k <= dy; k++) {
    f->instrs[k].access.stride[0] = 1;
    f->instrs[k].access.stride[1] = COLUMNS;
  }
  int32_t h = op2(f, "mul", op2(f, "sub", x, mean), r);
  store(f, reduce(f, "sum", op2(f, "mul", dy, h)), 1);
  store(f, reduce(f, "sum", dy), 1);
}

/* Tensors for all operands, filled with what is neither 0 nor subnormal, and the bytes that must move. */
static void make_operands(const bench *b, entry *e) {
  const mica__fused *f = &e->fused;
  for (int32_t k = 0; k < f->count; k++) {
    const mica__fused_instr *instr = &f->instrs[k];
    if (instr->kind != MICA__FUSED_LOAD && instr->kind != MICA__FUSED_STORE) continue;
    int64_t count = 1;
    for (int32_t d = 0; d < f->rank; d++) count *= instr->access.stride[d] ? f->extent[d] : 1;
    float *data = malloc((size_t)count * sizeof *data);
    for (int64_t i = 0; i < count; i++) data[i] = (float)((i * 7919) % 1009) / 500.0f - 1.0f;
    bench_ok(mica_tensor_create_from(b->engine, MICA_F32, MICA_SHAPE(count), data, &e->tensors[instr->operand]));
    free(data);
    e->bytes += (double)count * sizeof *data;
  }
}

static double once(const bench *b, const entry *e) {
  double start = bench_now();
  bench_ok(mica__fused_launch(b->queue, &e->fused, (const mica_tensor *const *)e->tensors));
  bench_ok(mica_queue_finish(b->queue));
  return bench_now() - start;
}

/* Interleaved with a copy of as many bytes, because other programs disturb both alike; medians of all rounds. */
static void measure(const bench *b, entry *e, int rounds) {
  entry *copy = calloc(1, sizeof *copy);
  double *own = calloc((size_t)rounds, sizeof *own), *other = calloc((size_t)rounds, sizeof *other);
  copy->fused = (mica__fused){.rank = 1, .extent = {(int64_t)(e->bytes / 8)}};
  store(&copy->fused, load(&copy->fused, 1), 1);
  make_operands(b, copy);
  once(b, e), once(b, copy); /* the compiler's time */
  for (int i = 0; i < rounds; i++) {
    own[i] = once(b, e);
    other[i] = once(b, copy);
  }
  e->seconds = bench_median(own, (size_t)rounds);
  e->copy_seconds = bench_median(other, (size_t)rounds);
  free(own);
  free(other);
  for (int32_t o = 0; o < copy->fused.operand_count; o++) mica_tensor_destroy(copy->tensors[o]);
  free(copy);
}

int bench_fused(const bench *b) {
  static const struct {
    const char *name;
    void (*build)(mica__fused *fused);
    double limit; /* how many times a copy's time it may take; 0: only reported */
  } table[] = {
      {"gelu(a*b+c)*d", gelu_chain, 2},
      {"softmax", softmax, 2},
      {"softmax backward", softmax_backward, 2.5},
      {"layer norm", layer_norm, 2},
      {"layer norm backward", layer_norm_backward, 2.5},
      {"layer norm parameters", layer_norm_parameters, 2.5},
      {"row sum", row_sum, 0},
      {"row argmax", row_argmax, 0},
      {"column sum", column_sum, 0},
      {"total sum", total_sum, 0},
      {"transpose", transpose, 0},
  };
  int failed = 0;
  const char *rounds = getenv("MICA_BENCH_ROUNDS");
  if (!b->json) printf("%-24s %9s %9s %9s %7s %6s\n", "kernel", "ms", "GB/s", "copy GB/s", "ratio", "limit");
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    entry *e = calloc(1, sizeof *e);
    table[i].build(&e->fused);
    make_operands(b, e);
    measure(b, e, rounds && atoi(rounds) > 0 ? atoi(rounds) : 31);
    double ratio = e->seconds / e->copy_seconds;
    failed |= table[i].limit > 0 && ratio > table[i].limit;
    if (b->json)
      printf("{\"bench\":\"fused\",\"kernel\":\"%s\",\"seconds\":%.6g,\"bytes\":%.0f,\"copy_seconds\":%.6g,"
             "\"ratio\":%.3f,\"limit\":%.1f}\n",
             table[i].name, e->seconds, e->bytes, e->copy_seconds, ratio, table[i].limit);
    else
      printf("%-24s %9.3f %9.1f %9.1f %7.2f %6.1f\n", table[i].name, e->seconds * 1e3, e->bytes / e->seconds / 1e9,
             e->bytes / e->copy_seconds / 1e9, ratio, table[i].limit);
    fflush(stdout);
    for (int32_t o = 0; o < e->fused.operand_count; o++) mica_tensor_destroy(e->tensors[o]);
    free(e);
  }
  return failed;
}
