/* task/head/ranking.h: learns how users rate items, what they choose next, or what they click. */
#ifndef MICA_TASK_HEAD_RANKING_H
#define MICA_TASK_HEAD_RANKING_H

#include "data/interactions/measures.h"
#include "run/head.h"
#include "task/input/interactions.h"

extern const mica__head mica__head_ranking;

extern const mica_onnx_text mica__recommend_docs[]; /* describes the inputs and outputs of exported models */
void mica__recommend_exports(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out);
/* Adds "auc" over the source's samples, the AUC of simple baseline orders, and "base_log_loss": the log loss of always
 * predicting the share of clicks in training. */
mica_status mica__recommend_evaluate_clicks(mica_run *run, const mica_batch_source *source, mica_metrics *m);
/* Sets the stored values "item_bias" and "user_bias" (mica__interactions_biases). */
mica_status mica__recommend_note_biases(mica_run *run, const mica__interactions *x);
/* Adds the metrics of two baselines for the users of the test: recommending the most popular items, and recommending
 * the items most similar to those that the user had. */
mica_status mica__recommend_baselines(mica_run *run, mica_metrics *m);
mica_status mica__recommend_predict(mica_run *run, const mica_run_input *input, mica_report *prediction);
mica_status mica__recommend_query(mica_run *run, const mica_run_query *query, mica_report *prediction);
/* Finds the best items (`top` or fewer, at most 256) that are not in the user's stored history, best first. *count
 * receives their number. */
mica_status mica__recommend_items(mica_run *run, int32_t user, int64_t top, int32_t *items, int64_t *count);
/* Adds to a report how far recommendations reach into the long tail of items, and a map of the items in two
 * dimensions. */
mica_status mica__recommend_report(mica_run *run, mica_report *report);

#endif
