/* onnx/ops/packed.h: weights of 2, 4 or 8 bits, packed into bytes along their last axis with the low bits first. Each
 * block of elements along that axis has a scale and a zero point. */
#ifndef MICA_ONNX_OPS_PACKED_H
#define MICA_ONNX_OPS_PACKED_H

#include "onnx/lower.h"

typedef struct mica__packed {
  mica_value bytes; /* (.., bytes of a row) u8 */
  mica_value scale; /* (.., blocks), floating */
  /* One zero point per block: u8, packed like the elements; or (.., blocks), floating; null: all are 2^(bits - 1). */
  mica_value zero;
  int64_t bits, columns, block; /* columns: elements of a row; block: elements per scale */
} mica__packed;

/* True for 2, 4 and 8 bits. */
bool mica__packed_has(int64_t bits);
/* Unpacks the first `count` elements of the last axis to u8, one per byte. */
mica_value mica__packed_elements(mica_value bytes, int64_t bits, int64_t count);
/* Returns (element - zero) * scale, (.., columns), of the scale's dtype. Returns null if the bytes or scales are null,
 * or on failure, which is recorded in the graph. */
mica_value mica__packed_dequantize(const mica__packed *w);

#endif
