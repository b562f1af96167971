/* networks/puzzle.h: a batch whose pictures are mixed by their saliency (PuzzleMix, Kim, Choo and Song 2020). */
#ifndef MICA_NETWORKS_PUZZLE_H
#define MICA_NETWORKS_PUZZLE_H

#include <mica/nn.h>

/* Pictures (N, C, H, W), and their classes (N) i32 or probabilities (N, classes) f32. */
typedef struct mica__puzzle_batch {
  mica_value x, y;
  int64_t classes;
} mica__puzzle_batch;

/* Draws the share of a mask that should come from the partner: (1) f32, uniform from 0.001 to 0.999, one for all
 * pictures. */
mica_value mica__puzzle_share(mica_nn *nn, uint64_t seed);

/* The most blocks per side. */
#define MICA__PUZZLE_MOST 8

/* Mixes each picture with its partner: picture i of N with picture N - 1 - i. `gradient` is the gradient of the loss
 * with respect to the pictures. The saliency of a pixel is the norm of its gradient.
 *
 * Pictures are cut into blocks x blocks. s_i is the sum of the saliency in block i, scaled so that its mean is 1 in
 * each picture; t_i is the same for the partner. A mask z has z_i = 1 where block i comes from the partner, else 0.
 * Neighbours are two blocks side by side or one above the other; they are unlike if their z differ. The mask with the
 * lowest value of
 *
 *   sum_i (s_i - t_i + 0.2 log((1 - share) / share)) z_i + 1.2 blocks / 16 * (number of unlike neighbours)
 *
 * is found row by row (Viterbi 1967). Targets become probabilities, mixed in the same proportion as the blocks. H and W
 * must be multiples of `blocks`. No gradient flows through the mask. */
void mica__puzzle_mix(mica_value gradient, mica_value share, int64_t blocks, mica__puzzle_batch *batch);

#endif
