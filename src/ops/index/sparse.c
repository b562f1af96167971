/* Bags of embeddings, products of pairs of embeddings, and sampled classes, made of gathers. */
#include "base/arith.h"
#include "base/error.h"
#include "ops/index/index.h"

#include <math.h>
#include <mica/sparse.h>
#include <stdlib.h>

/* The most ids that uniform f32 numbers can tell apart. */
#define MOST_IDS (1 << 24)
#define POWER 0.75

static const mica_value null_value = {0};

/* --- bags --- */

/* Returns (N, M): true at the positions j < lengths[n] of indices. */
static mica_value within(mica_value indices, mica_value lengths) {
  mica_value one = mica_full_like(mica_cast(indices, MICA_I64), 1);
  mica_value position = mica_cumsum(one, 1, true, false);
  return mica_less(position, mica_unsqueeze(mica_cast(lengths, MICA_I64), MICA_AXES(1)));
}

mica_value mica_embedding_bag(mica_value table, mica_value indices, mica_value lengths, mica_value weights,
                              mica_bag bag) {
  const mica_shape shape = mica_value_shape(table), taken = mica_value_shape(indices);
  char tt[MICA_SHAPE_TEXT], ti[MICA_SHAPE_TEXT];
  if (mica_value_is_null(table) || mica_value_is_null(indices)) return null_value;
  if (shape.rank != 2 || taken.rank != 2)
    return mica__builder_fail("embedding_bag", table, MICA_E_SHAPE,
                              "indices are %s and the table is %s, but both must be matrices",
                              mica_shape_format(taken, ti), mica_shape_format(shape, tt));
  if (!mica__builder_choice("embedding_bag", table, "bag", bag, MICA_BAG_MEAN + 1)) return null_value;
  mica_value count = weights, inside = null_value;
  if (!mica_value_is_null(lengths)) {
    inside = within(indices, lengths);
    indices = mica_where(inside, indices, mica_full_like(indices, mica__index_outside(shape.dim[0])));
  }
  mica_value rows = mica_embedding(table, indices);
  if (!mica_value_is_null(weights)) rows = mica_mul(rows, mica_unsqueeze(weights, MICA_AXES(2)));
  mica_value sum = mica_sum(rows, MICA_AXES(1), false);
  if (bag == MICA_BAG_SUM) return sum;
  if (mica_value_is_null(count)) count = mica_full_like(mica_cast(indices, mica_value_dtype(table)), 1);
  if (!mica_value_is_null(inside)) count = mica_where(inside, count, mica_full_like(count, 0));
  count = mica_sum(count, MICA_AXES(1), true);
  mica_value none = mica_equal(count, mica_full_like(count, 0));
  return mica_div(sum, mica_where(none, mica_full_like(count, 1), count));
}

/* --- products of pairs --- */

#define MOST_VECTORS 1024

mica_value mica_dot_interaction(mica_value x) {
  static const mica_axes swapped = {.count = 3, .axis = {0, 2, 1}};
  const mica_shape shape = mica_value_shape(x);
  char text[MICA_SHAPE_TEXT];
  if (mica_value_is_null(x)) return null_value;
  if (shape.rank != 3 || shape.dim[1] < 2 || shape.dim[1] > MOST_VECTORS)
    return mica__builder_fail("dot_interaction", x, MICA_E_SHAPE,
                              "x is %s, but must be (N, F, D), with F, the vectors of a sample, from 2 to %d",
                              mica_shape_format(shape, text), MOST_VECTORS);
  const int64_t f = shape.dim[1], pairs = f * (f - 1) / 2;
  int32_t *at = malloc((size_t)pairs * sizeof *at);
  if (!at) return mica__graph_fail_with(x.graph, mica__fail_nomem("dot_interaction"));
  for (int64_t i = 1, k = 0; i < f; i++)
    for (int64_t j = 0; j < i; j++) at[k++] = (int32_t)(i * f + j);
  mica_value products = mica_matmul(x, mica_transpose(x, swapped));
  products = mica_reshape(products, MICA_SHAPE(shape.dim[0], f * f));
  mica_value y = mica_gather(products, mica_constant(x.graph, MICA_I32, MICA_SHAPE(pairs), at), 1);
  free(at);
  return y;
}

/* --- samples --- */

/* How ids are drawn: evenly, or by popularity with Walker's alias method (1977). This method draws an id j evenly,
 * keeps it with probability keep[j], and else takes other[j]. */
typedef struct draw {
  const mica_negative_config *c;
  mica_value step, keep, other, log_share;
} draw;

/* Sets shares[i] to the probability of id first + i, times the number of ids, so that the mean is 1. False if a
 * popularity is negative or not finite, or if their sum is 0 or not finite. */
static bool find_shares(const mica_negative_config *c, double *shares) {
  const int64_t ids = c->count - c->first;
  double total = 0;
  for (int64_t i = 0; i < ids; i++) {
    const double p = c->popularity[c->first + i];
    if (!(p >= 0) || !isfinite(p)) return false;
    total += shares[i] = p > 0 ? pow(p, mica__or_default(c->power, POWER)) : 0;
  }
  for (int64_t i = 0; i < ids; i++) shares[i] *= (double)ids / total;
  return total > 0 && isfinite(total);
}

/* Fills keep and other from shares, which it overwrites. An id with a share below 1 gets the rest from an id with a
 * larger share. */
static void pair_ids(double *shares, int64_t ids, int32_t *list, float *keep, int32_t *other) {
  int64_t poor = 0, rich = ids;
  for (int64_t i = 0; i < ids; i++) keep[i] = 1, other[i] = (int32_t)i;
  for (int64_t i = 0; i < ids; i++) {
    if (shares[i] < 1)
      list[poor++] = (int32_t)i;
    else
      list[--rich] = (int32_t)i;
  }
  /* list now holds the ids with a share below 1 at the front, and the others at the back. */
  for (int64_t next = 0; next < poor && poor < ids;) {
    const int32_t i = list[next++], r = list[poor];
    keep[i] = (float)shares[i];
    other[i] = r;
    shares[r] -= 1 - shares[i];
    if (shares[r] < 1) poor++;
  }
}

static bool prepare_popular(draw *d) {
  const int64_t ids = d->c->count - d->c->first;
  const size_t n = (size_t)ids;
  double *shares = malloc(n * sizeof *shares);
  float *keep = malloc(n * sizeof *keep), *logs = malloc(((size_t)d->c->count + 1) * sizeof *logs);
  int32_t *other = malloc(n * sizeof *other), *list = malloc(n * sizeof *list);
  const bool memory = shares && keep && logs && other && list;
  const bool good = memory && find_shares(d->c, shares);
  if (!memory)
    mica__graph_fail_with(d->step.graph, mica__fail_nomem("negative samples"));
  else if (!good)
    mica__builder_fail(
        "negative_samples", d->step, MICA_E_INVALID,
        "each popularity from index %lld on must be a finite number of 0 or more, and at least one of them above 0",
        (long long)d->c->first);
  if (good) {
    for (int64_t i = 0; i < d->c->count; i++) {
      const double share = i < d->c->first ? 0 : shares[i - d->c->first] / (double)ids;
      /* An id that is never drawn may still be a positive: it counts as drawn once in MOST_IDS. */
      logs[i] = (float)log(share > 0 ? share : 1.0 / MOST_IDS);
    }
    pair_ids(shares, ids, list, keep, other);
    d->keep = mica_constant(d->step.graph, MICA_F32, MICA_SHAPE(ids), keep);
    d->other = mica_constant(d->step.graph, MICA_I32, MICA_SHAPE(ids), other);
    d->log_share = mica_constant(d->step.graph, MICA_F32, MICA_SHAPE(d->c->count), logs);
  }
  free(shares);
  free(keep);
  free(logs);
  free(other);
  free(list);
  return good;
}

static bool prepare(draw *d, const char *op, mica_value x) {
  const mica_negative_config *c = d->c;
  if (mica_value_is_null(d->step) || mica_value_is_null(x)) return false;
  if (!c) {
    mica__builder_fail(op, x, MICA_E_INVALID, "the config is NULL");
    return false;
  }
  if (c->first < 0 || c->count - c->first < 2 || c->count > MOST_IDS) {
    mica__builder_fail(op, x, MICA_E_INVALID,
                       "first is %lld and count is %lld, but first must be at least 0, and count from first + 2 to %d",
                       (long long)c->first, (long long)c->count, MOST_IDS);
    return false;
  }
  if (c->samples < 1) {
    mica__builder_fail(op, x, MICA_E_INVALID, "samples is %lld, but must be at least 1", (long long)c->samples);
    return false;
  }
  return !c->popularity || prepare_popular(d);
}

/* Draws ids from 0 to n - 1, one for each element of `like` (f32). */
static mica_value draw_even(const draw *d, mica_value like, int64_t n, uint64_t salt) {
  mica_value u = mica_random_uniform(d->step, like, d->c->seed + salt, 0, (double)n);
  return mica_minimum(mica_cast(u, MICA_I32), mica_scalar(u.graph, MICA_I32, (double)(n - 1)));
}

static mica_value draw_popular(const draw *d, mica_value like, uint64_t salt) {
  mica_value at = draw_even(d, like, d->c->count - d->c->first, salt);
  mica_value u = mica_random_uniform(d->step, like, d->c->seed + salt + 1, 0, 1);
  return mica_where(mica_less(u, mica_gather(d->keep, at, 0)), at, mica_gather(d->other, at, 0));
}

/* Draws ids other than `positive`, which counts from 0 and has the shape of `like`. */
static mica_value draw_others(const draw *d, mica_value like, mica_value positive) {
  const int64_t n = d->c->count - d->c->first;
  mica_value one = mica_scalar(like.graph, MICA_I32, 1);
  if (mica_value_is_null(d->keep)) {
    mica_value id = draw_even(d, like, n - 1, 0);
    return mica_add(id, mica_cast(mica_greater_equal(id, positive), MICA_I32));
  }
  mica_value id = draw_popular(d, like, 0);
  id = mica_where(mica_equal(id, positive), draw_popular(d, like, 2), id);
  mica_value next = mica_mod(mica_add(id, one), mica_scalar(like.graph, MICA_I32, (double)n));
  return mica_where(mica_equal(id, positive), next, id);
}

mica_value mica_negative_samples(mica_value step, mica_value positives, const mica_negative_config *config) {
  draw d = {.c = config, .step = step};
  if (!prepare(&d, "negative_samples", positives)) return null_value;
  const int32_t rank = mica_value_shape(positives).rank;
  mica_shape wide = {.rank = rank + 1};
  for (int32_t i = 0; i < rank; i++) wide.dim[i] = MICA_DYNAMIC;
  wide.dim[rank] = config->samples;
  mica_value first = mica_scalar(step.graph, MICA_I32, (double)config->first);
  mica_value positive = mica_expand(mica_unsqueeze(mica_cast(positives, MICA_I32), MICA_AXES(rank)), wide);
  mica_value ids = draw_others(&d, mica_full_like(mica_cast(positive, MICA_F32), 0), mica_sub(positive, first));
  return mica_cast(mica_add(ids, first), mica_value_dtype(positives));
}

/* Returns what is added to the scores of ids: their bias, and a correction for how often they are drawn; null if
 * neither applies. */
static mica_value shift_of(const draw *d, mica_value bias, mica_value ids) {
  mica_value own = mica_value_is_null(bias) ? bias : mica__widen(mica_gather(bias, ids, 0));
  if (mica_value_is_null(d->log_share)) return own;
  mica_value drawn = mica_neg(mica_gather(d->log_share, ids, 0));
  return mica_value_is_null(own) ? drawn : mica_add(own, drawn);
}

static mica_value shifted(mica_value scores, mica_value shift) {
  return mica_value_is_null(shift) ? scores : mica_add(scores, shift);
}

mica_value mica_sampled_softmax(mica_value step, mica_value x, mica_value table, mica_value bias, mica_value positives,
                                const mica_negative_config *config) {
  draw d = {.c = config, .step = step};
  if (mica_value_is_null(x) || mica_value_is_null(table) || !prepare(&d, "sampled_softmax", positives))
    return null_value;
  mica_value like = mica_full(step.graph, MICA_F32, MICA_SHAPE(config->samples), 0);
  mica_value ids =
      mica_value_is_null(d.keep) ? draw_even(&d, like, config->count - config->first, 0) : draw_popular(&d, like, 0);
  ids = mica_add(ids, mica_scalar(step.graph, MICA_I32, (double)config->first));
  mica_value own = mica_sum(mica__widen(mica_mul(x, mica_embedding(table, positives))), MICA_AXES(1), true);
  mica_value shift = shift_of(&d, bias, positives);
  if (!mica_value_is_null(shift)) own = mica_add(own, mica_unsqueeze(shift, MICA_AXES(1)));
  mica_value others = mica__widen(mica_matmul(x, mica_transpose(mica_embedding(table, ids), MICA_ALL_AXES)));
  others = shifted(others, shift_of(&d, bias, ids));
  mica_value same = mica_equal(mica_unsqueeze(mica_cast(positives, MICA_I32), MICA_AXES(1)), ids);
  others = mica_where(same, mica_full_like(others, -1e30), others);
  mica_value all = mica_concat((mica_value[]){own, others}, 2, 1);
  mica_value loss = mica_sub(mica_logsumexp(all, MICA_AXES(1), true), own);
  return mica_squeeze(loss, MICA_AXES(1));
}
