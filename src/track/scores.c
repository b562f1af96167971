/* CLEAR MOT (Bernardin and Stiefelhagen 2008) and identity scores (Ristani et al. 2016) of tracks. */
#include "base/arith.h"
#include "track/track.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of pairs of ids, and of pairs of boxes in a frame. */
#define MOST_PAIRS ((size_t)1 << 24)

/* Boxes in order of their frames, and their tracks. */
typedef struct tracks {
  const mica_track_box **boxes;
  int64_t *ids;    /* distinct, ascending */
  size_t *track;   /* of each box: the index of its id */
  int64_t *length; /* boxes of each track */
  size_t count, id_count;
} tracks;

typedef struct scoring {
  tracks truths, found;
  double overlap;
  /* cost: of matching the frame's unmatched boxes; pair: per true and found track, the number of frames in which they
   * may match */
  double *cost, *pair;
  size_t cost_room;
  int64_t *column_of, *matched; /* column_of: per row of cost; matched: per true track, boxes with a match */
  size_t row_room;
  /* last: per true track, 1 + the found track of its last match; rows, columns: unmatched boxes */
  size_t *last, *rows, *columns;
  bool *taken; /* per found box of the frame: it has a match */
  double overlaps;
  mica_track_scores *out;
} scoring;

static int by_frame(const void *a, const void *b) {
  const mica_track_box *x = *(const mica_track_box *const *)a, *y = *(const mica_track_box *const *)b;
  if (x->frame != y->frame) return x->frame < y->frame ? -1 : 1;
  return x < y ? -1 : x > y; /* in the order given */
}

static int by_number(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return x < y ? -1 : x > y;
}

static size_t index_of(const tracks *t, int64_t id) {
  const int64_t *at = bsearch(&id, t->ids, t->id_count, sizeof id, by_number);
  return (size_t)(at - t->ids);
}

static void free_tracks(tracks *t) {
  free(t->boxes);
  free(t->ids);
  free(t->track);
  free(t->length);
}

/* Refuses two boxes with the same id in one frame. */
static mica_status check_twice(const tracks *t, const char *which) {
  const mica_track_box **seen = calloc(t->id_count + 1, sizeof *seen);
  if (!seen) return mica__fail_nomem("tracks");
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < t->count; i++) {
    const mica_track_box *b = t->boxes[i], **last = &seen[t->track[i]];
    if (*last && (*last)->frame == b->frame)
      status = mica__fail(MICA_E_INVALID, "mica_track_evaluate: frame %lld has two %s boxes with the id %lld",
                          (long long)b->frame, which, (long long)b->id);
    *last = b;
  }
  free(seen);
  return status;
}

/* Sorts boxes by frame and finds their tracks. `counted`: boxes with a score of 0 are left out. Refuses boxes
 * without an id, boxes with bad coordinates, and two boxes with one id in a frame. */
static mica_status sort(tracks *t, const mica_track_box *boxes, size_t count, bool counted, const char *which) {
  t->boxes = calloc(count + 1, sizeof *t->boxes);
  t->ids = calloc(count + 1, sizeof *t->ids);
  t->track = calloc(count + 1, sizeof *t->track);
  t->length = calloc(count + 1, sizeof *t->length);
  if (!t->boxes || !t->ids || !t->track || !t->length) return mica__fail_nomem("tracks");
  for (size_t i = 0; i < count; i++) {
    if (counted && boxes[i].score == 0) continue;
    if (boxes[i].id < 0)
      return mica__fail(MICA_E_INVALID,
                        "mica_track_evaluate: a %s box of frame %lld has the id %lld, but ids must be 0 or above",
                        which, (long long)boxes[i].frame, (long long)boxes[i].id);
    if (!mica__box_is_sound(boxes[i].box))
      return mica__fail(
          MICA_E_INVALID,
          "mica_track_evaluate: a %s box of frame %lld must have sides of at least 1e-9 and coordinates within 1e9",
          which, (long long)boxes[i].frame);
    t->ids[t->count] = boxes[i].id;
    t->boxes[t->count++] = &boxes[i];
  }
  qsort(t->boxes, t->count, sizeof *t->boxes, by_frame);
  qsort(t->ids, t->count, sizeof *t->ids, by_number);
  for (size_t i = 0; i < t->count; i++)
    if (!i || t->ids[i] != t->ids[t->id_count - 1]) t->ids[t->id_count++] = t->ids[i];
  for (size_t i = 0; i < t->count; i++) {
    t->track[i] = index_of(t, t->boxes[i]->id);
    t->length[t->track[i]]++;
  }
  return check_twice(t, which);
}

/* --- frames --- */

/* The boxes of a frame: [truth, truth_end) of the true boxes and [found, found_end) of the found boxes. */
typedef struct frame {
  size_t truth, truth_end, found, found_end;
} frame;

/* True if two boxes overlap enough to match. Compares the distances 1 - overlap, as motmetrics does. */
static bool may_match(const scoring *s, size_t truth, size_t found, double *overlap) {
  *overlap = mica__box_overlap(s->truths.boxes[truth]->box, s->found.boxes[found]->box);
  return 1 - *overlap <= 1 - s->overlap;
}

static void match(scoring *s, const frame *f, size_t truth, size_t found, double overlap) {
  const size_t track = s->truths.track[truth], id = s->found.track[found] + 1;
  s->out->switches += s->last[track] && s->last[track] != id;
  s->last[track] = id;
  s->out->matches++;
  s->matched[track]++;
  s->overlaps += overlap;
  s->taken[found - f->found] = true;
}

/* Matches each true box with the box of the found track that its true track matched last, if they may match. Lists the
 * true boxes without a match in s->rows, and returns their number. */
static size_t keep_matches(scoring *s, const frame *f) {
  size_t rows = 0;
  for (size_t t = f->truth; t < f->truth_end; t++) {
    const size_t last = s->last[s->truths.track[t]];
    size_t k = f->found;
    double overlap = 0;
    while (k < f->found_end && (s->found.track[k] + 1 != last || s->taken[k - f->found])) k++;
    if (k < f->found_end && may_match(s, t, k, &overlap))
      match(s, f, t, k, overlap);
    else
      s->rows[rows++] = t;
  }
  return rows;
}

static mica_status make_room(scoring *s, size_t rows, size_t columns) {
  if (rows && columns > MOST_PAIRS / rows)
    return mica__fail(
        MICA_E_OVERFLOW,
        "mica_track_evaluate: a frame has %zu true and %zu found boxes to match; at most %zu pairs can be "
        "compared",
        rows, columns, MOST_PAIRS);
  const size_t cells = rows * columns;
  if (cells > s->cost_room || !s->cost) {
    double *grown = realloc(s->cost, (cells + 1) * sizeof *grown);
    if (!grown) return mica__fail_nomem("tracks");
    s->cost = grown;
    s->cost_room = cells;
  }
  if (rows > s->row_room || !s->column_of) {
    int64_t *grown = realloc(s->column_of, (rows + 1) * sizeof *grown);
    if (!grown) return mica__fail_nomem("tracks");
    s->column_of = grown;
    s->row_room = rows;
  }
  return MICA_OK;
}

/* Matches the remaining boxes. The number of matches is maximised first, and the sum of their overlaps second: a pair
 * that may not match costs more than all matches of an assignment together. */
static mica_status assign_rest(scoring *s, const frame *f, size_t rows) {
  size_t columns = 0;
  for (size_t k = f->found; k < f->found_end; k++)
    if (!s->taken[k - f->found]) s->columns[columns++] = k;
  MICA_TRY(make_room(s, rows, columns));
  const double never = 1 + (double)(rows < columns ? rows : columns);
  for (size_t i = 0; i < rows; i++)
    for (size_t k = 0; k < columns; k++) {
      double overlap;
      s->cost[i * columns + k] = may_match(s, s->rows[i], s->columns[k], &overlap) ? 1 - overlap : never;
    }
  MICA_TRY(mica__assign(s->cost, rows, columns, s->column_of));
  for (size_t i = 0; i < rows; i++) {
    double overlap;
    if (s->column_of[i] < 0) continue;
    const size_t found = s->columns[s->column_of[i]];
    if (may_match(s, s->rows[i], found, &overlap)) match(s, f, s->rows[i], found, overlap);
  }
  return MICA_OK;
}

static mica_status score_frame(scoring *s, const frame *f) {
  const int64_t before = s->out->matches;
  memset(s->taken, 0, (f->found_end - f->found) * sizeof *s->taken);
  for (size_t t = f->truth; t < f->truth_end; t++)
    for (size_t k = f->found; k < f->found_end; k++) {
      double overlap;
      if (may_match(s, t, k, &overlap)) s->pair[s->truths.track[t] * s->found.id_count + s->found.track[k]]++;
    }
  const size_t rows = keep_matches(s, f);
  MICA_TRY(assign_rest(s, f, rows));
  const int64_t matches = s->out->matches - before;
  s->out->misses += (int64_t)(f->truth_end - f->truth) - matches;
  s->out->false_positives += (int64_t)(f->found_end - f->found) - matches;
  s->out->frames++;
  return MICA_OK;
}

static mica_status score_frames(scoring *s) {
  const tracks *t = &s->truths, *h = &s->found;
  mica_status status = MICA_OK;
  frame f = {0};
  while (status == MICA_OK && (f.truth < t->count || f.found < h->count)) {
    const int64_t first = f.truth < t->count ? t->boxes[f.truth]->frame : INT64_MAX;
    const int64_t other = f.found < h->count ? h->boxes[f.found]->frame : INT64_MAX;
    const int64_t number = mica__min(first, other);
    for (f.truth_end = f.truth; f.truth_end < t->count && t->boxes[f.truth_end]->frame == number;) f.truth_end++;
    for (f.found_end = f.found; f.found_end < h->count && h->boxes[f.found_end]->frame == number;) f.found_end++;
    status = score_frame(s, &f);
    f.truth = f.truth_end;
    f.found = f.found_end;
  }
  return status;
}

/* --- totals --- */

/* The largest number of boxes that agree if each true track is matched with at most one found track, and each found
 * track with at most one true track. */
static mica_status identify(scoring *s, double *agreeing) {
  const size_t rows = s->truths.id_count, columns = s->found.id_count;
  int64_t *column_of = calloc(rows + 1, sizeof *column_of);
  if (!column_of) return mica__fail_nomem("tracks");
  for (size_t i = 0; i < rows * columns; i++) s->pair[i] = -s->pair[i];
  mica_status status = mica__assign(s->pair, rows, columns, column_of);
  *agreeing = 0;
  for (size_t i = 0; status == MICA_OK && i < rows; i++)
    if (column_of[i] >= 0) *agreeing -= s->pair[i * columns + (size_t)column_of[i]];
  free(column_of);
  return status;
}

static double quotient(double a, double b) { return b > 0 ? a / b : (double)NAN; }

static mica_status total(scoring *s) {
  mica_track_scores *o = s->out;
  double agreeing;
  MICA_TRY(identify(s, &agreeing));
  const double truths = (double)s->truths.count, found = (double)s->found.count;
  o->true_boxes = (int64_t)s->truths.count;
  o->found_boxes = (int64_t)s->found.count;
  o->true_tracks = (int64_t)s->truths.id_count;
  o->found_tracks = (int64_t)s->found.id_count;
  for (size_t i = 0; i < s->truths.id_count; i++) {
    const double share = (double)s->matched[i] / (double)s->truths.length[i];
    o->mostly_tracked += share >= 0.8;
    o->mostly_lost += share < 0.2;
  }
  o->mota = 1 - quotient((double)(o->misses + o->false_positives + o->switches), truths);
  o->motp = quotient(s->overlaps, (double)o->matches);
  o->idf1 = quotient(2 * agreeing, truths + found);
  o->idp = quotient(agreeing, found);
  o->idr = quotient(agreeing, truths);
  return MICA_OK;
}

static mica_status score(scoring *s) {
  const size_t ids = s->truths.id_count;
  if (ids && s->found.id_count > MOST_PAIRS / ids)
    return mica__fail(MICA_E_OVERFLOW,
                      "mica_track_evaluate: there are %zu true and %zu found ids; at most %zu pairs can be compared",
                      ids, s->found.id_count, MOST_PAIRS);
  s->pair = calloc(ids * s->found.id_count + 1, sizeof *s->pair);
  s->matched = calloc(ids + 1, sizeof *s->matched);
  s->last = calloc(ids + 1, sizeof *s->last);
  s->rows = calloc(s->truths.count + 1, sizeof *s->rows);
  s->columns = calloc(s->found.count + 1, sizeof *s->columns);
  s->taken = calloc(s->found.count + 1, sizeof *s->taken);
  if (!s->pair || !s->matched || !s->last || !s->rows || !s->columns || !s->taken) return mica__fail_nomem("tracks");
  MICA_TRY(score_frames(s));
  return total(s);
}

mica_status mica_track_evaluate(const mica_track_box *truths, size_t truth_count, const mica_track_box *found,
                                size_t found_count, double overlap, mica_track_scores *scores) {
  mica_track_scores made = {0};
  scoring s = {.overlap = mica__or_default(overlap, 0.5), .out = &made};
  if (!scores || (truth_count && !truths) || (found_count && !found))
    return mica__fail(MICA_E_INVALID, "mica_track_evaluate: a pointer is NULL");
  if (!(s.overlap >= 0 && s.overlap <= 1))
    return mica__fail(MICA_E_INVALID, "mica_track_evaluate: overlap must be 0 to 1, not %g", s.overlap);
  mica_status status = sort(&s.truths, truths, truth_count, true, "true");
  if (status == MICA_OK) status = sort(&s.found, found, found_count, false, "found");
  if (status == MICA_OK) status = score(&s);
  free_tracks(&s.truths);
  free_tracks(&s.found);
  free(s.cost);
  free(s.pair);
  free(s.column_of);
  free(s.matched);
  free(s.last);
  free(s.rows);
  free(s.columns);
  free(s.taken);
  if (status == MICA_OK) *scores = made;
  return status;
}
