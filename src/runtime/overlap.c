/* Decides which tensors share memory. A tensor is a set of equal blocks of adjacent bytes. Nested levels of repetition,
 * from the longest step to the shortest, say where the blocks begin. */
#include "runtime/objects.h"
#include "runtime/tensor.h"

/* Repeats the inner levels `count` times, `step` bytes apart. */
typedef struct level {
  int64_t count, step;
} level;

typedef struct blocks {
  level levels[MICA_MAX_RANK];
  int32_t depth;
  int64_t bytes; /* of a block */
} blocks;

static blocks blocks_of(const mica_tensor *tensor) {
  const int64_t size = (int64_t)mica_dtype_size(tensor->dtype);
  blocks b = {.bytes = size};
  if (tensor->contiguous) {
    b.bytes = tensor->count * size;
    return b;
  }
  for (int32_t i = 0; i < tensor->shape.rank; i++) {
    level added = {tensor->shape.dim[i], tensor->strides[i] * size};
    int32_t at = b.depth;
    if (added.count == 1 || added.step == 0) continue;
    for (; at > 0 && b.levels[at - 1].step < added.step; at--) b.levels[at] = b.levels[at - 1];
    b.levels[at] = added;
    b.depth++;
  }
  while (b.depth > 0 && b.levels[b.depth - 1].step == b.bytes) b.bytes *= b.levels[--b.depth].count;
  return b;
}

/* Bytes from the first to the last byte of the levels from `from` on. */
static int64_t span(const blocks *b, int32_t from) {
  int64_t bytes = b->bytes;
  for (int32_t i = from; i < b->depth; i++) bytes += (b->levels[i].count - 1) * b->levels[i].step;
  return bytes;
}

/* True if the blocks that levels i and deeper of a give overlap the blocks of levels j and deeper of b, which begin
 * `ahead` bytes later.
 *
 * Takes the longest step of these levels. With it, a and b are repetitions of what the levels below give. If one
 * repetition is longer than the step, this assumes that they overlap. If not, a repetition of a can overlap repetitions
 * of b at only two distances, and these are tested. */
static bool meet(const blocks *a, int32_t i, const blocks *b, int32_t j, int64_t ahead) {
  if (ahead >= span(a, i) || -ahead >= span(b, j)) return false;
  const int64_t a_step = i < a->depth ? a->levels[i].step : 0, b_step = j < b->depth ? b->levels[j].step : 0;
  const int64_t step = a_step > b_step ? a_step : b_step;
  if (step == 0) return true;
  const int64_t a_count = a_step == step ? a->levels[i++].count : 1,
                b_count = b_step == step ? b->levels[j++].count : 1;
  if (span(a, i) > step || span(b, j) > step) return true;
  const int64_t rest = (ahead % step + step) % step, steps = (rest - ahead) / step; /* ahead + steps * step is rest */
  for (int64_t by = steps - 1; by <= steps; by++)
    if (by > -a_count && by < b_count && meet(a, i, b, j, ahead + by * step)) return true;
  return false;
}

bool mica__tensor_overlaps(const mica_tensor *a, const mica_tensor *b) {
  if (a->buffer != b->buffer || a->count == 0 || b->count == 0) return false;
  const blocks of_a = blocks_of(a), of_b = blocks_of(b);
  return meet(&of_a, 0, &of_b, 0,
              b->first * (int64_t)mica_dtype_size(b->dtype) - a->first * (int64_t)mica_dtype_size(a->dtype));
}

bool mica__tensor_is_same(const mica_tensor *a, const mica_tensor *b) {
  if (!mica__tensor_same_memory(a, b) || !mica_shape_equal(a->shape, b->shape)) return false;
  for (int32_t i = 0; i < a->shape.rank; i++)
    if (a->shape.dim[i] != 1 && a->strides[i] != b->strides[i]) return false;
  return true;
}
