/* mica/loss.h: further losses as builders of graphs. mica/nodes.h has the usual ones.
 *
 * Threads: as in mica/graph.h. */
#ifndef MICA_LOSS_H
#define MICA_LOSS_H

#include <mica/nodes.h>

MICA_BEGIN_DECLS

struct mica_communicator;

typedef struct mica_focal_config {
  /* MEAN divides by the sum of the samples' weights; with probabilities, by the number of samples */
  mica_loss_reduction reduction;
  double gamma;           /* 0: 2; MICA_ZERO: 0, which is cross entropy */
  double label_smoothing; /* see mica_cross_entropy */
  mica_value weights;     /* (C) f32, one weight per class; null: 1 */
  bool ignore;            /* for indices; see mica_cross_entropy */
  int64_t ignored;
} mica_focal_config;

/* Focal loss for classes (Lin et al. 2017): sum_c -w_c t_c (1 - p_c)^gamma log p_c with p = softmax(logits). logits (N,
 * C, ...) with classes on axis 1; target i32 or i64 indices (N, ...), or probabilities t of logits' shape. config may
 * be NULL. */
MICA_API mica_value mica_focal(mica_value logits, mica_value target, const mica_focal_config *config);

typedef struct mica_dice_config {
  double smooth;      /* s in the formula; 0: 1; MICA_ZERO: 0 */
  mica_value weights; /* (C) f32, one weight per class; null: 1 */
  bool ignore;        /* ignore elements of class `ignored` */
  int64_t ignored;
  /* Sums over the samples of all these ranks, with mica_all_reduce on `channel`. The loss is then the same on all
   * ranks, and its gradient is correct for the sum of their losses (mica_objective.joined). NULL: the graph's own
   * samples. */
  struct mica_communicator *ranks;
  int32_t channel;
} mica_dice_config;

/* Dice loss for regions (Sudre et al. 2017):
 *
 *   1 - sum_c w_c D_c / sum_c w_c    with D_c = (2 sum p_c t_c + s) / (sum p_c + sum t_c + s)
 *
 * p = softmax(logits); t is 1 for the target, else 0. Sums are over all samples and elements that are not ignored, so
 * the loss is not a mean over samples. logits (N, C, ...) with classes on axis 1; target i32 or i64 indices (N, ...),
 * or probabilities t of logits' shape, which are never ignored. The result is a scalar of logits' dtype. config may be
 * NULL. */
MICA_API mica_value mica_dice(mica_value logits, mica_value target, const mica_dice_config *config);

/* Quantile ("pinball") loss: with d = target - prediction, q d if d > 0, else (q - 1) d. 0 < q < 1. */
MICA_API mica_value mica_quantile_loss(mica_value prediction, mica_value target, double q,
                                       mica_loss_reduction reduction);

typedef struct mica_binary_focal_config {
  mica_loss_reduction reduction;
  double gamma; /* 0: 2; MICA_ZERO: 0 */
  double alpha; /* weight of targets 1; targets 0 have the weight 1 - alpha. 0: 0.25; negative: both weights are 1 */
} mica_binary_focal_config;

/* Binary focal loss per element (Lin et al. 2017): binary cross entropy times alpha_t (1 - p_t)^gamma. p_t is the
 * probability that sigmoid(logits) gives to the target in [0, 1]. config may be NULL. */
MICA_API mica_value mica_binary_focal(mica_value logits, mica_value target, const mica_binary_focal_config *config);

typedef struct mica_arcface_config {
  mica_loss_reduction reduction;
  double scale;  /* s in the formula; 0: 30 */
  double margin; /* m in the formula, in radians, below 1.5; 0: 0.5; MICA_ZERO: 0 */
} mica_arcface_config;

/* ArcFace (Deng et al. 2019): cross entropy of the logits s cos(a_k), where a_k is the angle between an embedding and
 * the weights of class k. The logit of the target y has a margin m: s cos(a_y + m). If a_y is above pi - m, where
 * cos(a_y + m) would rise again, it is s (cos(a_y) - m sin(m)). cosines (N, C) float are the cos(a_k): products of
 * embeddings and class weights of length 1. target i32 or i64 (N). config may be NULL. */
MICA_API mica_value mica_arcface(mica_value cosines, mica_value target, const mica_arcface_config *config);

/* Triplet loss (Schroff et al. 2015) over all triplets of a batch. The loss of sample a is the sum of
 *
 *   max(0, margin + cos(a, n) - cos(a, p))    over all other samples p of a's class and all n of other classes
 *
 * x (N, E) float: embeddings of length 1; target i32 or i64 (N). The result is (N). *counts (may be NULL) receives the
 * number of each sample's terms above 0, f32 (N). The sum of losses divided by the sum of counts is the mean of Hermans
 * et al. (2017), which leaves out triplets whose term is 0. Work and memory grow as N^3. */
MICA_API mica_value mica_triplet(mica_value x, mica_value target, double margin, mica_value *counts);

/* GE2E (Wan et al. 2018, softmax): cross entropy of the logits scale cos(x, c_k). c_k is the mean embedding of class k
 * in the batch; for the class of sample x, it is the mean of the other samples of this class. Classes that are not in
 * the batch are left out, and a sample alone in its class has a loss of 0. The paper's bias is left out, because it
 * does not change the softmax.
 *
 * x (N, E) float: embeddings of length 1. target i32 or i64 (N), from 0 to classes - 1. scale (1) f32, usually learned
 * and above 0. *counts (may be NULL) receives 0 for each sample that is alone in its class, else 1, f32 (N). The result
 * is (N). */
MICA_API mica_value mica_ge2e(mica_value x, mica_value target, int64_t classes, mica_value scale, mica_value *counts);

/* Intersection over union of boxes x0 y0 x1 y1 on the last axis; 0 for two boxes without area. a, b (..., 4) broadcast;
 * the result has their other axes. Float. */
MICA_API mica_value mica_iou(mica_value a, mica_value b);
/* Generalised IoU (Rezatofighi et al. 2019), from -1 to 1: iou - (hull - union) / hull; hull is the area of the
 * smallest box around both. As a loss, 1 - giou also attracts boxes that do not overlap. Otherwise like mica_iou. */
MICA_API mica_value mica_giou(mica_value a, mica_value b);

typedef struct mica_ctc_config {
  /* MEAN: each loss is divided by its target's length (0: by 1), then averaged, as in PyTorch */
  mica_loss_reduction reduction;
  int64_t blank;      /* class of the blank */
  bool zero_infinity; /* infinite losses become 0 */
} mica_ctc_config;

/* Connectionist temporal classification (Graves et al. 2006): -log of the target's probability, summed over all its
 * alignments. softmax(logits) gives the probability of a class in a frame.
 *
 * logits (T, N, C) float; targets (N, S) i32; target_lengths and logit_lengths (N) i32, clamped to 0 to S and 0 to T.
 * Only the first target_lengths labels count; they must be in 0 to C - 1 and not the blank. T, N and S may be dynamic.
 *
 * The loss is infinite, with gradient 0, if the target has no alignment: fewer frames than labels plus repeats, a label
 * out of range, or -inf logits. It is computed in log space, in f32 for 16-bit types, in a fixed order. It can be
 * differentiated once, with respect to the logits. config may be NULL. */
MICA_API mica_value mica_ctc_loss(mica_value logits, mica_value targets, mica_value logit_lengths,
                                  mica_value target_lengths, const mica_ctc_config *config);

MICA_END_DECLS

#endif
