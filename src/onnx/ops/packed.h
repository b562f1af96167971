/* onnx/ops/packed.h: weights of 2, 4 or 8 bits, packed into bytes along their last axis, low bits first, with a scale
 * and a zero point per block of elements of that axis. */
#ifndef MICA_ONNX_OPS_PACKED_H
#define MICA_ONNX_OPS_PACKED_H

#include "onnx/lower.h"

typedef struct mica__packed {
  mica_value bytes; /* (.., bytes of a row) u8 */
  mica_value scale; /* (.., blocks), floating */
  mica_value zero;  /* (.., bytes of the blocks' zero points) u8; or (.., blocks), floating; null: 2^(bits - 1) */
  int64_t bits, columns, block; /* columns: elements of a row; block: elements per scale */
} mica__packed;

/* True for 2, 4 and 8 bits. */
bool mica__packed_has(int64_t bits);
/* The first `count` elements of the last axis, u8, one per byte. */
mica_value mica__packed_elements(mica_value bytes, int64_t bits, int64_t count);
/* (.., columns) of the scale's dtype: (element - zero) scale. Errors go to the graph. */
mica_value mica__packed_dequantize(const mica__packed *w);

#endif
