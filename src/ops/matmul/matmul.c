/* matmul: (..., M, K) times (..., K, N); leading axes broadcast. The builder also takes vectors and integers. */
#include "ops/common/build.h"
#include "ops/layout/views.h"
#include "ops/matmul/gemm.h"
#include "ops/matmul/linear.h"

#include <mica/ops.h>

/* Returns the position of the first element of the operand's matrix for a leading index of the result. */
static int64_t matrix_at(mica_shape shape, mica_shape out, const int64_t *index) {
  int64_t stride[MICA_MAX_RANK], at = 0;
  mica__row_major(shape, stride);
  for (int32_t i = 0; i < shape.rank - 2; i++)
    if (shape.dim[i] != 1) at += stride[i] * index[out.rank - shape.rank + i];
  return at;
}

static mica_status evaluate_matmul(const mica__eval *eval) {
  mica_shape a = eval->types[0].shape, b = eval->types[1].shape, out = eval->type->shape, lead = mica__matmul_lead(out);
  int64_t m = out.dim[out.rank - 2], n = out.dim[out.rank - 1], k = a.dim[a.rank - 1], count = 0;
  int64_t index[MICA_MAX_RANK] = {0};
  MICA_TRY(mica_shape_count(lead, &count));
  double *d = eval->output;
  for (int64_t i = 0; i < count; i++, d += m * n, mica__next_index(lead, index)) {
    const double *pa = eval->inputs[0] + matrix_at(a, out, index), *pb = eval->inputs[1] + matrix_at(b, out, index);
    for (int64_t row = 0; row < m; row++)
      for (int64_t column = 0; column < n; column++) {
        double sum = 0;
        for (int64_t l = 0; l < k; l++) sum += pa[row * k + l] * pb[l * n + column];
        d[row * n + column] = sum;
      }
  }
  return MICA_OK;
}

/* The leading dimensions of a product, merged as far as the strides of all three tensors allow. */
typedef struct batches {
  int32_t rank;
  int64_t extent[MICA_MAX_RANK], stride[3][MICA_MAX_RANK]; /* of a, b and the result; 0 where broadcast */
} batches;

/* Returns the stride of a tensor along leading dimension i of the result; 0 where it broadcasts. */
static int64_t lead_stride(const mica_tensor *tensor, mica_shape out, int32_t i) {
  mica_shape shape = mica_tensor_shape(tensor);
  int32_t at = i - (out.rank - shape.rank);
  return at < 0 || shape.dim[at] == 1 ? 0 : mica_tensor_strides(tensor)[at];
}

static batches batches_of(const mica_tensor *const tensors[3]) {
  mica_shape out = mica_tensor_shape(tensors[2]);
  batches found = {0};
  for (int32_t i = 0; i < out.rank - 2; i++) {
    if (out.dim[i] == 1) continue;
    int32_t last = found.rank - 1;
    bool one_walk = last >= 0;
    for (int32_t t = 0; t < 3; t++)
      one_walk = one_walk && found.stride[t][last] == lead_stride(tensors[t], out, i) * out.dim[i];
    if (!one_walk) found.extent[last = found.rank++] = 1;
    found.extent[last] *= out.dim[i];
    for (int32_t t = 0; t < 3; t++) found.stride[t][last] = lead_stride(tensors[t], out, i);
  }
  return found;
}

/* Launches one gemm: the matrices from `first` on, along the last batch dimension. */
static mica_status launch_batch(const mica__exec *exec, const mica_tensor *const tensors[3], const batches *all,
                                const int64_t first[3]) {
  mica_tensor *views[3] = {NULL};
  mica_status status = MICA_OK;
  for (int32_t t = 0; status == MICA_OK && t < 3; t++) {
    mica_shape shape = mica_tensor_shape(tensors[t]);
    const int64_t *stride = mica_tensor_strides(tensors[t]) + shape.rank - 2;
    int32_t last = all->rank - 1;
    int64_t strides[3] = {last >= 0 ? all->stride[t][last] : 0, stride[0], stride[1]};
    shape = MICA_SHAPE(last >= 0 ? all->extent[last] : 1, shape.dim[shape.rank - 2], shape.dim[shape.rank - 1]);
    status = mica_tensor_view(tensors[t], shape, strides, first[t], &views[t]);
  }
  if (status == MICA_OK) status = mica__gemm_run(exec, NULL, views[0], views[1], NULL, NULL, views[2]);
  for (int32_t t = 0; t < 3; t++) mica_tensor_destroy(views[t]);
  return status;
}

static mica_status launch_matmul(const mica__exec *exec) {
  const mica_tensor *const tensors[3] = {exec->inputs[0], exec->inputs[1], exec->output};
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  batches all = batches_of(tensors);
  mica_shape loops = {.rank = all.rank > 0 ? all.rank - 1 : 0};
  int64_t index[MICA_MAX_RANK] = {0};
  for (int32_t i = 0; i < loops.rank; i++) loops.dim[i] = all.extent[i];
  do {
    int64_t first[3] = {0};
    for (int32_t t = 0; t < 3; t++)
      for (int32_t i = 0; i < loops.rank; i++) first[t] += index[i] * all.stride[t][i];
    MICA_TRY(launch_batch(exec, tensors, &all, first));
  } while (mica__next_index(loops, index));
  return MICA_OK;
}

/* True if x is another value with only its last two axes swapped. */
static bool is_swapped(mica_value x) {
  const int32_t rank = mica_value_shape(x).rank;
  if (!x.graph || rank < 2) return false;
  const mica__node *node = mica__graph_node(x.graph, x.id);
  bool swapped = node->op == &mica__op_transpose;
  const mica__transpose_attrs *attrs = node->attrs;
  for (int32_t i = 0; swapped && i < rank; i++)
    swapped = attrs->axes[i] == (i == rank - 1 ? rank - 2 : i == rank - 2 ? rank - 1 : i);
  return swapped;
}

/* Returns x with its last two axes swapped; a null value, from a builder that failed, is passed through. */
static mica_value swap_last(mica_value x) {
  if (!x.graph) return x;
  if (is_swapped(x)) return (mica_value){x.graph, mica__graph_node(x.graph, x.id)->inputs[0]};
  mica_axes axes = {.count = mica_value_shape(x).rank};
  for (int32_t i = 0; i < axes.count; i++) axes.axis[i] = i;
  axes.axis[axes.count - 1] = axes.count - 2;
  axes.axis[axes.count - 2] = axes.count - 1;
  return mica_transpose(x, axes);
}

/* Computes a b, the gradient of `like`, in the memory order of `like`: in another order, an update of weights would
 * have to transpose their gradient. */
static mica_value product_like(mica_value like, mica_value a, mica_value b) {
  if (!is_swapped(like)) return mica_matmul(a, b);
  return swap_last(mica_matmul(swap_last(b), swap_last(a)));
}

static mica_status grad_matmul(const mica__grad *grad) {
  mica_value a = grad->inputs[0], b = grad->inputs[1];
  grad->dinputs[0] = mica__sum_to(product_like(a, grad->dy, swap_last(b)), a);
  grad->dinputs[1] = mica__sum_to(product_like(b, swap_last(a), grad->dy), b);
  return MICA_OK;
}

static double flops_matmul(const mica__node *node, const mica__type *inputs) {
  double flops = 2 * (double)inputs[0].shape.dim[inputs[0].shape.rank - 1];
  for (int32_t i = 0; i < node->type.shape.rank; i++) flops *= (double)node->type.shape.dim[i];
  return flops;
}

/* True: each element of a product is the sum of products of a row and a column. */
static bool matmul_is_dot(const mica__node *node, const mica__type *inputs) {
  (void)node;
  return inputs[0].shape.rank >= 1 && inputs[1].shape.rank >= 1;
}

const mica__op mica__op_matmul = {.name = "matmul",
                                  .kind = MICA__OP_LAUNCH,
                                  .narrows = MICA__NARROWS_FIRST,
                                  .min_inputs = 2,
                                  .max_inputs = 2,
                                  .dtypes = "f0>0",
                                  .infer = mica__matmul_infer,
                                  .grad = grad_matmul,
                                  .evaluate = evaluate_matmul,
                                  .launch = launch_matmul,
                                  .fuse_epilogue = mica__linear_fuse_epilogue,
                                  .flops = flops_matmul,
                                  .is_dot = matmul_is_dot,
                                  .takes_strides = 3,
                                  .takes_halves = 3};

/* Computes many small matrices times one as one large product: (..., M, K) (K, N) as (rows, K) (K, N), where rows is
 * the product of M and all extents before it. */
static mica_value matmul_flat(const mica__op *op, mica_value a, mica_value b) {
  mica_shape shape = mica_value_shape(a);
  int32_t last = shape.rank - 1;
  mica_value flat = mica_reshape(a, MICA_SHAPE(MICA_DYNAMIC, shape.dim[last]));
  mica_value product = mica__graph_add(op, (mica_value[]){flat, b}, 2, NULL);
  shape.dim[last] = mica_value_shape(b).dim[1];
  return mica_reshape(product, shape);
}

static bool can_be_flat(mica_shape a, mica_shape b) {
  int32_t open = 0;
  for (int32_t i = 0; i < a.rank; i++) open += a.dim[i] == MICA_DYNAMIC;
  if (a.rank <= 2 || b.rank != 2 || open > 1 || a.dim[a.rank - 1] <= 0) return false;
  /* The open extent cannot be inferred if there are no elements. */
  for (int32_t i = 0; i < a.rank; i++)
    if (a.dim[i] == 0) return false;
  return b.dim[1] > 0;
}

mica_value mica_matmul(mica_value a, mica_value b) {
  int32_t rank_a = mica_value_shape(a).rank, rank_b = mica_value_shape(b).rank;
  mica_value left = rank_a == 1 ? mica__insert_axis(a, 0) : a, right = rank_b == 1 ? mica__insert_axis(b, 1) : b;
  mica_dtype_kind kind = mica_dtype_kind_of(mica_value_dtype(a));
  bool whole = kind == MICA_DTYPE_KIND_SIGNED || kind == MICA_DTYPE_KIND_UNSIGNED;
  const mica__op *op = whole ? &mica__op_matmul_integer : &mica__op_matmul;
  mica_value product = can_be_flat(mica_value_shape(left), mica_value_shape(right))
                           ? matmul_flat(op, left, right)
                           : mica__graph_add(op, (mica_value[]){left, right}, 2, NULL);
  int32_t rank = mica_value_shape(product).rank;
  if (rank_b == 1) product = mica__drop_axis(product, rank - 1);
  if (rank_a == 1) product = mica__drop_axis(product, rank - 1 - (rank_b != 1));
  return product;
}
