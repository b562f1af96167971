/* task/head/ranking.h: learns how users rate items, what they choose next, or what they click. */
#ifndef MICA_TASK_HEAD_RANKING_H
#define MICA_TASK_HEAD_RANKING_H

#include "run/head.h"
#include "task/input/interactions.h"

extern const mica__head mica__head_ranking;

extern const mica_onnx_text mica__recommend_docs[]; /* of what they read and make */
void mica__recommend_exports(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out);
/* Adds "auc" over the source's samples, the AUC of simple baseline orders, and "base_log_loss": the log loss of always
 * predicting the share of clicks in training. */
mica_status mica__recommend_evaluate_clicks(mica_run *run, const mica_batch_source *source, mica_metrics *m);
/* Sets the facts "item_bias" and "user_bias", by id: how far the mean training rating of an item is from that of
 * all, with MICA__BIAS_PRIOR ratings of the overall mean added; the same for users, after the items' biases are
 * subtracted. */
#define MICA__BIAS_PRIOR 10
mica_status mica__recommend_note_biases(mica_run *run, const mica__interactions *x);
/* The share of pairs of a click and a non-click that the scores order correctly; equal scores count half. The scores
 * are sorted. NaN if there are no clicks or no non-clicks. */
typedef struct mica__clicked {
  float score, label;
} mica__clicked;
double mica__auc(mica__clicked *list, size_t count);
/* Adds the metrics of popularity and of neighbouring items for the same users. */
mica_status mica__recommend_baselines(mica_run *run, mica_metrics *m);
/* The rows of a layer's table as floats, also for a quantised run. The caller frees *values, also on failure. */
mica_status mica__recommend_table(mica_run *run, const char *table, float **values, mica_shape *shape);
/* The answers for pairs, in a run that learns ratings or clicks. */
#define MICA__PAIRS 256
mica_status mica__recommend_values(mica_run *run, const mica__features *f, const mica__interaction *pairs, size_t n,
                                   float *values);
mica_status mica__recommend_predict(mica_run *run, const mica_run_input *input, mica_report *prediction);
mica_status mica__recommend_query(mica_run *run, const mica_run_query *query, mica_report *prediction);
/* Up to `top` (at most 256) items that a user has not had in training, best first. */
mica_status mica__recommend_items(mica_run *run, int32_t user, int64_t top, int32_t *items, int64_t *count);
/* Adds the long tail, and a map of the items in two dimensions. */
mica_status mica__recommend_report(mica_run *run, mica_report *report);

/* Sums over users that measure rankings of `top` items by the held-out items among them. */
typedef struct mica__ranking {
  double users, hits, gain, recall;
} mica__ranking;
/* Adds a user: the ranked items, and the held-out ones; some of these may be unknown (0). */
void mica__ranking_add(mica__ranking *sums, const int32_t *ranked, int64_t top, const int32_t *held, int64_t count);

#endif
