/* Losses of recommenders, and measures of rankings. */
#include "networks/recommender.h"
#include "base/error.h"
#include "ir/graph.h"

#include <math.h>
#include <mica/loss.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

typedef mica__recommending recommending;

/* The most items that a prediction puts in order. */
#define MOST_RANKED 256
/* The score of items that must not be recommended. */
#define NEVER -1e30

static const mica_value null_value = {0};

static mica_value column(const mica_batch_values *batch, const char *name) {
  return mica_batch_has(batch, name) ? mica_batch_value(batch, name) : null_value;
}

static mica__user_values user_of(const recommending *r, const mica_batch_values *batch) {
  mica__user_values user = {.ids = mica_batch_value(batch, "user")};
  if (!mica__recommender_context(&r->network)) return user;
  user.history = mica_batch_value(batch, "history");
  user.lengths = mica_batch_value(batch, "history_length");
  return user;
}

/* A part of the loss: `weight` times the sum of squares of the rows that a pair reads, averaged over pairs. */
static mica_value squares_of(const mica__recommender_sides *s, mica_value items, double weight) {
  mica_value read[] = {s->query, mica_embedding(s->table, items), s->shift, mica_embedding(s->bias, items)};
  mica_value sum = null_value;
  for (int i = 0; i < 4; i++) {
    mica_value own = mica_sum_square(mica_cast(read[i], MICA_F32), MICA_AXES(1), false);
    sum = i ? mica_add(sum, own) : own;
  }
  return mica_affine(mica_mean(sum, MICA_ALL_AXES, false), weight, 0);
}

/* --- the order of all items --- */

/* Sets the scores (N, V) of items that must not be recommended to NEVER. These are the items whose ids are in the
 * column `seen`, which also contains 0, the id of unknown items. Without that column, the scores stay as they are. */
static mica_value mask_seen(mica_value scores, mica_value seen) {
  if (mica_value_is_null(seen)) return scores;
  mica_value never = mica_full_like(mica_cast(seen, MICA_F32), NEVER);
  return mica_scatter_elements(scores, seen, never, 1, MICA_SCATTER_SET);
}

/* Items in descending order of their scores, for predictions. */
static void output_ranked(mica_value scores, int64_t items, mica_objective *out) {
  const int64_t count = items - 1 < MOST_RANKED ? items - 1 : MOST_RANKED;
  const mica_top_k_results top = mica_top_k(scores, count, 1, false);
  out->outputs[0] = mica_cast(top.indices, MICA_I32), out->output_names[0] = "ranked";
  out->outputs[1] = top.values, out->output_names[1] = "scores";
}

/* --- ratings --- */

/* The network's score of each pair of a batch, (N), before the mean is added. If r->l2 is above 0 in training, *squares
 * receives the term that l2 adds to the loss. Otherwise, and for neumf, it is left unchanged. */
static mica_value score_pairs(mica_nn *nn, const recommending *r, const mica_batch_values *batch, mica_value *squares) {
  const mica__user_values user = user_of(r, batch);
  mica_value items = mica_batch_value(batch, "item");
  const double l2 = mica_nn_is_training(nn) ? r->l2 : 0;
  if (mica__recommender_has_features(&r->network)) {
    const mica__feature_values x = {column(batch, "numbers"), column(batch, "categories"), column(batch, "sets"),
                                    column(batch, "set_lengths")};
    mica_value vectors = null_value, z = mica__zoo_dlrm(nn, &r->network, user.ids, items, &x, &vectors);
    if (!(l2 > 0)) return z;
    /* The first vector is computed from numbers by layers, the others are rows of tables. */
    mica_value rows = mica_cast(mica_slice(vectors, 1, 1, MICA_END, 1), MICA_F32);
    *squares = mica_affine(mica_mean(mica_sum_square(rows, MICA_AXES(1, 2), false), MICA_ALL_AXES, false), l2, 0);
    return z;
  }
  if (!mica__recommender_has_sides(&r->network)) {
    mica_value pairs = mica__recommender_pairs(nn, &r->network, user, mica_unsqueeze(items, MICA_AXES(1)));
    return mica_squeeze(pairs, MICA_AXES(1));
  }
  const mica__recommender_sides s = mica__recommender_build(nn, &r->network, user);
  mica_value product = mica_mul(s.query, mica__nn_narrow(nn, mica_embedding(s.table, items)));
  mica_value z = mica_sum(mica_cast(product, MICA_F32), MICA_AXES(1), true);
  z = mica_squeeze(mica_add(z, mica_add(s.shift, mica_embedding(s.bias, items))), MICA_AXES(1));
  if (l2 > 0) *squares = squares_of(&s, items, l2);
  return z;
}

/* The logarithm of the odds of a click if nothing else is known. */
static double mean_logit(double share) {
  const double least = 1e-6, p = share < least ? least : share > 1 - least ? 1 - least : share;
  return log(p / (1 - p));
}

/* log loss: softplus(z) - label z. */
static void step_click(mica_nn *nn, mica_value z, mica_value squares, mica_value label, mica_objective *out) {
  if (!mica_nn_is_training(nn)) out->outputs[0] = mica_sigmoid(z), out->output_names[0] = "value";
  if (mica_value_is_null(label) || mica_value_is_null(z)) return;
  mica_value losses = mica_sub(mica_softplus(z), mica_mul(label, z));
  out->loss = mica_mean(losses, MICA_ALL_AXES, false);
  if (!mica_value_is_null(squares)) out->loss = mica_add(out->loss, squares);
  out->metrics[0] = mica_metric_mean("log_loss", losses);
}

static void step_rating(mica_nn *nn, mica_value z, mica_value squares, mica_value label, const double *range,
                        mica_objective *out) {
  mica_value within = range ? mica_clip(z, range[0], range[1]) : z;
  if (!mica_nn_is_training(nn)) out->outputs[0] = within, out->output_names[0] = "value";
  if (mica_value_is_null(label) || mica_value_is_null(z)) return;
  mica_value error = mica_sub(within, label);
  out->loss = mica_mse(mica_nn_is_training(nn) ? z : within, label, MICA_LOSS_REDUCTION_MEAN);
  if (!mica_value_is_null(squares)) out->loss = mica_add(out->loss, squares);
  out->metrics[0] = mica_metric_mean("mae", mica_abs(error));
  if (mica_nn_is_training(nn)) return;
  out->metrics[1] = (mica_metric){.name = "squares",
                                  .sum = mica_reshape(mica_sum_square(error, MICA_ALL_AXES, false), MICA_SHAPE(1))};
}

void mica__recommending_pairs(mica_nn *nn, const recommending *r, const mica_batch_values *batch, mica_objective *out) {
  const bool clicks = r->clicks;
  const double mean = clicks ? mean_logit(r->mean) : r->mean;
  mica_value squares = null_value;
  if (!mica_batch_has(batch, "item")) {
    mica_value all = mica_affine(mica__recommender_all(nn, &r->network, user_of(r, batch)), 1, mean);
    out->outputs[0] = clicks ? mica_sigmoid(all) : all, out->output_names[0] = "all";
    return;
  }
  mica_value z = mica_affine(score_pairs(nn, r, batch, &squares), 1, mean), label = column(batch, "label");
  out->answers[0] = (mica_answer){.kind = clicks ? MICA_ANSWER_KIND_LABELS : MICA_ANSWER_KIND_NUMBERS, .value = z};
  if (clicks)
    step_click(nn, z, squares, label, out);
  else
    step_rating(nn, z, squares, label, r->range, out);
}

/* --- choices, in training --- */

/* Scores (N, V) of all items as an answer with one class per item. Item 0, which represents all unknown items, is left
 * out. */
static mica_answer answer_of(mica_value scores, mica_value weight) {
  return (mica_answer){
      .kind = MICA_ANSWER_KIND_CLASSES, .value = mica_slice(scores, 1, 1, MICA_END, 1), .weight = weight};
}

/* The answer is the scores of all items at each position of a window. The loss, only in training, compares the item
 * that follows the position with randomly drawn items. A position that no known item follows has weight 0. */
static void losses_of_windows(mica_nn *nn, const recommending *r, const mica_batch_values *batch, mica_objective *out) {
  mica_value tokens = mica_batch_value(batch, "tokens");
  const mica__user_values user = {.history = mica_slice(tokens, 1, 0, r->network.context, 1)};
  mica_value next = mica_reshape(mica_slice(tokens, 1, 1, r->network.context + 1, 1), MICA_SHAPE(MICA_DYNAMIC));
  const mica__recommender_sides s = mica__recommender_build(nn, &r->network, user);
  mica_value x = mica_reshape(s.query, MICA_SHAPE(MICA_DYNAMIC, r->network.width));
  mica_value loss = null_value;
  if (mica_nn_is_training(nn))
    loss = mica_sampled_softmax(mica_nn_step(nn), x, mica__nn_narrow(nn, s.table), null_value, next, &r->negatives);
  mica_value counts = mica_cast(mica_greater(next, mica_full_like(next, 0)), MICA_F32);
  const mica__recommender_sides rows = {.query = x, .table = s.table};
  out->answers[0] = answer_of(mica__recommender_all_of(nn, &rows), counts);
  if (!loss.graph) return;
  out->weight = mica_sum(counts, MICA_ALL_AXES, false);
  out->loss = mica_div(mica_sum(mica_mul(loss, counts), MICA_ALL_AXES, false), out->weight);
}

/* Scores of items (N, K). Also sets answers[0] to the scores of all items, if a teacher needs them or they cost
 * little because the network has two sides. */
static mica_value scores_of(mica_nn *nn, const recommending *r, mica__user_values user, mica_value items,
                            mica_objective *out) {
  if (mica__recommender_has_sides(&r->network)) {
    const mica__recommender_sides s = mica__recommender_build(nn, &r->network, user);
    out->answers[0] = answer_of(mica__recommender_all_of(nn, &s), null_value);
    return mica__recommender_pairs_of(nn, &s, items);
  }
  if (!r->taught) return mica__recommender_pairs(nn, &r->network, user, items);
  mica_value scores = mica__recommender_all(nn, &r->network, user);
  out->answers[0] = answer_of(scores, null_value);
  return mica_gather_elements(scores, items, 1);
}

/* The loss of the pairs of a batch, with other items drawn for each pair. For neumf it is binary cross entropy: the
 * pair is a positive example and the drawn items are negative ones. For mf it is BPR (Rendle et al. 2009), which is low
 * if the pair scores higher than the drawn items. */
static mica_value loss_of_pairs(mica_nn *nn, const recommending *r, mica__user_values user, mica_value items,
                                mica_objective *out) {
  const double l2 = r->l2;
  mica_value drawn = mica_negative_samples(mica_nn_step(nn), items, &r->negatives);
  mica_value all = mica_concat((mica_value[]){mica_unsqueeze(items, MICA_AXES(1)), drawn}, 2, 1);
  mica_value scores = scores_of(nn, r, user, all, out);
  mica_value own = mica_slice(scores, 1, 0, 1, 1), others = mica_slice(scores, 1, 1, MICA_END, 1);
  if (!strcmp(r->network.name, "neumf")) {
    mica_value right = mica_mean(mica_softplus(mica_neg(own)), MICA_ALL_AXES, false);
    return mica_add(right, mica_mean(mica_sum(mica_softplus(others), MICA_AXES(1), false), MICA_ALL_AXES, false));
  }
  mica_value loss = mica_mean(mica_softplus(mica_sub(others, own)), MICA_ALL_AXES, false);
  if (!(l2 > 0)) return loss;
  mica_value users = mica_embedding(mica_nn_weight_of(nn, "users.weight"), user.ids);
  mica_value rows = mica_embedding(mica_nn_weight_of(nn, "items.weight"), all);
  mica_value squares = mica_add(mica_mean(mica_sum_square(users, MICA_AXES(1), false), MICA_ALL_AXES, false),
                                mica_mean(mica_sum_square(rows, MICA_AXES(1, 2), false), MICA_ALL_AXES, false));
  return mica_add(loss, mica_affine(squares, l2, 0));
}

static mica_value loss_of_choices(mica_nn *nn, const recommending *r, const mica_batch_values *batch,
                                  mica_objective *out) {
  const mica__user_values user = user_of(r, batch);
  mica_value items = mica_batch_value(batch, "item");
  if (!mica_nn_is_training(nn)) {
    out->answers[0] = answer_of(mica__recommender_all(nn, &r->network, user), null_value);
    return null_value;
  }
  if (strcmp(r->network.name, "towers") != 0) return loss_of_pairs(nn, r, user, items, out);
  const mica__recommender_sides s = mica__recommender_build(nn, &r->network, user);
  mica_value bias = mica_squeeze(s.bias, MICA_AXES(1));
  mica_value losses =
      mica_sampled_softmax(mica_nn_step(nn), s.query, mica__nn_narrow(nn, s.table), bias, items, &r->negatives);
  out->answers[0] = answer_of(mica__recommender_all_of(nn, &s), null_value);
  return mica_mean(losses, MICA_ALL_AXES, false);
}

/* --- choices, in tests --- */

/* *gains receives the k numbers 1 / log2(j + 2) of DCG. *sums receives k + 1 numbers; number n is the sum of the first
 * n gains. False, with an error in the graph, if memory is short. */
static bool make_gains(mica_graph *graph, int64_t k, mica_value *gains, mica_value *sums) {
  float *numbers = malloc((size_t)(2 * k + 1) * sizeof *numbers);
  if (!numbers) {
    mica__graph_fail_with(graph, mica__fail_nomem("a ranking"));
    return false;
  }
  double sum = 0;
  for (int64_t j = 0; j < k; j++) {
    numbers[j] = (float)(1 / log2((double)j + 2));
    numbers[k + j] = (float)sum;
    sum += 1 / log2((double)j + 2);
  }
  numbers[2 * k] = (float)sum;
  *gains = mica_constant(graph, MICA_F32, MICA_SHAPE(k), numbers);
  *sums = mica_constant(graph, MICA_F32, MICA_SHAPE(k + 1), numbers + k);
  free(numbers);
  return true;
}

/* The mean cross entropy of the held-out items that can be recommended; 0 if no item can. */
static mica_value loss_of_held(mica_value scores, mica_value held) {
  mica_value own = mica_gather_elements(scores, held, 1);
  mica_value known = mica_greater(own, mica_full_like(own, NEVER / 2));
  mica_value each = mica_sub(mica_logsumexp(scores, MICA_AXES(1), true), own);
  mica_value sum = mica_sum(mica_where(known, each, mica_full_like(each, 0)), MICA_ALL_AXES, false);
  mica_value count = mica_sum(mica_cast(known, MICA_F32), MICA_ALL_AXES, false);
  return mica_div(sum, mica_maximum(count, mica_full_like(count, 1)));
}

static void measure(const recommending *r, mica_value scores, mica_value held, mica_value lengths,
                    mica_objective *out) {
  const int64_t k = r->top;
  mica_value gains, sums, zero = mica_scalar(scores.graph, MICA_I32, 0);
  if (mica_value_is_null(scores) || !make_gains(scores.graph, k, &gains, &sums)) return;
  mica_value ranked = mica_cast(mica_top_k(scores, k, 1, false).indices, MICA_I32);
  mica_value same = mica_equal(mica_unsqueeze(ranked, MICA_AXES(2)), mica_unsqueeze(held, MICA_AXES(1)));
  same = mica_logical_and(same, mica_unsqueeze(mica_greater(held, zero), MICA_AXES(1)));
  mica_value hits = mica_max(mica_cast(same, MICA_F32), MICA_AXES(2), false); /* (N, k) */
  mica_value most = mica_gather(sums, mica_minimum(lengths, mica_scalar(scores.graph, MICA_I32, (double)k)), 0);
  mica_value gain = mica_div(mica_sum(mica_mul(hits, gains), MICA_AXES(1), false), most);
  mica_value found = mica_sum(hits, MICA_AXES(1), false);
  out->loss = loss_of_held(scores, held);
  out->metrics[0] = mica_metric_mean("ndcg", gain);
  out->metrics[1] = mica_metric_mean("hit_rate", mica_max(hits, MICA_AXES(1), false));
  out->metrics[2] = mica_metric_mean("recall", mica_div(found, mica_cast(lengths, MICA_F32)));
  const int64_t items = mica_value_shape(scores).dim[1];
  mica_value flat = mica_reshape(ranked, MICA_SHAPE(MICA_DYNAMIC));
  mica_value none = mica_full(scores.graph, MICA_F32, MICA_SHAPE(items), 0);
  mica_value ones = mica_full_like(mica_cast(flat, MICA_F32), 1);
  out->metrics[3] =
      (mica_metric){.name = "recommended", .sum = mica_scatter_elements(none, flat, ones, 0, MICA_SCATTER_ADD)};
}

mica_value mica__recommending_scores(mica_nn *nn, const recommending *r, const mica_batch_values *batch) {
  return mica__recommender_all(nn, &r->network, user_of(r, batch));
}

void mica__recommending_choices(mica_nn *nn, const recommending *r, const mica_batch_values *batch,
                                mica_objective *out) {
  /* A batch with the columns of training is for a network in training, which computes its loss, or for its teacher,
   * which only computes its answers. */
  if (mica_batch_has(batch, "tokens") || mica_batch_has(batch, "item")) {
    if (mica__recommender_is_sequential(&r->network))
      losses_of_windows(nn, r, batch, out);
    else
      out->loss = loss_of_choices(nn, r, batch, out);
    return;
  }
  mica_value scores = mask_seen(mica__recommending_scores(nn, r, batch), column(batch, "seen"));
  if (mica_batch_has(batch, "held"))
    measure(r, scores, mica_batch_value(batch, "held"), mica_batch_value(batch, "held.length"), out);
  else
    output_ranked(scores, r->network.items, out);
}
