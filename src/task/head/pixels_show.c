/* Classes of pixels in predictions and reports: masks, and classes as colours over their pictures. */
#include "base/number.h"
#include "data/annotation/masks.h"
#include "data/picture/paint.h"
#include "run/fields.h"
#include "run/run.h"
#include "run/state/evaluation.h"
#include "task/head/pixels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

MICA__FACTS(pixels, PIXELS_FACTS, 3);

/* The longest side of a report's pictures, in pixels. Of a larger picture, only every k-th row and column is shown. */
#define LARGEST_SHOWN 1024

typedef mica__scene scene;

static size_t pixels_of(const scene *s) { return (size_t)(s->shape.dim[1] * s->shape.dim[2]); }

/* --- pictures of classes --- */

/* Makes a mask in the form of the training masks, (1, H, W) with their values, or (3, H, W) if they have colours. The
 * caller frees *out. */
static mica_status make_mask(const mica_run *run, const scene *s, uint8_t **out, int64_t *channels) {
  mica__mask_table table = {0};
  if (*facts_of(run).mask_values) MICA_TRY(mica__mask_table_parse(facts_of(run).mask_values, &table));
  *out = mica__mask_paint(&table, s->classes, pixels_of(s), channels);
  mica__mask_table_free(&table);
  return *out ? MICA_OK : mica__fail_nomem("a mask");
}

/* Adds a picture. If a side is longer than `most`, keeps only every k-th row and column; this overwrites `planes`. */
static mica_status add_picture(mica_report *report, const char *name, const char *text, uint8_t *planes,
                               mica_shape shape, int64_t most) {
  const mica_shape thin = mica__paint_thin(planes, shape, most);
  const mica_item item = {.kind = MICA_ITEM_KIND_PICTURE, .name = name, .text = text, .planes = planes, .shape = thin};
  return mica_report_add(report, &item);
}

mica_status mica__scene_add(mica_report *report, const char *name, const char *text, const scene *s,
                            const uint8_t *classes, const uint8_t *marked, int64_t most) {
  uint8_t *planes = mica__paint_classes(s->planes, s->shape, classes, marked);
  if (!planes) return mica__fail_nomem("a picture");
  mica_status status = add_picture(report, name, text, planes, MICA_SHAPE(3, s->shape.dim[1], s->shape.dim[2]), most);
  free(planes);
  return status;
}

/* --- predictions --- */

/* Adds the classes and their shares of the pixels, largest first. */
static mica_status add_shares(const mica_run *run, mica_report *p, const scene *s) {
  const char *const *names = facts_of(run).classes.list;
  const int64_t classes = mica__pixels_classes(run);
  const char *rows[MICA__MASK_CLASSES];
  double shares[MICA__MASK_CLASSES] = {0}, sorted[MICA__MASK_CLASSES];
  size_t count = 0;
  for (size_t i = 0; i < pixels_of(s); i++) shares[s->classes[i]] += 1 / (double)pixels_of(s);
  for (; count < (size_t)classes && count < MICA__MASK_CLASSES; count++) {
    int64_t best = 0;
    for (int64_t c = 1; c < classes; c++)
      if (shares[c] > shares[best]) best = c;
    rows[count] = names[best];
    sorted[count] = shares[best];
    shares[best] = -1;
  }
  const mica_item item = {.kind = MICA_ITEM_KIND_CHOICES,
                          .name = "shares",
                          .rows = count,
                          .columns = 1,
                          .row_names = rows,
                          .numbers = sorted};
  return mica_report_add(p, &item);
}

/* The share of right pixels among those whose class is known. */
static double accuracy_of(const scene *s) {
  size_t right = 0, known = 0;
  for (size_t i = 0; i < pixels_of(s); i++) {
    known += s->truth[i] != 255;
    right += s->truth[i] != 255 && s->truth[i] == s->classes[i];
  }
  return known ? (double)right / (double)known : (double)NAN;
}

static mica_status make_scene(const mica_run *run, const mica__sample *sample, const float *shares, scene *s) {
  *s = (scene){.planes = sample->pixels, .truth = sample->mask, .shape = sample->shape};
  s->classes = malloc(pixels_of(s) + 1);
  if (!s->classes) return mica__fail_nomem("a mask");
  mica__mask_decide(shares, mica__pixels_classes(run), pixels_of(s), s->classes);
  return MICA_OK;
}

static mica_status add_scene(const mica_run *run, mica_report *p, const scene *s) {
  uint8_t *mask = NULL;
  int64_t channels = 1;
  MICA_TRY(mica_report_add_number(p, "height", (double)s->shape.dim[1]));
  MICA_TRY(mica_report_add_number(p, "width", (double)s->shape.dim[2]));
  if (s->truth) MICA_TRY(mica_report_add_number(p, "accuracy", accuracy_of(s)));
  MICA_TRY(add_shares(run, p, s));
  MICA_TRY(make_mask(run, s, &mask, &channels));
  mica_status status = add_picture(p, "mask", "the class of each pixel, as masks have it", mask,
                                   MICA_SHAPE(channels, s->shape.dim[1], s->shape.dim[2]), INT32_MAX);
  free(mask);
  MICA_TRY(status);
  return mica__scene_add(p, "overlay", "classes over the picture", s, s->classes, NULL, INT32_MAX);
}

mica_status mica__pixels_section(mica_run *run, mica_report *p, const mica__sample *sample, const float *shares,
                                 const mica_run_input *given) {
  scene s;
  (void)given;
  mica_status status = make_scene(run, sample, shares, &s);
  if (status == MICA_OK) status = add_scene(run, p, &s);
  free(s.classes);
  return status;
}

/* --- the report --- */

mica_status mica__pixels_add_table(const mica_run *run, mica_report *report, const char *const *columns, size_t count) {
  const size_t classes = (size_t)mica__pixels_classes(run);
  const char *const *names = facts_of(run).classes.list;
  double *numbers = malloc((count * classes + 1) * sizeof *numbers);
  if (!numbers) return mica__fail_nomem("a report");
  for (size_t i = 0; i < count * classes; i++) {
    char name[MICA_METRIC_NAME];
    snprintf(name, sizeof name, "%s_%s", columns[i % count], names[i / count]);
    numbers[i] = mica_metrics_get(&run->evaluation->metrics, name);
  }
  const mica_item table = {.kind = MICA_ITEM_KIND_TABLE,
                           .name = "classes",
                           .rows = classes,
                           .columns = count,
                           .row_names = names,
                           .column_names = columns,
                           .numbers = numbers};
  mica_status status = mica_report_begin(report, "Classes");
  if (status == MICA_OK) status = mica_report_add(report, &table);
  free(numbers);
  return status;
}

mica_status mica__pixels_values(const mica_run *run, uint8_t *values) {
  mica__mask_table table = {0};
  if (*facts_of(run).mask_values) MICA_TRY(mica__mask_table_parse(facts_of(run).mask_values, &table));
  for (int32_t c = 0; c < MICA__MASK_CLASSES; c++)
    values[c] = (uint8_t)(c < table.classes ? table.values[c] : (uint32_t)c);
  mica__mask_table_free(&table);
  return MICA_OK;
}

static mica_status show(mica_report *report, uint64_t sample, const scene *s) {
  char name[64], text[96];
  snprintf(name, sizeof name, "%llu predicted", (unsigned long long)sample);
  MICA_TRY(mica__scene_add(report, name, name, s, s->classes, NULL, LARGEST_SHOWN));
  if (!s->truth) return MICA_OK;
  snprintf(name, sizeof name, "%llu true", (unsigned long long)sample);
  MICA_TRY(mica__scene_add(report, name, name, s, s->truth, NULL, LARGEST_SHOWN));
  snprintf(name, sizeof name, "%llu wrong", (unsigned long long)sample);
  mica__snprintf(text, sizeof text, "%llu: wrong pixels, %.1f %%", (unsigned long long)sample,
                 100 * (1 - accuracy_of(s)));
  return mica__scene_add(report, name, text, s, s->classes, s->truth, LARGEST_SHOWN);
}

typedef struct showing {
  mica_report *report;
  uint64_t at; /* index of the next sample to visit */
} showing;

static mica_status show_sample(mica_run *run, const mica__sample *sample, const float *shares, void *user) {
  showing *to = user;
  scene s;
  mica_status status = make_scene(run, sample, shares, &s);
  if (status == MICA_OK) status = show(to->report, to->at++, &s);
  free(s.classes);
  return status;
}

mica_status mica__pixels_report(mica_run *run, mica_report *report) {
  showing s = {.report = report};
  MICA_TRY(mica__pixels_add_table(run, report, (const char *const[]){"dice", "iou"}, 2));
  MICA_TRY(mica_report_begin(report, "Pictures"));
  return run->task->input->samples.look(run, run->evaluation->data, show_sample, &s);
}
