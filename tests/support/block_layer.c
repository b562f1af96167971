#include "support/block_layer.h"

#include <stdlib.h>

static uint32_t state = 5;

void block_layer_begin(void) { state = 5; }

float block_layer_draw(void) { return (float)((state = state * 1664525u + 1013904223u) >> 8) * 0x1p-23F - 1; }

mica_value block_layer_matrix(mica_block type, int64_t rows, int64_t columns) {
  const int64_t bytes = columns / mica_block_elements(type) * (int64_t)mica_block_bytes(type);
  float *values = malloc((size_t)(rows * columns) * sizeof *values);
  uint8_t *blocks = malloc((size_t)(rows * bytes));
  ck_assert(values && blocks);
  for (int64_t i = 0; i < rows * columns; i++) values[i] = block_layer_draw() / 8;
  ck_ok(mica_block_quantize(type, values, rows * columns, NULL, blocks));
  mica_value w = mica_constant(graph, MICA_U8, MICA_SHAPE(rows, bytes), blocks);
  free(values);
  free(blocks);
  return mica_transpose(mica_unblock(w, type, columns, MICA_F32), MICA_AXES(1, 0));
}

mica_value block_layer_vector(int64_t count) {
  float *values = malloc((size_t)count * sizeof *values);
  ck_assert(values);
  for (int64_t i = 0; i < count; i++) values[i] = block_layer_draw();
  const mica_value vector = mica_constant(graph, MICA_F32, MICA_SHAPE(count), values);
  free(values);
  return vector;
}
