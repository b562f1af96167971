#include "data/volume/slab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static float weight_at(int64_t i, int64_t size) {
  const int64_t near = i < size - 1 - i ? i : size - 1 - i;
  return (float)(2 * near + 1) / (float)size;
}

void mica__slab_add(mica__slab *s, const mica__window *w, const float *shares) {
  const int64_t plane = s->height * s->width, voxels = mica__window_voxels(w);
  for (int64_t i = 0; i < voxels; i++) {
    const int64_t z = i / (w->sides[1] * w->sides[2]), y = i / w->sides[2] % w->sides[1], x = i % w->sides[2];
    const int64_t row = w->at[1] + y, column = w->at[2] + x;
    if (row >= s->height || column >= s->width) continue;
    const float weight = weight_at(z, w->sides[0]) * weight_at(y, w->sides[1]) * weight_at(x, w->sides[2]);
    float *to = s->sums + (w->at[0] - s->first + z) * plane + row * s->width + column;
    for (int64_t c = 0; c < s->classes; c++) to[c * s->depth * plane] += weight * shares[c * voxels + i];
  }
}

void mica__slab_finish(mica__slab *s, int64_t count, uint8_t *decided) {
  const int64_t plane = s->height * s->width;
  uint8_t *to = decided + s->first * plane;
  for (int64_t i = 0; i < count * plane; i++) {
    int64_t best = 0;
    for (int64_t c = 1; c < s->classes; c++)
      if (s->sums[c * s->depth * plane + i] > s->sums[best * s->depth * plane + i]) best = c;
    to[i] = (uint8_t)best;
  }
  for (int64_t c = 0; c < s->classes; c++) {
    float *sums = s->sums + c * s->depth * plane;
    const size_t kept = (size_t)((s->depth - count) * plane);
    memmove(sums, sums + count * plane, kept * sizeof *sums);
    memset(sums + kept, 0, (size_t)(count * plane) * sizeof *sums);
  }
  s->first += count;
}

mica_status mica__volume_slice(const mica__volume_reader *r, int axis, uint8_t **slice) {
  mica__window w = {{0}, {r->header->sides[0], r->header->sides[1], r->header->sides[2]}};
  w.at[axis] = w.sides[axis] / 2;
  w.sides[axis] = 1;
  const int64_t voxels = mica__window_voxels(&w);
  float *values = malloc((size_t)(r->header->channels * voxels) * sizeof *values);
  *slice = malloc((size_t)voxels);
  mica_status status = values && *slice ? r->read(r->user, &w, values) : mica__fail_nomem("a slice");
  for (int64_t i = 0; status == MICA_OK && i < voxels; i++)
    (*slice)[i] = (uint8_t)(fminf(fmaxf((values[i] + 2) / 5, 0), 1) * 255);
  free(values);
  return status;
}
