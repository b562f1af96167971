/* run/sample.h: a sample, as inputs pass it to heads. */
#ifndef MICA_RUN_SAMPLE_H
#define MICA_RUN_SAMPLE_H

#include "base/error.h"

#include <mica/run.h>

/* The rows that follow a window of series. The true answer of such a sample is (rows, series): NaN for an empty cell,
 * NULL if no row has come yet. */
typedef struct mica__ahead {
  int64_t row;              /* the first row, counted from 0 */
  const char *const *names; /* of the rows */
  const double *last;       /* for each series, the value before the rows; NaN: there is none yet */
  const double *season;     /* (rows, series): the seasonal forecast; NaN as in `last` */
} mica__ahead;

/* The answer to a recording in steps, measured in samples of its sound. */
typedef struct mica__steps {
  int64_t count;         /* steps of the recording; the output may have more */
  int64_t middle, apart; /* the middle of what the first step sees, and the distance to the next step's */
  int64_t column;        /* per column of `pixels` */
  double rate, seconds;  /* sample rate, and length of the recording in seconds */
} mica__steps;

/* A volume with an answer for each voxel. */
typedef struct mica__scan {
  const struct mica__nifti *header; /* its sides, spacing and orientation (data/volume/nifti.h) */
  const uint8_t *decided, *truth;   /* (D, H, W): the class of each voxel; truth: 255 for none, NULL if unknown */
  const uint8_t *slices[3];         /* slices through the middle of its first channel: (H, W), (D, W), (D, H) */
} mica__scan;

/* A sample that is shown. */
typedef struct mica__sample {
  const char *name;
  const double *truths;       /* mica__truth_count of them, see run/predict/truths.h */
  const char *text, *meaning; /* a text of `bytes` bytes and its known meaning or translation; NULL: not known */
  const int32_t *ids;         /* its tokens, `id_count` of them */
  size_t bytes, id_count;
  const uint8_t *pixels;    /* of a picture; NULL: another kind of sample */
  const uint8_t *mask;      /* (H, W): the true class of each pixel, 255 where unknown; NULL: not known */
  const float *depths;      /* (H, W): the true depth of each pixel, 0 where unknown; NULL: not known */
  const mica__ahead *ahead; /* of a window of series; NULL: another kind of sample */
  const mica__steps *steps; /* of a recording that is answered step by step; NULL: another kind of sample */
  const mica__scan *scan;   /* of a volume; NULL: another kind of sample */
  mica_shape shape;         /* (C, H, W) of a picture in its own size; a scalar: it has that of the fact "input" */
} mica__sample;

/* Receives a sample and the head's outputs for it. */
typedef mica_status mica__sample_fn(mica_run *run, const mica__sample *sample, const float *outputs, void *user);

#endif
