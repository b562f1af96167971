/* Norms of rows that launches of products compute themselves (cl/blocks/row.clh): before a product of few rows, an RMS
 * or layer norm in each work-group costs less than its own launch. */
#include "base/error.h"
#include "ir/pattern.h"
#include "ops/blocks/blocks.h"
#include "ops/common/build.h"
#include "ops/elementwise/elementwise.h"
#include "ops/select/registry.h"

#include <math.h>
#include <mica/ops.h>
#include <stdlib.h>

/* --- in graphs --- */

int32_t mica__block_before_shapes(const mica_graph *graph, int32_t id) {
  for (;;) {
    id = mica__pattern_behind(graph, id);
    const mica__node *node = mica__graph_node(graph, id);
    if (node->op != &mica__op_reshape) return id;
    const mica_shape from = mica__graph_node(graph, node->inputs[0])->type.shape, to = node->type.shape;
    if (from.rank < 1 || to.rank < 1 || from.dim[from.rank - 1] != to.dim[to.rank - 1]) return id;
    id = node->inputs[0];
  }
}

/* A norm of x, with its scale and shift. */
typedef struct norm {
  int32_t x, scale, shift; /* shift: 0 for an RMS norm */
  double epsilon;
} norm;

static int64_t last_of(const mica_graph *graph, int32_t id) {
  const mica_shape shape = mica__graph_node(graph, id)->type.shape;
  return shape.rank > 0 ? shape.dim[shape.rank - 1] : 0;
}

/* True if the node is a factor times *operand plus an offset; *affine receives both numbers. */
static bool find_affine(const mica_graph *graph, int32_t id, int32_t *operand, mica__affine_attrs *affine) {
  int32_t in[4];
  if (!mica__pattern_op(graph, id, &mica__op_affine, in)) return false;
  *affine = *(const mica__affine_attrs *)mica__graph_node(graph, mica__pattern_behind(graph, id))->attrs;
  *operand = in[0];
  return true;
}

/* True if the node is the mean of each row of *of. */
static bool find_mean(const mica_graph *graph, int32_t id, int32_t *of) {
  mica__affine_attrs affine;
  int32_t sum = 0, in[4];
  if (!find_affine(graph, id, &sum, &affine) || affine.offset != 0) return false;
  if (!mica__pattern_op(graph, sum, &mica__op_sum, in)) return false;
  const mica__reduce_attrs *reduce = mica__graph_node(graph, mica__pattern_behind(graph, sum))->attrs;
  const int32_t rank = mica__graph_node(graph, in[0])->type.shape.rank;
  *of = in[0];
  return rank > 0 && reduce->keep && reduce->axes == 1u << (rank - 1) &&
         fabs(affine.scale * (double)last_of(graph, in[0]) - 1) < 1e-6;
}

/* True if the node is *x / sqrt(mean of squares + *epsilon). */
static bool find_scaled(const mica_graph *graph, int32_t id, int32_t *x, double *epsilon) {
  mica__affine_attrs affine;
  int32_t in[4], of[4], mean = 0, square = 0, squared[4];
  if (!mica__pattern_op(graph, id, &mica__op_mul, in)) return false;
  for (int k = 0; k < 2; k++) {
    if (!mica__pattern_op(graph, in[1 - k], &mica__op_rsqrt, of)) continue;
    if (!find_affine(graph, of[0], &mean, &affine) || affine.scale != 1) continue;
    if (!find_mean(graph, mean, &square) || !mica__pattern_op(graph, square, &mica__op_square, squared)) continue;
    if (squared[0] != in[k]) continue;
    *x = in[k];
    *epsilon = affine.offset;
    return true;
  }
  return false;
}

/* True if the node is *x minus the mean of its row. */
static bool find_centred(const mica_graph *graph, int32_t id, int32_t *x) {
  int32_t in[4], of = 0;
  if (!mica__pattern_op(graph, id, &mica__op_sub, in) || !find_mean(graph, in[1], &of) || of != in[0]) return false;
  *x = in[0];
  return true;
}

static bool is_vector(const mica_graph *graph, int32_t id, int64_t count) {
  const mica__type *type = &mica__graph_node(graph, id)->type;
  return type->dtype == MICA_F32 && type->shape.rank == 1 && type->shape.dim[0] == count;
}

/* Returns true if node `id` is `op` (an addition or a multiplication) of a value and an f32 vector. The vector has one
 * element per column of the result; the value must not be such a vector itself. Then sets *value and *vector. */
static bool find_vector(const mica_graph *graph, int32_t id, const mica__op *op, int32_t *value, int32_t *vector) {
  int32_t in[4];
  if (!mica__pattern_op(graph, id, op, in)) return false;
  for (int k = 0; k < 2; k++) {
    if (!is_vector(graph, in[1 - k], last_of(graph, id)) || is_vector(graph, in[k], last_of(graph, id))) continue;
    *value = in[k];
    *vector = in[1 - k];
    return true;
  }
  return false;
}

static bool find_norm(const mica_graph *graph, int32_t id, norm *found) {
  int32_t scaled = id, row = 0, x = 0;
  *found = (norm){0};
  const bool shifted = find_vector(graph, id, &mica__op_add, &scaled, &found->shift);
  if (!find_vector(graph, scaled, &mica__op_mul, &row, &found->scale)) return false;
  if (!find_scaled(graph, row, &x, &found->epsilon)) return false;
  found->x = x;
  return shifted ? find_centred(graph, x, &found->x) : !find_centred(graph, x, &row);
}

bool mica__block_rms_norm_of(const mica_graph *graph, int32_t id, int32_t *x, int32_t *scale, double *epsilon) {
  norm found;
  if (!find_norm(graph, id, &found) || found.shift) return false;
  *x = found.x;
  *scale = found.scale;
  *epsilon = found.epsilon;
  return true;
}

static int64_t rows_of(const mica_graph *graph, int32_t id) {
  const mica_shape shape = mica__graph_node(graph, id)->type.shape;
  int64_t rows = 1;
  for (int32_t i = 0; i + 1 < shape.rank; i++) rows *= shape.dim[i];
  return rows;
}

bool mica__block_fuse_norm(const mica__match *match, mica_engine *engine, int32_t root, int32_t *inputs, int32_t *count,
                           void *attributes) {
  mica__block_norm_attrs *attrs = attributes;
  const mica_graph *graph = match->graph;
  norm found;
  (void)root;
  if (attrs->norm_scale || *count + 2 > MICA__MATCH_INPUTS) return false;
  if (!find_norm(graph, mica__block_before_shapes(graph, inputs[0]), &found)) return false;
  const mica__type *x = &mica__graph_node(graph, found.x)->type;
  if (x->dtype != MICA_F32 || !mica__shape_is_known(x->shape) || last_of(graph, found.x) != last_of(graph, inputs[0]) ||
      !mica__block_rows_take_norm(engine, rows_of(graph, found.x), last_of(graph, found.x)))
    return false;
  inputs[0] = found.x;
  attrs->epsilon = found.epsilon;
  attrs->norm_scale = *count;
  inputs[(*count)++] = found.scale;
  if (!found.shift) return true;
  attrs->norm_shift = *count;
  inputs[(*count)++] = found.shift;
  return true;
}

/* --- operands --- */

mica_status mica__block_norm_check(const mica__type *inputs, int32_t count, const void *attributes, int64_t k) {
  const mica__block_norm_attrs *attrs = attributes;
  const int64_t operands[] = {attrs->norm_scale, attrs->norm_shift};
  for (int i = 0; i < 2; i++) {
    if (operands[i] == 0) continue;
    const mica_shape shape = operands[i] > 0 && operands[i] < count ? inputs[operands[i]].shape : MICA_SCALAR;
    if (shape.rank != 1 || shape.dim[0] != k)
      return mica__fail(MICA_E_SHAPE, "the norm's %s must be a vector of %lld elements, but operand %d is not",
                        i ? "shift" : "scale", (long long)k, (int)operands[i]);
  }
  return MICA_OK;
}

/* --- the reference and its checks --- */

mica_status mica__block_norm_rows(const mica__eval *eval, int64_t m, int64_t k, double **own, const double **x) {
  const mica__block_norm_attrs *attrs = eval->attrs;
  *own = NULL;
  *x = eval->inputs[0];
  if (!attrs->norm_scale) return MICA_OK;
  const double *scale = eval->inputs[attrs->norm_scale];
  const double *shift = attrs->norm_shift ? eval->inputs[attrs->norm_shift] : NULL;
  double *rows = malloc(((size_t)(m * k) + 1) * sizeof *rows);
  if (!rows) return mica__fail_nomem("a reference");
  for (int64_t i = 0; i < m; i++) {
    const double *from = eval->inputs[0] + i * k;
    double mean = 0, squares = 0;
    for (int64_t c = 0; shift && c < k; c++) mean += from[c] / (double)k;
    for (int64_t c = 0; c < k; c++) squares += (from[c] - mean) * (from[c] - mean);
    const double factor = 1 / sqrt(squares / (double)k + attrs->epsilon);
    for (int64_t c = 0; c < k; c++) rows[i * k + c] = (from[c] - mean) * factor * scale[c] + (shift ? shift[c] : 0);
  }
  *own = rows;
  *x = rows;
  return MICA_OK;
}

void mica__block_norm_case(mica__launch_case *c, void *attributes, int64_t k, bool layer) {
  mica__block_norm_attrs *attrs = attributes;
  attrs->epsilon = 1e-5;
  for (int i = 0; i <= layer; i++) {
    *(i ? &attrs->norm_shift : &attrs->norm_scale) = c->input_count;
    c->bound[c->input_count] = 1;
    c->inputs[c->input_count++] = (mica__type){MICA_F32, MICA_SHAPE(k)};
  }
}
