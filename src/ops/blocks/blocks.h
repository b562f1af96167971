/* ops/blocks/blocks.h: weights in blocks (quantized, as GGUF files have them): their layout, their values on the
 * host, and the ops and launches that multiply by them. */
#ifndef MICA_OPS_BLOCKS_BLOCKS_H
#define MICA_OPS_BLOCKS_BLOCKS_H

#include "ir/graph.h"
#include "ops/matmul/linear.h"
#include "ops/select/launch_check.h"

#include <mica/blocks.h>
#include <mica/ops.h>
#include <stdbool.h>

/* The most elements of a block, and the most groups of elements with their own scale. */
#define MICA__BLOCK_MOST 256
#define MICA__BLOCK_GROUPS 16

/* The layout of a block type, as in cl/blocks/fields.clh. */
typedef struct mica__block_layout {
  int32_t elements, bytes;
  int32_t d, minimum, scales, scales_at;
  int32_t low, low_bits, span;
  int32_t high, high_bits, high_span;
  int32_t less;
} mica__block_layout;

/* Returns the layout of a type; NULL for MICA_BLOCK_NONE and for invalid types. */
const mica__block_layout *mica__block_layout_of(mica_block type);

/* Reads the scale and the minimum of each group of a block; groups have equal size. An element is scale * q + minimum,
 * q signed. Returns the number of groups. */
int32_t mica__block_scales(const mica__block_layout *layout, const uint8_t *block, float scale[MICA__BLOCK_GROUPS],
                           float minimum[MICA__BLOCK_GROUPS]);

/* Computes the elements of one block of a valid type. */
void mica__block_values(mica_block type, const uint8_t *block, float *x);

/* The values of MXFP4's 16 codes of 4 bits, doubled, so that they are integers. In return mica__block_scales returns
 * half of the scale of such a block. */
extern const int8_t mica__block_fours[16];

/* Packs `numbers`, the stored number of each element, into a block. The bits of numbers in the block must be 0 before.
 * Scales stay as they are. */
void mica__block_pack(const mica__block_layout *layout, const uint8_t *numbers, uint8_t *block);

/* --- in graphs --- */

/* The names of mica_block. */
extern const char *const mica__block_names[];
/* All block types, as the choices of a kernel's parameter. */
#define MICA__BLOCK_TYPES                                                                                              \
  MICA_BLOCK_Q4_0, MICA_BLOCK_Q4_1, MICA_BLOCK_Q5_0, MICA_BLOCK_Q5_1, MICA_BLOCK_Q8_0, MICA_BLOCK_Q4_K,                \
      MICA_BLOCK_Q5_K, MICA_BLOCK_Q6_K, MICA_BLOCK_MXFP4

#define MICA__UNBLOCK_ATTRS(X, S)                                                                                      \
  X(S, ENUM, block, MICA_BLOCK_NONE, "block type", mica__block_names)                                                  \
  X(S, INT, columns, 0, "elements of a row")                                                                           \
  X(S, DTYPE, to, MICA_F32, "the result's dtype")
MICA__ATTR_STRUCT(unblock, MICA__UNBLOCK_ATTRS);

/* Ops that convert blocks to floats of the dtype `to`:
 *
 * - unblock (blocks): all rows
 * - block_rows (blocks, ids): the rows that ids name, zeros for invalid ids */
extern const mica__op mica__op_unblock, mica__op_block_rows;
/* A product with a matrix in blocks, of few or many rows; made only by fusion (product.c). */
extern const mica__op mica__op_block_product;

/* act(x W) * (x V), as in gated layers; made only by fusion (feed.c). */
extern const mica__op mica__op_block_feed;

/* Computes three steps of a layer of few rows in one launch on CPUs: the product that makes the input of a gated layer
 * (optional), the gated layer, and the product after it. Made only by fusion (chain.c). */
extern const mica__op mica__op_block_chain;

/* A product of few rows, a norm and an addition in one launch on CPUs; made only by fusion (after.c). */
extern const mica__op mica__op_block_after;

/* The kernels for few rows compute products of at most this many rows. A product of matrices converts a weight to a
 * float once for many rows, so it costs less if there are many rows, but more up to this number: 16 rows by 8192 x 4096
 * in Q4_1 take 8 ms of CPU time on a Zen 4, 16 ms as a product of matrices. */
#define MICA__BLOCK_MOST_ROWS 16

/* --- norms --- */

/* A norm of x's rows before a product of few rows: the first attributes of the ops that can include one. Without
 * norm_shift it is an RMS norm, x / sqrt(mean of squares + epsilon) * scale; with it a layer norm. */
#define MICA__BLOCK_NORM_ATTRS(X, S)                                                                                   \
  X(S, INT, norm_scale, 0, "operand of the scale of a norm of x's rows; 0: no norm")                                   \
  X(S, INT, norm_shift, 0, "operand of what a layer norm adds; 0: an RMS norm")                                        \
  X(S, REAL, epsilon, 0, "of the norm")
MICA__ATTR_STRUCT(block_norm, MICA__BLOCK_NORM_ATTRS);

/* Attributes of mica__op_block_product (operands x, w) and mica__op_block_feed (operands x, gate, up). */
#define MICA__BLOCK_PRODUCT_ATTRS(X, S)                                                                                \
  MICA__BLOCK_NORM_ATTRS(X, S)                                                                                         \
  X(S, ENUM, block, MICA_BLOCK_NONE, "block type", mica__block_names)                                                  \
  X(S, BOOL, by_k, false, "blocks are not transposed")                                                                 \
  MICA__LINEAR_ATTRS(X, S)
MICA__ATTR_STRUCT(block_product, MICA__BLOCK_PRODUCT_ATTRS);
#define MICA__BLOCK_FEED_ATTRS(X, S)                                                                                   \
  MICA__BLOCK_NORM_ATTRS(X, S)                                                                                         \
  X(S, ENUM, block, MICA_BLOCK_NONE, "block type", mica__block_names)                                                  \
  X(S, ENUM, activation, MICA_ACTIVATION_NONE, "of the gate; it takes no argument", mica__activation_names)
MICA__ATTR_STRUCT(block_feed, MICA__BLOCK_FEED_ATTRS);

/* Follows node `id` back through reshapes that keep the last dimension. Returns the first node that is not such a
 * reshape. */
int32_t mica__block_before_shapes(const mica_graph *graph, int32_t id);
/* Fuses the norm whose result is x, operand 0 of a node whose attributes begin with MICA__BLOCK_NORM_ATTRS, into that
 * node. Returns false, with nothing changed, if x is not an f32 norm, if the node already has a norm, or if the launch
 * cannot include it.
 *
 * block_feed and block_projections use it as their mica__op.fuse_operands. The fuse_operands of block_product calls it
 * if by_k is false. The fusion of block_chain calls it too. */
bool mica__block_fuse_norm(const mica__match *match, mica_engine *engine, int32_t root, int32_t *inputs, int32_t *count,
                           void *attributes);
/* Returns true if node `id` is an RMS norm of the rows of a value, multiplied by a scale. Then sets *x and *scale to
 * these two values, and *epsilon to the norm's epsilon. */
bool mica__block_rms_norm_of(const mica_graph *graph, int32_t id, int32_t *x, int32_t *scale, double *epsilon);
/* The attributes of a block_product of at most MICA__BLOCK_MOST_ROWS rows that computes, besides the product, at most a
 * bias and an addend: no norm, scale or activation, and by_k is false. NULL for all other nodes. */
const mica__block_product_attrs *mica__block_plain_product(const mica_graph *graph, int32_t id);
/* MICA_E_SHAPE if an operand of the norm is not of shape (k). */
mica_status mica__block_norm_check(const mica__type *inputs, int32_t count, const void *attributes, int64_t k);
/* Sets *x to operand 0 of an evaluation, (m, k), after its norm if the attributes have one. *own is memory that the
 * caller frees, or NULL. */
mica_status mica__block_norm_rows(const mica__eval *eval, int64_t m, int64_t k, double **own, const double **x);
/* Adds an RMS norm or a layer norm to a case of a check. attributes: the case's own, changed in place. */
void mica__block_norm_case(mica__launch_case *c, void *attributes, int64_t k, bool layer);

/* The most products of the same x that share a launch. */
#define MICA__BLOCK_PARTS 3

typedef struct mica__block_part {
  const mica_tensor *w, *y; /* w: (n, bytes of k); y: (m, n) */
  int64_t n;
} mica__block_part;

/* Products of few rows: y (m, n) = x (m, k) times the w of each part. bias and addend are as in ops/matmul/linear.h,
 * NULL for none. If `up`, a second w, is not NULL, the activated sums are multiplied by the products with up. up, bias
 * and addend need a single part. */
typedef struct mica__block_rows {
  mica_block block;
  int64_t m, k;
  const mica_tensor *x;
  mica__block_part part[MICA__BLOCK_PARTS];
  int32_t parts;
  const mica_tensor *up, *bias, *addend;
  mica_activation activation;
  float argument;
} mica__block_rows;
/* Launches the products. The attributes of exec begin with those of a norm (MICA__BLOCK_NORM_ATTRS). */
mica_status mica__block_rows_launch(const mica__exec *exec, const mica__block_rows *rows);
/* Chooses, for m rows of x, how many of them one pass over the weights multiplies, and how many rows of w are read at
 * once. */
void mica__block_choose_rows(const mica_device_info *device, bool cpu, int64_t m, int64_t *of_x, int64_t *of_w);
/* The columns of a work-item on a CPU, a multiple of MICA__BLOCK_STRIP, so that each core gets a few work-items.
 * walks: how many times all columns are computed, each time for other rows. */
int64_t mica__block_span(const mica_device_info *device, int64_t columns, int64_t walks);
/* The columns that cpu/row.cl computes at once. */
#define MICA__BLOCK_STRIP 16
/* True if the launch can include a norm of m rows of k elements. */
bool mica__block_rows_take_norm(mica_engine *engine, int64_t m, int64_t k);
/* The kernels of the launch; ends in NULL. */
extern const mica__kernel_desc *const mica__block_rows_kernels[];

/* The product of row x (k elements) with one row of blocks, given as one double per byte. */
double mica__block_dot(mica_block type, const double *blocks, const double *x, int64_t k);

/* Three products of the same x in one op (projections.c). */
extern const mica__op mica__op_block_projections;
/* If all three values are products of the same rows (m, k) with weights in blocks, followed at most by additions and
 * reshapes, replaces them by results of one mica__op_block_projections. Otherwise leaves all three as they are. */
void mica__block_join(mica_value *const values[MICA__BLOCK_PARTS]);

/* Returns true if node `id` is an f32 matmul with a transposed matrix in blocks. Then sets *x and *blocks to the nodes
 * of the two operands, and *type to the block type. */
bool mica__block_product_of(const mica_graph *graph, int32_t id, int32_t *x, int32_t *blocks, int32_t *type);

/* Checks attributes against the type of a table, which may have any rank above 0. */
mica_status mica__unblock_check(const mica__unblock_attrs *attrs, const mica__type *table);

/* Fills a check's operand with random blocks, whose scales are finite and below 2. */
void mica__block_fill(mica__check *check, mica_block type, double *values, int64_t count);

#endif
