#include "ops/collective/division.h"

#include <string.h>

mica_shape mica__division_whole(const mica__division *d, mica_shape part) {
  if (!mica__is_divided(d)) return part;
  part.dim[d->axis] = 0;
  for (int32_t s = 0; s < d->count; s++) part.dim[d->axis] += d->sections[s];
  return part;
}

mica_status mica__division_check(const mica__division *d, mica_shape part, int32_t ranks) {
  int64_t left = 0;
  bool good = d->count >= 0 && d->count <= MICA__DIVISION_SECTIONS && ranks > 0;
  if (good && !mica__is_divided(d)) return MICA_OK;
  good = good && d->axis >= 0 && d->axis < part.rank;
  if (good) left = part.dim[d->axis];
  for (int32_t s = 0; good && s < d->count; s++) {
    good = d->sections[s] > 0 && d->sections[s] % ranks == 0 && d->sections[s] / ranks <= left;
    left -= good ? d->sections[s] / ranks : 0;
  }
  return good && !left ? MICA_OK
                       : mica__fail(MICA_E_FORMAT,
                                    "a tensor cannot be divided between %d ranks as stated: it must have at most %d "
                                    "sections, each a positive multiple of the number of ranks, and together they must "
                                    "fill the divided axis",
                                    (int)ranks, MICA__DIVISION_SECTIONS);
}

void mica__division_copy(const mica__division *d, mica_shape part, size_t size, int32_t ranks, int32_t rank,
                         char *whole, char *own, bool back) {
  size_t outer = 1, row = size;
  for (int32_t i = 0; i < part.rank; i++)
    if (i != d->axis) *(i < d->axis ? &outer : &row) *= (size_t)part.dim[i];
  for (size_t i = 0; i < outer; i++)
    for (int32_t s = 0; s < d->count; s++) {
      const size_t section = (size_t)d->sections[s] * row, block = section / (size_t)ranks;
      char *there = whole + (size_t)rank * block;
      memcpy(back ? there : own, back ? own : there, block);
      whole += section;
      own += block;
    }
}
