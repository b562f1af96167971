/* mica/metric.h: metrics of training and tests: sums on the device, and scores computed from them on the host.
 *
 * Threads: any thread may call any function on its own arguments. Functions that build graph values follow
 * mica/graph.h. */
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

/* The loss, which is a weighted mean (mica_metric), and further metrics by name, in the order added. Plain data that
 * may be copied. */
typedef struct mica_metrics {
  int64_t samples;
  double loss;
  int32_t count;
  mica_metric_value values[MICA_METRICS_MAX];
} mica_metrics;

/* Adds a metric, or sets the value of an existing one. MICA_E_OVERFLOW: there are MICA_METRICS_MAX metrics already.
 * MICA_E_INVALID: the name is empty, or has MICA_METRIC_NAME bytes or more. */
MICA_API MICA_CHECKED mica_status mica_metrics_add(mica_metrics *metrics, const char *name, double value);
/* Value of a metric; "loss" is the loss. NaN if the name is unknown. */
MICA_API double mica_metrics_get(const mica_metrics *metrics, const char *name);

/* --- sums on the device --- */

/* A metric of a batch, as values of the graph: sum / weight, both f32. Each is summed over batches before the division.
 *
 * Both are scalars, or (K) with K names in `parts`. With `parts`, NAME_PART is the quotient of each part, and NAME the
 * mean over the parts with a weight other than 0.
 *
 * If weight is null, the metric is a sum of any shape, such as a confusion matrix. Such a metric is computed in tests
 * only and read with mica_trainer_sum. */
typedef struct mica_metric {
  const char *name;
  mica_value sum, weight;
  const char *const *parts;
} mica_metric;

/* Mean over the elements of a value: their sum, and their number as weight. */
MICA_API mica_metric mica_metric_mean(const char *name, mica_value elements);
/* Dice coefficient 2 |p t| / (|p| + |t|), and intersection over union |p t| / (|p| + |t| - |p t|), per class. p is the
 * set of elements whose largest logit is the class's, t the set of elements whose target is the class, and p t their
 * intersection. logits (N, K, ...), target i32 or i64 (N, ...). Elements with a target outside 0 to K - 1 are ignored.
 * parts: K names. */
MICA_API mica_metric mica_metric_dice(const char *name, mica_value logits, mica_value target, const char *const *parts);
MICA_API mica_metric mica_metric_iou(const char *name, mica_value logits, mica_value target, const char *const *parts);
/* 1 per sample if the largest logit on axis 1 is the target, else 0. logits (N, C, ...); target i32 or i64 (N, ...), or
 * probabilities with logits' shape whose largest is the target. Result f32 (N, ...). */
MICA_API mica_value mica_hits(mica_value logits, mica_value target);
/* 1 per sample if fewer than k logits exceed the target's, else 0. logits (N, C), target (N) i32. Result f32 (N). */
MICA_API mica_value mica_top_k_hits(mica_value logits, mica_value target, int64_t k);
/* counts[t][p]: number of samples with target t and largest logit p. logits (N, C), target (N) i32. Result f32 (C, C).
 */
MICA_API mica_value mica_confusion(mica_value logits, mica_value target);

/* --- scores on the host --- */

/* Scores of a class. A score is 0 if it would divide by 0 samples. */
typedef struct mica_class_scores {
  double precision, recall, f1;
} mica_class_scores;
/* Computes scores from a confusion matrix: classes x classes counts, row-major; rows are targets, columns predictions.
 * scores (may be NULL) receives one element per class, *mean (may be NULL) the means over classes that occur as target
 * or prediction, *accuracy (may be NULL) the share of the diagonal. */
MICA_API void mica_confusion_scores(const int64_t *confusion, int64_t classes, mica_class_scores *scores,
                                    mica_class_scores *mean, double *accuracy);

/* Average precision as in scikit-learn: the sum over distinct scores, descending, of (recall - previous recall) times
 * precision. Sample i is positive if truths[i] is not 0. NaN without a positive sample. MICA_E_NOMEM. */
MICA_API MICA_CHECKED mica_status mica_average_precision(const float *scores, const uint8_t *truths, size_t count,
                                                         double *precision);

/* A point of an ROC curve. If samples with a score of at least `threshold` are accepted, false_rate is the share of
 * negative samples that are accepted, and true_rate the share of positive ones. */
typedef struct mica_roc_point {
  double threshold, false_rate, true_rate;
} mica_roc_point;

/* auc: area under the curve. eer: equal error rate, where the false rate and 1 - true rate meet on the line between two
 * points. threshold: the score there. true_rate_1, true_rate_10: largest true rate of a point whose false rate is at
 * most 0.01, or 0.1. */
typedef struct mica_roc_scores {
  double auc, eer, threshold, true_rate_1, true_rate_10;
} mica_roc_scores;

/* Computes the receiver operating characteristic as scikit-learn's roc_curve does with drop_intermediate=False: a point
 * (infinity, 0, 0), then one per distinct score, descending. Sample i is positive if truths[i] is not 0. curve (may be
 * NULL) receives up to count + 1 points, *points their number (points may be NULL if curve is), and *result the scores.
 * Without a positive or without a negative sample there are no points, and the scores are NaN. MICA_E_INVALID: a score
 * is NaN. MICA_E_NOMEM. */
MICA_API MICA_CHECKED mica_status mica_roc(const float *scores, const uint8_t *truths, size_t count,
                                           mica_roc_point *curve, size_t *points, mica_roc_scores *result);

/* --- translation --- */

#define MICA_BLEU_ORDER 4

/* Sums over sentences. counts[k] is the number of hypothesis n-grams of k + 1 words that occur in a reference,
 * totals[k] the number of all hypothesis n-grams of k + 1 words, length the number of words of hypotheses, and
 * reference_length the number of words of references. Plain data: to join two sets of sentences, add the fields. */
typedef struct mica_bleu {
  int64_t counts[MICA_BLEU_ORDER], totals[MICA_BLEU_ORDER], length, reference_length;
} mica_bleu;

/* Count to use if no n-gram of a length matches. EXPONENTIAL: 1/2, 1/4, ...; NONE: 0, so the score is 0; FLOOR: 0.1;
 * ADD: 1 is added to counts and totals of n-grams with two or more words. */
typedef enum mica_bleu_smoothing {
  MICA_BLEU_SMOOTHING_EXPONENTIAL,
  MICA_BLEU_SMOOTHING_NONE,
  MICA_BLEU_SMOOTHING_FLOOR,
  MICA_BLEU_SMOOTHING_ADD,
} mica_bleu_smoothing;

/* All zeros: what sacrebleu calls "case:mixed|eff:no|tok:13a|smooth:exp". */
typedef struct mica_bleu_config {
  mica_bleu_smoothing smoothing;
  bool effective_order; /* ignore n-grams longer than the hypothesis, as for scores of one sentence */
  bool lowercase;       /* ignore case; texts must be UTF-8; needs utf8proc */
  bool untokenised;     /* words are separated by white space only */
} mica_bleu_config;

/* Adds a hypothesis with n references; all are detokenised texts. An n-gram is counted at most as often as it occurs in
 * the reference that has it most often. The reference length is the length closest to the hypothesis's, or the smaller
 * one if two are equally close. config may be NULL. Papineni et al. 2002, Post 2018. MICA_E_NOMEM. MICA_E_UNSUPPORTED:
 * lowercase in a build without utf8proc. */
MICA_API MICA_CHECKED mica_status mica_bleu_add(mica_bleu *sums, const char *hypothesis, const char *const *references,
                                                size_t n, const mica_bleu_config *config);
/* BLEU, 0 to 100; 0 if no n-gram matches at all. precisions (may be NULL) receives MICA_BLEU_ORDER percentages. config
 * may be NULL. */
MICA_API double mica_bleu_score(const mica_bleu *sums, const mica_bleu_config *config, double *precisions);
/* Brevity penalty: exp(1 - reference_length / length) if hypotheses are shorter, else 1. */
MICA_API double mica_bleu_brevity(const mica_bleu *sums);

/* --- detection --- */

/* A true box of a picture: x0 y0 x1 y1. */
typedef struct mica_true_box {
  int64_t picture; /* any number; pictures are sorted by it */
  int32_t class_index;
  bool crowd;  /* covers a group: a found box that mostly lies inside is ignored */
  bool ignore; /* difficult: neither finding nor missing it counts */
  double box[4];
  double area; /* decides its size class; 0: width times height; MICA_ZERO: 0 */
} mica_true_box;

typedef struct mica_found_box {
  int64_t picture;
  int32_t class_index;
  double score;
  double box[4];
  double area; /* 0: width times height; MICA_ZERO: 0 */
} mica_found_box;

#define MICA_BOX_THRESHOLDS 10
#define MICA_BOX_RECALLS 101

/* COCO's twelve numbers, means over classes that have boxes. ap: precision averaged over 101 recalls. ar: recall with
 * at most that number of boxes per picture. Both are means over the overlap thresholds 0.50, 0.55, ... 0.95, unless the
 * name gives one. small: area up to 32 x 32; medium: up to 96 x 96. A score is -1 if there are no boxes to score.
 * by_threshold: ap per threshold. */
typedef struct mica_box_scores {
  double ap, ap_50, ap_75, ap_small, ap_medium, ap_large;
  double ar_1, ar_10, ar_100, ar_small, ar_medium, ar_large;
  double by_threshold[MICA_BOX_THRESHOLDS];
} mica_box_scores;

/* Scores of one class. curve: precision at the recalls 0, 0.01, ... 1 for overlap 0.50. */
typedef struct mica_box_class_scores {
  double ap, ap_50, ap_75, ar_100;
  double curve[MICA_BOX_RECALLS];
} mica_box_class_scores;

/* Scores found boxes as COCO defines it; results equal pycocotools' in all digits. *scores receives the totals,
 * by_class (may be NULL) `classes` elements.
 *
 * In each picture and class, found boxes are taken in descending order of score (boxes with equal scores in the order
 * given), at most 100. Each is matched to the true box with the largest overlap that is not matched yet, if the overlap
 * reaches the threshold; among equal overlaps, to the last one. A crowd may be matched again. Crowds and ignored boxes
 * are matched only if no other box is. MICA_E_INVALID: a class is outside 0 to classes - 1, classes is below 1, a
 * coordinate is not finite, or a score is NaN. MICA_E_NOMEM. */
MICA_API MICA_CHECKED mica_status mica_box_precision(const mica_true_box *truths, size_t truth_count,
                                                     const mica_found_box *found, size_t found_count, int32_t classes,
                                                     mica_box_scores *scores, mica_box_class_scores *by_class);

MICA_END_DECLS

#endif
