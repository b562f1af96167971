/* Parameters whose elements are not contiguous in the file: every second row, swapped axes, MXFP4 in two tensors. */
#include "nn/rearranged.h"

#include <string.h>

enum { MX_BYTES = 16 }; /* bytes of a block's 32 elements */

/* How the elements of a tensor map to a parameter. The parameter consists of matrices of rows x columns units; a unit
 * is one element, or one block of a quantised tensor. Row r of the parameter's matrix m is row first + r * step of the
 * tensor's matrix m, which has `of` rows. */
typedef struct layout {
  const char *data;
  const uint8_t *scales; /* of MXFP4 in two tensors; NULL: a single tensor */
  size_t unit;           /* bytes of a unit in the parameter */
  int64_t elements;      /* of a unit */
  int64_t rows, columns, first, step, of;
  bool transposed; /* the tensor's matrices are (columns, of) */
} layout;

static layout layout_of(const mica__named_tensor *from, mica_shape shape) {
  const mica_block block = from->form.block;
  const bool blocks = block != MICA_BLOCK_NONE, many = shape.rank == 3 || (shape.rank == 2 && from->row.every);
  layout l = {.data = from->form.data,
              .scales = from->scales ? from->scales->data : NULL,
              .unit = blocks ? mica_block_bytes(block) : mica_dtype_size(from->form.dtype),
              .elements = blocks ? mica_block_elements(block) : 1,
              .rows = shape.dim[many],
              .columns = shape.rank > many + 1 ? shape.dim[many + 1] : 1,
              .step = from->row.every ? from->row.every : 1,
              .first = from->row.every ? from->row.phase : from->row.first,
              .transposed = from->row.transposed};
  l.columns /= l.elements;
  l.of = from->row.of ? from->row.of : l.rows * l.step;
  return l;
}

/* Copies block `unit` and its scale, and puts the elements in GGUF's order. Byte b of a block holds the elements b and
 * b + 16 in GGUF, and the elements 2 b and 2 b + 1 in safetensors files. */
static void copy_mxfp4(const layout *l, int64_t unit, uint8_t *out) {
  const uint8_t *in = (const uint8_t *)l->data + (size_t)unit * MX_BYTES;
  out[0] = l->scales[unit];
  for (int b = 0; b < MX_BYTES; b++) {
    const int shift = b % 2 * 4, low = in[b / 2] >> shift & 15, high = in[MX_BYTES / 2 + b / 2] >> shift & 15;
    out[1 + b] = (uint8_t)(low | high << 4);
  }
}

/* Copies `count` units of a row, beginning at `column`. */
static void copy_row(const layout *l, int64_t matrix, int64_t row, int64_t column, int64_t count, char *out) {
  const int64_t at = l->first + row * l->step;
  if (l->transposed) {
    const char *in = l->data + (size_t)((matrix * l->columns + column) * l->of + at) * l->unit;
    for (int64_t c = 0; c < count; c++) memcpy(out + (size_t)c * l->unit, in + (size_t)(c * l->of) * l->unit, l->unit);
    return;
  }
  const int64_t first = (matrix * l->of + at) * l->columns + column;
  if (!l->scales) {
    memcpy(out, l->data + (size_t)first * l->unit, (size_t)count * l->unit);
    return;
  }
  for (int64_t c = 0; c < count; c++) copy_mxfp4(l, first + c, (uint8_t *)out + (size_t)c * l->unit);
}

void mica__rearrange(const mica__named_tensor *from, mica_shape shape, int64_t first, int64_t count, void *out) {
  const layout l = layout_of(from, shape);
  char *to = out;
  int64_t at = first / l.elements, left = count / l.elements;
  while (left > 0) {
    const int64_t row = at / l.columns, column = at % l.columns;
    const int64_t run = l.columns - column < left ? l.columns - column : left;
    copy_row(&l, row / l.rows, row % l.rows, column, run, to);
    to += (size_t)run * l.unit;
    at += run;
    left -= run;
  }
}
