/* mica/metric.h: what is measured while a network trains and is tested: sums on the device, and scores made from them
 * on the host.
 *
 * Threads: plain data and functions of their operands alone, but for builders, which are used as mica/graph.h says. */
#ifndef MICA_METRIC_H
#define MICA_METRIC_H

#include <mica/graph.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

MICA_BEGIN_DECLS

/* --- values --- */

#define MICA_METRIC_NAME 32
#define MICA_METRICS_MAX 64

typedef struct mica_metric_value {
  char name[MICA_METRIC_NAME];
  double value;
} mica_metric_value;

/* The loss, a mean over what its weight counts, and further metrics by name, in the order in which they were added. A
 * plain value, to be copied. */
typedef struct mica_metrics {
  int64_t samples;
  double loss;
  int32_t count;
  mica_metric_value values[MICA_METRICS_MAX];
} mica_metrics;

/* Adds a metric, or gives one of the name another value. MICA_E_OVERFLOW: there are MICA_METRICS_MAX of them;
 * MICA_E_INVALID: the name is empty or has MICA_METRIC_NAME bytes or more. */
MICA_API MICA_CHECKED mica_status mica_metrics_add(mica_metrics *metrics, const char *name, double value);
/* The metric's value; "loss" is the loss. NaN where there is none of the name. */
MICA_API double mica_metrics_get(const mica_metrics *metrics, const char *name);

/* --- sums on the device --- */

/* A metric of a batch, as values of the graph: sum / weight, both f32, each added up over batches before they are
 * divided. Both are scalars; or both are (K) with `parts`, K names: then NAME_PART is each part's quotient, and NAME
 * the mean of those whose weight is not 0. Without a weight it is no quotient but a sum of any shape, counted when
 * testing only and read by mica_trainer_sum: a confusion matrix. */
typedef struct mica_metric {
  const char *name;
  mica_value sum, weight;
  const char *const *parts;
} mica_metric;

/* The mean of a value's elements, whatever their number: sum of them and how many there are. */
MICA_API mica_metric mica_metric_mean(const char *name, mica_value elements);
/* Dice and intersection over union of each of K classes, over all elements that count: with p the elements whose
 * largest logit is the class's and t those of which it is the target, 2 |p t| / (|p| + |t|) and |p t| / (|p| + |t| -
 * |p t|). logits (N, K, ...), target i32 or i64 (N, ...); a target that is none of 0 to K - 1 does not count. parts: K
 * names. */
MICA_API mica_metric mica_metric_dice(const char *name, mica_value logits, mica_value target, const char *const *parts);
MICA_API mica_metric mica_metric_iou(const char *name, mica_value logits, mica_value target, const char *const *parts);
/* 1 for each sample whose largest logit, along axis 1, is the target's, else 0. logits (N, C, ...), target i32 or i64
 * (N, ...), or probabilities of logits' shape, of which the largest counts. f32 (N, ...). */
MICA_API mica_value mica_hits(mica_value logits, mica_value target);
/* 1 for each sample with fewer than k logits larger than the target's. logits (N, C), target (N) i32. f32 (N). */
MICA_API mica_value mica_top_k_hits(mica_value logits, mica_value target, int64_t k);
/* counts[t][p]: how often the target is t and the largest logit p. logits (N, C), target (N) i32. f32 (C, C). */
MICA_API mica_value mica_confusion(mica_value logits, mica_value target);

/* --- scores on the host --- */

/* Scores of a class, from a confusion matrix. A score with no samples to divide by is 0. */
typedef struct mica_class_scores {
  double precision, recall, f1;
} mica_class_scores;
/* confusion: classes x classes counts, row-major, row the target and column the prediction. scores (may be NULL): one a
 * class; *mean: their means over the classes that occur as target or prediction; *accuracy: the diagonal's share. The
 * last two may be NULL. */
MICA_API void mica_confusion_scores(const int64_t *confusion, int64_t classes, mica_class_scores *scores,
                                    mica_class_scores *mean, double *accuracy);

/* Average precision: the sum over distinct scores, falling, of (recall - recall before) precision, as scikit-learn
 * computes it. truths[i] is not 0 where sample i is positive. NaN without a positive one; MICA_E_NOMEM. */
MICA_API MICA_CHECKED mica_status mica_average_precision(const float *scores, const uint8_t *truths, size_t count,
                                                         double *precision);

/* --- translation --- */

#define MICA_BLEU_ORDER 4

/* Sums over sentences: n-grams of hypotheses of 1 to 4 words that are found in a reference, all of them, words of
 * hypotheses and of references. They add up, and are plain data. */
typedef struct mica_bleu {
  int64_t counts[MICA_BLEU_ORDER], totals[MICA_BLEU_ORDER], length, reference_length;
} mica_bleu;

/* What stands for a precision of no n-gram found. EXPONENTIAL: 1 / 2, 1 / 4, ... of one; NONE: 0, and the score is 0;
 * FLOOR: a tenth of one; ADD: one is added to counts and totals of two words and more. */
typedef enum mica_bleu_smoothing {
  MICA_BLEU_SMOOTHING_EXPONENTIAL,
  MICA_BLEU_SMOOTHING_NONE,
  MICA_BLEU_SMOOTHING_FLOOR,
  MICA_BLEU_SMOOTHING_ADD,
} mica_bleu_smoothing;

/* Zero is what sacrebleu reports as "case:mixed|eff:no|tok:13a|smooth:exp". */
typedef struct mica_bleu_config {
  mica_bleu_smoothing smoothing;
  bool effective_order; /* n-grams longer than the hypothesis count for nothing, as for scores of one sentence */
  bool lowercase;       /* texts, which are UTF-8 then, lose case; needs utf8proc */
  bool untokenised;     /* words are what white space parts */
} mica_bleu_config;

/* Adds a hypothesis and its n references, detokenised texts; an n-gram counts as often as the reference that has most
 * of it, and the length is that of the closest one, of equals the shorter. config may be NULL. MICA_E_NOMEM;
 * MICA_E_UNSUPPORTED: lowercase in a build without utf8proc. Papineni et al. 2002, Post 2018. */
MICA_API MICA_CHECKED mica_status mica_bleu_add(mica_bleu *sums, const char *hypothesis, const char *const *references,
                                                size_t n, const mica_bleu_config *config);
/* BLEU, 0 to 100, and the precisions in percent (MICA_BLEU_ORDER of them; may be NULL). config may be NULL. */
MICA_API double mica_bleu_score(const mica_bleu *sums, const mica_bleu_config *config, double *precisions);
/* The brevity penalty, exp(1 - reference_length / length) of hypotheses that are shorter. */
MICA_API double mica_bleu_brevity(const mica_bleu *sums);

/* --- detection --- */

/* A true box of a picture: x0 y0 x1 y1. */
typedef struct mica_true_box {
  int64_t picture; /* any number: pictures are taken in rising order */
  int32_t class_index;
  bool
      crowd; /* stands for a group: a box may fall on it that covers it for the most part, and then counts as nothing */
  bool ignore; /* to be found or not, as what is difficult: it counts as nothing */
  double box[4];
  double area; /* decides which sizes it belongs to; 0: width times height, MICA_ZERO: 0 */
} mica_true_box;

typedef struct mica_found_box {
  int64_t picture;
  int32_t class_index;
  double score;
  double box[4];
  double area; /* 0: width times height, MICA_ZERO: 0 */
} mica_found_box;

#define MICA_BOX_THRESHOLDS 10
#define MICA_BOX_RECALLS 101

/* COCO's twelve numbers: means over classes that have boxes, of the precision at 101 recalls (ap) and of the recall
 * with so many boxes a picture (ar), each a mean over the overlaps 0.50, 0.55, ... 0.95. small: area up to 32 x 32,
 * medium: up to 96 x 96. -1 where nothing counts. by_threshold: ap at each of the overlaps. */
typedef struct mica_box_scores {
  double ap, ap_50, ap_75, ap_small, ap_medium, ap_large;
  double ar_1, ar_10, ar_100, ar_small, ar_medium, ar_large;
  double by_threshold[MICA_BOX_THRESHOLDS];
} mica_box_scores;

/* Scores of one class, and its curve: the precision at recalls 0, 0.01, ... 1 at an overlap of 0.50. */
typedef struct mica_box_class_scores {
  double ap, ap_50, ap_75, ar_100;
  double curve[MICA_BOX_RECALLS];
} mica_box_class_scores;

/* Scores of boxes as COCO defines them, to the last digit those of pycocotools: in each picture and class boxes by
 * falling score (equal ones in their order), the first 100 of them, each take the free true box that they overlap most
 * (of equals the last), at least by the threshold. classes: how many there are; boxes of others are MICA_E_INVALID.
 * by_class (may be NULL): `classes` of them. MICA_E_NOMEM. */
MICA_API MICA_CHECKED mica_status mica_box_precision(const mica_true_box *truths, size_t truth_count,
                                                     const mica_found_box *found, size_t found_count, int32_t classes,
                                                     mica_box_scores *scores, mica_box_class_scores *by_class);

MICA_END_DECLS

#endif
