#include "ops/matmul/gemm.h"

#include "base/arith.h"
#include "base/error.h"
#include "ops/common/operand.h"
#include "ops/select/tunable.h"

const char *mica_activation_name(mica_activation activation) {
#define ACTIVATION_NAME(name, text) text,
  static const char *const names[] = {MICA_ACTIVATION_LIST(ACTIVATION_NAME)};
#undef ACTIVATION_NAME
  return (size_t)activation < sizeof names / sizeof *names ? names[activation] : "?";
}

mica_gemm_config mica_gemm_config_default(void) {
  return (mica_gemm_config){.alpha = 1, .bias_axis = MICA_BIAS_AXIS_COLUMN};
}

/* The first implementation that does not decline is taken, unless a tuner has found another one faster. Implementations
 * for special cases come first, and the reference comes last. */
const mica__impl *const mica__gemm_impls[] = {
    &mica__gemv_gpu,
    &mica__gemm_mma,
    &mica__gemm_direct,
    &mica__gemm_splitk,
    &mica__gemm_gpu,
    &mica__gemm_subgroup,
    &mica__gemm_amx,
    &mica__gemm_tile,
    &mica__gemm_clblast,
    &mica__gemm_naive,
    NULL,
};

static mica_status fail_shapes(const mica_tensor *a, const mica_tensor *b, const mica_tensor *d) {
  char ta[MICA_SHAPE_TEXT], tb[MICA_SHAPE_TEXT], td[MICA_SHAPE_TEXT];
  return mica__fail(MICA_E_SHAPE,
                    "gemm: a %s times b %s does not give d %s; they must be (.., m, k), (.., k, n) and (.., m, n)",
                    mica_shape_format(mica_tensor_shape(a), ta), mica_shape_format(mica_tensor_shape(b), tb),
                    mica_shape_format(mica_tensor_shape(d), td));
}

/* Finds the stride from one matrix of the operand to the next, for matrices numbered by all leading dimensions of d
 * together; 0 if all share one matrix. Fails if no single stride describes them: the step of each dimension must
 * equal the span of the dimensions inside it. */
static mica_status batch_stride(const char *name, const mica_tensor *operand, const mica_shape *d, int64_t *stride) {
  char text[MICA_SHAPE_TEXT], td[MICA_SHAPE_TEXT];
  mica_shape shape = mica_tensor_shape(operand);
  const int64_t *strides = mica_tensor_strides(operand);
  int64_t span = 0;
  bool inner = false;
  *stride = 0;
  if (shape.rank > d->rank)
    return mica__fail(MICA_E_SHAPE, "gemm: %s %s has more dimensions than d %s", name, mica_shape_format(shape, text),
                      mica_shape_format(*d, td));
  for (int32_t i = d->rank - 3; i >= 0; i--) {
    int32_t own = i - (d->rank - shape.rank);
    int64_t size = own < 0 ? 1 : shape.dim[own], step = own < 0 || size == 1 ? 0 : strides[own];
    if (size != 1 && size != d->dim[i])
      return mica__fail(MICA_E_SHAPE, "gemm: the leading dimensions of %s %s must be those of d %s, or 1", name,
                        mica_shape_format(shape, text), mica_shape_format(*d, td));
    if (d->dim[i] == 1) continue;
    if (inner && step != span)
      return mica__fail(MICA_E_INVALID, "gemm: the matrices of %s %s must be at equal distances in memory", name,
                        mica_shape_format(shape, text));
    if (!inner) *stride = step;
    inner = true;
    /* The span cannot overflow, because the tensor lies inside its buffer. */
    span = step * d->dim[i];
  }
  return MICA_OK;
}

static mica_status set_operand(const char *name, const mica_tensor *tensor, const mica_shape *d,
                               mica__matrix *operand) {
  int32_t rank = mica_tensor_shape(tensor).rank;
  const int64_t *strides = mica_tensor_strides(tensor);
  *operand = (mica__matrix){.tensor = tensor, .row = strides[rank - 2], .col = strides[rank - 1]};
  return batch_stride(name, tensor, d, &operand->batch);
}

static bool is_float(mica_dtype dtype) { return dtype == MICA_F32 || dtype == MICA_F16 || dtype == MICA_BF16; }
static bool is_byte(mica_dtype dtype) { return dtype == MICA_I8 || dtype == MICA_U8; }

/* Sets *acc to the type in which products of types a and b are summed. False if products of these types cannot be
 * stored in type d. */
static bool sum_type(mica_dtype a, mica_dtype b, mica_dtype d, mica_dtype *acc) {
  *acc = is_byte(a) ? MICA_I32 : a == MICA_F64 ? MICA_F64 : MICA_F32;
  if (is_float(a)) return is_float(b) && is_float(d);
  if (is_byte(a)) return is_byte(b) && d == MICA_I32;
  return a == MICA_F64 && b == MICA_F64 && d == MICA_F64;
}

static mica_status check_types(const mica_engine *engine, mica__gemm *gemm) {
  mica_dtype a = mica_tensor_dtype(gemm->a.tensor), b = mica_tensor_dtype(gemm->b.tensor);
  mica_dtype d = mica_tensor_dtype(gemm->epilogue.d.tensor),
             bias = gemm->epilogue.bias ? mica_tensor_dtype(gemm->epilogue.bias) : d;
  mica_activation activation = gemm->epilogue.activation;
  if (!sum_type(a, b, d, &gemm->epilogue.acc))
    return mica__fail(
        MICA_E_DTYPE,
        "gemm: a product of %s and %s cannot be stored as %s; f32, f16 and bf16 can be mixed, i8 and u8 give i32, and "
        "f64 gives f64",
        mica_dtype_name(a), mica_dtype_name(b), mica_dtype_name(d));
  if (bias != d && !(is_float(bias) && is_float(d)))
    return mica__fail(MICA_E_DTYPE,
                      "gemm: the bias is %s, but d is %s; both types must be equal, or both among f32, f16 and bf16",
                      mica_dtype_name(bias), mica_dtype_name(d));
  if (gemm->epilogue.acc == MICA_I32 && activation != MICA_ACTIVATION_NONE && activation != MICA_ACTIVATION_RELU)
    return mica__fail(MICA_E_DTYPE, "gemm: the activation %s cannot be computed in integers; only relu can",
                      mica_activation_name(activation));
  if (gemm->epilogue.acc == MICA_F64 && !(mica_engine_device(engine)->features & MICA_FEATURE_FP64))
    return mica__fail(MICA_E_UNSUPPORTED, "gemm: the tensors are f64, but the device has no double precision");
  return MICA_OK;
}

static mica_status check_shapes(mica__gemm *gemm, const mica_tensor *a, const mica_tensor *b, const mica_tensor *d) {
  mica_shape sa = mica_tensor_shape(a), sb = mica_tensor_shape(b), sd = mica_tensor_shape(d);
  if (sa.rank < 2 || sb.rank < 2 || sd.rank < 2) return fail_shapes(a, b, d);
  gemm->m = sd.dim[sd.rank - 2];
  gemm->n = sd.dim[sd.rank - 1];
  gemm->k = sa.dim[sa.rank - 1];
  gemm->batches = 1;
  if (sa.dim[sa.rank - 2] != gemm->m || sb.dim[sb.rank - 1] != gemm->n || sb.dim[sb.rank - 2] != gemm->k)
    return fail_shapes(a, b, d);
  /* The product cannot overflow: it is at most d's count. */
  for (int32_t i = 0; i < sd.rank - 2; i++) gemm->batches *= sd.dim[i];
  const int64_t sizes[] = {gemm->m, gemm->n, gemm->k, gemm->batches};
  static const char *const names[] = {"m", "n", "k", "the number of matrices"};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    if (sizes[i] > MICA__GEMM_MAX_SIZE)
      return mica__fail(MICA_E_OVERFLOW, "gemm: %s is %lld, but must be at most %lld", names[i], (long long)sizes[i],
                        (long long)MICA__GEMM_MAX_SIZE);
  return MICA_OK;
}

static mica_status check_epilogue(const mica__gemm *gemm, const mica_tensor *c) {
  const mica__epilogue *e = &gemm->epilogue;
  if (e->activation < 0 || e->activation > MICA_ACTIVATION_HARD_SWISH)
    return mica__fail(MICA_E_INVALID, "gemm: %d is not an activation", (int)e->activation);
  if (e->beta != 0 && !c)
    return mica__fail(MICA_E_INVALID, "gemm: c is NULL, but must be given because beta is %g", e->beta);
  if (!e->bias) return MICA_OK;
  if (e->bias_axis != MICA_BIAS_AXIS_COLUMN && e->bias_axis != MICA_BIAS_AXIS_ROW)
    return mica__fail(MICA_E_INVALID, "gemm: bias_axis is %d, which is not a mica_bias_axis", (int)e->bias_axis);
  int64_t count = e->bias_axis == MICA_BIAS_AXIS_COLUMN ? gemm->n : gemm->m;
  char text[MICA_SHAPE_TEXT];
  if (!mica_shape_equal(mica_tensor_shape(e->bias), MICA_SHAPE(count)))
    return mica__fail(MICA_E_SHAPE, "gemm: the bias is %s, but must be (%lld)",
                      mica_shape_format(mica_tensor_shape(e->bias), text), (long long)count);
  return MICA_OK;
}

static mica_status set_result(const char *name, const mica_tensor *tensor, const mica__gemm *gemm, const mica_shape *d,
                              mica__matrix *operand) {
  MICA_TRY(set_operand(name, tensor, d, operand));
  if (operand->col != 1 && gemm->n > 1 && mica_tensor_count(tensor))
    return mica__fail(MICA_E_INVALID, "gemm: the columns of %s must be adjacent in memory", name);
  return MICA_OK;
}

mica_status mica__gemm_problem(mica_queue *queue, const mica_gemm_config *config, const mica_tensor *a,
                               const mica_tensor *b, const mica_tensor *c, const mica_tensor *bias, mica_tensor *d,
                               mica__gemm *gemm) {
  MICA_TRY(mica__operand_check_strided(queue, "gemm", "a", a));
  MICA_TRY(mica__operand_check_strided(queue, "gemm", "b", b));
  MICA_TRY(mica__operand_check_strided(queue, "gemm", "d", d));
  mica_gemm_config given = config ? *config : mica_gemm_config_default();
  *gemm = (mica__gemm){.epilogue = {.bias = bias,
                                    .bias_axis = given.bias_axis ? given.bias_axis : MICA_BIAS_AXIS_COLUMN,
                                    .alpha = mica__or_default(given.alpha, 1),
                                    .beta = given.beta,
                                    .activation = given.activation,
                                    .activation_arg = given.activation_arg},
                       .allow_tf32 = given.allow_tf32,
                       .recorded = mica__queue_records(queue)};
  mica_shape shape = mica_tensor_shape(d);
  MICA_TRY(check_shapes(gemm, a, b, d));
  MICA_TRY(set_operand("a", a, &shape, &gemm->a));
  MICA_TRY(set_operand("b", b, &shape, &gemm->b));
  MICA_TRY(set_result("d", d, gemm, &shape, &gemm->epilogue.d));
  gemm->epilogue.c = gemm->epilogue.d;
  if (c && gemm->epilogue.beta != 0) {
    MICA_TRY(mica__operand_check_strided(queue, "gemm", "c", c));
    MICA_TRY(mica__operand_same_dtype("gemm", c, d));
    mica_shape sc = mica_tensor_shape(c);
    if (sc.rank < 2 || sc.dim[sc.rank - 2] != gemm->m || sc.dim[sc.rank - 1] != gemm->n)
      return mica__operand_same_shape("gemm", c, d);
    MICA_TRY(set_result("c", c, gemm, &shape, &gemm->epilogue.c));
    MICA_TRY(mica__operand_apart_or_same("gemm", "d", d, "c", c));
  }
  if (bias) MICA_TRY(mica__operand_check(queue, "gemm", "bias", bias));
  MICA_TRY(check_epilogue(gemm, c));
  MICA_TRY(mica__operand_apart("gemm", "d", d, "a", a));
  MICA_TRY(mica__operand_apart("gemm", "d", d, "b", b));
  MICA_TRY(mica__operand_apart("gemm", "d", d, "bias", bias));
  return check_types(mica__queue_engine(queue), gemm);
}

/* A constant operand is packed if it has at least this many elements, more than a first-level cache holds: packing
 * takes a launch, and memory for both copies. */
#define WORTH_PACKING 16384

static uint32_t worth_packing(const mica__exec *exec, const mica__gemm *gemm) {
  bool a = (double)gemm->m * (double)gemm->k >= WORTH_PACKING, b = (double)gemm->k * (double)gemm->n >= WORTH_PACKING;
  return exec->prologue ? exec->constant & ((a ? 1u : 0u) | (b ? 2u : 0u)) : 0;
}

mica_status mica__gemm_run(const mica__exec *exec, const mica_gemm_config *config, const mica_tensor *a,
                           const mica_tensor *b, const mica_tensor *c, const mica_tensor *bias, mica_tensor *d) {
  mica__gemm gemm;
  char key[MICA__TUNING_TEXT], problem[MICA__TUNING_TEXT];
  MICA_TRY(mica__gemm_problem(exec->queue, config, a, b, c, bias, d, &gemm));
  if (gemm.m == 0 || gemm.n == 0 || gemm.batches == 0) return MICA_OK;
  gemm.constant = worth_packing(exec, &gemm);
  gemm.held = exec->held;
  gemm.prologue = exec->prologue;
  mica_engine *engine = mica__queue_engine(exec->queue);
  mica__gemm_key(&gemm, key);
  /* Products that the tuner cannot name (a and b of different types, no unit stride, products of f32 in tf32) are
   * not tuned. */
  if (mica__gemm_tuner_problem(&gemm, problem)) mica__tune_first_time(engine, key, problem);
  return mica__choose_and_launch(exec->queue, mica__gemm_impls, &gemm, key);
}

mica_status mica_op_gemm(mica_queue *queue, const mica_gemm_config *config, const mica_tensor *a, const mica_tensor *b,
                         const mica_tensor *c, const mica_tensor *bias, mica_tensor *d) {
  return mica__gemm_run(&(mica__exec){.queue = queue}, config, a, b, c, bias, d);
}
