/* SORT (Bewley et al. 2016): a Kalman filter per track, and assignments of boxes to what the filters predict. */
#include "base/arith.h"
#include "track/track.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A quantity and its change per frame. No quantity's noise depends on another's, so SORT's filter of seven states is
 * four of these, one without a speed. The covariance is [a b; b c]. */
typedef struct quantity {
  double value, speed, a, b, c;
} quantity;

/* SORT's variances: of the first value and speed, of the noise of value and speed per frame, and of a measured
 * value. */
typedef struct noise {
  double first, first_speed, process, process_speed, found;
} noise;

/* The ratio of width and height has no speed. */
enum { CENTRE_X, CENTRE_Y, AREA, RATIO, QUANTITIES };
static const noise noises[QUANTITIES] = {
    {10, 1e4, 1, 0.01, 1}, {10, 1e4, 1, 0.01, 1}, {10, 1e4, 1, 1e-4, 10}, {10, 0, 1, 0, 10}};

typedef struct track {
  int64_t id, hits, missed; /* hits: boxes in a row after the first; missed: frames in a row without a box */
  int32_t class_index;
  quantity of[QUANTITIES];
  double predicted[4];
} track;

struct mica_tracker {
  mica_tracker_config config;
  track *tracks;
  size_t count, capacity;
  int64_t frames, last_id;
};

/* --- the filter --- */

static void begin(quantity *q, const noise *n, double value) {
  *q = (quantity){.value = value, .a = n->first, .c = n->first_speed};
}

static void predict(quantity *q, const noise *n) {
  q->value += q->speed;
  q->a += 2 * q->b + q->c + n->process;
  q->b += q->c;
  q->c += n->process_speed;
}

static void correct(quantity *q, const noise *n, double found) {
  const double variance = q->a + n->found, off = found - q->value;
  const double gain = q->a / variance, speed_gain = q->b / variance;
  q->value += gain * off;
  q->speed += speed_gain * off;
  q->c -= speed_gain * q->b;
  q->b *= 1 - gain;
  q->a *= 1 - gain;
}

static void measure(const double box[4], double to[QUANTITIES]) {
  const double width = box[2] - box[0], height = box[3] - box[1];
  to[CENTRE_X] = box[0] + width / 2;
  to[CENTRE_Y] = box[1] + height / 2;
  to[AREA] = width * height;
  to[RATIO] = width / height;
}

static void box_of(const track *t, double box[4]) {
  const double width = sqrt(t->of[AREA].value * t->of[RATIO].value), height = t->of[AREA].value / width;
  box[0] = t->of[CENTRE_X].value - width / 2;
  box[1] = t->of[CENTRE_Y].value - height / 2;
  box[2] = t->of[CENTRE_X].value + width / 2;
  box[3] = t->of[CENTRE_Y].value + height / 2;
}

/* Predicts the track's box in the next frame. An area that would shrink to 0 keeps its size. */
static void predict_track(track *t) {
  if (t->of[AREA].value + t->of[AREA].speed <= 0) t->of[AREA].speed = 0;
  for (int k = 0; k < QUANTITIES; k++) predict(&t->of[k], &noises[k]);
  if (t->missed > 0) t->hits = 0;
  t->missed++;
  box_of(t, t->predicted);
}

/* --- frames --- */

mica_status mica_tracker_create(const mica_tracker_config *config, mica_tracker **tracker) {
  mica_tracker_config c = config ? *config : (mica_tracker_config){0};
  if (!tracker) return mica__fail(MICA_E_INVALID, "mica_tracker_create: tracker is NULL");
  c.overlap = mica__or_default(c.overlap, 0.3);
  if (!(c.overlap >= 0 && c.overlap <= 1))
    return mica__fail(MICA_E_INVALID, "mica_tracker_create: overlap must be 0 to 1, not %g", c.overlap);
  if (c.max_age < 0)
    return mica__fail(MICA_E_INVALID, "mica_tracker_create: max_age is %lld, but must be 0 or above",
                      (long long)c.max_age);
  c.max_age = c.max_age ? c.max_age : 1;
  c.min_hits = c.min_hits < 0 ? 0 : c.min_hits ? c.min_hits : 3;
  mica_tracker *made = calloc(1, sizeof *made);
  if (!made) return mica__fail_nomem("a tracker");
  made->config = c;
  *tracker = made;
  return MICA_OK;
}

static mica_status check(const mica_tracker *tracker, const double *boxes, size_t count, const int64_t *ids) {
  if (!tracker || (count && (!boxes || !ids)))
    return mica__fail(MICA_E_INVALID, "mica_tracker_step: a pointer is NULL");
  for (size_t i = 0; i < count; i++) {
    const double *box = boxes + 4 * i;
    if (!mica__box_is_sound(box))
      return mica__fail(MICA_E_INVALID,
                        "mica_tracker_step: box %zu, (%g, %g) to (%g, %g), must have sides of at least 1e-9 and "
                        "coordinates within 1e9",
                        i, box[0], box[1], box[2], box[3]);
  }
  return MICA_OK;
}

/* Assigns boxes to tracks. track_of[i]: the track of box i, or -1. A box is not assigned to a track of a different
 * class, nor to a track that it overlaps too little. */
static mica_status assign(const mica_tracker *t, const double *boxes, const int32_t *classes, size_t count,
                          int64_t *track_of) {
  double *cost = calloc(count * t->count + 1, sizeof *cost);
  if (!cost) return mica__fail_nomem("a tracker");
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < t->count; k++) {
      const double overlap = mica__box_overlap(boxes + 4 * i, t->tracks[k].predicted);
      const bool may = overlap >= t->config.overlap && (!classes || classes[i] == t->tracks[k].class_index);
      cost[i * t->count + k] = may ? -overlap : 0;
    }
  mica_status status = mica__assign(cost, count, t->count, track_of);
  for (size_t i = 0; i < count; i++)
    if (track_of[i] >= 0 && !(cost[i * t->count + (size_t)track_of[i]] < 0)) track_of[i] = -1;
  free(cost);
  return status;
}

static mica_status make_room(mica_tracker *t, size_t more) {
  if (t->count + more <= t->capacity) return MICA_OK;
  const size_t capacity = 2 * (t->count + more);
  track *grown = realloc(t->tracks, capacity * sizeof *grown);
  if (!grown) return mica__fail_nomem("a tracker");
  t->tracks = grown;
  t->capacity = capacity;
  return MICA_OK;
}

static void begin_track(mica_tracker *t, const double found[QUANTITIES], int32_t class_index) {
  track *made = &t->tracks[t->count++];
  *made = (track){.id = ++t->last_id, .class_index = class_index};
  for (int k = 0; k < QUANTITIES; k++) begin(&made->of[k], &noises[k], found[k]);
}

/* Gives a box to track `at`, or begins a track if `at` is negative. *id is 0 until the track has had min_hits boxes in
 * a row after its first one; in the tracker's first min_hits frames, every track has its id. */
static void take_box(mica_tracker *t, const double *box, int32_t class_index, int64_t at, int64_t *id,
                     double *filtered) {
  const mica_tracker_config *c = &t->config;
  double found[QUANTITIES];
  measure(box, found);
  if (at < 0) {
    at = (int64_t)t->count;
    begin_track(t, found, class_index);
  } else {
    for (int k = 0; k < QUANTITIES; k++) correct(&t->tracks[at].of[k], &noises[k], found[k]);
    t->tracks[at].missed = 0;
    t->tracks[at].hits++;
  }
  const track *own = &t->tracks[at];
  *id = own->hits >= c->min_hits || t->frames <= c->min_hits ? own->id : 0;
  if (filtered) box_of(own, filtered);
}

mica_status mica_tracker_step(mica_tracker *tracker, const double *boxes, const int32_t *classes, size_t count,
                              int64_t *ids, double *filtered) {
  MICA_TRY(check(tracker, boxes, count, ids));
  MICA_TRY(make_room(tracker, count));
  int64_t *track_of = calloc(count + 1, sizeof *track_of);
  if (!track_of) return mica__fail_nomem("a tracker");
  size_t kept = 0;
  tracker->frames++;
  for (size_t k = 0; k < tracker->count; k++) {
    predict_track(&tracker->tracks[k]);
    if (isfinite(tracker->tracks[k].predicted[0] + tracker->tracks[k].predicted[1] + tracker->tracks[k].of[AREA].value))
      tracker->tracks[kept++] = tracker->tracks[k];
  }
  tracker->count = kept;
  mica_status status = assign(tracker, boxes, classes, count, track_of);
  for (size_t i = 0; status == MICA_OK && i < count; i++)
    take_box(tracker, boxes + 4 * i, classes ? classes[i] : 0, track_of[i], &ids[i],
             filtered ? filtered + 4 * i : NULL);
  kept = 0;
  for (size_t k = 0; k < tracker->count; k++)
    if (tracker->tracks[k].missed <= tracker->config.max_age) tracker->tracks[kept++] = tracker->tracks[k];
  tracker->count = kept;
  free(track_of);
  return status;
}

void mica_tracker_reset(mica_tracker *tracker) {
  if (!tracker) return;
  tracker->count = 0;
  tracker->frames = tracker->last_id = 0;
}

void mica_tracker_destroy(mica_tracker *tracker) {
  if (!tracker) return;
  free(tracker->tracks);
  free(tracker);
}
