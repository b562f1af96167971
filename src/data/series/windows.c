/* Windows of time series, as samples. */
#include "data/series/windows.h"
#include "data/dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void mica__windows_free(void *user) {
  mica__windows *w = user;
  mica__series_free(&w->series);
  free(w->scale);
  free(w->mean);
  free(w->deviation);
  *w = (mica__windows){0};
}

static void release(void *user) {
  mica__windows_free(user);
  free(user);
}

mica__windows *mica__windows_of(const mica_dataset *data) {
  const mica__column *column = mica__store_find(data->store, "window");
  return column ? column->user : NULL;
}

/* --- values --- */

/* The level of a series before an origin: 0, the average, if it has no value yet. */
static float level_at(const mica__windows *w, int64_t origin, size_t k) {
  if (!mica__series_seen(&w->series, k, origin)) return 0;
  return (float)((mica__series_at(&w->series, origin - 1, k, origin) - w->mean[k]) / w->deviation[k]);
}

void mica__windows_fill(const mica__windows *w, int64_t origin, float *window, float *level) {
  const size_t count = w->series.count;
  for (size_t k = 0; k < count; k++) {
    const double last = mica__series_at(&w->series, origin - 1, k, origin);
    for (int64_t t = 0; t < w->window; t++)
      window[(size_t)t * count + k] =
          (float)((mica__series_at(&w->series, origin - w->window + t, k, origin) - last) / w->scale[k]);
    level[k] = level_at(w, origin, k);
  }
}

double mica__windows_seasonal(const mica__windows *w, int64_t origin, int64_t step, size_t series) {
  int64_t row = origin + step;
  while (row >= origin) row -= w->season;
  return mica__series_at(&w->series, row < 0 ? origin - 1 : row, series, origin);
}

static int64_t origin_of(const mica__windows *w, uint64_t sample) { return w->first + (int64_t)sample; }

static mica_status read_window(void *user, uint64_t sample, void *data, size_t bytes) {
  const mica__windows *w = user;
  float *level = malloc(w->series.count * sizeof *level);
  (void)bytes;
  if (!level) return mica__fail_nomem("a window");
  mica__windows_fill(w, origin_of(w, sample), data, level);
  free(level);
  return MICA_OK;
}

static mica_status read_level(void *user, uint64_t sample, void *data, size_t bytes) {
  const mica__windows *w = user;
  float *level = data;
  (void)bytes;
  for (size_t k = 0; k < w->series.count; k++) level[k] = level_at(w, origin_of(w, sample), k);
  return MICA_OK;
}

/* The columns that are given with a window; each has horizon x targets numbers. */
typedef enum answer { TARGET, KNOWN, SEASON } answer;

static mica_status read_answer(const mica__windows *w, uint64_t sample, float *to, answer which) {
  const int64_t origin = origin_of(w, sample);
  for (int64_t h = 0; h < w->horizon; h++)
    for (size_t k = 0; k < w->targets; k++) {
      if (!mica__series_seen(&w->series, k, origin)) {
        *to++ = 0;
        continue;
      }
      const double last = mica__series_at(&w->series, origin - 1, k, origin);
      const double value = which == TARGET ? mica__series_at(&w->series, origin + h, k, w->series.rows)
                                           : mica__windows_seasonal(w, origin, h, k);
      *to++ = which == KNOWN ? mica__series_known(&w->series, origin + h, k) : (float)((value - last) / w->scale[k]);
    }
  return MICA_OK;
}

static mica_status read_target(void *user, uint64_t sample, void *data, size_t bytes) {
  (void)bytes;
  return read_answer(user, sample, data, TARGET);
}

static mica_status read_known(void *user, uint64_t sample, void *data, size_t bytes) {
  (void)bytes;
  return read_answer(user, sample, data, KNOWN);
}

static mica_status read_season(void *user, uint64_t sample, void *data, size_t bytes) {
  (void)bytes;
  return read_answer(user, sample, data, SEASON);
}

/* --- reading --- */

mica_status mica__series_read_first(const char *name, char *content, size_t size, mica__series_choice choice,
                                    const char *first, mica__series *s) {
  mica__series old = *s;
  size_t count = 0;
  const char **names = calloc(old.count + 1, sizeof *names);
  if (!names) return mica__fail_nomem(name);
  names[count++] = first;
  for (size_t i = 0; i < old.count; i++)
    if (strcmp(old.names[i], first) != 0) names[count++] = old.names[i];
  choice.names = names;
  choice.count = count;
  *s = (mica__series){0};
  mica_status status = mica__series_read(name, content, size, &choice, s);
  free(names);
  mica__series_free(&old);
  return status;
}

/* --- parts --- */

static mica_status too_short(const mica__windows *w, const char *path) {
  return mica__fail(MICA_E_FORMAT,
                    "%s has %lld rows: a window of %lld and a horizon of %lld leave none to train on before the %lld "
                    "validation rows and the %lld test rows (--window, --horizon, --validation, --test)",
                    path, (long long)w->series.rows, (long long)w->window, (long long)w->horizon,
                    (long long)(w->training - w->learned), (long long)(w->series.rows - w->training));
}

/* Leaves out the origins before which no forecast series has a value. */
static mica_status skip_unknown(const char *path, mica__windows *w) {
  int64_t first = w->series.rows;
  for (size_t k = 0; k < w->targets; k++)
    if (mica__series_first(&w->series, k) < first) first = mica__series_first(&w->series, k);
  const int64_t skipped = first + 1 - w->first;
  if (skipped <= 0) return MICA_OK;
  w->first += skipped;
  w->count -= skipped;
  if (w->count > 0) return MICA_OK;
  return mica__fail(MICA_E_FORMAT,
                    "%s: the first value to forecast is in row %lld, after which this part of the data has fewer than "
                    "%lld rows, the horizon",
                    path, (long long)first + 1, (long long)w->horizon);
}

void mica__windows_measure(const mica__windows *w, size_t k, double *scale, double *mean, double *deviation,
                           double *mase) {
  double squares = 0, sum = 0, variance = 0, changes = 0;
  const int64_t first = mica__series_first(&w->series, k), known = w->learned - first;
  int64_t count = 0;
  for (int64_t o = first + 1; o + w->horizon <= w->learned; o++)
    for (int64_t h = 0; h < w->horizon; h++, count++) {
      const double change =
          mica__series_at(&w->series, o + h, k, w->learned) - mica__series_at(&w->series, o - 1, k, w->learned);
      squares += change * change;
    }
  for (int64_t i = first; i < w->learned; i++) sum += mica__series_at(&w->series, i, k, w->learned);
  *mean = sum / (double)known;
  for (int64_t i = first; i < w->learned; i++)
    variance += pow(mica__series_at(&w->series, i, k, w->learned) - *mean, 2);
  for (int64_t i = first + w->season; i < w->training; i++)
    changes += fabs(mica__series_at(&w->series, i, k, w->training) -
                    mica__series_at(&w->series, i - w->season, k, w->training));
  *scale = count && squares > 0 ? sqrt(squares / (double)count) : 1;
  *deviation = variance > 0 ? sqrt(variance / (double)known) : 1;
  *mase = changes > 0 ? changes / (double)(w->training - w->season - first) : 1;
}

mica_status mica__windows_part(const char *path, mica_part part, double test, double validation, mica__windows *w) {
  const int64_t n = w->series.rows, tested = (int64_t)floor(test * (double)n);
  w->training = n - (test > 0 && tested < w->horizon ? w->horizon : tested);
  const int64_t validated = (int64_t)floor(validation * (double)w->training);
  w->learned = w->training - (validation > 0 && validated < w->horizon ? w->horizon : validated);
  if ((part == MICA_PART_TEST && !(test > 0)) || (part == MICA_PART_VALIDATION && !(validation > 0)))
    return mica__fail(MICA_E_NOT_FOUND, "%s has no part %s: --%s is 0", path, mica_part_name(part),
                      part == MICA_PART_TEST ? "test" : "validation");
  const int64_t begins[] = {w->window, w->learned, w->training}, ends[] = {w->learned, w->training, n};
  if (w->learned - w->horizon < w->window) return too_short(w, path);
  w->first = begins[part];
  w->count = ends[part] - w->horizon - w->first + 1;
  return w->count > 0 ? skip_unknown(path, w) : too_short(w, path);
}

mica_status mica__windows_dataset(const char *path, mica__windows *w, mica_dataset **data) {
  const int64_t series = (int64_t)w->series.count, targets = (int64_t)w->targets;
  const struct {
    const char *name;
    mica_shape shape;
    mica_status (*read)(void *user, uint64_t sample, void *data, size_t bytes);
  } columns[] = {{"window", MICA_SHAPE(w->window, series), read_window},
                 {"level", MICA_SHAPE(1, series), read_level},
                 {"target", MICA_SHAPE(w->horizon, targets), read_target},
                 {"known", MICA_SHAPE(w->horizon, targets), read_known},
                 {"season", MICA_SHAPE(w->horizon, targets), read_season}};
  mica_column_data list[sizeof columns / sizeof *columns];
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
    list[i] = (mica_column_data){.column = {.name = columns[i].name,
                                            .kind = MICA_COLUMN_KIND_NUMBER,
                                            .dtype = MICA_F32,
                                            .shape = columns[i].shape},
                                 .user = w,
                                 .read = columns[i].read};
  MICA_TRY(mica_dataset_create(path, (uint64_t)w->count, list, sizeof columns / sizeof *columns, data));
  return mica__store_own((*data)->store, w, release);
}
