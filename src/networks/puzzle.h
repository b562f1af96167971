/* networks/puzzle.h: a batch whose pictures are mixed by their saliency (PuzzleMix, Kim, Choo and Song 2020). */
#ifndef MICA_NETWORKS_PUZZLE_H
#define MICA_NETWORKS_PUZZLE_H

#include <mica/nn.h>

/* Pictures (N, C, H, W), and their classes (N) i32 or probabilities (N, classes) f32. */
typedef struct mica__puzzle_batch {
  mica_value x, y;
  int64_t classes;
} mica__puzzle_batch;

/* Draws the share of a mask that should come from the partner: (1) f32, uniform between 0 and 1, one for all
 * pictures. */
mica_value mica__puzzle_share(mica_nn *nn, uint64_t seed);

/* The most blocks per side. */
#define MICA__PUZZLE_MOST 8

/* Mixes each picture with its partner in the batch read backwards. gradient: of the loss by the pictures. The saliency
 * of a pixel is the norm of its gradient. Pictures are cut into blocks x blocks; s_i is a block's sum of saliency,
 * scaled to mean 1 in each picture, and t_i the partner's. Of all masks z, 1 where a block comes from the partner, this
 * takes the one with the lowest
 *
 *   sum_i (s_i - t_i + 0.2 log((1 - share) / share)) z_i + 1.2 blocks / 16 * (number of unlike neighbours)
 *
 * row by row (Viterbi 1967). Targets become probabilities, mixed by the mask's mean. H and W must be multiples of
 * blocks. No gradient flows through the mask. */
void mica__puzzle_mix(mica_value gradient, mica_value share, int64_t blocks, mica__puzzle_batch *batch);

#endif
