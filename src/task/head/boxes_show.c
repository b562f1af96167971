/* Boxes in predictions and reports: as lists, and drawn over their pictures. */
#include "base/arith.h"
#include "base/text.h"
#include "data/annotation/boxed.h"
#include "data/picture/paint.h"
#include "run/facts.h"
#include "run/fields.h"
#include "run/parts.h"
#include "run/run.h"
#include "run/state/evaluation.h"
#include "task/head/boxes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

MICA__SETTINGS_STRUCT(boxes, BOXES_SETTINGS);
MICA__SETTINGS(boxes, BOXES_SETTINGS);
MICA__FACTS(boxes, BOXES_FACTS, 3);

/* --- boxes of a picture --- */

/* Number of values per box: four sides, the score and, if boxes are tracked, the id of the track. */
#define PLAIN_NUMBERS 5
#define TRACKED_NUMBERS 6
/* Boxes with a side of this length or less, in pixels, are left out: a tracker needs an area. */
#define THIN 1e-6

/* The boxes of a picture whose score is at least `least`, in pixels of the picture, with the names of their classes. */
typedef struct shown {
  double least;
  size_t count, columns; /* columns: numbers per box */
  double numbers[TRACKED_NUMBERS * MICA__BOXES_MOST];
  const char *names[MICA__BOXES_MOST];
  int32_t classes[MICA__BOXES_MOST];
} shown;

/* Takes the boxes whose score is at least s->least, clipped to the picture. Leaves out boxes of which no more than THIN
 * is inside the picture. */
static void take_shown(const mica_run *run, const mica__sample *sample, const float *found, shown *s) {
  const mica__boxes_facts facts = facts_of(run);
  const int64_t width = sample->shape.dim[2], height = sample->shape.dim[1];
  const mica__placement p =
      mica__placement_of(width, height, (int64_t)facts.input.list[2], (int64_t)facts.input.list[1]);
  s->count = 0;
  for (const float *box = found; box < found + MICA__BOXES_MOST * MICA__BOX_NUMBERS; box += MICA__BOX_NUMBERS) {
    if (!((double)box[4] >= s->least) || !(box[5] >= 0) || (size_t)box[5] >= facts.classes.count) continue;
    double *row = s->numbers + s->columns * s->count;
    for (int i = 0; i < 4; i++) {
      const double at = ((double)box[i] - (i & 1 ? p.top : p.left)) / p.scale[i & 1];
      row[i] = fmin(fmax(at, 0), (double)(i & 1 ? height : width));
    }
    if (!(row[2] - row[0] > THIN && row[3] - row[1] > THIN)) continue;
    row[4] = (double)box[4];
    s->classes[s->count] = (int32_t)box[5];
    s->names[s->count++] = facts.classes.list[(size_t)box[5]];
  }
}

/* Gives each box the id of its track, or NaN if it belongs to no track. */
static mica_status track(mica_tracker *tracker, shown *s) {
  double boxes[4 * MICA__BOXES_MOST];
  int64_t ids[MICA__BOXES_MOST];
  for (size_t i = 0; i < s->count; i++) memcpy(boxes + 4 * i, s->numbers + s->columns * i, 4 * sizeof *boxes);
  MICA_TRY(mica_tracker_step(tracker, boxes, s->classes, s->count, ids, NULL));
  for (size_t i = 0; i < s->count; i++) s->numbers[s->columns * i + 5] = ids[i] ? (double)ids[i] : (double)NAN;
  return MICA_OK;
}

/* The colour of box i. Each class has a colour; if boxes are tracked, each track has one, and boxes without a track are
 * grey. */
static const uint8_t *colour_of(const shown *s, size_t i) {
  static const uint8_t grey[3] = {128, 128, 128};
  if (s->columns == PLAIN_NUMBERS) return mica__paint_colour((size_t)s->classes[i]);
  const double id = s->numbers[s->columns * i + 5];
  return isfinite(id) ? mica__paint_colour((size_t)id) : grey;
}

/* Writes how many boxes of each class there are, as in "19 RBC, 1 WBC", or that no box has the least score. */
static mica_status describe(const mica_run *run, const shown *s, mica__text *text) {
  const mica__fact_texts classes = facts_of(run).classes;
  for (size_t k = 0; k < classes.count; k++) {
    int count = 0;
    for (size_t i = 0; i < s->count; i++) count += s->classes[i] == (int32_t)k;
    if (count) mica__text_addf(text, "%s%d %s", text->data ? ", " : "", count, classes.list[k]);
  }
  if (!s->count) mica__text_addf(text, "no box scores %.3g %% or more (--threshold)", 100 * s->least);
  return mica__text_status(text);
}

static mica_status add_boxes(mica_report *report, const shown *s, const char *text, const mica__sample *under) {
  const mica_item boxes = {.kind = MICA_ITEM_KIND_BOXES,
                           .name = "boxes",
                           .text = text,
                           .rows = s->count,
                           .columns = s->columns,
                           .row_names = s->names,
                           .numbers = s->numbers,
                           .planes = under ? under->pixels : NULL,
                           .shape = under ? under->shape : MICA_SCALAR};
  return mica_report_add(report, &boxes);
}

/* Adds the picture with the boxes drawn into it. */
static mica_status add_drawn(mica_report *report, const mica__sample *sample, const shown *s, const char *text) {
  const int64_t height = sample->shape.dim[1], width = sample->shape.dim[2], side = width < height ? width : height;
  uint8_t *planes = malloc((size_t)(3 * height * width));
  if (!planes) return mica__fail_nomem("a picture");
  memcpy(planes, sample->pixels, (size_t)(3 * height * width));
  for (size_t i = s->count; i-- > 0;)
    mica__paint_box(planes, height, width, s->numbers + s->columns * i, colour_of(s, i), side < 400 ? 1 : side / 200);
  const mica_item drawn = {
      .kind = MICA_ITEM_KIND_PICTURE, .name = "overlay", .text = text, .planes = planes, .shape = sample->shape};
  mica_status status = mica_report_add(report, &drawn);
  free(planes);
  return status;
}

/* Adds the boxes of a sample, with ids if there is a tracker. If `drawn`, adds a copy of the picture with the boxes
 * painted in; otherwise the item with the boxes holds the picture itself. */
static mica_status show(mica_run *run, mica_report *report, const mica__sample *sample, const float *found,
                        double least, mica_tracker *tracker, bool drawn) {
  shown *s = malloc(sizeof *s);
  mica__text text = {0};
  if (!s) return mica__fail_nomem("boxes");
  s->least = least;
  s->columns = tracker ? TRACKED_NUMBERS : PLAIN_NUMBERS;
  take_shown(run, sample, found, s);
  mica_status status = tracker ? track(tracker, s) : MICA_OK;
  if (status == MICA_OK) status = describe(run, s, &text);
  if (status == MICA_OK) status = add_boxes(report, s, text.data, drawn ? NULL : sample);
  if (status == MICA_OK && drawn) status = add_drawn(report, sample, s, text.data);
  mica__text_free(&text);
  free(s);
  return status;
}

mica_status mica__boxes_section(mica_run *run, mica_report *report, const mica__sample *sample, const float *found,
                                const mica_run_input *given) {
  return show(run, report, sample, found, mica__or_default(given->threshold, settings_of(run).least_score),
              given->tracker, true);
}

/* --- the report --- */

static mica_status add_curves(const mica_run *run, mica_report *report, const mica_box_class_scores *by_class) {
  const mica__fact_texts classes = facts_of(run).classes;
  const size_t shown_classes = classes.count < 8 ? classes.count : 8, columns = shown_classes + 1;
  const char *heads[9] = {"recall"};
  double *numbers = calloc(MICA_BOX_RECALLS * columns, sizeof *numbers);
  if (!numbers) return mica__fail_nomem("a report");
  for (size_t k = 0; k < shown_classes; k++) heads[k + 1] = classes.list[k];
  for (size_t r = 0; r < MICA_BOX_RECALLS; r++) {
    numbers[r * columns] = (double)r / (MICA_BOX_RECALLS - 1);
    for (size_t k = 0; k < shown_classes; k++)
      numbers[r * columns + k + 1] = by_class[k].ap_50 < 0 ? (double)NAN : by_class[k].curve[r];
  }
  const mica_item curve = {.kind = MICA_ITEM_KIND_CURVE,
                           .name = "precision at overlaps of 0.50",
                           .rows = MICA_BOX_RECALLS,
                           .columns = columns,
                           .column_names = heads,
                           .numbers = numbers};
  mica_status status = mica_report_add(report, &curve);
  free(numbers);
  return status;
}

static mica_status add_table(const mica_run *run, mica_report *report, const mica_box_class_scores *by_class) {
  static const char *const columns[] = {"ap_50", "ap_75", "ap", "recall"};
  const mica__fact_texts classes = facts_of(run).classes;
  double *numbers = calloc(4 * classes.count + 1, sizeof *numbers);
  if (!numbers) return mica__fail_nomem("a report");
  for (size_t k = 0; k < classes.count; k++) {
    const double row[4] = {by_class[k].ap_50, by_class[k].ap_75, by_class[k].ap, by_class[k].ar_100};
    for (int i = 0; i < 4; i++) numbers[4 * k + (size_t)i] = row[i] < 0 ? (double)NAN : row[i];
  }
  const mica_item table = {.kind = MICA_ITEM_KIND_TABLE,
                           .name = "classes",
                           .rows = classes.count,
                           .columns = 4,
                           .row_names = classes.list,
                           .column_names = columns,
                           .numbers = numbers};
  mica_status status = mica_report_add(report, &table);
  free(numbers);
  return status;
}

static mica_status show_sample(mica_run *run, const mica__sample *sample, const float *found, void *user) {
  return show(run, user, sample, found, settings_of(run).least_score, NULL, false);
}

mica_status mica__boxes_report(mica_run *run, mica_report *report) {
  mica_box_scores scores;
  mica_loader_config config;
  mica_loader *loader = NULL;
  mica_box_class_scores *by_class = calloc(facts_of(run).classes.count + 1, sizeof *by_class);
  mica_status status =
      by_class ? mica__run_loading(run, MICA_PART_TEST, run->evaluation->data, &config) : mica__fail_nomem("a report");
  if (status == MICA_OK) status = mica_loader_create(run->engine, run->evaluation->data, &config, &loader);
  if (status == MICA_OK) {
    const mica_batch_source source = mica_loader_source(loader);
    status = mica__boxes_score(run, &source, &scores, by_class);
  }
  mica_loader_destroy(loader);
  if (status == MICA_OK) status = mica_report_begin(report, "Classes");
  if (status == MICA_OK) status = add_table(run, report, by_class);
  if (status == MICA_OK) status = add_curves(run, report, by_class);
  free(by_class);
  if (status != MICA_OK || mica_dataset_dtype(run->evaluation->data) != MICA_U8) return status;
  MICA_TRY(mica_report_begin(report, "What is found"));
  return run->task->input->samples.look(run, run->evaluation->data, show_sample, report);
}
