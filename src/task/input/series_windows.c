/* Reads tables of time series, and makes windows of them as the settings of a run say. */
#include "data/dataset.h"
#include "run/columns/columns.h"
#include "run/fields.h"
#include "run/record.h"
#include "task/input/series.h"

#include <stdlib.h>
#include <string.h>

#define READ_SETTINGS(X, S)                                                                                            \
  SERIES_SETTINGS(X, S)                                                                                                \
  X(S, TEXT, label, "label", "", "", "")                                                                               \
  X(S, TEXT, ignore, "ignore", "", "", "")                                                                             \
  X(S, REAL, validation, "validation", "", "", "")

MICA__SETTINGS_STRUCT(series, READ_SETTINGS);
MICA__SETTINGS(series, READ_SETTINGS);
MICA__FACTS(series, SERIES_FACTS, 0);

/* --- reading --- */

/* The value that the run has recorded, else the setting, else `otherwise`. */
static int64_t found(double fact, int64_t setting, int64_t otherwise) {
  return fact > 0 ? (int64_t)fact : setting > 0 ? setting : otherwise;
}

mica_status mica__windows_read(const mica_run *run, const char *name, char *content, size_t size, mica__windows *w) {
  const mica__series_settings s = settings_of(run);
  const mica__series_facts facts = facts_of(run);
  const mica__series_choice choice = {
      .time = s.time, .ignored = s.ignore, .names = facts.series.list, .count = facts.series.count};
  *w = (mica__windows){.horizon = s.horizon};
  mica_status status = mica__series_read(name, content, size, &choice, &w->series);
  if (status == MICA_OK && !choice.names && *s.label)
    status = mica__series_read_first(name, content, size, choice, s.label, &w->series);
  if (status != MICA_OK) {
    mica__windows_free(w);
    return status;
  }
  w->targets = *s.label ? 1 : w->series.count;
  w->season = found(facts.season, s.season, mica__series_season(&w->series));
  w->window = found(facts.window, s.window, w->season > 1 ? 2 * w->season : 24);
  return MICA_OK;
}

mica_status mica__windows_scale(const mica_run *run, mica__windows *w) {
  const mica__series_facts facts = facts_of(run);
  const struct {
    const char *name;
    mica__fact_numbers numbers;
    double **to;
  } scales[] = {{"scale", facts.scale, &w->scale},
                {"level_mean", facts.level_mean, &w->mean},
                {"level_deviation", facts.level_deviation, &w->deviation}};
  for (int i = 0; i < 3; i++) {
    const size_t count = scales[i].numbers.count;
    if (*scales[i].to) continue;
    if (count != w->series.count)
      return mica__fail(MICA_E_FORMAT, "config.json: \"%s\" has %zu numbers, but the run has %zu series",
                        scales[i].name, count, w->series.count);
    *scales[i].to = malloc((count + 1) * sizeof **scales[i].to);
    if (!*scales[i].to) return mica__fail_nomem("a run");
    memcpy(*scales[i].to, scales[i].numbers.list, count * sizeof **scales[i].to);
  }
  return MICA_OK;
}

/* --- parts --- */

mica_status mica__series_open(const mica_run *run, const char *path, const mica_dataset_config *config,
                              mica_dataset **data) {
  uint8_t *content = NULL;
  size_t size = 0;
  mica__windows *w = calloc(1, sizeof *w);
  mica_status status = w ? mica__content_read(path, &content, &size) : mica__fail_nomem("series");
  if (status == MICA_OK) status = mica__windows_read(run, path, (char *)content, size, w);
  if (status == MICA_OK)
    status = mica__windows_part(path, config->part, settings_of(run).test, settings_of(run).validation, w);
  free(content);
  if (status == MICA_OK) status = mica__windows_dataset(path, w, data);
  if (status != MICA_OK && w) {
    mica__windows_free(w);
    free(w);
  }
  return status;
}

/* --- remarks --- */

/* Remarks on gaps in the times, or on times that are not understood. Each row is one step, whatever its time; a gap
 * probably means that rows were lost. */
static mica_status say_times(mica_run *run, const char *name, const mica__series *s) {
  int64_t first = 0;
  if (!s->times) return MICA_OK;
  if (s->spacing.unit == MICA__SPACING_NONE)
    return mica__run_remark(run,
                            "%s: times such as \"%s\" are not understood (times such as 2001-12-29 are), so order, "
                            "season and gaps are unknown",
                            name, s->times[s->rows - 1]);
  const int64_t count = mica__series_irregular(s, &first);
  if (!count) return MICA_OK;
  return mica__run_remark(
      run,
      "%s: %lld row%s not one step after the previous row, the first \"%s\" after \"%s\"; each row counts as one step",
      name, (long long)count, count == 1 ? " is" : "s are", s->times[first], s->times[first - 1]);
}

mica_status mica__windows_remark(mica_run *run, const char *name, const mica__windows *w) {
  const mica__series *s = &w->series;
  MICA_TRY(mica__run_remark_passed(run, name, s->passed));
  MICA_TRY(say_times(run, name, s));
  if (s->row_numbers)
    MICA_TRY(mica__run_remark(run, "column '%s' numbers the rows and is not a series", s->row_numbers));
  if (!s->empty) return MICA_OK;
  return mica__run_remark(run,
                          "%s: %lld empty cell%s: read by interpolation between neighbours if both are before the "
                          "forecast, else as the last value; never used as answers",
                          name, (long long)s->empty, s->empty == 1 ? "" : "s");
}
