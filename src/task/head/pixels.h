/* task/head/pixels.h: the class of each pixel, learned from pictures with masks. pixels.c has the losses and the
 * metrics; pixels_show.c adds masks to predictions and reports. */
#ifndef MICA_TASK_HEAD_PIXELS_H
#define MICA_TASK_HEAD_PIXELS_H

#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/setting_fields.h"

/* Name i of the setting "loss"; NULL after the last. */
const char *mica__pixels_loss_at(size_t i);

#define PIXELS_SETTINGS(X, S)                                                                                          \
  X(S, CHOICE, loss, "loss", "cross_entropy_dice", "NAME", "loss to minimise", .names = mica__pixels_loss_at,          \
    .fixed = true)                                                                                                     \
  X(S, REAL, gamma, "gamma", "2", "G",                                                                                 \
    "focal: exponent that reduces the loss of easy pixels; 0: as with cross_entropy", .low = 0, .high = 100,           \
    .fixed = true, .of = "loss=focal")                                                                                 \
  X(S, TEXT, class_weights, "class-weights", "", "LIST",                                                               \
    "weights of the classes in the loss: balanced, or one per class, as in 1,5,2 (default: all equal)", .fixed = true) \
  X(S, TEXT, mask_values, "mask-values", "", "LIST",                                                                   \
    "names of the classes that mask values stand for, as in 0=wall,255=cell,*=void; void is left out of loss and "     \
    "metrics (default: each value is a class)",                                                                        \
    .fixed = true)

#define PIXELS_FACTS(X, S)                                                                                             \
  X(S, TEXTS, classes, .needed = true)                                                                                 \
  X(S, NUMBERS, class_weights, .of = "classes", MICA__OR_ZERO)                                                         \
  X(S, TEXT, mask_values, .needed = false)

/* The metrics of a task with this head: an initialiser for the member of its mica__task_row. */
#define PIXELS_METRICS                                                                                                 \
  {                                                                                                                    \
    {"dice", false, "twice the common area, divided by the sum of both areas; 1 is best", false},                      \
        {"iou", false, "common area divided by the united area; 1 is best", false},                                    \
        {"accuracy", false, "share of pixels whose class is right", false}, {                                          \
      0                                                                                                                \
    }                                                                                                                  \
  }

extern const mica__head mica__head_pixels;

/* MICA_E_FORMAT if the run has more classes than a mask can hold (mica__task_row.checks). */
mica_status mica__pixels_check(const mica_run *run);
/* The number of classes (task/head/pixels_decide.c). */
int64_t mica__pixels_classes(const mica_run *run);

/* Functions shared by the heads that learn the class of each pixel or voxel (in pixels.c). */
const mica_column *mica__pixels_label(const mica_dataset *data);
bool mica__pixels_suits(const mica_column *label);
void mica__pixels_opens(const mica_run *run, mica_dataset_config *config);
mica_status mica__pixels_prepare(mica_run *run, const mica_column *label);
mica_status mica__pixels_fits(const mica_run *run, const mica_dataset *data, const mica_column *label);
void mica__pixels_step(mica_nn *nn, const mica_run *run, mica_value z, const mica_batch_values *batch,
                       mica_objective *out);
void mica__pixels_exports(const mica_run *run, mica_value z, mica_objective *out);
#define MICA__PIXELS_LEARNED                                                                                           \
  .label = mica__pixels_label, .suits = mica__pixels_suits, .opens = mica__pixels_opens,                               \
  .prepare = mica__pixels_prepare, .fits = mica__pixels_fits, .output = "shares", .outputs = mica__pixels_classes,     \
  .step = mica__pixels_step, .exports = mica__pixels_exports

/* A picture with the classes of its pixels, which reports show (task/head/pixels_show.c). */
typedef struct mica__scene {
  const uint8_t *planes, *truth; /* planes: (C, H, W); truth: (H, W), 255 where unknown, or NULL */
  uint8_t *classes;              /* (H, W) */
  mica_shape shape;
} mica__scene;
/* Adds the picture, with each pixel tinted in the colour of its class. Pixels of the first class are not tinted. If a
 * side is longer than `most`, only every k-th row and column is drawn. If `marked` is not NULL, only the pixels whose
 * class differs from `marked` are tinted, and the tint is red; pixels where `marked` is 255 are not tinted. */
mica_status mica__scene_add(mica_report *report, const char *name, const char *text, const mica__scene *scene,
                            const uint8_t *classes, const uint8_t *marked, int64_t most);
/* Adds the section "Classes": a table of metrics of the last test, with a row per class and a column per name in
 * `columns`. The column "iou" shows the metrics "iou_CLASS". */
mica_status mica__pixels_add_table(const mica_run *run, mica_report *report, const char *const *columns, size_t count);
/* Fills values[MICA__MASK_CLASSES]: masks store class c as values[c]. */
mica_status mica__pixels_values(const mica_run *run, uint8_t *values);

/* Functions that mica__head_pixels points to (in pixels_show.c). */
mica_status mica__pixels_section(mica_run *run, mica_report *report, const mica__sample *sample, const float *shares,
                                 const mica_run_input *given);
mica_status mica__pixels_report(mica_run *run, mica_report *report);

#endif
