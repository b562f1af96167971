/* task/head/pixels.h: the class of each pixel, of pictures with masks: pixels.c learns, pixels_show.c shows. */
#ifndef MICA_TASK_HEAD_PIXELS_H
#define MICA_TASK_HEAD_PIXELS_H

#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/setting_fields.h"

/* A choice of PIXELS_SETTINGS. */
const char *mica__pixels_loss_at(size_t i);

#define PIXELS_SETTINGS(X, S)                                                                                          \
  X(S, CHOICE, loss, "loss", "cross_entropy_dice", "NAME", "loss to minimise", .names = mica__pixels_loss_at,          \
    .fixed = true)                                                                                                     \
  X(S, REAL, gamma, "gamma", "2", "G", "focal loss: how little easy pixels count", .low = 0, .high = 100,              \
    .fixed = true, .of = "loss=focal")                                                                                 \
  X(S, TEXT, class_weights, "class-weights", "", "LIST", "balanced, or one weight per class, as in 1,5,2",             \
    .fixed = true)                                                                                                     \
  X(S, TEXT, mask_values, "mask-values", "", "LIST",                                                                   \
    "classes of mask values, as in 0=wall,255=cell,*=void (default: found)", .fixed = true)

#define PIXELS_FACTS(X, S)                                                                                             \
  X(S, TEXTS, classes, .needed = true)                                                                                 \
  X(S, NUMBERS, class_weights, .of = "classes", .above = -0x1p-149)                                                    \
  X(S, TEXT, mask_values, .needed = false)

/* Metrics of a task with this head, for rows. */
#define PIXELS_METRICS                                                                                                 \
  {                                                                                                                    \
    {"dice", false}, {"iou", false}, {"accuracy", false}, { NULL, false }                                              \
  }

extern const mica__head mica__head_pixels;

/* MICA_E_FORMAT if the run has more classes than masks can have (mica__task_row.checks). */
mica_status mica__pixels_check(const mica_run *run);
/* How many classes there are (task/head/pixels_decide.c). */
int64_t mica__pixels_classes(const mica_run *run);
/* The likeliest class of each pixel by shares (K, pixels), of equal ones the first. */
void mica__pixels_decide(const float *shares, int64_t classes, size_t pixels, uint8_t *decided);

/* Members of the head (task/head/pixels_show.c). */
mica_status mica__pixels_section(mica_run *run, mica_report *report, const mica__sample *sample, const float *shares,
                                 const mica_run_input *given);
mica_status mica__pixels_report(mica_run *run, mica_report *report);

#endif
