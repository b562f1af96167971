/* Average precision of found boxes, as COCO defines it. The steps and the rounding follow pycocotools; all arithmetic
 * is in double. */
#include "base/checked.h"
#include "base/error.h"

#include <float.h>
#include <math.h>
#include <mica/metric.h>
#include <stdlib.h>
#include <string.h>

#define THRESHOLDS MICA_BOX_THRESHOLDS
#define RECALLS MICA_BOX_RECALLS
/* Ranges of area: all, small, medium, large. */
#define RANGES 4
/* At most this many found boxes per image and class are scored: those with the highest scores. */
#define MOST 100

static const double ranges[RANGES][2] = {{0, 1e10}, {0, 1024}, {1024, 9216}, {9216, 1e10}};

/* A true or a found box. Lists are sorted by class, then by image, then by descending score. True boxes have the
 * score 0. */
typedef struct entry {
  int64_t picture;
  int32_t class_index;
  size_t order; /* index in the caller's list */
  double score, area, box[4];
  bool crowd, ignored;
} entry;

/* A found box compared with the truths: its match, and whether it is ignored, at each threshold. */
typedef struct outcome {
  double score;
  int64_t picture;
  int32_t rank; /* rank by score in its picture and class, from 0 */
  bool hit[THRESHOLDS], ignored[THRESHOLDS];
} outcome;

/* The boxes of one class, and memory for their outcomes. */
typedef struct class_boxes {
  const entry *truths, *found;
  size_t truth_count, found_count;
  outcome *outcomes;
  size_t count;     /* number of outcomes */
  double positives; /* number of truths that are not ignored */
  bool *taken;      /* taken[g * THRESHOLDS + t]: truth g of the image has a match at threshold t */
  size_t *truth_order;
  double *overlaps;
} class_boxes;

/* The curve of precision over recall for one class, one range of areas and one threshold. recall is the recall after
 * all outcomes. precision[r] is the highest precision at a recall of at least recall_of(r), or 0 if no recall is that
 * high. */
typedef struct curve {
  double recall, precision[RECALLS];
} curve;

/* The thresholds of overlap are 0.50, 0.55, ... 0.95. The recalls are 0, 0.01, ... 1. Both lists are rounded like
 * numpy's linspace. */
static double threshold_of(int t) { return t == THRESHOLDS - 1 ? 0.95 : 0.5 + t * ((0.95 - 0.5) / (THRESHOLDS - 1)); }
static double recall_of(int r) { return r == RECALLS - 1 ? 1.0 : r * (1.0 / (RECALLS - 1)); }

static int compare_entries(const void *a, const void *b) {
  const entry *x = a, *y = b;
  if (x->class_index != y->class_index) return x->class_index < y->class_index ? -1 : 1;
  if (x->picture != y->picture) return x->picture < y->picture ? -1 : 1;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  return x->order < y->order ? -1 : x->order > y->order;
}

/* Sorts by score; equal scores by image, then by rank. */
static int compare_outcomes(const void *a, const void *b) {
  const outcome *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  if (x->picture != y->picture) return x->picture < y->picture ? -1 : 1;
  return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static double area_of(const double box[4]) { return (box[2] - box[0]) * (box[3] - box[1]); }

/* Intersection over union; if the truth is a crowd, intersection over the found box alone. */
static double overlap_of(const entry *found, const entry *truth) {
  const double w = fmin(found->box[2], truth->box[2]) - fmax(found->box[0], truth->box[0]);
  const double h = fmin(found->box[3], truth->box[3]) - fmax(found->box[1], truth->box[1]);
  if (w <= 0 || h <= 0) return 0;
  const double own = area_of(found->box), both = w * h;
  return both / (truth->crowd ? own : own + area_of(truth->box) - both);
}

static bool is_outside(const entry *e, const double range[2]) { return e->area < range[0] || e->area > range[1]; }

/* The index in `truths` of the truth that found box d matches at threshold t; `count` if it matches none. A truth that
 * is taken is matched again only if it is a crowd. c->truth_order has the ignored truths last: one of them is matched
 * only if no other free truth overlaps enough. */
static size_t match(const class_boxes *c, const entry *truths, const bool *ignored, size_t count, size_t d, int t) {
  double best = fmin(threshold_of(t), 1 - 1e-10);
  size_t found = count;
  for (size_t k = 0; k < count; k++) {
    const size_t g = c->truth_order[k];
    if (c->taken[g * THRESHOLDS + (size_t)t] && !truths[g].crowd) continue;
    if (found < count && !ignored[found] && ignored[g]) break;
    if (c->overlaps[d * count + g] < best) continue;
    best = c->overlaps[d * count + g];
    found = g;
  }
  return found;
}

/* Matches the found boxes of one image, appends their outcomes to c, and adds the number of truths that are not ignored
 * to c->positives. Truths outside the range of areas are ignored. ignored: memory for one flag per truth. */
static void match_picture(class_boxes *c, const entry *truths, size_t truth_count, const entry *found,
                          size_t found_count, const double range[2], bool *ignored) {
  size_t next = 0;
  for (size_t g = 0; g < truth_count; g++) {
    ignored[g] = truths[g].crowd || truths[g].ignored || is_outside(&truths[g], range);
    c->positives += !ignored[g];
    if (!ignored[g]) c->truth_order[next++] = g;
  }
  for (size_t g = 0; g < truth_count; g++)
    if (ignored[g]) c->truth_order[next++] = g;
  memset(c->taken, 0, truth_count * THRESHOLDS * sizeof *c->taken);
  for (size_t d = 0; d < found_count; d++)
    for (size_t g = 0; g < truth_count; g++) c->overlaps[d * truth_count + g] = overlap_of(&found[d], &truths[g]);
  for (size_t d = 0; d < found_count; d++) {
    outcome *o = &c->outcomes[c->count++];
    *o = (outcome){.score = found[d].score, .picture = found[d].picture, .rank = (int32_t)d};
    for (int t = 0; t < THRESHOLDS; t++) {
      const size_t g = match(c, truths, ignored, truth_count, d, t);
      o->hit[t] = g < truth_count;
      o->ignored[t] = o->hit[t] ? ignored[g] : is_outside(&found[d], range);
      if (o->hit[t]) c->taken[g * THRESHOLDS + (size_t)t] = true;
    }
  }
}

/* The number of entries from `from` on that belong to the image. */
static size_t same_picture(const entry *list, size_t count, size_t from, int64_t picture) {
  size_t end = from;
  while (end < count && list[end].picture == picture) end++;
  return end - from;
}

/* Matches the boxes of all images of the class, in ascending order of the images' numbers, and sorts the outcomes by
 * score. */
static void match_class(class_boxes *c, const double range[2], bool *ignored) {
  size_t g = 0, d = 0;
  c->count = 0;
  c->positives = 0;
  while (g < c->truth_count || d < c->found_count) {
    int64_t picture = g < c->truth_count ? c->truths[g].picture : c->found[d].picture;
    if (d < c->found_count && c->found[d].picture < picture) picture = c->found[d].picture;
    const size_t truths = same_picture(c->truths, c->truth_count, g, picture);
    const size_t found = same_picture(c->found, c->found_count, d, picture);
    match_picture(c, c->truths + g, truths, c->found + d, found < MOST ? found : MOST, range, ignored);
    g += truths;
    d += found;
  }
  qsort(c->outcomes, c->count, sizeof *c->outcomes, compare_outcomes);
}

/* Computes the curve of recall and precision at threshold t from the outcomes whose rank is below `most`. recalls and
 * precisions are memory for c->count numbers each. */
static void draw_curve(const class_boxes *c, int t, int32_t most, double *recalls, double *precisions, curve *out) {
  double hits = 0, misses = 0;
  size_t n = 0;
  memset(out, 0, sizeof *out);
  for (size_t i = 0; i < c->count; i++) {
    const outcome *o = &c->outcomes[i];
    if (o->rank >= most) continue;
    hits += o->hit[t] && !o->ignored[t];
    misses += !o->hit[t] && !o->ignored[t];
    recalls[n] = hits / c->positives;
    precisions[n++] = hits / (misses + hits + DBL_EPSILON);
  }
  if (!n) return;
  out->recall = recalls[n - 1];
  for (size_t i = n - 1; i > 0; i--)
    if (precisions[i] > precisions[i - 1]) precisions[i - 1] = precisions[i];
  size_t i = 0;
  for (int r = 0; r < RECALLS; r++) {
    while (i < n && recalls[i] < recall_of(r)) i++;
    if (i == n) break;
    out->precision[r] = precisions[i];
  }
}

/* --- means over classes --- */

/* A running mean; -1 if nothing was added. */
typedef struct mean {
  double sum;
  int64_t count;
} mean;

static void add(mean *m, double value) { m->sum += value, m->count++; }
static double mean_of(const mean *m) { return m->count ? m->sum / (double)m->count : -1; }

static double precision_of(const curve *c) {
  double sum = 0;
  for (int r = 0; r < RECALLS; r++) sum += c->precision[r];
  return sum / RECALLS;
}

/* Means over the classes that have true boxes in the range of areas.
 *
 * precision[k][t]: the average precision in range k at threshold t.
 * recall[k]: the recall in range k; a mean over all thresholds too.
 * few[0], few[1]: like recall[0], but with at most 1 or 10 found boxes per image and class. */
typedef struct totals {
  mean precision[RANGES][THRESHOLDS], recall[RANGES], few[2];
} totals;

static void score_class(class_boxes *c, bool *ignored, double *recalls, double *precisions, totals *all,
                        mica_box_class_scores *own) {
  mean ap = {0}, ar = {0};
  *own = (mica_box_class_scores){-1, -1, -1, -1, {0}};
  for (int k = 0; k < RANGES; k++) {
    match_class(c, ranges[k], ignored);
    if (!(c->positives > 0)) continue;
    for (int t = 0; t < THRESHOLDS; t++) {
      curve line;
      for (int few = 0; k == 0 && few < 2; few++) {
        draw_curve(c, t, few ? 10 : 1, recalls, precisions, &line);
        add(&all->few[few], line.recall);
      }
      draw_curve(c, t, MOST, recalls, precisions, &line);
      const double precision = precision_of(&line);
      add(&all->precision[k][t], precision);
      add(&all->recall[k], line.recall);
      if (k > 0) continue;
      add(&ap, precision);
      add(&ar, line.recall);
      if (t == 0) own->ap_50 = precision, memcpy(own->curve, line.precision, sizeof own->curve);
      if (t == 5) own->ap_75 = precision;
    }
  }
  own->ap = mean_of(&ap);
  own->ar_100 = mean_of(&ar);
}

/* The mean precision in a range over all classes and thresholds. Every threshold has the same number of classes, so all
 * sums have the same weight. */
static double mean_range(const totals *all, int range) {
  mean m = {0};
  for (int t = 0; t < THRESHOLDS; t++) {
    m.sum += all->precision[range][t].sum;
    m.count += all->precision[range][t].count;
  }
  return mean_of(&m);
}

static void sum_up(const totals *all, mica_box_scores *s) {
  *s = (mica_box_scores){.ap = mean_range(all, 0),
                         .ap_50 = mean_of(&all->precision[0][0]),
                         .ap_75 = mean_of(&all->precision[0][5]),
                         .ap_small = mean_range(all, 1),
                         .ap_medium = mean_range(all, 2),
                         .ap_large = mean_range(all, 3),
                         .ar_1 = mean_of(&all->few[0]),
                         .ar_10 = mean_of(&all->few[1]),
                         .ar_100 = mean_of(&all->recall[0]),
                         .ar_small = mean_of(&all->recall[1]),
                         .ar_medium = mean_of(&all->recall[2]),
                         .ar_large = mean_of(&all->recall[3])};
  for (int t = 0; t < THRESHOLDS; t++) s->by_threshold[t] = mean_of(&all->precision[0][t]);
}

/* --- the call --- */

/* The area that decides in which ranges a box is scored. area: the caller's, if it is above 0; -0 (MICA_ZERO) means 0,
 * and any other value means width times height. */
static double size_of(double area, const double box[4]) {
  return area > 0 || (area == 0 && signbit(area)) ? area : area_of(box);
}

static mica_status check_box(const double box[4], int32_t class_index, int32_t classes, const char *what, size_t i) {
  if (class_index < 0 || class_index >= classes)
    return mica__fail(MICA_E_INVALID, "mica_box_precision: the class of %s box %zu is %d, but must be 0 to %d", what, i,
                      class_index, classes - 1);
  for (int k = 0; k < 4; k++)
    if (!isfinite(box[k]))
      return mica__fail(MICA_E_INVALID, "mica_box_precision: %s box %zu has a coordinate that is infinite or NaN", what,
                        i);
  return MICA_OK;
}

static mica_status copy(const mica_true_box *truths, size_t truth_count, const mica_found_box *found,
                        size_t found_count, int32_t classes, entry *t, entry *f) {
  for (size_t i = 0; i < truth_count; i++) {
    const mica_true_box *b = &truths[i];
    MICA_TRY(check_box(b->box, b->class_index, classes, "true", i));
    t[i] = (entry){b->picture, b->class_index, i, 0, size_of(b->area, b->box), {0}, b->crowd, b->ignore};
    memcpy(t[i].box, b->box, sizeof b->box);
  }
  for (size_t i = 0; i < found_count; i++) {
    const mica_found_box *b = &found[i];
    MICA_TRY(check_box(b->box, b->class_index, classes, "found", i));
    if (isnan(b->score)) return mica__fail(MICA_E_INVALID, "mica_box_precision: the score of found box %zu is NaN", i);
    f[i] = (entry){b->picture, b->class_index, i, b->score, size_of(b->area, b->box), {0}, false, false};
    memcpy(f[i].box, b->box, sizeof b->box);
  }
  qsort(t, truth_count, sizeof *t, compare_entries);
  qsort(f, found_count, sizeof *f, compare_entries);
  return MICA_OK;
}

/* The largest number of truths of one class in one image. */
static size_t most_truths(const entry *list, size_t count) {
  size_t most = 0, run = 0;
  for (size_t i = 0; i < count; i++) {
    const bool same = i && list[i].picture == list[i - 1].picture && list[i].class_index == list[i - 1].class_index;
    run = same ? run + 1 : 1;
    if (run > most) most = run;
  }
  return most;
}

static void score(const entry *t, size_t truth_count, const entry *f, size_t found_count, int32_t classes,
                  class_boxes *room, bool *ignored, double *numbers, mica_box_scores *scores,
                  mica_box_class_scores *by_class) {
  totals all;
  size_t g = 0, d = 0;
  memset(&all, 0, sizeof all);
  for (int32_t k = 0; k < classes; k++) {
    mica_box_class_scores own;
    class_boxes c = *room;
    c.truths = t + g;
    c.found = f + d;
    while (g < truth_count && t[g].class_index == k) g++, c.truth_count++;
    while (d < found_count && f[d].class_index == k) d++, c.found_count++;
    score_class(&c, ignored, numbers, numbers + found_count, &all, &own);
    if (by_class) by_class[k] = own;
  }
  sum_up(&all, scores);
}

mica_status mica_box_precision(const mica_true_box *truths, size_t truth_count, const mica_found_box *found,
                               size_t found_count, int32_t classes, mica_box_scores *scores,
                               mica_box_class_scores *by_class) {
  size_t overlaps = 0;
  if ((!truths && truth_count) || (!found && found_count) || !scores)
    return mica__fail(MICA_E_INVALID, "mica_box_precision: a pointer is NULL");
  if (classes < 1)
    return mica__fail(MICA_E_INVALID, "mica_box_precision: classes is %d, but must be 1 or above", (int)classes);
  entry *t = calloc(truth_count + 1, sizeof *t), *f = calloc(found_count + 1, sizeof *f);
  class_boxes room = {.outcomes = calloc(found_count + 1, sizeof *room.outcomes)};
  double *numbers = calloc(2 * found_count + 1, sizeof *numbers);
  bool *ignored = NULL;
  mica_status status = t && f && room.outcomes && numbers ? MICA_OK : mica__fail_nomem("average precision");
  if (status == MICA_OK) status = copy(truths, truth_count, found, found_count, classes, t, f);
  if (status == MICA_OK) {
    const size_t most = most_truths(t, truth_count);
    ignored = calloc(most + 1, sizeof *ignored);
    room.taken = calloc(most + 1, THRESHOLDS * sizeof *room.taken);
    room.truth_order = calloc(most + 1, sizeof *room.truth_order);
    room.overlaps = mica__mul_size(most + 1, MOST, &overlaps) ? calloc(overlaps, sizeof *room.overlaps) : NULL;
    if (!ignored || !room.taken || !room.truth_order || !room.overlaps) status = mica__fail_nomem("average precision");
  }
  if (status == MICA_OK) score(t, truth_count, f, found_count, classes, &room, ignored, numbers, scores, by_class);
  free(room.overlaps);
  free(room.truth_order);
  free(room.taken);
  free(ignored);
  free(numbers);
  free(room.outcomes);
  free(f);
  free(t);
  return status;
}
