/* Mixtures of experts (Shazeer et al. 2017) of com.microsoft, with floating or packed weights. */
#include "base/element.h"
#include "ir/graph.h"
#include "onnx/lowering.h"
#include "onnx/ops/microsoft.h"
#include "onnx/ops/packed.h"

#include <math.h>
#include <mica/experts.h>

enum { RELU, GELU, SILU, IDENTITY, RELU2, SWIGLU, GEGLU };
enum { APART, INTERLEAVED, CONCATENATED }; /* how the gate and the linear part of SwiGLU are stored */

/* One matrix (fc1, fc2 or fc3) of all experts. */
typedef struct matrix {
  /* (experts, n, columns) floating, or u8 (experts, n, bytes) in the format `block`; null if the matrix is absent or
   * exists only in q. */
  mica_value w;
  mica_value bias;  /* (experts, n); null: none */
  mica__packed q;   /* the packed matrix of the file; q.bytes is null if the file holds floating-point numbers */
  mica_block block; /* the format of w; MICA_BLOCK_NONE if w is floating or null */
} matrix;

typedef struct mixture {
  mica_value x;       /* (rows, 1, columns) f32 */
  mica_routes routes; /* (rows, k) */
  int64_t experts, k, rows;
  int32_t activation;
  int64_t fusion;
  double alpha, beta, limit;
} mixture;

/* --- routes --- */

static bool take_settings(mica__lowering *l, const mica__onnx_node *node, mixture *m) {
  m->activation = mica__lower_choice(l, node, "activation_type", "relu gelu silu identity relu2 swiglu geglu", RELU);
  m->k = mica__onnx_int(node, "k", 1);
  m->fusion = mica__onnx_int(node, "swiglu_fusion", APART);
  m->alpha = mica__onnx_real(node, "activation_alpha", 1);
  m->beta = mica__onnx_real(node, "activation_beta", 0);
  m->limit = mica__onnx_real(node, "swiglu_limit", (double)INFINITY);
  const bool fused = m->fusion == INTERLEAVED || m->fusion == CONCATENATED;
  if ((fused ? m->activation >= SWIGLU : m->fusion == APART && m->activation != GEGLU) && m->limit >= 0) return true;
  if (!(m->limit >= 0))
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "swiglu_limit is %g, but must be 0 or above", m->limit);
  else
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                     "swiglu_fusion is %lld, but must be 1 or 2 for the activation geglu, 0 to 2 for swiglu, and 0 for "
                     "others",
                     (long long)m->fusion);
  return false;
}

/* Chooses the k experts with the largest router logits for each row. Their routing weights come from `weights` (rows,
 * experts). If `weights` is null, they are the softmax of the logits. With normalize_routing_weights, the k weights of
 * a row are divided by their sum. */
static bool take_routes(mica__lowering *l, const mica__onnx_node *node, mixture *m, mica_value weights) {
  mica_value x = x_of(l, node), logits = mica__lower_operand(l, node, 1);
  if (!x.graph || !logits.graph || !take_settings(l, node, m)) return false;
  mica_shape s = mica_value_shape(x), e = mica_value_shape(logits);
  int64_t count = 0;
  if (s.rank < 2 || s.rank > 3 || e.rank != 2 || s.dim[s.rank - 1] < 1 || mica_shape_count(s, &count) != MICA_OK ||
      e.dim[0] != count / s.dim[s.rank - 1] || e.dim[1] < 1) {
    char input[MICA_SHAPE_TEXT], router[MICA_SHAPE_TEXT];
    mica__lower_fail(
        l, node, MICA_E_SHAPE,
        "the input is %s, but must be (rows, width) or (batch, rows, width), and router_probs is %s, but must be (rows "
        "of all batches, experts); all dimensions must be known, and width and experts at least 1",
        mica_shape_format(s, input), mica_shape_format(e, router));
    return false;
  }
  if (m->k < 1 || m->k > e.dim[1]) {
    mica__lower_fail(l, node, MICA_E_SHAPE, "k is %lld, but must be 1 to %lld, the number of experts", (long long)m->k,
                     (long long)e.dim[1]);
    return false;
  }
  m->rows = e.dim[0], m->experts = e.dim[1];
  m->x = mica_reshape(mica_cast(x, MICA_F32), MICA_SHAPE(m->rows, 1, s.dim[s.rank - 1]));
  const mica_route_config config = {
      .k = m->k, .normalise = !weights.graph && mica__onnx_int(node, "normalize_routing_weights", 0)};
  m->routes = mica_route(logits, &config);
  if (!m->routes.ids.graph || !weights.graph) return m->routes.ids.graph;
  m->routes.weights = mica_gather_elements(mica_cast(weights, MICA_F32), m->routes.ids, 1);
  if (mica__onnx_int(node, "normalize_routing_weights", 0))
    m->routes.weights = mica_div(m->routes.weights, mica_sum(m->routes.weights, MICA_AXES(1), true));
  return m->routes.weights.graph;
}

/* --- matrices --- */

static bool check_matrix(mica__lowering *l, const mica__onnx_node *node, const mixture *m, mica_value w,
                         const char *name) {
  if (!w.graph) return false;
  mica_shape s = mica_value_shape(w);
  if (s.rank == 3 && s.dim[0] == m->experts && s.dim[1] > 0 && s.dim[2] > 0) return true;
  char is[MICA_SHAPE_TEXT];
  mica__lower_fail(
      l, node, MICA_E_SHAPE,
      "%s is %s, but must be (%lld, rows, columns), one matrix per expert, with at least one row and column", name,
      mica_shape_format(s, is), (long long)m->experts);
  return false;
}

/* Converts the initialiser `name` to f16. Returns NULL if it is missing or cannot be read, if it does not have `count`
 * elements, or if the conversion would change an element or make it subnormal. After a failed allocation, also records
 * an error. */
static const uint16_t *as_halves(mica__lowering *l, const char *name, int64_t count) {
  const mica__lower_value *found = mica__scope_find(l, name);
  mica__onnx_tensor tensor = {0};
  if (!found || !found->tensor || mica__onnx_tensor_read(l->external, found->tensor, &tensor) != MICA_OK) return NULL;
  uint16_t *halves = tensor.count == count ? mica__lower_room(l, (size_t)count, sizeof *halves) : NULL;
  bool exact = halves != NULL;
  for (int64_t i = 0; exact && i < count; i++) {
    const double d = mica__element_get(tensor.dtype, tensor.data, i);
    mica__element_set(MICA_F16, halves, i, d);
    exact = mica__element_get(MICA_F16, halves, i) == d && (d == 0 || fabs(d) >= 0x1p-14);
  }
  mica__onnx_tensor_free(&tensor);
  return exact ? halves : NULL;
}

/* Writes 32 elements as a block of Q8_0 or Q4_0. In Q4_0, byte j of the elements holds elements j and j + 16. */
static void write_block(mica_block type, uint16_t scale, const unsigned char *from, unsigned char *to) {
  to[0] = (unsigned char)(scale & 255);
  to[1] = (unsigned char)(scale >> 8);
  for (int k = 0; type == MICA_BLOCK_Q8_0 && k < 32; k++) to[2 + k] = from[k] ^ 128;
  for (int k = 0; type == MICA_BLOCK_Q4_0 && k < 8; k++) {
    to[2 + 2 * k] = (unsigned char)((from[k] & 15) | (from[8 + k] & 15) << 4);
    to[3 + 2 * k] = (unsigned char)(from[k] >> 4 | (from[8 + k] & 240));
  }
}

/* Converts the packed weight to blocks without loss; null if that is impossible. A block has 32 elements, an f16 scale
 * and the zero point 8 (Q4_0) or 128 (Q8_0). So the weight must be a constant, the node must have no zero points, f16
 * must hold the scales exactly, the block size must be a multiple of 32, and a row must consist of whole blocks. */
static mica_value as_blocks(mica__lowering *l, const mica__onnx_node *node, const mica__packed *q, int32_t scale_at,
                            mica_block type) {
  const mica_value none = {0};
  const mica_shape s = mica_value_shape(q->bytes);
  const int64_t per = q->columns / 32, rows = s.dim[0] * s.dim[1], blocks = q->columns / q->block;
  const mica__node *w = mica__graph_node(l->graph, q->bytes.id);
  if (q->zero.graph || q->block % 32 || q->columns % q->block || !mica__lower_is_known(l->graph, q->bytes.id) ||
      w->op == &mica__op_full)
    return none;
  const unsigned char *from = w->data;
  const size_t bytes = mica_block_bytes(type), step = type == MICA_BLOCK_Q4_0 ? 16 : 32;
  const uint16_t *scale = as_halves(l, node->inputs[scale_at], rows * blocks);
  unsigned char *to = scale ? mica__lower_room(l, (size_t)(rows * per), bytes) : NULL;
  for (int64_t i = 0; to && i < rows * per; i++)
    write_block(type, scale[i / per * blocks + i % per * 32 / q->block], from + (size_t)i * step,
                to + (size_t)i * bytes);
  return to ? mica_constant(l->graph, MICA_U8, MICA_SHAPE(s.dim[0], s.dim[1], per * (int64_t)bytes), to) : none;
}

static const char *const weight_names[] = {"fc1_experts_weights", "fc2_experts_weights", "fc3_experts_weights"};

/* Reads the packed matrix fc1, fc2 or fc3 (`which` 0, 1 or 2) of `columns` elements per row. Without a block size, a
 * row has one scale. Returns false if an error was recorded, or if the lowering must restart (l->demands). */
static bool take_packed(mica__lowering *l, const mica__onnx_node *node, const mixture *m, int32_t which,
                        int64_t columns, matrix *y) {
  static const char *const own_bits[] = {"fc1_expert_weight_bits", "fc2_expert_weight_bits", "fc3_expert_weight_bits"};
  const int64_t bits = mica__onnx_int(node, own_bits[which], mica__onnx_int(node, "expert_weight_bits", 4));
  const int64_t block = mica__onnx_int(node, "block_size", 0);
  const int32_t at = 2 + 3 * which;
  mica_value bytes = mica__lower_operand(l, node, at), scale = given(l, node, at + 1);
  mica_value zero = given(l, node, 11 + which);
  const char *name = weight_names[which];
  if (!check_matrix(l, node, m, bytes, name)) return false;
  mica_shape s = mica_value_shape(bytes);
  if (mica_value_dtype(bytes) != MICA_U8) {
    mica__lower_fail(l, node, MICA_E_DTYPE, "%s must be of type uint8, not %s", name,
                     mica_dtype_name(mica_value_dtype(bytes)));
    return false;
  }
  if (!scale.graph) {
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "fc%d_scales is missing; packed weights need scales", (int)which + 1);
    return false;
  }
  if (!mica__packed_has(bits)) {
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "the elements of %s have %lld bits, but must have 2, 4 or 8", name,
                     (long long)bits);
    return false;
  }
  if (block < 0 || block > 1 << 24 || block * bits % 8) {
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                     "block_size is %lld, but must be 0 to 2^24 and, with %lld bits, a multiple of %lld",
                     (long long)block, (long long)bits, 8 / (long long)bits);
    return false;
  }
  if (s.dim[2] > INT32_MAX) {
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "%s has %lld bytes per row; the limit is 2^31 - 1", name,
                     (long long)s.dim[2]);
    return false;
  }
  if (s.dim[2] != (columns * bits + 7) / 8) {
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                     "%s has %lld bytes per row, but must have %lld, for %lld elements of %lld bits", name,
                     (long long)s.dim[2], (long long)(columns * bits + 7) / 8, (long long)columns, (long long)bits);
    return false;
  }
  y->q = (mica__packed){.bytes = bytes, .bits = bits, .columns = columns, .block = block ? block : s.dim[2] * 8 / bits};
  const int64_t blocks = (columns - 1) / y->q.block + 1;
  y->q.scale = mica_reshape(scale, MICA_SHAPE(m->experts, s.dim[1], blocks));
  if (zero.graph && block)
    y->q.zero = mica_reshape(zero, MICA_SHAPE(m->experts, s.dim[1], (blocks * bits + 7) / 8));
  else if (zero.graph) /* one zero point per row, packed along the rows */
    y->q.zero = mica_reshape(mica__packed_elements(zero, bits, s.dim[1]), MICA_SHAPE(m->experts, s.dim[1], 1));
  if (!y->q.scale.graph || (zero.graph && !y->q.zero.graph)) return false;
  y->block = bits == 4 ? MICA_BLOCK_Q4_0 : MICA_BLOCK_Q8_0;
  if (bits != 2) y->w = as_blocks(l, node, &y->q, at + 1, y->block);
  if (!y->w.graph) y->block = MICA_BLOCK_NONE;
  return l->status == MICA_OK && !l->demands;
}

/* Computes W[id] x for the chosen experts. Only their matrices are read: they are gathered, then dequantised. */
static mica_value gathered_product(const mixture *m, mica_value x, const matrix *y) {
  mica__packed q = y->q;
  q.bytes = mica_gather(q.bytes, m->routes.ids, 0);
  q.scale = mica_gather(q.scale, m->routes.ids, 0);
  if (q.zero.graph) q.zero = mica_gather(q.zero, m->routes.ids, 0);
  mica_value w = mica_cast(mica__packed_dequantize(&q), MICA_F32);
  return mica_squeeze(mica_matmul(mica_unsqueeze(x, MICA_AXES(2)), mica_transpose(w, MICA_AXES(0, 1, 3, 2))),
                      MICA_AXES(2));
}

/* Multiplies x (rows, 1 or k, columns) by the matrices of each row's experts and adds their bias: (rows, k, n). */
static mica_value product(const mixture *m, mica_value x, const matrix *y) {
  const mica_expert_config config = {.block = y->block, .columns = y->block ? y->q.columns : 0};
  mica_value w = y->w, out;
  if (!w.graph && m->rows * m->k < m->experts) {
    out = gathered_product(m, x, y);
  } else {
    if (!w.graph) w = mica_cast(mica__packed_dequantize(&y->q), MICA_F32);
    out = mica_expert_product(x, w, m->routes.ids, &config);
  }
  return y->bias.graph ? mica_add(out, mica_cast(mica_gather(y->bias, m->routes.ids, 0), MICA_F32)) : out;
}

/* --- activations --- */

static mica_value gated(const mixture *m, mica_value gate, mica_value linear) {
  if (m->activation == GEGLU) return mica_mul(mica_gelu_tanh(gate), linear);
  if (m->limit < (double)INFINITY) {
    gate = mica_minimum(gate, mica__lower_number(gate, m->limit));
    linear = mica_clip(linear, -m->limit, m->limit);
  }
  mica_value open = m->alpha == 1 ? mica_silu(gate) : mica_mul(gate, mica_sigmoid(mica_affine(gate, m->alpha, 0)));
  return mica_mul(open, m->beta == 0 ? linear : mica_affine(linear, 1, m->beta));
}

/* The activation of h (rows, k, n). linear: the product with the third matrix; null if no third matrix exists. */
static mica_value activated(const mixture *m, mica_value h, mica_value linear) {
  if (!h.graph) return h;
  const int64_t n = mica_value_shape(h).dim[2];
  if (m->fusion == INTERLEAVED) return gated(m, mica_slice(h, 2, 0, n, 2), mica_slice(h, 2, 1, n, 2));
  if (m->fusion == CONCATENATED) return gated(m, mica_slice(h, 2, 0, n / 2, 1), mica_slice(h, 2, n / 2, n, 1));
  if (m->activation == SWIGLU) return gated(m, h, linear);
  if (m->activation == RELU) h = mica_relu(h);
  if (m->activation == GELU) h = mica_gelu_tanh(h);
  if (m->activation == SILU) h = mica_silu(h);
  if (m->activation == RELU2) h = mica_relu2(h);
  return linear.graph ? mica_mul(h, linear) : h;
}

/* Returns the number of columns of the second matrix. This is the number of rows of the first matrix, or half of it if
 * the first matrix includes the gate. Returns 0, with an error recorded, if the matrices do not fit the activation. */
static int64_t inner_width(mica__lowering *l, const mica__onnx_node *node, const mixture *m, mica_value first,
                           bool third) {
  const int64_t n = mica_value_shape(first).dim[1];
  const bool fused = m->fusion != APART;
  if (fused ? n % 2 == 0 && !third : m->activation != SWIGLU || third) return fused ? n / 2 : n;
  if (!fused)
    mica__lower_fail(l, node, MICA_E_FORMAT, "swiglu with swiglu_fusion 0 needs the input fc3_experts_weights");
  else if (third)
    mica__lower_fail(l, node, MICA_E_FORMAT, "swiglu_fusion is %lld, so fc3_experts_weights must not be given",
                     (long long)m->fusion);
  else
    mica__lower_fail(l, node, MICA_E_FORMAT,
                     "fc1_experts_weights has %lld rows, but with swiglu_fusion %lld their number must be even",
                     (long long)n, (long long)m->fusion);
  return 0;
}

static mica_status give_mixture(mica__lowering *l, const mica__onnx_node *node, const mixture *m, const matrix all[3],
                                bool third) {
  mica_value h = product(m, m->x, &all[0]);
  h = activated(m, h, third ? product(m, m->x, &all[2]) : (mica_value){0});
  mica_value x = x_of(l, node), y = mica_expert_sum(product(m, h, &all[1]), m->routes.weights);
  if (!x.graph) return MICA_OK;
  return give(l, node, mica_cast(mica_reshape(y, mica_value_shape(x)), mica_value_dtype(x)));
}

MICA__LOWER(mixture_of_experts) {
  mixture m = {0};
  matrix all[3] = {0};
  const bool third = mica__lower_has(l, node, 6);
  if (!take_routes(l, node, &m, (mica_value){0})) return MICA_OK;
  for (int32_t k = 0; k < 2 + third; k++) {
    all[k].w = mica__lower_operand(l, node, 2 + 2 * k);
    all[k].bias = given(l, node, 3 + 2 * k);
    if (!check_matrix(l, node, &m, all[k].w, weight_names[k])) return MICA_OK;
  }
  if (!inner_width(l, node, &m, all[0].w, third)) return MICA_OK;
  return give_mixture(l, node, &m, all, third);
}

/* Rejects weights that are quantised to other types than integers, or prepacked for another program's kernels. */
static bool is_supported(mica__lowering *l, const mica__onnx_node *node) {
  int32_t more = 15;
  if (mica__lower_choice(l, node, "quant_type", "int fp4 nvfp4 fp8 wfp4afp8", 0)) {
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "only quant_type 'int' is supported");
    return false;
  }
  const int64_t prepacked = mica__onnx_int(node, "weights_prepacked", -1);
  if (prepacked > 0) {
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                     "weights_prepacked is %lld, but Mica needs weights that are not prepacked; export the model with "
                     "weights_prepacked = 0",
                     (long long)prepacked);
    return false;
  }
  while (more < node->input_count && !mica__lower_has(l, node, more)) more++;
  if (more >= node->input_count) return l->status == MICA_OK;
  mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                   "input %d (from 0) is a scale for fp4 or fp8, which Mica does not support", (int)more);
  return false;
}

MICA__LOWER(quantized_mixture_of_experts) {
  mixture m = {0};
  matrix all[3] = {0};
  const bool third = mica__lower_has(l, node, 8);
  if (!is_supported(l, node) || !take_routes(l, node, &m, given(l, node, 14))) return MICA_OK;
  const int64_t width = mica_value_shape(m.x).dim[2];
  int64_t inner = width;
  if (!take_packed(l, node, &m, 0, width, &all[0])) return MICA_OK;
  inner = inner_width(l, node, &m, all[0].q.bytes, third);
  if (!inner || !take_packed(l, node, &m, 1, inner, &all[1])) return MICA_OK;
  if (third && !take_packed(l, node, &m, 2, width, &all[2])) return MICA_OK;
  for (int32_t k = 0; k < 2 + third; k++) all[k].bias = given(l, node, 4 + 3 * k);
  return give_mixture(l, node, &m, all, third);
}
