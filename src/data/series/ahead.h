/* data/series/ahead.h: the rows that follow a window of series, with which forecasts are compared. */
#ifndef MICA_DATA_SERIES_AHEAD_H
#define MICA_DATA_SERIES_AHEAD_H

#include "data/series/windows.h"

typedef struct mica__rows_ahead {
  char (*names)[48];
  const char **list;       /* the names */
  double *last;            /* (targets): the value before the rows; NaN: not known */
  double *season, *truths; /* (horizon, targets): the seasonal forecast and the actual values; NaN: unknown */
} mica__rows_ahead;

/* Allocates rows for mica__windows_ahead to fill; they must be freed, also after a failure. */
mica_status mica__windows_make_ahead(const mica__windows *w, mica__rows_ahead *rows);
/* Fills in the rows from `origin` on. */
void mica__windows_ahead(const mica__windows *w, int64_t origin, mica__rows_ahead *rows);
void mica__rows_ahead_free(mica__rows_ahead *rows);

#endif
