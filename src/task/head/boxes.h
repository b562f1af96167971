/* task/head/boxes.h: boxes around things in pictures, and their classes. The network predicts a box at each point of
 * its grids. boxes.c trains and predicts, boxes_score.c computes metrics, boxes_show.c adds boxes to predictions and
 * reports. */
#ifndef MICA_TASK_HEAD_BOXES_H
#define MICA_TASK_HEAD_BOXES_H

#include "networks/detector.h"
#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/setting_fields.h"

/* The most boxes found in a picture, as in COCO. */
#define MICA__BOXES_MOST 100

#define BOXES_SETTINGS(X, S)                                                                                           \
  X(S, REAL, overlap, "overlap", "0.6", "IOU", "drop a box if it overlaps a better box of its class by more than IOU", \
    .low = 0.01, .high = 1)                                                                                            \
  X(S, REAL, least_score, "least-score", "0.5", "SCORE",                                                               \
    "lowest score of a box to predict; metrics use boxes of any score", .low = 0, .high = 1)

#define BOXES_FACTS(X, S)                                                                                              \
  X(S, TEXTS, classes, .needed = true)                                                                                 \
  X(S, TEXT, boxes_column, .needed = true)                                                                             \
  X(S, TEXT, label_column, .needed = false)                                                                            \
  X(S, NUMBERS, input, .needed = false)

/* The metrics of a task with this head: an initialiser for the member of its mica__task_row. */
#define BOXES_METRICS                                                                                                  \
  {                                                                                                                    \
    {"map_50", false, "mean average precision of boxes that overlap a true one by at least 0.5; 1 is best", false},    \
        {"map", false, "mean average precision, over overlaps of 0.5 to 0.95; 1 is best", false},                      \
        {"map_75", false, "mean average precision of boxes that overlap a true one by at least 0.75", true},           \
        {"map_small", false, "map of boxes smaller than 32 x 32 pixels", true},                                        \
        {"map_medium", false, "map of boxes between 32 x 32 and 96 x 96 pixels", true},                                \
        {"map_large", false, "map of boxes larger than 96 x 96 pixels", true},                                         \
        {"ap_50", false, "average precision of a class at overlaps of at least 0.5", true},                            \
        {"recall", false, "share of the true boxes that are found, mean over overlaps of 0.5 to 0.95", true},          \
        {"class_loss", true, "part of the loss: classes", true},                                                       \
        {"giou_loss", true, "part of the loss: position and size of boxes", true},                                     \
        {"centre_loss", true, "part of the loss: distance from the centres of boxes", true}, {                         \
      0                                                                                                                \
    }                                                                                                                  \
  }

extern const mica__head mica__head_boxes;

/* Finds boxes in all pictures of the source and compares them with the true ones. Fills *scores with the means over
 * classes and by_class[k] with the scores of class k. */
mica_status mica__boxes_score(mica_run *run, const mica_batch_source *source, mica_box_scores *scores,
                              mica_box_class_scores *by_class);
/* Functions that mica__head_boxes points to (in boxes_score.c and boxes_show.c). */
mica_status mica__boxes_evaluate(mica_run *run, const mica_batch_source *source, mica_metrics *metrics);
mica_status mica__boxes_section(mica_run *run, mica_report *report, const mica__sample *sample, const float *found,
                                const mica_run_input *given);
mica_status mica__boxes_report(mica_run *run, mica_report *report);

#endif
