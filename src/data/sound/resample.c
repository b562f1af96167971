/* Windowed-sinc resampling of a stream. */
#include "base/error.h"
#include "data/sound/sound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846
/* Zero crossings of the window on each side, and the share of frequencies that pass. */
#define CROSSINGS 6.0
#define ROLLOFF 0.99
/* If the weights of all phases are at most this many, they are computed once and kept in a table. */
#define MOST_WEIGHTS (1 << 20)

struct mica__resampler {
  int64_t from, to; /* the two rates, divided by their greatest common divisor */
  int64_t reach;    /* how many samples on each side contribute */
  double scale;     /* the factor s of sound.h */
  double *table;    /* the weights of all phases, (to, 2 reach + 1); NULL: computed for each sample */
  double *weights;  /* the weights of one output sample */
  float *kept;      /* input samples; kept[0] is sample `first` */
  int64_t first, count, room;
  int64_t next; /* the next output sample */
};

static int64_t divisor(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

int64_t mica__resampled(int64_t n, int32_t from, int32_t to) {
  int64_t common = divisor(from, to), f = from / common, t = to / common;
  return n / f * t + (n % f * t + f - 1) / f;
}

/* Weights of the samples floor(index) - reach to floor(index) + reach, for the outputs of a phase. */
static void weigh(const mica__resampler *r, int64_t phase, double *weights) {
  const double inside = (double)(phase * r->from % r->to) / (double)r->to;
  for (int64_t k = -r->reach; k <= r->reach; k++) {
    const double t = ((double)k - inside) * r->scale, angle = PI * t, c = cos(angle / (2 * CROSSINGS));
    weights[k + r->reach] = fabs(t) >= CROSSINGS ? 0 : (t == 0 ? 1 : sin(angle) / angle) * c * c * r->scale;
  }
}

mica_status mica__resampler_create(int32_t from, int32_t to, mica__resampler **resampler) {
  mica__resampler *r = calloc(1, sizeof *r);
  if (!r) return mica__fail_nomem("a resampler");
  const int64_t common = divisor(from, to);
  r->from = from / common;
  r->to = to / common;
  r->scale = ROLLOFF * fmin(1, (double)to / (double)from);
  r->reach = (int64_t)ceil(CROSSINGS / r->scale) + 1;
  const int64_t taps = 2 * r->reach + 1;
  r->weights = malloc((size_t)taps * sizeof *r->weights);
  if (r->weights && r->to <= MOST_WEIGHTS / taps) {
    r->table = malloc((size_t)(r->to * taps) * sizeof *r->table);
    for (int64_t p = 0; r->table && p < r->to; p++) weigh(r, p, r->table + p * taps);
  }
  if (!r->weights || (!r->table && r->to <= MOST_WEIGHTS / taps)) {
    mica__resampler_destroy(r);
    return mica__fail_nomem("a resampler");
  }
  *resampler = r;
  return MICA_OK;
}

void mica__resampler_destroy(mica__resampler *r) {
  if (!r) return;
  free(r->table);
  free(r->weights);
  free(r->kept);
  free(r);
}

/* Drops samples that no output needs any more, and appends the new ones. */
static mica_status keep(mica__resampler *r, const float *samples, int64_t count) {
  const int64_t needed = r->next * r->from / r->to - r->reach;
  int64_t gone = needed - r->first;
  gone = gone < 0 ? 0 : gone > r->count ? r->count : gone;
  if (r->count + count - gone > r->room) {
    float *more = realloc(r->kept, (size_t)(r->count + count) * sizeof *more);
    if (!more) return mica__fail_nomem("a resampler");
    r->kept = more;
    r->room = r->count + count;
  }
  if (gone > 0) memmove(r->kept, r->kept + gone, (size_t)(r->count - gone) * sizeof *r->kept);
  r->first += gone;
  r->count -= gone;
  if (count > 0) memcpy(r->kept + r->count, samples, (size_t)count * sizeof *r->kept);
  r->count += count;
  return MICA_OK;
}

mica_status mica__resampler_push(mica__resampler *r, const float *samples, int64_t count, bool last, float *out,
                                 int64_t most, int64_t *made) {
  MICA_TRY(keep(r, samples, count));
  const int64_t end = r->first + r->count;
  for (*made = 0; *made < most; ++*made, r->next++) {
    const int64_t index = r->next / r->to * r->from + r->next % r->to * r->from / r->to;
    if (last ? index >= end : index + r->reach >= end) return MICA_OK;
    const double *w = r->table ? r->table + r->next % r->to * (2 * r->reach + 1) : r->weights;
    if (!r->table) weigh(r, r->next % r->to, r->weights);
    int64_t low = index - r->reach, high = index + r->reach;
    const int64_t from = low < r->first ? r->first : low, to = high < end ? high : end - 1;
    double sum = 0;
    for (int64_t j = from; j <= to; j++) sum += (double)r->kept[j - r->first] * w[j - low];
    out[*made] = (float)sum;
  }
  return MICA_OK;
}

/* How many samples are resampled at a time. */
#define PIECE 4096

mica_status mica__sound_resample(mica__resampler **resampler, int32_t from, int32_t to, const float *samples,
                                 int64_t count, bool last,
                                 mica_status (*take)(void *user, const float *samples, int64_t count), void *user) {
  float piece[PIECE];
  if (from == to) return take(user, samples, count);
  if (!*resampler) MICA_TRY(mica__resampler_create(from, to, resampler));
  for (int64_t at = 0, made = 0;;) {
    const int64_t n = count - at < PIECE ? count - at : PIECE;
    MICA_TRY(
        mica__resampler_push(*resampler, n ? samples + at : NULL, n, last && at + n == count, piece, PIECE, &made));
    MICA_TRY(take(user, piece, made));
    at += n;
    if (at == count && made < PIECE) return MICA_OK;
  }
}

mica_status mica__sound_check(const float *samples, int64_t count, int64_t before) {
  for (int64_t i = 0; i < count; i++)
    if (!isfinite(samples[i]))
      return mica__fail(MICA_E_FORMAT, "sample %lld is not a finite number", (long long)(before + i));
  return MICA_OK;
}
