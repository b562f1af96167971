/* ops/conv/conv.h: the description of a convolution (mica__conv), its three passes, and the implementations of each
 * pass.
 *
 *   forward           Y[n][k][o] = sum over c, r of X[n][c][o stride - pad + r dilation] W[k][c][r]
 *   backward data     X from Y and W      backward filter     W from X and Y
 *
 * where o and r are a depth, a height and a width each, and c is a channel of the group of k. Tensors are contiguous
 * and NCHW, except those of mica__conv.last. Functions do not repeat the checks of mica__conv_problem.
 *
 * To add an implementation, write a file with its mica__impl, and add lines for it (before more general ones) and for
 * its kernels to conv.def. `unable` says which problems it cannot compute at all, `decline` for which problems another
 * implementation is faster. The check (check.c) then runs its variants over a grid of cases. */
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

/* Sizes as (depth, height, width). With fewer dimensions the leading extents are 1 and their padding 0. */
typedef struct mica__conv_dims {
  int64_t n, groups, c, k; /* c and k: channels and filters per group */
  int64_t in[3], filter[3], out[3];
  int64_t stride[3], pad[3], dilation[3]; /* pad: before the first element; reads after the last one give zeros */
} mica__conv_dims;

typedef struct mica__conv {
  mica__conv_pass pass;
  mica__conv_dims dims;
  const mica_tensor *x, *w, *y; /* the pass writes one of them and reads the other two */
  mica_dtype dtype;             /* of x, w and y; sums are epilogue.acc */
  /* The result as matrices: `images` matrices of rows x columns, with a row for each channel of all groups (group g:
   * from row g k or g c on) and a column for each pixel. A filter gradient is one matrix, with a row for each filter
   * and a column for each (c, r). An element is a sum of at most `depth` products. */
  int64_t images, rows, columns, depth;
  mica__epilogue epilogue; /* writes these matrices; c is the addend, bias has one value per channel */
  mica_queue *prologue;    /* takes launches that depend only on w, if w is constant and the graph has such a queue;
                            * else NULL */
  bool lends;              /* other launches may use values derived from x (forward) or y (else); see
                            * mica__exec.lends */
  /* Bits of mica__conv_last: the tensors whose channels are last in memory, padded so that each pixel takes a multiple
   * of 16 bytes (ops/conv/gpu/channels_last.h). Each such tensor is given as a view in the shape with channels first.
   * Only the implementations of mica__conv_last_impls take a problem with such bits. */
  unsigned last;
  bool allow_tf32;  /* as in mica_conv_config, for f32 */
  bool nontemporal; /* the result is large: use stores that bypass the caches */
} mica__conv;

typedef enum mica__conv_last { MICA__CONV_X_LAST = 1, MICA__CONV_Y_LAST = 2 } mica__conv_last;
/* True if the result, and so the addend, have their channels last; false for a filter gradient. In the epilogue C and D
 * then have a row for each pixel and a column for each channel, without gaps. This is right if the channels of a pixel
 * take a multiple of 16 bytes; only conv_channels_first takes other problems. */
bool mica__conv_is_result_last(const mica__conv *conv);

/* Checks the arguments as mica/conv.h requires, and describes the problem in *conv. Uses only the types, shapes and
 * memory of the tensors, not their elements. */
mica_status mica__conv_problem(mica_queue *queue, mica__conv_pass pass, const mica_conv_config *config,
                               const mica_tensor *x, const mica_tensor *w, const mica_tensor *y,
                               const mica_conv_epilogue *epilogue, mica__conv *conv);
/* Does what mica__conv_problem does, for tensors of which some have their channels last. last: as in mica__conv. */
mica_status mica__conv_problem_last(mica_queue *queue, mica__conv_pass pass, unsigned last,
                                    const mica_conv_config *config, const mica_tensor *x, const mica_tensor *w,
                                    const mica_tensor *y, const mica_conv_epilogue *epilogue, mica__conv *conv);
/* Sets *dims from the shapes and the config (NULL: defaults). MICA_E_INVALID: the config is wrong; MICA_E_SHAPE: the
 * shapes do not fit, an extent is too large, or y, if not NULL, differs from what x, w and the config give. */
mica_status mica__conv_dims_of(const mica_conv_config *config, mica_shape x, mica_shape w, const mica_shape *y,
                               mica__conv_dims *dims);
/* Moves axes that have extent 1 in x, w and y, and no padding, to the front, because kernels run along the last
 * axis. The order in memory stays the same. */
void mica__conv_lead_ones(mica__conv_dims *dims);
/* The output extent; 0 if the filter does not fit once. There are `pad` zeros before the first element and pad + more
 * after the last one. */
int64_t mica__conv_extent(int64_t in, int64_t filter, int64_t stride, int64_t pad, int64_t more, int64_t dilation);

/* Removes the taps at both ends that read only padding: *taps becomes the number of taps that are left. In a plane of
 * one pixel with padding 1, for example, one of three taps is left. For output o, tap t reads the pixel o stride +
 * first + t delta. Returns the number of taps removed at the beginning. */
int64_t mica__conv_drop_idle(int64_t in, int64_t out, int64_t stride, int64_t first, int64_t delta, int64_t *taps);

/* The product of three numbers. */
int64_t mica__product3(const int64_t extent[3]);
/* Counts 2 operations for each product of the formula, even if it reads padding. Benchmarks call this "flops counted as
 * direct convolution". */
double mica__conv_flops(const mica__conv_dims *dims);

/* The queue for launches that depend only on w, and for their workspaces: prologue, or else the pass's own queue. */
mica_queue *mica__conv_packer(const mica__conv *conv, mica_queue *queue);

/* Runs a pass for a node whose inputs 0 and 1 are a and b:
 *
 *   forward           a = x,  b = w
 *   backward data     a = dy, b = w
 *   backward filter   a = x,  b = dy
 *
 * last: as in mica__conv. */
mica_status mica__conv_run(const mica__exec *exec, mica__conv_pass pass, unsigned last, const mica_conv_config *config,
                           const mica_tensor *a, const mica_tensor *b, const mica_conv_epilogue *epilogue,
                           mica_tensor *result);

/* The key under which tuning results are stored. */
void mica__conv_key(const mica__conv *conv, char key[MICA__TUNING_TEXT]);
/* Writes a key that consists of the problem's name and all sizes of the convolution. */
void mica__conv_dims_key(const mica__conv_dims *dims, const char *problem, char key[MICA__TUNING_TEXT]);
/* Writes "conv " and the problem in the syntax of mica_tuner_create. False if this cannot express it, because f32
 * may be rounded to tf32, or if the text is too long. */
bool mica__conv_tuner_problem(const mica__conv *conv, char problem[MICA__TUNING_TEXT]);

/* In tune.c. */
extern const struct mica__tunable mica__conv_tunable;

/* The first parameters of all conv kernels that end in an epilogue (MICA__CONV_PARAMS), and the values of these
 * parameters in shipped variants (MICA__CONV_VALUES). x, w and y have type D_T. */
#define MICA__CONV_TYPES MICA_F32, MICA_F16, MICA_BF16
#define MICA__CONV_PARAMS(...)                                                                                         \
  MICA__DTYPE("D_T", "type of x, w and y", __VA_ARGS__), MICA__DTYPE("ACC_T", "type of sums", MICA_F32, MICA_F64),     \
      MICA__DTYPE("BIAS_T", "type of bias", MICA__FLOATS), MICA__CASE("BIAS", "2 a value a channel", 2)
#define MICA__CONV_VALUES MICA_F32, MICA_F32, MICA_F32, 2

/* Ends a launch that began with mica__epilogue_begin(queue, desc, values, &conv->epilogue, ..) and the kernel's own
 * arguments: packs the epilogue, notes the cost and submits. */
mica_status mica__conv_end(mica_queue *queue, mica__launch *launch, const mica__conv *conv);
/* Notes the cost of a launch that does this share of the pass's work. */
void mica__conv_cost(mica__launch *launch, const mica__conv *conv, double share);
/* Packs CONV_PARAMS (cl/conv/problem.clh). */
void mica__conv_push_dims(mica__launch *launch, const mica__conv_dims *dims);

/* The implementations of each pass: those for special cases come first, the reference last. Each list ends in NULL. */
extern const mica__impl *const *const mica__conv_impls[MICA__CONV_PASSES];
/* The implementations for operands with channels last. The last one copies the operands to channels first and
 * chooses from mica__conv_impls. */
extern const mica__impl *const *const mica__conv_last_impls[MICA__CONV_PASSES];
extern const mica__impl mica__conv_channels_first;
/* The kernels of all implementations; ends in NULL. */
extern const mica__kernel_desc *const mica__conv_kernels[];

/* The implementations and their kernels. */
#define FORWARD(name) extern const mica__impl mica__##name;
#define BACKWARD_DATA FORWARD
#define BACKWARD_FILTER FORWARD
#define KERNEL(name) extern const mica__kernel_desc mica__##name##_kernel;
#include "ops/conv/conv.def"

/* Two of the kernels, with the speeds of their tiles (ops/select/tile.h). */
extern const struct mica__tile_kernel mica__conv_gpu_implicit_gemm_tiles, mica__conv_gpu_wgrad_implicit_gemm_tiles;

/* Computes a pass in double on the host. a and b are the operands in the order x, w, y, without the result. */
void mica__conv_reference(const mica__conv_dims *dims, mica__conv_pass pass, const double *a, const double *b,
                          double *result);
/* Element `at` of the result, in memory order, from operands of dtype. *magnitude: the sum of the absolute values of
 * its terms. */
double mica__conv_reference_at(const mica__conv_dims *dims, mica__conv_pass pass, mica_dtype dtype, const void *a,
                               const void *b, int64_t at, double *magnitude);

/* True if mica__conv_gpu_wgrad_mma reads x and y in place, with channels first. Filters must then have one element,
 * stride 1 and no padding; the size of an image and the addresses of x and y must be multiples of 16 bytes. */
bool mica__conv_wgrad_is_plain(const mica__conv *conv);

/* For mica__impl.unable of implementations with tiles of bf16 (common/cpu/tiles.clh): NULL for bf16, one group and
 * no depth, else the reason. */
const char *mica__conv_tiles_unable(const void *problem);

/* In check.c. */
struct mica__check;
mica_status mica__conv_check(struct mica__check *check);
/* The part of the check for one implementation of one pass. */
mica_status mica__conv_check_impl(struct mica__check *check, const mica__impl *impl, mica__conv_pass pass);
/* For the tests: checks a variant, even one that does not fit the device, in all settings whose type it takes, on
 * the grid of check->level. once: only in the first setting of each type. */
MICA_CHECKED mica_status mica__conv_check_variant(struct mica__check *check, const mica__impl *impl,
                                                  const mica__variant *variant, mica__conv_pass pass, bool once);

#endif
