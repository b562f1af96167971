/* ops/quant/int8.h: the description of a product of 8-bit values (mica__int8), and the kernels that compute it.
 *
 *    int8_matmul (a, b, ...)   y = finish(sum over k of (a[.., i, k] - a zero) (b[.., k, j] - b zero))
 *    int8_conv (x, w, ...)     the same for a convolution, with x's zero point as padding; if there is OTHER, the bytes
 *                              of y and of OTHER are dequantized and added, and the sums quantized again
 *                              (cl/quant/add.cl)
 *
 *  They have no builders: match.c finds them in graphs. cl/quant/product.clh defines `finish`. */
#ifndef MICA_OPS_QUANT_INT8_H
#define MICA_OPS_QUANT_INT8_H

#include "ops/conv/conv.h"
#include "ops/quant/quant.h"
#include "ops/select/launch_check.h"
#include "runtime/launch.h"

#include <math.h>

/* Operands by position; from FIRST_SCALE on they may be absent. FIRST is a or x, SECOND is b or w. Scales are f32: a
 * scalar, or one per row of a (if a has two dimensions), column of b or filter. Zero points are whole numbers: both f32
 * or both i32; the result's is f32. BIAS is f32, one per column of a matrix or per filter. The scales and zero points
 * of OTHER and of the sum are f32 scalars. */
typedef enum mica__int8_operand {
  MICA__INT8_FIRST,
  MICA__INT8_SECOND,
  MICA__INT8_FIRST_SCALE,
  MICA__INT8_FIRST_ZERO,
  MICA__INT8_SECOND_SCALE,
  MICA__INT8_SECOND_ZERO,
  MICA__INT8_BIAS,
  MICA__INT8_Y_SCALE,
  MICA__INT8_Y_ZERO,
  MICA__INT8_OTHER, /* this and the following only for convolutions: bytes in the result's shape */
  MICA__INT8_OTHER_SCALE,
  MICA__INT8_OTHER_ZERO,
  MICA__INT8_SUM_SCALE,
  MICA__INT8_SUM_ZERO,
  MICA__INT8_OPERANDS
} mica__int8_operand;

#define MICA__INT8_ATTRS(X, S)                                                                                         \
  X(S, INT, present, 0, "bit k: operand k is there")                                                                   \
  X(S, DTYPE, to, MICA_I32, "I32: sums; F32: times scales, with bias; I8, U8: quantized again")                        \
  X(S, REAL, low, -INFINITY, "real results are cut to this")                                                           \
  X(S, REAL, high, INFINITY, "and this")                                                                               \
  X(S, DTYPE, sum_to, MICA_U8, "of sums with others, I8 or U8")                                                        \
  X(S, REAL, sum_low, -INFINITY, "they are cut to this")                                                               \
  X(S, REAL, sum_high, INFINITY, "and this")                                                                           \
  X(S, BOOL, transposed, false, "of a matrix: b is (n, k)")                                                            \
  X(S, SPATIAL, stride, 1, "of a convolution, as all that follow")                                                     \
  X(S, SPATIAL, pad, 0, "before the first element, and as many after the last")                                        \
  X(S, SPATIAL, pad_more, 0, "after the last so many more")                                                            \
  X(S, SPATIAL, dilation, 1, "from one element of a filter to the next")                                               \
  X(S, INT, groups, 1, "of channels and filters")
MICA__ATTR_STRUCT(int8, MICA__INT8_ATTRS);
extern const mica__attr_list mica__int8_attr_list;
extern const mica__op mica__op_int8_matmul, mica__op_int8_conv, mica__op_int8_max_pool, mica__op_weights;

/* The index of an operand among the node's inputs; -1: absent. */
int32_t mica__int8_input(const mica__int8_attrs *attrs, mica__int8_operand operand);

/* The problem of a launch: `batches` products of m rows by some number of columns. Rows are the rows of a matrix a or,
 * in a convolution, filters; columns are the columns of a matrix b, or pixels. */
typedef struct mica__int8 {
  const mica__exec *exec;
  const mica__int8_attrs *attrs;
  const mica_tensor *in[MICA__INT8_OPERANDS]; /* NULL where absent */
  bool conv;                                  /* rows are SECOND (filters), columns FIRST (pixels); else the reverse */
  bool transposed;
  int64_t batches, row_batches;                  /* batches of results; batches of rows (a convolution: groups) */
  int64_t m, n, depth;                           /* n: columns of a matrix, 0 for images; depth: values per tap */
  mica__conv_dims dims;                          /* of a convolution */
  mica_status (*launch)(const mica__exec *exec); /* of a convolution, for mica__int8_conv_then_add */
} mica__int8;

/* The form of rows and columns in which a kernel multiplies them. */
typedef struct mica__int8_form {
  mica_dtype rows, columns; /* I8 or U8 */
  int64_t per;              /* values per element: 4, or 2 in pairs */
  int64_t row_width, column_width;
  bool split;  /* rows of i8 are split for vpmaddubsw (cl/quant/cpu/split.cl) */
  int64_t run; /* elements of a row that lie side by side; taps are padded to whole runs; 1 without tiles */
} mica__int8_form;

/* Operands in the form of a kernel (pack.c); the caller destroys them. sums is NULL unless sums were requested. */
typedef struct mica__int8_packed {
  mica_tensor *rows, *columns, *sums;
  int64_t b_batch, tile_step, step_step, plane, wide; /* cl/quant/cpu/product.cl; wide: pixels of a padded row */
} mica__int8_packed;
/* A matrix of bytes: the layout of its values in x, and their layout once they are packed (cl/quant/pack.cl). */
typedef struct mica__int8_matrix {
  const mica_tensor *x;
  mica_dtype to;
  int64_t per, batches, outer, taps, depth, batch_step, outer_step, depth_step, width;
  int64_t steps, run; /* steps: elements per tap (0: its depth); run: adjacent elements in a row (0: 1) */
  bool wide;
} mica__int8_matrix;
/* Packs m into `packed`, and the sums of its rows or columns into `sums`, which may be NULL. exec: the launch that will
 * read the packed values. queue: that launch's queue, or its prologue. */
mica_status mica__int8_pack_matrix(const mica__exec *exec, mica_queue *queue, const mica__int8_matrix *m,
                                   mica_tensor *packed, mica_tensor *sums);
mica_status mica__int8_pack(const mica__int8 *p, const mica__int8_form *form, bool want_sums,
                            mica__int8_packed *packed);
/* Packs only rows, for kernels that pack columns themselves: images with filters of one pixel. */
mica_status mica__int8_pack_rows(const mica__int8 *p, const mica__int8_form *form, bool want_sums,
                                 mica__int8_packed *packed);
/* True if the launch has a prologue and the operand stays the same between runs, so that it is packed once, in the
 * prologue. */
bool mica__int8_is_constant(const mica__int8 *p, mica__int8_operand operand);
/* The queue for launches that read only this operand: the prologue's if it is constant. */
mica_queue *mica__int8_packer(const mica__int8 *p, mica__int8_operand operand);
/* The elements of a tap in a form: its depth, padded to whole runs. */
int64_t mica__int8_steps(const mica__int8 *p, const mica__int8_form *form);
void mica__int8_packed_free(mica__int8_packed *packed);

/* Functions of launch.c, and the parameters that the kernels of 8-bit products share. */
#define MICA__INT8_PARAMS MICA__DTYPE("Y_T", "type of results, u8 for i8 too", MICA_I32, MICA_F32, MICA_U8)
#define MICA__INT8_VALUES MICA_I32
/* WINDOW_FIELDS of a struct (cl/quant/fields.clh) from a const mica__conv_dims *. */
#define MICA__INT8_WINDOW(d)                                                                                           \
  .R = (d)->filter[1], .S = (d)->filter[2], .dh = (d)->dilation[1], .dw = (d)->dilation[2], .sh = (d)->stride[1],      \
  .sw = (d)->stride[2]
/* Begins a launch with packed arguments, which cl/quant/fields.clh lists: operands, FINISH_FIELDS, sizes. */
mica_status mica__int8_begin(const mica__int8 *p, const mica__kernel_desc *desc, int32_t *values, mica__launch *launch);
void mica__int8_push_finish(const mica__int8 *p, const mica__int8_form *form, mica__launch *launch);
/* 1 if each row or column has its own number, 0 if all share one or tensor is NULL. */
int32_t mica__int8_step(const mica_tensor *tensor);
/* True if zero points are I32. */
bool mica__int8_int_zeros(const mica__int8 *p);
/* The mask that converts a byte of the tensor to type `to` by exclusive or: 128, or 0 if the tensor has this type. */
int32_t mica__int8_mask(const mica_tensor *tensor, mica_dtype to);
mica_status mica__int8_end(const mica__int8 *p, mica__launch *launch);
/* True if all columns share one scale and one zero point and have no bias per column. */
bool mica__int8_columns_are_alike(const mica__int8 *p);
/* The height of a CPU's tiles that costs least for m rows. A lower tile costs more per row, since it loads the columns
 * for fewer rows. `tall` is true if the kernel uses vpdpbusd on vectors of 64 bytes, whose registers hold tiles of up
 * to 12 rows. */
int32_t mica__int8_height_of(int64_t m, bool tall);

/* add.c: pushes the remaining operands of a packed launch, those from OTHER on, in this order, and the attributes of
 * the sum. */
void mica__int8_push_sum(const mica__int8 *p, mica__launch *launch);
/* For convolutions whose kernel adds nothing: launches the convolution, then adds the other bytes. */
mica_status mica__int8_conv_then_add(const mica__int8 *p, mica_status (*conv)(const mica__exec *exec));
/* True if the product's own kernel adds the other bytes. */
bool mica__int8_product_adds(const mica__int8 *p);

/* product.c and depthwise.c: the launches. Implementations take a mica__int8; its `exec` is NULL if they are only asked
 * to decline. */
extern const mica__impl *const mica__int8_impls[];
extern const mica__impl mica__int8_filters;  /* filters.c */
extern const mica__impl mica__int8_winograd; /* winograd.c */
mica_status mica__int8_product(const mica__int8 *p);
/* The key under which tuning results are stored. It has all sizes and the types of both operands. */
void mica__int8_key(const mica__int8 *p, char key[MICA__TUNING_TEXT]);
bool mica__int8_is_depthwise(const mica__int8 *p);
mica_status mica__int8_depthwise(const mica__int8 *p);
extern const mica__kernel_desc mica__int8_pack_kernel, mica__int8_image_kernel, mica__int8_cpu_kernel,
    mica__int8_cpu_vnni_kernel, mica__int8_cpu_bytes_kernel, mica__int8_split_kernel, mica__int8_cpu_amx_kernel,
    mica__int8_filters_kernel, mica__int8_winograd_kernel, mica__int8_winograd_image_kernel,
    mica__int8_winograd_filters_kernel, mica__int8_gpu_kernel, mica__int8_gpu_ptx_kernel, mica__int8_mma_kernel,
    mica__int8_depthwise_kernel, mica__int8_depthwise_cpu_kernel, mica__int8_add_kernel;

/* mica__op.match of int8_matmul, int8_conv and int8_max_pool (match.c). */
bool mica__int8_match_matmul(const mica__match *match, int32_t root, int32_t *inputs, int32_t *count, void *attrs);
bool mica__int8_match_conv(const mica__match *match, int32_t root, int32_t *inputs, int32_t *count, void *attrs);
bool mica__int8_match_max_pool(const mica__match *match, int32_t root, int32_t *inputs, int32_t *count, void *attrs);
/* The checks of int8_matmul and int8_conv (check.c). op: the op itself. */
mica_status mica__int8_matmul_check(mica__check *check, const mica__op *op);
mica_status mica__int8_conv_check(mica__check *check, const mica__op *op);

#endif
