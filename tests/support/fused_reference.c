#include "support/fused_reference.h"

#include "base/element.h"
#include "compile/fused_plan.h"
#include "ops/common/tolerance.h"
#include "support/engine.h"

#include <check.h>
#include <math.h>
#include <mica/tensor.h>
#include <stdlib.h>
#include <string.h>

double fused_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) * 0x1p-53;
}

int32_t fused_pick(uint64_t *state, int32_t n) { return (int32_t)(fused_random(state) * n); }

typedef struct number {
  double value, error;
} number;

static mica_dtype compute_of(mica_dtype dtype) { return dtype == MICA_F16 || dtype == MICA_BF16 ? MICA_F32 : dtype; }

/* Results of integer arithmetic wrap. */
static double wrap(mica_dtype dtype, double value) {
  if (mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT || dtype == MICA_BOOL) return value;
  int64_t i = fabs(value) < 0x1p62 ? (int64_t)value : 0;
  switch (dtype) {
  case MICA_I8: return (int8_t)i;
  case MICA_U8: return (uint8_t)i;
  case MICA_I16: return (int16_t)i;
  case MICA_I32: return (int32_t)i;
  default: return (double)i;
  }
}

/* The error of f(args): what the arguments' errors do to it, and its own rounding. */
static number apply(const mica__fused_instr *instr, const number *args) {
  double x[4] = {0};
  for (int32_t i = 0; i < instr->arg_count; i++) x[i] = args[i].value;
  number y = {wrap(instr->dtype, instr->op->scalar(x, instr->attrs)), 0};
  for (int32_t i = 0; i < instr->arg_count; i++)
    for (int sign = -1; sign <= 1; sign += 2) {
      if (args[i].error == 0) continue;
      x[i] = args[i].value + sign * args[i].error;
      double moved = fabs(instr->op->scalar(x, instr->attrs) - y.value);
      y.error += moved >= 0 ? moved : INFINITY;
      x[i] = args[i].value;
    }
  mica_dtype compute = compute_of(instr->dtype);
  if (mica_dtype_kind_of(compute) == MICA_DTYPE_KIND_FLOAT)
    y.error += mica__tolerance_ulps(compute, compute, 4, y.value);
  if (isnan(y.error)) y.error = isnan(y.value) ? 0 : INFINITY;
  return y;
}

typedef struct joined {
  double value, error, magnitude, runner_up, runner_up_error;
  int64_t at, count;
  bool nan;
} joined;

static void join(joined *j, const mica__fused_instr *instr, mica_dtype dtype, number x, int64_t at) {
  double sign = instr->op->join == MICA__JOIN_MIN || instr->op->join == MICA__JOIN_ARGMIN ? -1 : 1;
  bool first = j->count++ == 0;
  switch (instr->op->join) {
  case MICA__JOIN_SUM:
    j->value = wrap(dtype, (first ? 0 : j->value) + x.value);
    j->magnitude += fabs(x.value);
    j->error += x.error;
    return;
  case MICA__JOIN_PROD:
    j->error = first ? x.error : j->error * (fabs(x.value) + x.error) + fabs(j->value) * x.error;
    j->value = (first ? 1 : j->value) * x.value;
    j->magnitude = fabs(j->value);
    return;
  default: break;
  }
  if (x.error > j->error) j->error = x.error;
  if (first || (!j->nan && (isnan(x.value) || sign * x.value > sign * j->value))) {
    j->runner_up = first ? NAN : j->value;
    j->value = x.value;
    j->at = at;
    j->nan = isnan(x.value);
  } else if (isnan(j->runner_up) || sign * x.value > sign * j->runner_up) {
    if (x.value != j->value || x.error > 0) j->runner_up = x.value;
  }
}

static number join_end(const joined *j, const mica__fused_instr *instr, mica_dtype dtype) {
  mica_dtype compute = compute_of(dtype);
  switch (instr->op->join) {
  case MICA__JOIN_SUM:
    if (mica_dtype_kind_of(compute) != MICA_DTYPE_KIND_FLOAT) return (number){j->value, 0};
    return (number){j->value,
                    j->error + mica__tolerance_sum(compute, compute, (double)j->count, j->magnitude, j->value)};
  case MICA__JOIN_PROD:
    return (number){j->count ? j->value : 1,
                    j->error + mica__tolerance_ulps(compute, compute, (double)j->count, j->value)};
  case MICA__JOIN_ARGMAX:
  case MICA__JOIN_ARGMIN:
    /* Too close to tell: any index is right. */
    if (j->error > 0 && fabs(j->value - j->runner_up) <= 2 * j->error) return (number){(double)j->at, INFINITY};
    return (number){(double)j->at, 0};
  default: return (number){j->value, j->error};
  }
}

typedef struct machine {
  const mica__fused *fused;
  fused_memory *memory;
  int64_t index[MICA_MAX_RANK];
  number value[MICA__FUSED_INSTRS];
  int32_t done; /* REDUCE instructions before this one have their results */
} machine;

static int64_t at_index(const machine *m, const mica__fused_instr *instr) {
  int64_t at = instr->access.offset;
  for (int32_t d = 0; d < m->fused->rank; d++) at += m->index[d] * instr->access.stride[d];
  return at;
}

/* Evaluates instructions [0, end) at the present index; those of REDUCE keep what they have. */
static void evaluate(machine *m, int32_t end, bool store) {
  for (int32_t k = 0; k < end; k++) {
    const mica__fused_instr *instr = &m->fused->instrs[k];
    number args[4] = {{0}};
    for (int32_t i = 0; i < mica__fused_arg_count(instr); i++) args[i] = m->value[instr->args[i]];
    bool inside = true;
    switch (instr->kind) {
    case MICA__FUSED_LOAD:
      for (int32_t d = 0; instr->bounded && d < m->fused->rank; d++)
        inside &= m->index[d] >= instr->low[d] && m->index[d] < instr->high[d];
      m->value[k] = (number){inside ? m->memory[instr->operand].values[at_index(m, instr)] : instr->value, 0};
      break;
    case MICA__FUSED_VALUE: {
      mica_dtype compute = compute_of(instr->dtype);
      bool exact = mica__fused_is_literal(instr->value) || mica_dtype_kind_of(compute) != MICA_DTYPE_KIND_FLOAT;
      m->value[k] = (number){instr->value, exact ? 0 : mica__tolerance_ulps(compute, compute, 1, instr->value)};
      break;
    }
    case MICA__FUSED_INDEX: m->value[k] = (number){(double)m->index[instr->operand], 0}; break;
    case MICA__FUSED_OP: m->value[k] = apply(instr, args); break;
    case MICA__FUSED_REDUCE: break;
    case MICA__FUSED_STORE:
      if (store) {
        m->memory[instr->operand].values[at_index(m, instr)] = args[0].value;
        m->memory[instr->operand].errors[at_index(m, instr)] = args[0].error;
      }
      break;
    }
  }
}

/* Moves to the next index in dimensions [first, end); false after the last. */
static bool step(machine *m, int32_t first, int32_t end) {
  for (int32_t d = end - 1; d >= first; d--) {
    if (++m->index[d] < m->fused->extent[d]) return true;
    m->index[d] = 0;
  }
  return false;
}

void fused_interpret(const mica__fused *fused, fused_memory *memory) {
  machine *m = calloc(1, sizeof *m);
  ck_assert_ptr_nonnull(m);
  m->fused = fused;
  m->memory = memory;
  int32_t outer = fused->rank - fused->reduced;
  ck_assert_int_ge(outer, 0);
  bool empty = false, no_row = false;
  for (int32_t d = 0; d < fused->rank; d++) *(d < outer ? &empty : &no_row) |= fused->extent[d] == 0;
  do {
    if (empty) break;
    for (int32_t k = 0; k < fused->count; k++) {
      const mica__fused_instr *instr = &fused->instrs[k];
      if (instr->kind != MICA__FUSED_REDUCE) continue;
      mica_dtype dtype = instr->op->join >= MICA__JOIN_ARGMAX ? fused->instrs[instr->args[0]].dtype : instr->dtype;
      joined j = {0};
      int64_t at = 0;
      do {
        if (no_row) break;
        evaluate(m, k, false);
        join(&j, instr, dtype, m->value[instr->args[0]], at++);
      } while (step(m, outer, fused->rank));
      m->value[k] = join_end(&j, instr, dtype);
    }
    /* Where a row is empty, what is stored once a row still is; tests store nothing else there. */
    do evaluate(m, fused->count, true);
    while (!no_row && step(m, outer, fused->rank));
  } while (step(m, 0, outer));
  free(m);
}

static double random_element(mica_dtype dtype, uint64_t *state) {
  double u = 2 * fused_random(state) - 1;
  switch (dtype) {
  case MICA_BOOL: return u > 0;
  case MICA_I64: return rint(u * 1000);
  case MICA_U8: return rint(fabs(u) * 200);
  default: break;
  }
  if (mica_dtype_kind_of(dtype) != MICA_DTYPE_KIND_FLOAT) return rint(u * 100);
  unsigned char bits[8];
  mica__element_set(dtype, bits, 0, u);
  return mica__element_get(dtype, bits, 0);
}

/* How many elements of each operand the accesses reach. */
static void measure(const mica__fused *fused, fused_memory *memory, bool *stored) {
  for (int32_t k = 0; k < fused->count; k++) {
    const mica__fused_instr *instr = &fused->instrs[k];
    if (instr->kind != MICA__FUSED_LOAD && instr->kind != MICA__FUSED_STORE) continue;
    int64_t high = instr->access.offset;
    for (int32_t d = 0; d < fused->rank; d++) {
      int64_t last = instr->bounded && instr->high[d] < fused->extent[d] ? instr->high[d] - 1 : fused->extent[d] - 1;
      int64_t first = instr->bounded && instr->low[d] > 0 ? instr->low[d] : 0, stride = instr->access.stride[d];
      high += stride > 0 ? last * stride : first * stride;
    }
    if (high + 1 > memory[instr->operand].count) memory[instr->operand].count = high + 1;
    stored[instr->operand] |= instr->kind == MICA__FUSED_STORE;
  }
}

#define GUARD 20 /* elements before and after an operand, which must stay as they are */

static void compare(const mica__fused *fused, int32_t o, const fused_memory *memory, const void *poison,
                    const void *got, const char *label) {
  mica_dtype dtype = fused->operand_dtype[o];
  size_t size = mica_dtype_size(dtype);
  for (int64_t i = -GUARD; i < memory->count + GUARD; i++) {
    size_t at = (size_t)(i + GUARD) * size;
    bool inside = i >= 0 && i < memory->count && memory->errors[i] >= 0;
    if (!inside) {
      ck_assert_msg(!memcmp((const char *)got + at, (const char *)poison + at, size),
                    "%s: operand %d: element %lld was touched", label, (int)o, (long long)i);
      continue;
    }
    double value = mica__element_get(dtype, got, i + GUARD), want = memory->values[i], bound = memory->errors[i];
    unsigned char bits[8];
    mica__element_set(dtype, bits, 0, want);
    bound += isnan(want) ? 0 : mica__tolerance_ulps(dtype, dtype, 1, want);
    bool right = (isnan(value) && isnan(want)) || value == mica__element_get(dtype, bits, 0) ||
                 fabs(value - want) <= bound || isinf(bound) || isnan(bound);
    /* A conversion to an integer cuts: an error of nothing may become one of 1. */
    if (!right && mica_dtype_kind_of(dtype) != MICA_DTYPE_KIND_FLOAT && memory->errors[i] > 0)
      right = fabs(value - want) <= 1 + bound;
    ck_assert_msg(right, "%s: operand %d (%s): element %lld of %lld is %.9g, not %.9g within %.3g", label, (int)o,
                  mica_dtype_name(dtype), (long long)i, (long long)memory->count, value, want, bound);
  }
}

void fused_run_and_compare(const mica__fused *fused, unsigned device_class, uint64_t seed, const char *label) {
  const int32_t operands = fused->operand_count;
  fused_memory memory[MICA__FUSED_OPERANDS] = {{0}};
  bool stored[MICA__FUSED_OPERANDS] = {0};
  void *bytes[MICA__FUSED_OPERANDS] = {0};
  mica_tensor *tensors[MICA__FUSED_OPERANDS] = {0}, *views[MICA__FUSED_OPERANDS] = {0};
  measure(fused, memory, stored);
  for (int32_t o = 0; o < operands; o++) {
    mica_dtype dtype = fused->operand_dtype[o];
    int64_t total = memory[o].count + 2 * GUARD;
    memory[o].values = calloc((size_t)memory[o].count + 1, sizeof(double));
    memory[o].errors = calloc((size_t)memory[o].count + 1, sizeof(double));
    bytes[o] = malloc((size_t)total * mica_dtype_size(dtype));
    memset(bytes[o], 0x5a, (size_t)total * mica_dtype_size(dtype));
    for (int64_t i = 0; i < memory[o].count; i++) {
      memory[o].errors[i] = -1;
      if (stored[o]) continue;
      memory[o].values[i] = random_element(dtype, &seed);
      mica__element_set(dtype, bytes[o], i + GUARD, memory[o].values[i]);
    }
    ck_ok(mica_tensor_create_from(test_engine(), dtype, MICA_SHAPE(total), bytes[o], &tensors[o]));
    ck_ok(mica_tensor_view(tensors[o], MICA_SHAPE(memory[o].count), NULL, GUARD, &views[o]));
  }
  mica_status status = mica__fused_launch_as(test_queue(), device_class, fused, (const mica_tensor *const *)views);
  ck_assert_msg(status == MICA_OK, "%s: %s", label, mica_error_message());
  fused_interpret(fused, memory);
  for (int32_t o = 0; o < operands; o++) {
    size_t size = mica_tensor_bytes(tensors[o]);
    void *got = malloc(size);
    ck_ok(mica_tensor_download(test_queue(), tensors[o], got, size));
    if (stored[o]) compare(fused, o, &memory[o], bytes[o], got, label);
    free(got);
    free(bytes[o]);
    free(memory[o].values);
    free(memory[o].errors);
    mica_tensor_destroy(views[o]);
    mica_tensor_destroy(tensors[o]);
  }
}
