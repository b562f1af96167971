#include "networks/puzzle.h"

#include "ir/graph.h"

#include <mica/nodes.h>
#include <stdlib.h>

/* Weights in the cost of a mask (the formula in puzzle.h): PRIOR of the term with the share, UNLIKE of unlike
 * neighbours. */
#define PRIOR 0.2
#define UNLIKE (1.2 / 16)
/* Shares are at least this far from 0 and 1. */
#define MARGIN 1e-3
/* Makes these random numbers differ from others; its bytes spell "puzz". */
#define KEY UINT64_C(0x70757a7a)

mica_value mica__puzzle_share(mica_nn *nn, uint64_t seed) {
  mica_value like = mica_full(mica_nn_graph(nn), MICA_F32, MICA_SHAPE(1), 0);
  return mica_random_uniform(mica_nn_step(nn), like, seed ^ KEY << 32, MARGIN, 1 - MARGIN);
}

/* How much of a picture's gradient is in each block: (N, blocks, blocks) with mean 1; 0 for a picture without a
 * gradient. */
static mica_value saliency(mica_value gradient, int64_t blocks) {
  const mica_shape shape = mica_value_shape(gradient);
  mica_value g = mica_value_dtype(gradient) == MICA_F32 ? gradient : mica_cast(gradient, MICA_F32);
  mica_value norm = mica_sqrt(mica_sum(mica_square(g), MICA_AXES(1), false));
  mica_value cut =
      mica_reshape(norm, MICA_SHAPE(MICA_DYNAMIC, blocks, shape.dim[2] / blocks, blocks, shape.dim[3] / blocks));
  mica_value sums = mica_sum(cut, MICA_AXES(2, 4), false), all = mica_sum(sums, MICA_AXES(1, 2), true);
  return mica_affine(mica_div(sums, mica_maximum(all, mica_full_like(all, 1e-30))), (double)(blocks * blocks), 0);
}

/* All masks of a row of blocks. */
typedef struct rows {
  int64_t count;      /* 2^blocks */
  mica_value bits;    /* (count, blocks) f32 */
  mica_value inside;  /* (1, 1, count) f32: cost of the unlike neighbours within a row */
  mica_value between; /* (1, count, count) f32: cost of the unlike neighbours between two rows, one below the other */
} rows;

static rows make_rows(mica_graph *graph, int64_t blocks) {
  const double weight = UNLIKE * (double)blocks;
  rows r = {.count = (int64_t)1 << blocks};
  float *bits = calloc((size_t)(r.count * blocks), sizeof *bits);
  float *inside = calloc((size_t)r.count, sizeof *inside);
  float *between = calloc((size_t)(r.count * r.count), sizeof *between);
  if (bits && inside && between) {
    for (int64_t i = 0; i < r.count; i++)
      for (int64_t k = 0; k < blocks; k++) {
        bits[i * blocks + k] = (float)(i >> k & 1);
        if (k) inside[i] += (float)(weight * (double)((i >> k ^ i >> (k - 1)) & 1));
        for (int64_t j = 0; j < r.count; j++) between[i * r.count + j] += (float)(weight * (double)((i ^ j) >> k & 1));
      }
    r.bits = mica_constant(graph, MICA_F32, MICA_SHAPE(r.count, blocks), bits);
    r.inside = mica_constant(graph, MICA_F32, MICA_SHAPE(1, 1, r.count), inside);
    r.between = mica_constant(graph, MICA_F32, MICA_SHAPE(1, r.count, r.count), between);
  } else {
    mica__graph_fail_with(graph, mica__fail_nomem("masks"));
  }
  free(bits);
  free(inside);
  free(between);
  return r;
}

/* Finds the best mask, (N, blocks, blocks): 1 where the block comes from the partner. Goes down row by row. For each
 * possible mask of a row, finds the lowest cost of all rows so far and the mask of the row above that leads to it. Then
 * goes back up from the best mask of the last row. */
static mica_value find_mask(mica_value s, mica_value share, int64_t blocks) {
  const rows all = make_rows(s.graph, blocks);
  mica_value odds = mica_sub(mica_log(mica_affine(share, -1, 1)), mica_log(share));
  mica_value own = mica_add(mica_sub(s, mica_flip(s, MICA_AXES(0))), mica_affine(odds, PRIOR, 0));
  own = mica_add(mica_matmul(own, mica_transpose(all.bits, MICA_AXES(1, 0))), all.inside);
  mica_value costs[MICA__PUZZLE_MOST] = {{0}}, from[MICA__PUZZLE_MOST] = {{0}}, mask[MICA__PUZZLE_MOST] = {{0}};
  mica_split(own, 1, (const int64_t[MICA__PUZZLE_MOST]){1, 1, 1, 1, 1, 1, 1, 1}, (size_t)blocks, costs);
  mica_value best = costs[0];
  for (int64_t r = 1; r < blocks; r++) {
    mica_value paths = mica_add(mica_transpose(best, MICA_AXES(0, 2, 1)), all.between);
    from[r] = mica_argmin(paths, 1, true);
    best = mica_add(costs[r], mica_min(paths, MICA_AXES(1), true));
  }
  mica_value row = mica_argmin(best, 2, true);
  for (int64_t r = blocks - 1;; r--) {
    mask[r] = mica_gather(all.bits, mica_squeeze(row, MICA_AXES(2)), 0);
    if (!r) break;
    row = mica_gather_elements(from[r], row, 2);
  }
  return mica_concat(mask, (size_t)blocks, 1);
}

void mica__puzzle_mix(mica_value gradient, mica_value share, int64_t blocks, mica__puzzle_batch *batch) {
  const mica_shape shape = mica_value_shape(batch->x);
  mica_value x = batch->x, y = batch->y;
  mica_value z = mica_stop_gradient(find_mask(saliency(gradient, blocks), share, blocks));
  mica_value partner = mica_greater(mica_reshape(z, MICA_SHAPE(MICA_DYNAMIC, 1, blocks, 1, blocks, 1)),
                                    mica_scalar(z.graph, MICA_F32, 0.5));
  mica_value cut = mica_reshape(
      x, MICA_SHAPE(MICA_DYNAMIC, shape.dim[1], blocks, shape.dim[2] / blocks, blocks, shape.dim[3] / blocks));
  mica_value mixed = mica_where(partner, mica_flip(cut, MICA_AXES(0)), cut);
  batch->x = mica_reshape(mixed, MICA_SHAPE(MICA_DYNAMIC, shape.dim[1], shape.dim[2], shape.dim[3]));
  if (mica_value_dtype(y) != MICA_F32) {
    mica_value none =
        /* Label -1 (no class) becomes `classes`, which is out of range, so its one-hot row is all zeros. */
        mica_scalar(y.graph, mica_value_dtype(y), (double)batch->classes);
    y = mica_where(mica_less(y, mica_scalar(y.graph, mica_value_dtype(y), 0)), none, y);
    y = mica_one_hot(y, batch->classes, 1, mica_scalar(y.graph, MICA_F32, 0), mica_scalar(y.graph, MICA_F32, 1));
  }
  batch->y = mica_add(y, mica_mul(mica_unsqueeze(mica_mean(z, MICA_AXES(1, 2), false), MICA_AXES(1)),
                                  mica_sub(mica_flip(y, MICA_AXES(0)), y)));
}
