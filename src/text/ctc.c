/* CTC decoding: the best path, and an incremental search over prefixes. */
#include "base/arith.h"
#include "base/error.h"

#include <math.h>
#include <mica/speech.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BEAM 4096
/* Minimum number of prefixes in the tree before unused ones are dropped. */
#define LEAST_NODES 4096

int64_t mica_ctc_greedy(const float *scores, int64_t frames, int64_t classes, int32_t blank, int32_t *labels,
                        int32_t *at) {
  int64_t count = 0;
  int32_t before = blank;
  for (int64_t t = 0; t < frames; t++) {
    const float *row = scores + t * classes;
    int32_t best = 0;
    for (int32_t c = 1; c < classes; c++)
      if (row[c] > row[best]) best = c;
    if (best != blank && best != before) {
      if (at) at[count] = (int32_t)t;
      labels[count++] = best;
    }
    before = best;
  }
  return count;
}

/* --- prefixes --- */

/* A prefix is a node of a tree: the labels on the path from the root, which is the empty prefix. */
typedef struct node {
  int32_t parent, label, depth;
  int32_t child, sibling; /* first longer prefix; next prefix of the same parent; -1: none */
  int32_t slot;           /* index among the candidates of the current frame; -1: none */
  double text;            /* sum over its labels: weighted score of the text model, and bonus */
} node;

/* A prefix in a frame: log probabilities of the alignments that end in a blank, and of the alignments that end in the
 * prefix's last label. */
typedef struct candidate {
  int32_t node;
  double blank, label, total;
} candidate;

struct mica_ctc_search {
  mica_ctc_beam_config config;
  int64_t classes, frames;
  node *nodes;
  int64_t node_count, node_room, sweep; /* sweep: number of nodes at which unused ones are dropped */
  candidate *list;                      /* kept prefixes first, then their successors */
  int64_t kept, count, room;
  int32_t *prefix; /* labels of a prefix, for the text model */
  int64_t prefix_room;
};
typedef mica_ctc_search search;

static double log_add(double a, double b) {
  double top = fmax(a, b), low = fmin(a, b);
  return top == -INFINITY ? top : top + log1p(exp(low - top));
}

/* Makes room for the labels that the text model needs for a prefix of this depth. */
static bool grow_prefix(search *s, int64_t depth) {
  int32_t *more = depth < s->prefix_room ? s->prefix : realloc(s->prefix, (size_t)depth * 2 * sizeof *more);
  if (!more) return false;
  if (depth >= s->prefix_room) s->prefix_room = depth * 2;
  s->prefix = more;
  return true;
}

static double text_of(search *s, int32_t prefix, int32_t label) {
  const mica_ctc_beam_config *c = &s->config;
  const double score = label < 0 ? 0 : c->bonus;
  if (!c->text) return score;
  int64_t count = s->nodes[prefix].depth;
  if (c->context > 0 && count > c->context) count = c->context;
  for (int64_t i = count - 1, at = prefix; i >= 0; at = s->nodes[at].parent, i--) s->prefix[i] = s->nodes[at].label;
  return score + c->weight * c->text(c->user, s->prefix, count, label);
}

/* Finds the prefix with one more label, or makes it; -1 if memory is short. */
static int32_t extended(search *s, int32_t prefix, int32_t label) {
  for (int32_t at = s->nodes[prefix].child; at >= 0; at = s->nodes[at].sibling)
    if (s->nodes[at].label == label) return at;
  if (s->config.text && !grow_prefix(s, s->nodes[prefix].depth + 1)) return -1;
  if (s->node_count == s->node_room) {
    int64_t room = s->node_room * 2;
    node *more = room < INT32_MAX ? realloc(s->nodes, (size_t)room * sizeof *more) : NULL;
    if (!more) return -1;
    s->nodes = more;
    s->node_room = room;
  }
  const int32_t made = (int32_t)s->node_count++;
  s->nodes[made] = (node){.parent = prefix,
                          .label = label,
                          .depth = s->nodes[prefix].depth + 1,
                          .child = -1,
                          .sibling = s->nodes[prefix].child,
                          .slot = -1,
                          .text = s->nodes[prefix].text + text_of(s, prefix, label)};
  s->nodes[prefix].child = made;
  return made;
}

/* Finds or makes the candidate of a prefix in the next frame. NULL if memory is short. A prefix below 0 means that
 * `extended` ran out of memory, so the result is NULL too. */
static candidate *next_of(search *s, int32_t prefix) {
  if (prefix < 0) return NULL;
  if (s->nodes[prefix].slot < 0) {
    if (s->count == s->room) {
      candidate *more = realloc(s->list, (size_t)s->room * 2 * sizeof *more);
      if (!more) return NULL;
      s->list = more;
      s->room *= 2;
    }
    s->nodes[prefix].slot = (int32_t)s->count;
    s->list[s->count++] = (candidate){prefix, -INFINITY, -INFINITY, -INFINITY};
  }
  return &s->list[s->nodes[prefix].slot];
}

/* Sorts by descending total. Among equal totals, the prefix that was found first comes first. */
static int compare(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->total != y->total) return x->total < y->total ? 1 : -1;
  return x->node < y->node ? -1 : x->node > y->node;
}

/* Computes the scores of the candidates, which are in the list after the kept prefixes. The best `beam` candidates
 * become the kept prefixes. */
static void select_best(search *s) {
  candidate *next = s->list + s->kept;
  int64_t count = s->count - s->kept;
  for (int64_t i = 0; i < count; i++) {
    s->nodes[next[i].node].slot = -1;
    next[i].total = log_add(next[i].blank, next[i].label) + s->nodes[next[i].node].text;
  }
  qsort(next, (size_t)count, sizeof *next, compare);
  s->kept = count < s->config.beam ? count : s->config.beam;
  memmove(s->list, next, (size_t)s->kept * sizeof *next);
  s->count = s->kept;
}

static mica_status short_of_memory(void) { return mica__fail_nomem("a CTC search"); }

static mica_status take_frame(search *s, const float *row) {
  const int64_t classes = s->classes;
  double top = -INFINITY, sum = 0;
  for (int64_t c = 0; c < classes; c++) top = fmax(top, (double)row[c]);
  if (!isfinite(top))
    return mica__fail(MICA_E_INVALID, "CTC search: a frame has an infinite score, or no finite score");
  for (int64_t c = 0; c < classes; c++) sum += exp((double)row[c] - top);
  if (isnan(sum)) return mica__fail(MICA_E_INVALID, "CTC search: a score is not a number");
  const double scale = top + log(sum);
  for (int64_t k = 0; k < s->kept; k++) {
    const candidate from = s->list[k];
    const double total = log_add(from.blank, from.label);
    for (int32_t c = 0; c < classes; c++) {
      const double p = (double)row[c] - scale;
      if (!((double)row[c] >= top - s->config.prune)) continue;
      const bool repeats = s->nodes[from.node].label == c;
      candidate *same = c == s->config.blank || repeats ? next_of(s, from.node) : NULL, *longer = NULL;
      if (!same && (c == s->config.blank || repeats)) return short_of_memory();
      if (c == s->config.blank) {
        same->blank = log_add(same->blank, total + p);
        continue;
      }
      if (repeats) same->label = log_add(same->label, from.label + p);
      longer = next_of(s, extended(s, from.node, c));
      if (!longer) return short_of_memory();
      longer->label = log_add(longer->label, (repeats ? from.blank : total) + p);
    }
  }
  select_best(s);
  return MICA_OK;
}

/* Drops each prefix that is not the beginning of a kept prefix. The other nodes keep their order, since `compare` sorts
 * candidates with equal scores by node. */
static mica_status sweep(search *s) {
  int32_t *index = malloc((size_t)s->node_count * sizeof *index), count = 0;
  if (!index) return short_of_memory();
  for (int64_t i = 0; i < s->node_count; i++) index[i] = -1;
  for (int64_t k = 0; k < s->kept; k++)
    for (int32_t at = s->list[k].node; at >= 0 && index[at] < 0; at = s->nodes[at].parent) index[at] = 0;
  /* Parents have smaller numbers than their children. */
  for (int64_t i = 0; i < s->node_count; i++) {
    if (index[i] < 0) continue;
    node n = s->nodes[i];
    index[i] = count;
    n.child = n.sibling = -1;
    if (n.parent >= 0) {
      n.parent = index[n.parent];
      n.sibling = s->nodes[n.parent].child;
      s->nodes[n.parent].child = count;
    }
    s->nodes[count++] = n;
  }
  for (int64_t k = 0; k < s->kept; k++) s->list[k].node = index[s->list[k].node];
  free(index);
  s->node_count = count;
  s->sweep = count > LEAST_NODES / 2 ? 2 * (int64_t)count : LEAST_NODES;
  return MICA_OK;
}

/* --- the search --- */

static mica_status check(int64_t classes, const mica_ctc_beam_config *c) {
  if (classes < 1 || classes >= INT32_MAX)
    return mica__fail(MICA_E_INVALID, "CTC search: classes is %lld, but must be at least 1 and below 2^31 - 1",
                      (long long)classes);
  if (c->beam < 1 || c->beam > MOST_BEAM)
    return mica__fail(MICA_E_INVALID, "CTC search: beam is %d, but must be 1 to %d", (int)c->beam, MOST_BEAM);
  if (c->blank < 0 || c->blank >= classes)
    return mica__fail(MICA_E_INVALID, "CTC search: blank is %d, but must be 0 to %lld", (int)c->blank,
                      (long long)classes - 1);
  if (!(c->prune > 0)) return mica__fail(MICA_E_INVALID, "CTC search: prune is %g, but must be above 0", c->prune);
  if (c->context < 0)
    return mica__fail(MICA_E_INVALID, "CTC search: context is %lld, but must be 0 or above", (long long)c->context);
  if (!isfinite(c->weight) || !isfinite(c->bonus))
    return mica__fail(MICA_E_INVALID, "CTC search: weight is %g and bonus is %g, but both must be finite", c->weight,
                      c->bonus);
  return MICA_OK;
}

mica_status mica_ctc_search_create(int64_t classes, const mica_ctc_beam_config *given, mica_ctc_search **out) {
  mica_ctc_beam_config c = given ? *given : (mica_ctc_beam_config){0};
  if (!out) return mica__fail(MICA_E_INVALID, "mica_ctc_search_create: search is NULL");
  if (c.beam == 0) c.beam = 16;
  c.prune = mica__or_default(c.prune, 12);
  c.weight = mica__or_default(c.weight, 0.5);
  MICA_TRY(check(classes, &c));
  search *s = calloc(1, sizeof *s);
  if (!s) return short_of_memory();
  *s = (search){.config = c, .classes = classes, .node_room = 1024, .room = 1024};
  s->nodes = malloc((size_t)s->node_room * sizeof *s->nodes);
  s->list = malloc((size_t)s->room * sizeof *s->list);
  if (!s->nodes || !s->list) {
    mica_ctc_search_destroy(s);
    return short_of_memory();
  }
  mica_ctc_search_reset(s);
  *out = s;
  return MICA_OK;
}

void mica_ctc_search_destroy(mica_ctc_search *s) {
  if (!s) return;
  free(s->nodes);
  free(s->list);
  free(s->prefix);
  free(s);
}

void mica_ctc_search_reset(mica_ctc_search *s) {
  s->nodes[0] = (node){.parent = -1, .label = -1, .child = -1, .sibling = -1, .slot = -1};
  s->list[0] = (candidate){0, 0, -INFINITY, 0};
  s->kept = s->count = s->node_count = 1;
  s->sweep = LEAST_NODES;
  s->frames = 0;
}

mica_status mica_ctc_search_push(mica_ctc_search *s, const float *scores, int64_t frames) {
  if (!s || (frames && !scores)) return mica__fail(MICA_E_INVALID, "mica_ctc_search_push: search or scores is NULL");
  if (frames < 0 || frames >= INT32_MAX - s->frames)
    return mica__fail(MICA_E_INVALID, "mica_ctc_search_push: the number of frames is %lld, but must be from 0 to %lld",
                      (long long)frames, (long long)INT32_MAX - s->frames - 1);
  for (int64_t t = 0; t < frames; t++) {
    MICA_TRY(take_frame(s, scores + t * s->classes));
    s->frames++;
    if (s->node_count > s->sweep) MICA_TRY(sweep(s));
  }
  return MICA_OK;
}

int64_t mica_ctc_search_frames(const mica_ctc_search *s) { return s ? s->frames : 0; }

static int64_t write_prefix(const search *s, int32_t at, int32_t *labels) {
  const int64_t count = s->nodes[at].depth;
  for (int64_t i = count - 1; i >= 0; at = s->nodes[at].parent, i--) labels[i] = s->nodes[at].label;
  return count;
}

int64_t mica_ctc_search_stable(const mica_ctc_search *s, int32_t *labels) {
  int32_t common = s->list[0].node;
  for (int64_t k = 1; k < s->kept; k++)
    for (int32_t at = s->list[k].node; at != common;) {
      /* A prefix has a larger number than its parent, so of two different prefixes the one with the larger number is
       * replaced by its parent. */
      if (at > common)
        at = s->nodes[at].parent;
      else
        common = s->nodes[common].parent;
    }
  return write_prefix(s, common, labels);
}

int64_t mica_ctc_search_best(mica_ctc_search *s, int32_t *labels, double *score) {
  int64_t best = 0;
  double most = -INFINITY;
  for (int64_t k = 0; k < s->kept; k++) {
    const double total = s->list[k].total + (s->config.text ? text_of(s, s->list[k].node, -1) : 0);
    if (total > most) best = k;
    most = fmax(most, total);
  }
  if (score) *score = most;
  return write_prefix(s, s->list[best].node, labels);
}

mica_status mica_ctc_beam(const float *scores, int64_t frames, int64_t classes, const mica_ctc_beam_config *config,
                          int32_t *labels, int64_t *count, double *score) {
  mica_ctc_search *s = NULL;
  if (!labels || !count || (frames && !scores))
    return mica__fail(MICA_E_INVALID, "mica_ctc_beam: labels, count or scores is NULL");
  if (frames < 0)
    return mica__fail(MICA_E_INVALID, "mica_ctc_beam: the number of frames is %lld, but must be 0 or above",
                      (long long)frames);
  MICA_TRY(mica_ctc_search_create(classes, config, &s));
  const mica_status status = mica_ctc_search_push(s, scores, frames);
  if (status == MICA_OK) *count = mica_ctc_search_best(s, labels, score);
  mica_ctc_search_destroy(s);
  return status;
}
