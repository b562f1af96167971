/* tests/bench/detector.h: a run of the task detect on pictures and boxes that are made up, for its training step. */
#ifndef MICA_TESTS_BENCH_DETECTOR_H
#define MICA_TESTS_BENCH_DETECTOR_H

#include "bench/bench.h"

/* Boxes a picture, and their classes. */
enum { DETECTOR_BOXES = 16, DETECTOR_CLASSES = 3 };

typedef struct detector {
  mica_dataset *data;
  mica_run *run;
  mica_trainer *trainer; /* the run's: batches have "image", "boxes" and "label" */
} detector;

/* Pictures of 3 channels, side x side. AdamW, and nothing else in a step: no clipping, no moving averages. */
void detector_begin(const bench *b, int batch, int side, detector *d);
void detector_end(detector *d);

/* Corners x0 y0 x1 y1 of `count` boxes within a picture, a sixteenth to a half of its side long. */
void detector_boxes(float *boxes, int count, int side, uint64_t *state);

#endif
