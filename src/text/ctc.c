/* Decoding of CTC: the best path, and a search over prefixes. */
#include "base/arith.h"
#include "base/error.h"

#include <math.h>
#include <mica/speech.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BEAM 4096

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

/* A prefix is a node of a tree: the labels on the way from its root, which is none. */
typedef struct node {
  int32_t parent, label, depth;
  int32_t child, sibling; /* the first longer prefix, the next one of the same length and parent; -1: none */
  int32_t slot;           /* among the candidates of the frame that is looked at; -1: none */
  double text;            /* of text model and bonus */
} node;

/* A prefix in a frame: log probabilities of the alignments that end in a blank, and in its last label. */
typedef struct candidate {
  int32_t node;
  double blank, label, total;
} candidate;

typedef struct search {
  mica_ctc_beam_config config;
  node *nodes;
  int64_t node_count, node_room;
  candidate *list; /* those kept first, then what comes of them */
  int64_t kept, count, room;
  int32_t *prefix; /* for the text model */
} search;

static double log_add(double a, double b) {
  double top = fmax(a, b), low = fmin(a, b);
  return top == -INFINITY ? top : top + log1p(exp(low - top));
}

static double text_of(search *s, int32_t prefix, int32_t label) {
  const mica_ctc_beam_config *c = &s->config;
  double score = label < 0 ? 0 : c->bonus;
  if (!c->text) return score;
  int64_t depth = s->nodes[prefix].depth;
  for (int32_t at = prefix, i = (int32_t)depth - 1; i >= 0; at = s->nodes[at].parent, i--)
    s->prefix[i] = s->nodes[at].label;
  return score + c->weight * c->text(c->user, s->prefix, depth, label);
}

/* The prefix with a label more, made where there is none yet; -1 where memory is short. */
static int32_t extended(search *s, int32_t prefix, int32_t label) {
  for (int32_t at = s->nodes[prefix].child; at >= 0; at = s->nodes[at].sibling)
    if (s->nodes[at].label == label) return at;
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

/* The candidate of a prefix in the next frame; NULL where memory is short. */
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

/* Falling totals; of equals the prefix that was found first. */
static int compare(const void *a, const void *b) {
  const candidate *x = a, *y = b;
  if (x->total != y->total) return x->total < y->total ? 1 : -1;
  return x->node < y->node ? -1 : x->node > y->node;
}

/* Puts the best candidates behind the kept ones in their place. */
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

static mica_status short_of_memory(void) { return mica__fail(MICA_E_NOMEM, "out of memory"); }

static mica_status take_frame(search *s, const float *row, int64_t classes) {
  double top = -INFINITY, sum = 0;
  for (int64_t c = 0; c < classes; c++) top = fmax(top, (double)row[c]);
  if (!isfinite(top)) return mica__fail(MICA_E_INVALID, "ctc_beam: a frame has no finite score");
  for (int64_t c = 0; c < classes; c++) sum += exp((double)row[c] - top);
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

static void give(search *s, int32_t *labels, int64_t *count, double *score) {
  for (int64_t k = 0; s->config.text && k < s->kept; k++) s->list[k].total += text_of(s, s->list[k].node, -1);
  int64_t best = 0;
  for (int64_t k = 1; k < s->kept; k++)
    if (s->list[k].total > s->list[best].total) best = k;
  int32_t at = s->list[best].node;
  *count = s->nodes[at].depth;
  for (int64_t i = *count - 1; i >= 0; at = s->nodes[at].parent, i--) labels[i] = s->nodes[at].label;
  if (score) *score = s->list[best].total;
}

mica_status mica_ctc_beam(const float *scores, int64_t frames, int64_t classes, const mica_ctc_beam_config *given,
                          int32_t *labels, int64_t *count, double *score) {
  search s = {.config = given ? *given : (mica_ctc_beam_config){0}, .node_room = 1024, .room = 1024};
  if (s.config.beam == 0) s.config.beam = 16;
  s.config.prune = mica__or_default(s.config.prune, 12);
  s.config.weight = mica__or_default(s.config.weight, 0.5);
  if (frames < 0 || frames >= INT32_MAX || classes < 1 || classes >= INT32_MAX || !labels || !count ||
      (frames && !scores))
    return mica__fail(MICA_E_INVALID, "ctc_beam: %lld frames of %lld classes, or a NULL", (long long)frames,
                      (long long)classes);
  if (s.config.beam < 1 || s.config.beam > MOST_BEAM || s.config.blank < 0 || s.config.blank >= classes ||
      !(s.config.prune > 0))
    return mica__fail(MICA_E_INVALID, "ctc_beam: a beam of %d, blank %d of %lld classes, pruning at %g",
                      (int)s.config.beam, (int)s.config.blank, (long long)classes, s.config.prune);
  s.nodes = malloc((size_t)s.node_room * sizeof *s.nodes);
  s.list = malloc((size_t)s.room * sizeof *s.list);
  s.prefix = malloc(((size_t)frames + 1) * sizeof *s.prefix);
  mica_status status = s.nodes && s.list && s.prefix ? MICA_OK : short_of_memory();
  if (status == MICA_OK) {
    s.nodes[s.node_count++] = (node){.parent = -1, .label = -1, .child = -1, .sibling = -1, .slot = -1};
    s.list[0] = (candidate){0, 0, -INFINITY, 0};
    s.kept = s.count = 1;
  }
  for (int64_t t = 0; t < frames && status == MICA_OK; t++) status = take_frame(&s, scores + t * classes, classes);
  if (status == MICA_OK) give(&s, labels, count, score);
  free(s.nodes);
  free(s.list);
  free(s.prefix);
  return status;
}
