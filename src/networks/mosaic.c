/* Mosaic (Bochkovskiy et al. 2020): pictures made of four, computed in the graph of the training step without a pass of
 * its own. */
#include "networks/mosaic.h"

#include <mica/nodes.h>

/* A box that keeps less than this share of its area is dropped, as in other augmentations. */
#define LEAST_SHARE 0.25
/* The corner where the four pictures meet is between these shares of the width, and of the height. */
#define FROM 0.25
#define TO 0.75
/* Keys of random numbers. */
#define KEY UINT64_C(0x6d6f7361)

/* The corner where the four pictures meet, (N). For a picture that is left unchanged it is the lower right corner, so
 * the other three pictures are outside. */
typedef struct meeting {
  mica_value x, y;
} meeting;

static mica_value number(mica_value like, double value) {
  return mica_scalar(like.graph, mica_value_dtype(like), value);
}

static mica_value side(mica_value boxes, int32_t k) {
  return mica_squeeze(mica_slice(boxes, -1, k, k + 1, 1), MICA_AXES(-1));
}

static mica_value draw(mica_value step, mica_value like, mica_value chosen, uint64_t key, int64_t extent) {
  mica_value at = mica_random_uniform(step, like, key, FROM * (double)extent, TO * (double)extent);
  return mica_where(chosen, mica_floor(at), number(like, (double)extent));
}

/* Joins four pictures: pictures[k] is right of the corner if bit 0 of k is set, and below it if bit 1 is set. */
static mica_value patch(mica_value x, const meeting *m, mica_value pictures[4]) {
  const mica_shape s = mica_value_shape(x);
  mica_value column = mica_reshape(mica_range(x.graph, MICA_F32, s.dim[3]), MICA_SHAPE(1, 1, 1, s.dim[3]));
  mica_value row = mica_reshape(mica_range(x.graph, MICA_F32, s.dim[2]), MICA_SHAPE(1, 1, s.dim[2], 1));
  mica_value right = mica_greater_equal(column, mica_unsqueeze(m->x, MICA_AXES(1, 2, 3)));
  mica_value below = mica_greater_equal(row, mica_unsqueeze(m->y, MICA_AXES(1, 2, 3)));
  return mica_where(below, mica_where(right, pictures[3], pictures[2]), mica_where(right, pictures[1], pictures[0]));
}

/* Boxes (N, M, 4) clipped to their part of the picture; zeros if too little is left. */
static mica_value cut(mica_value boxes, const meeting *m, int k, int64_t height, int64_t width) {
  mica_value s[4], kept[4], extent[2], whole[2];
  const mica_value corner[2] = {mica_unsqueeze(m->x, MICA_AXES(1)), mica_unsqueeze(m->y, MICA_AXES(1))};
  for (int i = 0; i < 4; i++) s[i] = side(boxes, i);
  for (int i = 0; i < 2; i++) {
    const bool far = k >> i & 1;
    mica_value end = number(boxes, (double)(i ? height : width));
    kept[i] = far ? mica_maximum(s[i], corner[i]) : s[i];
    kept[i + 2] = mica_minimum(s[i + 2], far ? end : corner[i]);
    extent[i] = mica_maximum(mica_sub(kept[i + 2], kept[i]), number(boxes, 0));
    whole[i] = mica_sub(s[i + 2], s[i]);
  }
  mica_value seen = mica_mul(extent[0], extent[1]), zero = number(boxes, 0);
  mica_value enough = mica_logical_and(
      mica_greater(seen, zero), mica_greater_equal(seen, mica_affine(mica_mul(whole[0], whole[1]), LEAST_SHARE, 0)));
  for (int i = 0; i < 4; i++) kept[i] = mica_unsqueeze(mica_where(enough, kept[i], zero), MICA_AXES(2));
  return mica_concat(kept, 4, 2);
}

void mica__mosaic(mica_nn *nn, double share, mica__mosaic_batch *b) {
  const mica_shape s = mica_value_shape(b->x);
  mica_value ones = mica_full_like(mica_sum(b->label, MICA_AXES(1), false), 1), like = mica_cast(ones, MICA_F32);
  mica_value count = mica_sum(ones, MICA_ALL_AXES, false), own = mica_cumsum(ones, 0, true, false);
  mica_value step = mica_nn_step(nn), chosen = mica_random_bernoulli(step, like, KEY, share);
  const meeting m = {draw(step, like, chosen, KEY + 1, s.dim[3]), draw(step, like, chosen, KEY + 2, s.dim[2])};
  mica_value pictures[4], boxes[4], labels[4], ignored[4];
  for (int k = 0; k < 4; k++) {
    /* The samples that follow this one in the batch, cyclically. */
    mica_value from = mica_mod(mica_add(own, number(own, k)), count);
    pictures[k] = k ? mica_gather(b->x, from, 0) : b->x;
    boxes[k] = cut(k ? mica_gather(b->boxes, from, 0) : b->boxes, &m, k, s.dim[2], s.dim[3]);
    labels[k] = k ? mica_gather(b->label, from, 0) : b->label;
    if (b->ignored.graph) ignored[k] = k ? mica_gather(b->ignored, from, 0) : b->ignored;
  }
  b->x = patch(b->x, &m, pictures);
  b->boxes = mica_concat(boxes, 4, 1);
  b->label = mica_concat(labels, 4, 1);
  if (b->ignored.graph) b->ignored = mica_concat(ignored, 4, 1);
}
