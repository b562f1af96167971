/* The class of each voxel: metrics per volume, and what predictions and reports show. */
#include "task/head/voxels.h"
#include "data/annotation/masks.h"
#include "data/volume/nifti.h"
#include "data/volume/surfaces.h"
#include "run/fields.h"
#include "run/run.h"
#include "run/state/evaluation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

MICA__FACTS(pixels, PIXELS_FACTS, 3);

/* The longest side of a slice in a report, in pixels. Of a larger slice, only every k-th row and column is shown. */
#define LARGEST_SHOWN 512

/* True if this build can compress masks. */
#if MICA_WITH_DEFLATE
#define PACKS true
#else
#define PACKS false
#endif

/* The measures of a class in a volume. */
static const char *const measures[] = {"dice", "iou", "hausdorff", "hausdorff_95"};
#define MEASURED 4

/* Measures a class; NaN if neither mask has it. */
static mica_status measure(const mica__scan *scan, uint8_t of, double found[MEASURED]) {
  const mica__nifti *h = scan->header;
  mica__likeness l;
  MICA_TRY(mica__labels_compare(scan->decided, scan->truth, scan->truth, of, h->sides, h->spacing, &l));
  found[0] = l.dice, found[1] = l.iou, found[2] = l.farthest, found[3] = l.most;
  return MICA_OK;
}

/* --- metrics --- */

/* sums[c][k] adds measure k of class c over the counts[c] volumes that have the class. */
typedef struct tally {
  int64_t classes, volumes;
  double right, voxels;
  double (*sums)[MEASURED], *counts;
} tally;

static mica_status add_volume(mica_run *run, const mica__sample *sample, const float *outputs, void *user) {
  tally *t = user;
  const mica__scan *scan = sample->scan;
  (void)run, (void)outputs;
  for (int64_t c = 0; c < t->classes; c++) {
    double found[MEASURED];
    MICA_TRY(measure(scan, (uint8_t)c, found));
    if (isnan(found[0])) continue;
    for (int k = 0; k < MEASURED; k++) t->sums[c][k] += found[k];
    t->counts[c]++;
  }
  for (int64_t i = 0; i < mica__nifti_voxels(scan->header); i++) {
    t->voxels += scan->truth[i] != 255;
    t->right += scan->truth[i] != 255 && scan->truth[i] == scan->decided[i];
  }
  t->volumes++;
  return MICA_OK;
}

/* Adds the mean of a metric over all classes except the first. Then adds the metric of each class, but keeps room in
 * the list for the means of the metrics that follow. */
static mica_status add_metric(const mica_run *run, const tally *t, int k, mica_metrics *m) {
  const char *const *names = facts_of(run).classes.list;
  double sum = 0, there = 0;
  for (int64_t c = 1; c < t->classes; c++)
    if (t->counts[c] > 0) sum += t->sums[c][k] / t->counts[c], there++;
  MICA_TRY(mica_metrics_add(m, measures[k], there > 0 ? sum / there : (double)NAN));
  for (int64_t c = 0; c < t->classes && m->count < MICA_METRICS_MAX - (MEASURED - 1 - k); c++) {
    char part[MICA_METRIC_NAME];
    snprintf(part, sizeof part, "%s_%s", measures[k], names[c]);
    MICA_TRY(mica_metrics_add(m, part, t->counts[c] > 0 ? t->sums[c][k] / t->counts[c] : (double)NAN));
  }
  return MICA_OK;
}

static mica_status evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *m) {
  tally t = {.classes = mica__pixels_classes(run)};
  bool joined = false;
  t.sums = calloc((size_t)t.classes + 1, sizeof *t.sums);
  t.counts = calloc((size_t)t.classes + 1, sizeof *t.counts);
  mica_status status = t.sums && t.counts ? MICA_OK : mica__fail_nomem("metrics");
  if (status == MICA_OK) status = run->task->input->samples.join(run, source, add_volume, &t, &joined);
  if (status == MICA_OK && joined) {
    m->samples = t.volumes;
    m->count = 0; /* drops the metrics of windows */
    status = mica_metrics_add(m, "accuracy", t.voxels > 0 ? t.right / t.voxels : (double)NAN);
    for (int k = 0; status == MICA_OK && k < MEASURED; k++) status = add_metric(run, &t, k, m);
  }
  free(t.sums);
  free(t.counts);
  return status;
}

/* --- predictions --- */

/* Lists classes with their number of voxels, their volume in cubic units of the file (millimetres), and the quality of
 * the prediction if the truth is known. */
static mica_status add_classes(const mica_run *run, mica_report *report, const mica__scan *scan) {
  static const char *const columns[] = {"voxels", "volume", "dice", "iou", "hausdorff", "hausdorff_95"};
  const double *spacing = scan->header->spacing;
  const int64_t classes = mica__pixels_classes(run), voxels = mica__nifti_voxels(scan->header);
  const size_t width = scan->truth ? 2 + MEASURED : 2;
  double *numbers = calloc((size_t)classes * width + 1, sizeof *numbers);
  if (!numbers) return mica__fail_nomem("a report");
  for (int64_t i = 0; i < voxels; i++) numbers[scan->decided[i] * width]++;
  mica_status status = MICA_OK;
  for (int64_t c = 0; status == MICA_OK && c < classes; c++) {
    double *row = numbers + (size_t)c * width;
    row[1] = row[0] * spacing[0] * spacing[1] * spacing[2];
    if (scan->truth) status = measure(scan, (uint8_t)c, row + 2);
  }
  const mica_item table = {.kind = MICA_ITEM_KIND_TABLE,
                           .name = "classes",
                           .rows = (size_t)classes,
                           .columns = width,
                           .row_names = facts_of(run).classes.list,
                           .column_names = columns,
                           .numbers = numbers};
  if (status == MICA_OK) status = mica_report_add(report, &table);
  free(numbers);
  return status;
}

/* Adds the mask as a file, with the values of the training masks. */
static mica_status add_mask(const mica_run *run, mica_report *report, const mica__scan *scan, bool packed) {
  const int64_t voxels = mica__nifti_voxels(scan->header);
  uint8_t values[MICA__MASK_CLASSES], *file = NULL, *mask = malloc((size_t)voxels);
  size_t size = 0;
  mica_status status = mask ? mica__pixels_values(run, values) : mica__fail_nomem("a mask");
  for (int64_t i = 0; status == MICA_OK && i < voxels; i++) mask[i] = values[scan->decided[i]];
  if (status == MICA_OK) status = mica__nifti_encode(scan->header, mask, packed, &file, &size);
  free(mask);
  const mica_item item = {.kind = MICA_ITEM_KIND_FILE,
                          .name = "mask",
                          .text = packed ? ".nii.gz" : ".nii",
                          .planes = file,
                          .shape = MICA_SHAPE((int64_t)size)};
  if (status == MICA_OK) status = mica_report_add(report, &item);
  free(file);
  return status;
}

/* Adds the middle slices with the classes of voxels; `title` precedes their names. */
static mica_status add_slices(mica_report *report, const char *title, const mica__scan *scan, const uint8_t *classes) {
  static const char *const names[] = {"axial", "coronal", "sagittal"};
  const int64_t *n = scan->header->sides;
  mica_status status = MICA_OK;
  for (int axis = 0; status == MICA_OK && axis < 3; axis++) {
    const mica_shape shape = MICA_SHAPE(1, axis == 0 ? n[1] : n[0], axis == 2 ? n[1] : n[2]);
    const mica__scene scene = {.planes = scan->slices[axis], .shape = shape};
    uint8_t *slice = mica__nifti_cut(scan->header, classes, axis);
    char name[96];
    snprintf(name, sizeof name, "%s%s%s", title, *title ? " " : "", names[axis]);
    status =
        slice ? mica__scene_add(report, name, name, &scene, slice, NULL, LARGEST_SHOWN) : mica__fail_nomem("a slice");
    free(slice);
  }
  return status;
}

static mica_status section(mica_run *run, mica_report *report, const mica__sample *sample, const float *outputs,
                           const mica_run_input *given) {
  static const char *const names[] = {"depth", "height", "width"};
  const mica__scan *scan = sample->scan;
  (void)outputs;
  for (int i = 0; i < 3; i++) MICA_TRY(mica_report_add_number(report, names[i], (double)scan->header->sides[i]));
  MICA_TRY(add_classes(run, report, scan));
  MICA_TRY(add_mask(run, report, scan, PACKS && !given->plain_masks));
  return add_slices(report, "", scan, scan->decided);
}

/* --- the report --- */

typedef struct showing {
  mica_report *report;
  int at;
} showing;

static mica_status show(mica_run *run, const mica__sample *sample, const float *outputs, void *user) {
  showing *s = user;
  char title[64];
  (void)run, (void)outputs;
  snprintf(title, sizeof title, "%d predicted", s->at);
  MICA_TRY(add_slices(s->report, title, sample->scan, sample->scan->decided));
  snprintf(title, sizeof title, "%d true", s->at++);
  return sample->scan->truth ? add_slices(s->report, title, sample->scan, sample->scan->truth) : MICA_OK;
}

static mica_status report(mica_run *run, mica_report *out) {
  showing s = {out, 0};
  MICA_TRY(mica__pixels_add_table(run, out, measures, MEASURED));
  MICA_TRY(mica_report_begin(out, "Middle slices"));
  return run->task->input->samples.look(run, run->evaluation->data, show, &s);
}

const mica__head mica__head_voxels = {
    .name = "voxels",
    MICA__PIXELS_LEARNED,
    .evaluate = evaluate,
    .shows.section = section,
    .shows.report = report,
};
