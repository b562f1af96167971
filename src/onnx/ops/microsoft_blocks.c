/* Operators of com.microsoft on weights that are quantised to 2, 4 or 8 bits, with one scale per block of elements. */
#include "ir/graph.h"
#include "onnx/ops/microsoft.h"
#include "onnx/ops/packed.h"

#include <mica/quant.h>

bool mica__packed_has(int64_t bits) { return bits == 2 || bits == 4 || bits == 8; }

mica_value mica__packed_elements(mica_value bytes, int64_t bits, int64_t count) {
  static const uint8_t shifts[] = {0, 2, 4, 6, 0, 4};
  if (!bytes.graph) return bytes;
  if (mica_value_dtype(bytes) != MICA_U8)
    return mica__graph_fail(bytes.graph, MICA_E_DTYPE, "packed weights and zero points must be of type uint8, not %s",
                            mica_dtype_name(mica_value_dtype(bytes)));
  mica_shape s = mica_value_shape(bytes);
  const int32_t last = s.rank - 1, per = (int32_t)(8 / bits);
  if (last < 0 || last >= MICA_MAX_RANK - 1)
    return mica__graph_fail(bytes.graph, MICA_E_SHAPE,
                            "packed weights or zero points have rank %d, but must have rank 1 to %d", (int)s.rank,
                            MICA_MAX_RANK - 1);
  if (s.dim[last] > INT64_MAX / per || count > s.dim[last] * per)
    return mica__graph_fail(
        bytes.graph, MICA_E_SHAPE,
        "packed weights or zero points have %lld bytes per row (-1: not known), but a row must hold %lld elements of "
        "%lld bits",
        (long long)s.dim[last], (long long)count, (long long)bits);
  if (bits < 8) {
    mica_value shift = mica_constant(bytes.graph, MICA_U8, MICA_SHAPE(per), shifts + (bits == 2 ? 0 : 4));
    mica_value each = mica_shift_right(mica_unsqueeze(bytes, MICA_AXES(last + 1)), shift);
    each = mica_bit_and(each, mica_scalar(bytes.graph, MICA_U8, (double)((1 << bits) - 1)));
    s.dim[last] *= per;
    bytes = mica_reshape(each, s);
  }
  return count == s.dim[last] ? bytes : mica_slice(bytes, last, 0, count, 1);
}

/* x has one number per block of the last axis. Repeats it for each element of the block, and cuts the last axis to
 * `columns`. */
static mica_value each_element(mica_value x, int64_t block, int64_t columns) {
  if (!x.graph) return x;
  mica_shape s = mica_value_shape(x);
  const int32_t last = s.rank - 1;
  mica_shape wide = s;
  wide.dim[wide.rank++] = block;
  s.dim[last] *= block;
  mica_value all = mica_reshape(mica_expand(mica_unsqueeze(x, MICA_AXES(last + 1)), wide), s);
  return columns == s.dim[last] ? all : mica_slice(all, last, 0, columns, 1);
}

mica_value mica__packed_dequantize(const mica__packed *w) {
  if (!w->bytes.graph || !w->scale.graph) return (mica_value){0};
  mica_shape s = mica_value_shape(w->scale), bytes = mica_value_shape(w->bytes);
  const int32_t last = bytes.rank - 1;
  char is[MICA_SHAPE_TEXT], scales[MICA_SHAPE_TEXT];
  if (mica_value_dtype(w->bytes) != MICA_U8 || bytes.rank < 1 || bytes.rank >= MICA_MAX_RANK || w->columns < 1)
    return mica__graph_fail(
        w->bytes.graph, MICA_E_SHAPE,
        "packed weights are %s %s, but must be u8 and have rank 1 to %d and at least one element per row",
        mica_dtype_name(mica_value_dtype(w->bytes)), mica_shape_format(bytes, is), MICA_MAX_RANK - 1);
  if (s.rank != bytes.rank || w->block < 1 || s.dim[last] != (w->columns - 1) / w->block + 1 ||
      s.dim[last] > INT64_MAX / w->block)
    return mica__graph_fail(
        w->bytes.graph, MICA_E_SHAPE,
        "the scales are %s and the packed weights %s, but both must have the same rank, and rows of %lld elements need "
        "one scale per block of %lld elements",
        mica_shape_format(s, scales), mica_shape_format(bytes, is), (long long)w->columns, (long long)w->block);
  if (w->zero.graph && is_floating(w->zero)) {
    mica_value x = mica_cast(mica__packed_elements(w->bytes, w->bits, w->columns), mica_value_dtype(w->scale));
    x = mica_sub(x, each_element(mica_cast(w->zero, mica_value_dtype(w->scale)), w->block, w->columns));
    return mica_mul(x, each_element(w->scale, w->block, w->columns));
  }
  mica_value zero = w->zero.graph ? mica__packed_elements(w->zero, w->bits, s.dim[last])
                                  : mica_full(w->scale.graph, MICA_U8, s, (double)(1 << (w->bits - 1)));
  const mica_quantize_config config = {.axis = last, .block = w->block, .dtype = MICA_U8, .bits = w->bits == 4 ? 4 : 0};
  mica_value x = w->bits == 2 ? mica__packed_elements(w->bytes, 2, w->columns) : w->bytes;
  x = mica_dequantize(x, w->scale, zero, &config);
  return x.graph && mica_value_shape(x).dim[last] != w->columns ? mica_slice(x, last, 0, w->columns, 1) : x;
}

/* --- products --- */

/* Dequantises a weight whose g_idx gives the block of each column. */
static mica_value by_index(const mica__packed *w, mica_value index) {
  mica_value x = mica_cast(mica__packed_elements(w->bytes, w->bits, w->columns), mica_value_dtype(w->scale));
  mica_value zero = w->zero;
  if (zero.graph && !is_floating(zero)) zero = mica__packed_elements(zero, w->bits, mica_value_shape(w->scale).dim[1]);
  if (zero.graph) zero = mica_gather(mica_cast(zero, mica_value_dtype(w->scale)), index, 1);
  if (!zero.graph) zero = mica__lower_number(x, (double)(1 << (w->bits - 1)));
  return mica_mul(mica_sub(x, zero), mica_gather(w->scale, index, 1));
}

/* Reshapes zero points to one row per row of the matrix. A row has one zero point per block: floating-point numbers, or
 * integers of `bits` bits packed into bytes. */
static mica_value zero_rows(mica_value zero, int64_t rows, int64_t blocks, int64_t bits) {
  if (!zero.graph) return zero;
  return mica_reshape(zero, MICA_SHAPE(rows, is_floating(zero) ? blocks : (blocks * bits + 7) / 8));
}

/* Multiplies x by the transpose of a matrix of N rows and K columns. In the file each row is padded to whole blocks. */
MICA__LOWER(matmul_n_bits) {
  mica_value x = x_of(l, node), index = given(l, node, 4), bias = given(l, node, 5);
  mica__packed w = {.bytes = mica__lower_operand(l, node, 1),
                    .scale = mica__lower_operand(l, node, 2),
                    .bits = mica__onnx_int(node, "bits", 4),
                    .columns = mica__onnx_int(node, "K", 0),
                    .block = mica__onnx_int(node, "block_size", 0)};
  const int64_t n = mica__onnx_int(node, "N", 0);
  int64_t padded = 0;
  if (!x.graph || !w.bytes.graph || !w.scale.graph) return MICA_OK;
  if (w.columns < 1 || n < 1)
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "K is %lld and N is %lld, but both must be at least 1",
                            (long long)w.columns, (long long)n);
  if (!mica__packed_has(w.bits))
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "bits is %lld, but must be 2, 4 or 8", (long long)w.bits);
  if (w.block < 1 || w.block > 1 << 24 || w.block * w.bits % 8)
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED,
                            "block_size is %lld, but must be 1 to 2^24 and, with %lld bits, a multiple of %lld",
                            (long long)w.block, (long long)w.bits, 8 / (long long)w.bits);
  const int64_t blocks = (w.columns - 1) / w.block + 1;
  if (!mica__lower_product(l, node, blocks, w.block, INT64_MAX / 8, &padded)) return MICA_OK;
  w.bytes = mica_reshape(w.bytes, MICA_SHAPE(n, padded * w.bits / 8));
  w.scale = mica_reshape(w.scale, MICA_SHAPE(n, blocks));
  w.zero = zero_rows(given(l, node, 3), n, blocks, w.bits);
  if (!w.bytes.graph || !w.scale.graph) return MICA_OK;
  char text[MICA_SHAPE_TEXT];
  if (index.graph && !mica_shape_equal(mica_value_shape(index), MICA_SHAPE(w.columns)))
    return mica__lower_fail(l, node, MICA_E_SHAPE,
                            "g_idx is %s, but must be (%lld), one index per column of the weight",
                            mica_shape_format(mica_value_shape(index), text), (long long)w.columns);
  mica_value real = index.graph ? by_index(&w, index) : mica__packed_dequantize(&w);
  mica_value y = mica_matmul(x, mica_cast(mica_transpose(real, MICA_AXES(1, 0)), mica_value_dtype(x)));
  return give(l, node, bias.graph ? mica_add(y, bias) : y);
}

/* --- embeddings --- */

enum { ONNX_UINT8 = 2 }; /* TensorProto.data_type */

static mica_value rows_of(mica_value x, mica_value indices, int32_t axis) {
  return x.graph ? mica_gather(x, indices, axis) : x;
}

typedef struct table {
  mica__packed w;
  /* true: a byte holds 8 / bits elements, and the zero point is 2^(bits - 1) if none is given; false: a byte holds
   * one 4-bit element, and the zero point is 0 if none is given */
  bool packed;
  int64_t gather, axis;
} table;

static mica_value dequantized(const table *t) {
  if (t->packed) return mica__packed_dequantize(&t->w);
  const mica_quantize_config config = {.axis = (int32_t)t->axis, .block = t->w.block};
  return mica_dequantize(t->w.bytes, t->w.scale, t->w.zero, &config);
}

static bool take_table(mica__lowering *l, const mica__onnx_node *node, table *t) {
  t->w = (mica__packed){.bytes = x_of(l, node),
                        .scale = mica__lower_operand(l, node, 2),
                        .zero = given(l, node, 3),
                        .bits = mica__onnx_int(node, "bits", 4),
                        .block = mica__onnx_int(node, "block_size", 128)};
  t->gather = mica__onnx_int(node, "gather_axis", 0);
  t->axis = mica__onnx_int(node, "quantize_axis", 1);
  if (!t->w.bytes.graph || !t->w.scale.graph) return false;
  const int32_t type = mica__lower_file_type(l, node, 0), rank = mica_value_shape(t->w.bytes).rank;
  t->packed = type == ONNX_UINT8 || (!type && mica_value_dtype(t->w.bytes) == MICA_U8);
  if (!mica__lower_axis(l, node, rank, &t->gather) || !mica__lower_axis(l, node, rank, &t->axis)) return false;
  if (!mica__packed_has(t->w.bits))
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "bits is %lld, but must be 2, 4 or 8", (long long)t->w.bits);
  else if (t->w.block < 16 || t->w.block > 1 << 24 || (t->w.block & (t->w.block - 1)))
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "block_size is %lld, but must be a power of two from 16 to 2^24",
                     (long long)t->w.block);
  else if (t->packed && (t->gather || t->axis != rank - 1 || rank < 2))
    mica__lower_fail(
        l, node, MICA_E_UNSUPPORTED,
        "data of type uint8 must have at least rank 2, gather_axis 0 and the last axis as quantize_axis, but the rank "
        "is %d, gather_axis %lld and quantize_axis %lld",
        (int)rank, (long long)t->gather, (long long)t->axis);
  else if (mica_dtype_kind_of(mica_value_dtype(t->w.bytes)) == MICA_DTYPE_KIND_FLOAT)
    mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "data must be of type int4, uint4 or uint8, not %s",
                     mica_dtype_name(mica_value_dtype(t->w.bytes)));
  else
    return true;
  return false;
}

/* Gathers rows of a table, and dequantises only these rows. If the rows are gathered along the axis of the blocks, the
 * whole table is dequantised first. */
MICA__LOWER(gather_block_quantized) {
  table t = {0};
  mica_value indices = mica__lower_operand(l, node, 1);
  if (!indices.graph || !take_table(l, node, &t)) return MICA_OK;
  mica_shape s = mica_value_shape(t.w.bytes);
  if (t.packed && !mica__lower_product(l, node, s.dim[s.rank - 1], 8 / t.w.bits, INT64_MAX / 8, &t.w.columns))
    return MICA_OK;
  if (t.gather == t.axis) return give(l, node, rows_of(dequantized(&t), indices, (int32_t)t.gather));
  t.w.bytes = rows_of(t.w.bytes, indices, (int32_t)t.gather);
  t.w.scale = rows_of(t.w.scale, indices, (int32_t)t.gather);
  t.w.zero = rows_of(t.w.zero, indices, (int32_t)t.gather);
  if (t.gather < t.axis) t.axis += mica_value_shape(indices).rank - 1;
  return give(l, node, dequantized(&t));
}
