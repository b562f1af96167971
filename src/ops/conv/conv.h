/* ops/conv/conv.h: a convolution as data, its three passes, and the implementations that take them.
 *
 *   forward           Y[n][k][o] = sum over c, r of X[n][c][o stride - pad + r dilation] W[k][c][r]
 *   backward data     X from Y and W      backward filter     W from X and Y
 *
 * with o and r standing for a depth, a height and a width each. Tensors are contiguous and NCHW. What
 * mica__conv_problem has checked is not checked again.
 *
 * To add an implementation: a file with its mica__impl, its lines in conv.def (before what is more general), and its
 * kernels' there. It says in `unable` what it cannot compute at all and in `decline` where others are faster; the check
 * (check.c) then runs each of its variants over the whole grid. */
#ifndef MICA_OPS_CONV_CONV_H
#define MICA_OPS_CONV_CONV_H

#include "ir/op.h"
#include "ops/epilogue/epilogue.h"
#include "ops/select/choice.h"

#include <mica/conv.h>

typedef enum mica__conv_pass {
  MICA__CONV_FWD,
  MICA__CONV_BWD_DATA,
  MICA__CONV_BWD_FILTER,
  MICA__CONV_PASSES,
} mica__conv_pass;

/* Depth, height, width; of tensors with fewer dimensions the leading ones are 1 (pad 0). */
typedef struct mica__conv_dims {
  int64_t n, groups, c, k; /* c and k: channels and filters of one group */
  int64_t in[3], filter[3], out[3];
  int64_t stride[3], pad[3], dilation[3]; /* pad: before; what lies beyond the end is zero as far as it is reached */
} mica__conv_dims;

typedef struct mica__conv {
  mica__conv_pass pass;
  mica__conv_dims dims;
  const mica_tensor *x, *w, *y; /* the pass writes one of them and reads the other two */
  mica_dtype dtype;             /* of all three; sums are epilogue.acc */
  /* The result as matrices: `images` of rows x columns, a row for each channel of all groups (group g: rows g k .. or
   * g c ..), a column for each pixel; of a filter gradient one matrix, a row for each filter, a column for each (c, r).
   * An element is a sum of `depth` products. */
  int64_t images, rows, columns, depth;
  mica__epilogue epilogue; /* into these matrices; c is the addend, bias a value a row */
  mica_queue *prologue;    /* where w is constant: takes launches that depend on w alone; else NULL */
  bool lends;              /* bit of mica__exec.lends of the operand that is read in windows: x forward, else y */
  bool allow_tf32;         /* as mica_conv_config says, of f32 */
  bool nontemporal;        /* the result is so large that little of it would stay in a cache: stored past them */
} mica__conv;

/* The problem as data, with everything checked that mica/conv.h promises to check. The pass's result is not read. */
mica_status mica__conv_problem(mica_queue *queue, mica__conv_pass pass, const mica_conv_config *config,
                               const mica_tensor *x, const mica_tensor *w, const mica_tensor *y,
                               const mica_conv_epilogue *epilogue, mica__conv *conv);
/* The dims of shapes and config; MICA_E_SHAPE. y is not looked at where it is NULL: then dims->out is what follows. */
mica_status mica__conv_dims_of(const mica_conv_config *config, mica_shape x, mica_shape w, const mica_shape *y,
                               mica__conv_dims *dims);
/* Moves the axes that have one position to the front: kernels run along the last axis, and memory stays the same. */
void mica__conv_lead_ones(mica__conv_dims *dims);
/* Output extent; 0 if the filter does not fit once. more: zeros after the last element beyond `pad`. */
int64_t mica__conv_extent(int64_t in, int64_t filter, int64_t stride, int64_t pad, int64_t more, int64_t dilation);

/* Drops the taps at both ends that read nothing but padding, as most do where planes are smaller than filters: tap t
 * reads pixels o stride + first + t delta. Returns the number of those dropped at the beginning. */
int64_t mica__conv_drop_idle(int64_t in, int64_t out, int64_t stride, int64_t first, int64_t delta, int64_t *taps);

/* Products of the three numbers. */
int64_t mica__product3(const int64_t extent[3]);
/* 2 multiply-adds for each term of each element: "flops counted as direct convolution". */
double mica__conv_flops(const mica__conv_dims *dims);

/* The queue for launches that read w alone, and for the workspaces they fill: prologue or the pass's own. */
mica_queue *mica__conv_packer(const mica__conv *conv, mica_queue *queue);

/* A pass for the launch of a node whose inputs 0 and 1 are a and b: x or dy and w, of a filter's gradient x and dy. */
mica_status mica__conv_run(const mica__exec *exec, mica__conv_pass pass, const mica_conv_config *config,
                           const mica_tensor *a, const mica_tensor *b, const mica_conv_epilogue *epilogue,
                           mica_tensor *result);

/* What results of tuning are filed under. */
void mica__conv_key(const mica__conv *conv, char key[MICA__TUNING_TEXT]);
/* The problem as mica_tuner_create takes it, after "conv "; false when it cannot be said so. */
bool mica__conv_tuner_problem(const mica__conv *conv, char problem[MICA__TUNING_TEXT]);

/* In tune.c. */
extern const struct mica__tunable mica__conv_tunable;

/* The first rows of every conv kernel's table, and their values in shipped variants. All operands are of D_T. */
#define MICA__CONV_TYPES MICA_F32, MICA_F16, MICA_BF16
#define MICA__CONV_PARAMS(...)                                                                                         \
  MICA__DTYPE("D_T", "type of x, w and y", __VA_ARGS__), MICA__DTYPE("ACC_T", "type of sums", MICA_F32, MICA_F64),     \
      MICA__DTYPE("BIAS_T", "type of bias", MICA__FLOATS), MICA__CASE("BIAS", "2 a value a channel", 2)
#define MICA__CONV_VALUES MICA_F32, MICA_F32, MICA_F32, 2

/* Launches of kernels that end in EPILOGUE_PARAMS: mica__epilogue_begin(queue, desc, values, &conv->epilogue, ..), the
 * kernel's own arguments, then this, which packs the epilogue, notes the cost and submits. */
mica_status mica__conv_end(mica_queue *queue, mica__launch *launch, const mica__conv *conv);
/* Notes the cost of a launch that does this share of the pass. */
void mica__conv_cost(mica__launch *launch, const mica__conv *conv, double share);
/* Packs CONV_PARAMS (cl/conv/problem.clh). */
void mica__conv_push_dims(mica__launch *launch, const mica__conv_dims *dims);

/* The implementations of each pass, in order, the reference last; each list ends in NULL. */
extern const mica__impl *const *const mica__conv_impls[MICA__CONV_PASSES];
/* All kernels they launch; ends in NULL. */
extern const mica__kernel_desc *const mica__conv_kernels[];

/* The implementations and their kernels. */
#define FORWARD(name) extern const mica__impl mica__##name;
#define BACKWARD_DATA FORWARD
#define BACKWARD_FILTER FORWARD
#define KERNEL(name) extern const mica__kernel_desc mica__##name##_kernel;
#include "ops/conv/conv.def"

/* Two of them with what is known of their tiles (ops/select/tile.h). */
extern const struct mica__tile_kernel mica__conv_gpu_implicit_gemm_tiles, mica__conv_gpu_wgrad_implicit_gemm_tiles;

/* The passes in double on the host: a and b are the operands in the order x, w, y, without the result. */
void mica__conv_reference(const mica__conv_dims *dims, mica__conv_pass pass, const double *a, const double *b,
                          double *result);
/* Element `at` of the result, in its order in memory, from operands of dtype; *magnitude: the sum of its terms'
 * absolute values. */
double mica__conv_reference_at(const mica__conv_dims *dims, mica__conv_pass pass, mica_dtype dtype, const void *a,
                               const void *b, int64_t at, double *magnitude);

/* For mica__impl.unable of the implementations on tiles of bf16 (common/cpu/tiles.clh). */
const char *mica__conv_tiles_unable(const void *problem);

/* In check.c. */
struct mica__check;
mica_status mica__conv_check(struct mica__check *check);
/* The part of it that is about one implementation of one pass. */
mica_status mica__conv_check_impl(struct mica__check *check, const mica__impl *impl, mica__conv_pass pass);
/* For the tests: a variant of an implementation of the pass in all types that it takes, over all cases, on whatever
 * device. once: with one epilogue a type. */
MICA_CHECKED mica_status mica__conv_check_variant(struct mica__check *check, const mica__impl *impl,
                                                  const mica__variant *variant, mica__conv_pass pass, bool once);

#endif
