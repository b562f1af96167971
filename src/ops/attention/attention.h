/* ops/attention/attention.h: scaled dot-product attention and its gradients; mica/attention.h has the formula. Declares
 * the operands and the description of a launch that the ops, their references and their kernels share. */
#ifndef MICA_OPS_ATTENTION_ATTENTION_H
#define MICA_OPS_ATTENTION_ATTENTION_H

#include "ops/common/build.h"
#include "ops/select/launch_check.h"
#include "ops/select/mma.h"
#include "runtime/launch.h"

#define MICA__ATTENTION_ATTRS(X, S)                                                                                    \
  X(S, INT, present, 0, "bit k: operand k is there")                                                                   \
  X(S, BOOL, causal, false, "a query sees no key after its own position")                                              \
  X(S, INT, window, 0, "positions seen to each side, the own one included; 0: all")                                    \
  X(S, REAL, scale, 0, "of scores; 0: 1 / sqrt(D)")                                                                    \
  X(S, REAL, soft_cap, 0, "scores become soft_cap tanh(score / soft_cap); 0: as they are")                             \
  X(S, REAL, dropout, 0, "probability")                                                                                \
  X(S, INT, key, 0, "of the stream of dropout's numbers")
MICA__ATTR_STRUCT(attention, MICA__ATTENTION_ATTRS);
extern const mica__attr_list mica__attention_attr_list;

/* The ops, their operands and results:
 *
 * - attention: q k v, then optional operands. Results: y in its stored order, (B, Tq, H, E), and logsum, (B, H, Tq), of
 *   dtype f64 if q is f64, else f32. logsum is the base-2 logarithm of the sum of e^score over the keys that a query
 *   sees, plus the sink's term. It is -infinity if the query sees no key and there are no sinks.
 * - attention_grad: q k v dy y logsum, then the optional operands. dy is (B, H, Tq, E); y and logsum are the results of
 *   attention. Results: dq (B, Tq, H, D), dk (B, Tk, G, D), dv (B, Tk, G, E).
 * - attention_mask_grad: the operands of attention_grad. Result: the gradient of the scores after soft cap and mask,
 *   (B, H, Tq, Tk), of logsum's dtype. */
enum { MICA__ATTENTION_Y, MICA__ATTENTION_LOGSUM, MICA__ATTENTION_RESULTS };
enum { MICA__ATTENTION_DQ, MICA__ATTENTION_DK, MICA__ATTENTION_DV, MICA__ATTENTION_GRAD_RESULTS };

/* The operands in the order of the gradient ops. */
typedef enum mica__attention_operand {
  MICA__ATTENTION_OF_Q,
  MICA__ATTENTION_OF_K,
  MICA__ATTENTION_OF_V,
  MICA__ATTENTION_OF_DY,
  MICA__ATTENTION_OF_Y,
  MICA__ATTENTION_OF_LOGSUM,
  MICA__ATTENTION_OF_MASK,
  MICA__ATTENTION_OF_LENGTHS,
  MICA__ATTENTION_OF_OFFSET,
  MICA__ATTENTION_OF_STEP,
  MICA__ATTENTION_OF_STARTS,
  MICA__ATTENTION_OF_SINKS, /* forward only: in gradients, logsum includes them */
  MICA__ATTENTION_OPERANDS
} mica__attention_operand;

/* The index of the node's input that is this operand; -1 if absent. of_gradient: the node is one of the two
 * gradients. */
int32_t mica__attention_input(const mica__attention_attrs *attrs, bool of_gradient, mica__attention_operand operand);

/* Sizes, named as in mica/attention.h. */
typedef struct mica__attention_sizes {
  int64_t b, h, g, tq, tk, d, e;
} mica__attention_sizes;

/* Returns the sizes, given types of inputs that the op's infer function has accepted. */
mica__attention_sizes mica__attention_sizes_of(const mica__type *inputs);
/* The factor of the scores: attrs->scale or, if that is 0, 1 / sqrt(d). */
double mica__attention_scale(const mica__attention_attrs *attrs, int64_t d);

/* How far before and after its position a query sees keys, by causality and window. */
typedef struct mica__attention_range {
  int64_t before, after; /* MICA__ATTENTION_FAR: no limit */
} mica__attention_range;
#define MICA__ATTENTION_FAR (INT64_C(1) << 30)
mica__attention_range mica__attention_range_of(const mica__attention_attrs *attrs);

/* The three ops: forward (y and logsum), backward (dq, dk and dv), and the gradient of the scores. */
typedef enum mica__attention_pass {
  MICA__ATTENTION_FORWARD,
  MICA__ATTENTION_BACKWARD,
  MICA__ATTENTION_OF_SCORES
} mica__attention_pass;

/* reference.c: the references in double. */
mica_status mica__attention_evaluate(const mica__eval *eval);
mica_status mica__attention_grad_evaluate(const mica__eval *eval);
mica_status mica__attention_mask_grad_evaluate(const mica__eval *eval);
/* Computes magnitudes, from which the tolerances of a check follow. A row's factor says how much the rounding of its
 * scores raises the relative error of a weight: an error d in a score, as a power of 2, multiplies its weight by 2^d.
 *
 * - Instead of a result: the sum of the absolute values of its terms, times the factor
 * - Instead of logsum: the factor */
mica_status mica__attention_magnitudes(mica__attention_pass pass, const mica__eval *eval);

/* A launch: its operands (NULL if absent) and results. */
typedef struct mica__attention {
  const mica__exec *exec;
  const mica__attention_attrs *attrs;
  const mica_tensor *in[MICA__ATTENTION_OPERANDS];
  mica__attention_sizes size;
  mica_dtype dtype, wide; /* the type of the elements; the type of sums */
  bool of_gradient;
  /* Tests a variant that uses instructions of a matrix unit, before its first launch; NULL: no test. */
  mica__mma_trial *trial;
} mica__attention;

/* problem.c: parameters and arguments that all kernels of the family share (cl/attention/problem.clh). */
#define MICA__ATTENTION_PARAMS MICA__ATTENTION_PARAMS_OF(MICA__FLOATS)
#define MICA__ATTENTION_TILE_TYPES MICA_F32, MICA_F16, MICA_BF16 /* element types of the kernels that work in tiles */
#define MICA__ATTENTION_PARAMS_OF(...)                                                                                 \
  MICA__DTYPE("Q_T", "type of the operands", __VA_ARGS__),                                                             \
      MICA__CASE("MASK", "1: a boolean mask, 2: one that is added", 0, 1, 2),                                          \
      MICA__DTYPE("M_T", "type of the mask", MICA__FLOATS, MICA_BOOL),                                                 \
      MICA__CASE("SOFT_CAP", "1: scores are capped", 0, 1), MICA__CASE("DROPOUT", "1: with dropout", 0, 1),            \
      MICA__DTYPE("S_T", "type of dropout's step", MICA_I32, MICA_I64),                                                \
      MICA__CASE("STARTS", "1: each query has a first key that it sees", 0, 1)
#define MICA__ATTENTION_VALUES MICA_F32, 0, MICA_F32, 0, 0, MICA_I32, 0

mica__attention mica__attention_of(const mica__exec *exec, bool of_gradient);
/* Sets the values of MICA__ATTENTION_PARAMS for the problem. */
void mica__attention_set(const mica__kernel_desc *desc, int32_t *values, const mica__attention *a);
/* Begins a packed launch of the kernel with these values and pushes its first arguments, ATTENTION_FIELDS
 * (cl/attention/fields.clh). push_forward then adds FORWARD_OPERANDS, push_grad GRAD_OPERANDS. */
mica_status mica__attention_begin(const mica__attention *a, const mica__kernel_desc *desc, const int32_t *values,
                                  mica__launch *launch);
void mica__attention_push_forward(const mica__attention *a, mica__launch *launch);
void mica__attention_push_grad(const mica__attention *a, const mica_tensor *delta, mica__launch *launch);
/* Computes *delta, (B, H, Tq) of the wide type: for each query the sum over e of dy[e] y[e], which the gradients
 * subtract. The caller destroys it. */
mica_status mica__attention_delta(const mica__attention *a, mica_tensor **delta);
mica_status mica__attention_mask_grad_launch(const mica__exec *exec);
extern const mica__kernel_desc mica__attention_delta_kernel, mica__attention_mask_grad_kernel;

/* Returns the floating-point operations of over_d products over D and over_e products over E: 2 (over_d D + over_e E)
 * for each pair of a query and a key that causality and window allow. If there is only causality, half of all pairs are
 * counted. A window counts in full even where it passes an end of the sequence. */
double mica__attention_flops(const mica__attention_attrs *attrs, mica__attention_sizes size, double over_d,
                             double over_e);
/* The operations of this launch, as mica__attention_flops counts them. */
double mica__attention_cost(const mica__attention *a, double over_d, double over_e);

/* Used by `decline`. Returns NULL if the kernels are for the device's class and were not found wrong on the device,
 * else the reason to decline. If a check asks for a class (exec->classes), that class replaces the device's.
 *
 * - class: MICA__ON_CPU or MICA__ON_GPU
 * - line: the name of the kernels in `mica doctor`, "cpu", "gpu" or "mma" */
const char *mica__attention_declines(const mica__task *task, unsigned class, const char *line);

/* The implementations of attention and of its gradients, the reference last. cpu.c, gpu.c: tiles, for one device
 * class each. mma.c: matrix units of GPUs, with weights rounded to the operands' type. ref.c: one row per work-item,
 * for f64 and for problems that the others decline. */
extern const mica__impl *const mica__attention_impls[], *const mica__attention_grad_impls[];
extern const mica__impl mica__attention_cpu, mica__attention_mma, mica__attention_gpu, mica__attention_naive,
    mica__attention_cpu_grad, mica__attention_mma_grad, mica__attention_gpu_grad, mica__attention_naive_grad;
extern const mica__kernel_desc mica__attention_cpu_kernel, mica__attention_cpu_row_kernel,
    mica__attention_cpu_grad_kernel, mica__attention_sum_kernel, mica__attention_gpu_kernel,
    mica__attention_gpu_grad_kernel, mica__attention_mma_kernel, mica__attention_mma_grad_kernel,
    mica__attention_naive_kernel, mica__attention_naive_grad_kernel;

/* check.c: checks `op`, which computes the pass; forward is the op whose results the gradients take. */
mica_status mica__attention_check(mica__check *check, const mica__op *forward, const mica__op *op,
                                  mica__attention_pass pass);

/* Checks one variant of an implementation, on the cases that suit it. */
mica_status mica__attention_check_variant(mica__check *check, const mica__op *forward, const mica__op *op,
                                          mica__attention_pass pass, const mica__impl *impl,
                                          const mica__variant *variant);
/* Compares a small attention by the variant with the reference: MICA_E_NUMERIC if the variant's result is wrong, or
 * the error of its launch. */
mica_status mica__attention_try(mica_engine *engine, const mica__op *forward, const mica__op *op,
                                mica__attention_pass pass, const mica__impl *impl, const mica__variant *variant,
                                mica_dtype type);

extern const mica__op mica__op_attention, mica__op_attention_grad, mica__op_attention_mask_grad;

#endif
