/* The rows that follow a window. */
#include "data/series/ahead.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The name of a row: its time, else its number, counted from 1. */
static void name_row(const mica__windows *w, int64_t row, char *text, size_t bytes) {
  if (row >= w->series.rows)
    mica__series_next(&w->series, row - w->series.rows + 1, text, bytes);
  else if (w->series.times)
    snprintf(text, bytes, "%s", w->series.times[row]);
  else
    snprintf(text, bytes, "%lld", (long long)row + 1);
}

/* The actual value; NaN after the end and where a cell is empty. */
static double actual(const mica__windows *w, int64_t row, size_t k) {
  const bool there = row < w->series.rows && mica__series_known(&w->series, row, k);
  return there ? mica__series_at(&w->series, row, k, w->series.rows) : (double)NAN;
}

mica_status mica__windows_make_ahead(const mica__windows *w, mica__rows_ahead *r) {
  const size_t horizon = (size_t)w->horizon, answers = horizon * w->targets;
  *r = (mica__rows_ahead){.names = calloc(horizon, sizeof *r->names),
                          .list = calloc(horizon, sizeof *r->list),
                          .last = calloc(w->targets, sizeof *r->last),
                          .season = calloc(answers, sizeof *r->season),
                          .truths = calloc(answers, sizeof *r->truths)};
  return r->names && r->list && r->last && r->season && r->truths ? MICA_OK : mica__fail_nomem("forecasts");
}

void mica__rows_ahead_free(mica__rows_ahead *r) {
  free(r->names);
  free(r->list);
  free(r->last);
  free(r->season);
  free(r->truths);
}

void mica__windows_ahead(const mica__windows *w, int64_t origin, mica__rows_ahead *r) {
  for (size_t k = 0; k < w->targets; k++)
    r->last[k] = mica__series_seen(&w->series, k, origin) ? mica__series_at(&w->series, origin - 1, k, origin) : NAN;
  for (int64_t h = 0; h < w->horizon; h++) {
    name_row(w, origin + h, r->names[h], sizeof r->names[h]);
    r->list[h] = r->names[h];
    for (size_t k = 0; k < w->targets; k++) {
      const size_t at = (size_t)h * w->targets + k;
      r->season[at] = isnan(r->last[k]) ? NAN : mica__windows_seasonal(w, origin, h, k);
      r->truths[at] = actual(w, origin + h, k);
    }
  }
}
