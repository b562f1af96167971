/* mica/loss.h: further losses, as builders of a graph (the usual ones stand in mica/nodes.h).
 *
 * Threads: as mica/graph.h. */
#ifndef MICA_LOSS_H
#define MICA_LOSS_H

#include <mica/nodes.h>

MICA_BEGIN_DECLS

struct mica_communicator;

typedef struct mica_focal_config {
  mica_loss_reduction reduction; /* MEAN divides by the weights of the samples */
  double gamma;                  /* 0: 2, MICA_ZERO: 0, which is cross entropy */
  double label_smoothing;        /* as in mica_cross_entropy */
  mica_value weights;            /* (C) f32, a weight a class; null for 1 */
  bool ignore;                   /* as in mica_cross_entropy */
  int64_t ignored;
} mica_focal_config;

/* Focal loss of classes (Lin et al. 2017): sum_c -w_c t_c (1 - p_c)^gamma log p_c with p = softmax(logits). logits
 * (N, C, ...), classes along axis 1; target: i32 or i64 indices (N, ...), or probabilities t of logits' shape. config
 * may be NULL. */
MICA_API mica_value mica_focal(mica_value logits, mica_value target, const mica_focal_config *config);

typedef struct mica_dice_config {
  double smooth;      /* s below; 0: 1, MICA_ZERO: 0 */
  mica_value weights; /* (C) f32, a weight a class; null for 1 */
  bool ignore;        /* elements of class `ignored` count for nothing */
  int64_t ignored;
  /* The sums are over the samples of all these ranks, by mica_all_reduce on `channel`: the loss is the same on all, and
   * its gradient right for the sum of their losses (mica_objective.joined). NULL: the graph's own samples. */
  struct mica_communicator *ranks;
  int32_t channel;
} mica_dice_config;

/* The Dice loss of regions (Sudre et al. 2017): 1 - sum_c w_c D_c / sum_c w_c with D_c = (2 sum p_c t_c + s) /
 * (sum p_c + sum t_c + s), p = softmax(logits), t 1 for the target and else 0, and sums over all samples and elements
 * that are not ignored: a quotient of sums over the batch, not a mean of samples. logits (N, C, ...), classes along
 * axis 1; target: i32 or i64 indices (N, ...), or probabilities t of logits' shape, which are never ignored. A scalar
 * of logits' type. config may be NULL. */
MICA_API mica_value mica_dice(mica_value logits, mica_value target, const mica_dice_config *config);

/* The quantile ("pinball") loss: with d = target - prediction, q d where d > 0, else (q - 1) d. 0 < q < 1. */
MICA_API mica_value mica_quantile_loss(mica_value prediction, mica_value target, double q,
                                       mica_loss_reduction reduction);

typedef struct mica_binary_focal_config {
  mica_loss_reduction reduction;
  double gamma; /* 0: 2, MICA_ZERO: 0 */
  double alpha; /* the weight of ones, 1 - alpha that of zeros; 0: 0.25, below 0: both weigh 1 */
} mica_binary_focal_config;

/* Focal loss of yes and no, each element by itself (Lin et al. 2017): binary cross entropy times alpha_t
 * (1 - p_t)^gamma, p_t the probability sigmoid(logits) of what the target in [0, 1] says. config may be NULL. */
MICA_API mica_value mica_binary_focal(mica_value logits, mica_value target, const mica_binary_focal_config *config);

/* The overlap of boxes x0 y0 x1 y1 along the last axis, of a and b, which broadcast: intersection over union, 0 of two
 * boxes without area. a, b (..., 4); the result has their other axes. Float. */
MICA_API mica_value mica_iou(mica_value a, mica_value b);
/* The generalised overlap (Rezatofighi et al. 2019), from -1 to 1: iou - (hull - union) / hull, hull being the area of
 * the least box about both; 1 - giou is a loss that pulls boxes together which do not touch. As mica_iou. */
MICA_API mica_value mica_giou(mica_value a, mica_value b);

typedef struct mica_ctc_config {
  mica_loss_reduction reduction; /* MEAN: the mean over n of the loss divided by max(S_n, 1), as PyTorch has it */
  int64_t blank;                 /* class */
  bool zero_infinity;            /* the loss is 0 where it would be infinite */
} mica_ctc_config;

/* Connectionist temporal classification (Graves et al. 2006): -log of the probability of the target over all its
 * alignments, softmax(logits) being that of a class in a frame. logits (T, N, C) float, targets (N, S) i32, of which
 * the first target_lengths (N) i32 count and are neither the blank nor outside of 0 to C - 1, logit_lengths (N) i32
 * frames count; lengths are cut to 0 to S and T. Infinite, with a gradient of 0, where no alignment has the target: for
 * fewer frames than labels and repeats of them, for a label outside, for -inf logits. Computed in log space, in f32 for
 * 16-bit types, in a fixed order. T, N and S may be open. Differentiable once, by the logits; config may be NULL. */
MICA_API mica_value mica_ctc_loss(mica_value logits, mica_value targets, mica_value logit_lengths,
                                  mica_value target_lengths, const mica_ctc_config *config);

MICA_END_DECLS

#endif
