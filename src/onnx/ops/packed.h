/* onnx/ops/packed.h: weights of 2, 4 or 8 bits, packed into bytes along their last axis with the low bits first. Each
 * block of elements along that axis has a scale and a zero point. */
#ifndef MICA_ONNX_OPS_PACKED_H
#define MICA_ONNX_OPS_PACKED_H

#include "onnx/lower.h"

typedef struct mica__packed {
  mica_value bytes; /* (.., bytes of a row) u8 */
  mica_value scale; /* (.., blocks), floating */
  mica_value zero;  /* (.., packed zero points of the blocks) u8; or (.., blocks), floating; null: 2^(bits - 1) */
  int64_t bits, columns, block; /* columns: elements of a row; block: elements per scale */
} mica__packed;

/* True for 2, 4 and 8 bits. */
bool mica__packed_has(int64_t bits);
/* Unpacks the first `count` elements of the last axis to u8, one per byte. */
mica_value mica__packed_elements(mica_value bytes, int64_t bits, int64_t count);
/* Computes (element - zero) scale: (.., columns) of the scale's dtype. Errors go to the graph. */
mica_value mica__packed_dequantize(const mica__packed *w);

#endif
