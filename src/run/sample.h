/* run/sample.h: a sample that inputs give to heads. */
#ifndef MICA_RUN_SAMPLE_H
#define MICA_RUN_SAMPLE_H

#include "base/error.h"

#include <mica/run.h>

/* The rows that follow a window of series. The truths of such a sample are (rows, series): NaN for an empty cell, NULL
 * if no row has come yet. */
typedef struct mica__ahead {
  int64_t row;              /* the first of them, from 0 */
  const char *const *names; /* of the rows */
  const double *last;       /* of each series, the value before them; NaN: there is none yet */
  const double *season;     /* (rows, series): what the season forecasts; NaN like `last` */
} mica__ahead;

/* Answers to a recording step by step, in samples of its sound. */
typedef struct mica__steps {
  int64_t count;         /* of the recording; outputs may have more */
  int64_t middle, apart; /* the middle of what the first step sees, and the distance to that of the next */
  int64_t column;        /* per column of `pixels` */
  double rate, seconds;  /* samples per second; how long the recording is */
} mica__steps;

/* A volume that is answered voxel by voxel. */
typedef struct mica__scan {
  const struct mica__nifti *header; /* its sides, spacing and orientation (data/volume/nifti.h) */
  const uint8_t *decided, *truth;   /* (D, H, W): the class of each voxel; truth: 255 for none, NULL if unknown */
  const uint8_t *slices[3];         /* of its first channel through the middle: (H, W), (D, W), (D, H) */
} mica__scan;

/* A sample that is shown. */
typedef struct mica__sample {
  const char *name;
  const double *truths;       /* mica__truth_count of them, see run/predict/truths.h */
  const char *text, *meaning; /* a text of `bytes` bytes, and what it means if that is known; NULL: not known */
  const int32_t *ids;         /* its tokens, `id_count` of them */
  size_t bytes, id_count;
  const uint8_t *pixels;    /* of a picture; NULL: another kind of sample */
  const uint8_t *mask;      /* (H, W): the class of each pixel, 255 for none; NULL: unknown */
  const mica__ahead *ahead; /* of a window of series; NULL: another kind of sample */
  const mica__steps *steps; /* of a recording that is answered step by step; NULL: another kind of sample */
  const mica__scan *scan;   /* of a volume; NULL: another kind of sample */
  mica_shape shape;         /* (C, H, W) of a picture in its own size; a scalar: it has that of the fact "input" */
} mica__sample;

/* Takes a sample and the head's outputs of it. */
typedef mica_status mica__sample_fn(mica_run *run, const mica__sample *sample, const float *outputs, void *user);

#endif
