/* Depths in predictions and reports: files of numbers, and pictures whose colours go from near to far. */
#include "base/number.h"
#include "data/annotation/depth_map.h"
#include "data/picture/paint.h"
#include "run/fields.h"
#include "run/run.h"
#include "run/state/evaluation.h"
#include "task/head/depths.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

MICA__SETTINGS_STRUCT(depths, DEPTHS_SETTINGS);
MICA__SETTINGS(depths, DEPTHS_SETTINGS);

/* The longest side of a report's pictures, in pixels. Of a larger picture, only every k-th row and column is shown. */
#define LARGEST_SHOWN 512

static size_t pixels_of(const mica__sample *s) { return (size_t)(s->shape.dim[1] * s->shape.dim[2]); }

/* The least and the largest known depth; false if there is none. */
static bool find_range(const float *depths, size_t pixels, double range[2]) {
  range[0] = INFINITY, range[1] = 0;
  for (size_t i = 0; i < pixels; i++) {
    if (!(depths[i] > 0)) continue;
    range[0] = fmin(range[0], (double)depths[i]);
    range[1] = fmax(range[1], (double)depths[i]);
  }
  return range[1] > 0;
}

/* --- colours --- */

/* Adds depths in colours; takes only every k-th pixel if a side is longer than `most`. */
static mica_status add_colours(mica_report *report, const char *name, const char *text, const float *depths,
                               mica_shape shape, const double range[2], int64_t most) {
  uint8_t *planes = mica__paint_depths(depths, &shape, range, most);
  if (!planes) return mica__fail_nomem("a picture");
  const mica_item item = {.kind = MICA_ITEM_KIND_PICTURE, .name = name, .text = text, .planes = planes, .shape = shape};
  mica_status status = mica_report_add(report, &item);
  free(planes);
  return status;
}

/* --- files --- */

static mica_status add_file(mica_report *report, const char *ending, const uint8_t *file, size_t size) {
  const mica_item item = {
      .kind = MICA_ITEM_KIND_FILE, .name = "depth", .text = ending, .planes = file, .shape = MICA_SHAPE((int64_t)size)};
  return mica_report_add(report, &item);
}

/* Adds two files with the depths: a PNG like the depth maps that training reads, and an array of numbers (.npy). */
static mica_status add_files(const mica_run *run, mica_report *report, const mica__sample *sample,
                             const float *depths) {
  const int64_t height = sample->shape.dim[1], width = sample->shape.dim[2];
  uint8_t *file = NULL;
  size_t size = 0;
  mica_status status = mica__depth_map_encode(depths, height, width, settings_of(run).depth_scale, &file, &size);
  if (status == MICA_OK) status = add_file(report, ".png", file, size);
  free(file);
  MICA_TRY(status);
  MICA_TRY(mica__depth_map_encode_npy(depths, height, width, &file, &size));
  status = add_file(report, ".npy", file, size);
  free(file);
  return status;
}

/* --- predictions --- */

mica_status mica__depths_section(mica_run *run, mica_report *p, const mica__sample *sample, const float *depths,
                                 const mica_run_input *given) {
  static const char *const names[] = {"absrel", "rmse", "delta1"};
  double range[2], sum = 0, scores[3];
  (void)given;
  find_range(depths, pixels_of(sample), range);
  for (size_t i = 0; i < pixels_of(sample); i++) sum += (double)depths[i];
  MICA_TRY(mica_report_add_number(p, "height", (double)sample->shape.dim[1]));
  MICA_TRY(mica_report_add_number(p, "width", (double)sample->shape.dim[2]));
  MICA_TRY(mica_report_add_number(p, "nearest", range[0]));
  MICA_TRY(mica_report_add_number(p, "farthest", range[1]));
  MICA_TRY(mica_report_add_number(p, "mean_depth", sum / (double)pixels_of(sample)));
  mica__depth_errors errors = {0};
  if (sample->depths) mica__depth_errors_add(&errors, depths, sample->depths, pixels_of(sample));
  mica__depth_errors_score(&errors, scores);
  for (int k = 0; k < 3 && errors.pixels > 0; k++) MICA_TRY(mica_report_add_number(p, names[k], scores[k]));
  MICA_TRY(add_files(run, p, sample, depths));
  return add_colours(p, "colours", "near pixels yellow, far ones blue", depths, sample->shape, range, INT32_MAX);
}

/* --- the report --- */

typedef struct showing {
  mica_report *report;
  uint64_t at; /* index of the next sample to visit */
} showing;

static mica_status add_input(mica_report *report, const char *name, const mica__sample *sample) {
  const mica_item item = {
      .kind = MICA_ITEM_KIND_PICTURE, .name = name, .text = name, .planes = sample->pixels, .shape = sample->shape};
  return mica_report_add(report, &item);
}

static mica_status show_sample(mica_run *run, const mica__sample *sample, const float *depths, void *user) {
  showing *to = user;
  char name[64], text[128];
  double range[2], scores[3];
  const unsigned long long at = to->at++;
  mica__depth_errors errors = {0};
  (void)run;
  if (!sample->depths || !find_range(sample->depths, pixels_of(sample), range))
    find_range(depths, pixels_of(sample), range);
  if (sample->depths) mica__depth_errors_add(&errors, depths, sample->depths, pixels_of(sample));
  mica__depth_errors_score(&errors, scores);
  snprintf(name, sizeof name, "%llu picture", at);
  MICA_TRY(add_input(to->report, name, sample));
  snprintf(name, sizeof name, "%llu predicted", at);
  mica__snprintf(text, sizeof text, "%llu predicted: AbsRel %.3g, RMSE %.3g, delta < 1.25 %.3g", at, scores[0],
                 scores[1], scores[2]);
  MICA_TRY(add_colours(to->report, name, errors.pixels > 0 ? text : name, depths, sample->shape, range, LARGEST_SHOWN));
  if (!sample->depths) return MICA_OK;
  snprintf(name, sizeof name, "%llu true", at);
  mica__snprintf(text, sizeof text, "%llu true: %.3g (yellow) to %.3g (blue)", at, range[0], range[1]);
  return add_colours(to->report, name, text, sample->depths, sample->shape, range, LARGEST_SHOWN);
}

mica_status mica__depths_report(mica_run *run, mica_report *report) {
  showing s = {.report = report};
  MICA_TRY(mica_report_begin(report, "Pictures"));
  return run->task->input->samples.look(run, run->evaluation->data, show_sample, &s);
}
