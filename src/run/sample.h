/* run/sample.h: a sample in the form in which a task's input (run/input.h) passes it to the task's head
 * (run/head.h). */
#ifndef MICA_RUN_SAMPLE_H
#define MICA_RUN_SAMPLE_H

#include "base/error.h"

#include <mica/run.h>

/* What follows a window of time series: the rows to forecast. The true answer of such a sample has the shape (rows,
 * series), with NaN for an empty cell. It is NULL if the data end with the window. */
typedef struct mica__ahead {
  int64_t row;              /* the first row, counted from 0 */
  const char *const *names; /* names of the rows */
  const double *last;       /* for each series, its last value before the rows; NaN if it has no value yet */
  const double *season;     /* (rows, series): the seasonal forecast; NaN if a series has no value yet */
} mica__ahead;

/* The steps of a recording for which a network gives one answer each. Positions are in samples of the recording's
 * sound. */
typedef struct mica__steps {
  int64_t count;         /* steps of the recording; the output may have more */
  int64_t middle, apart; /* middle of the first step's input; distance from there to the middle of the next step's */
  int64_t column;        /* samples per column of `pixels` */
  double rate, seconds;  /* sample rate, and length of the recording in seconds */
} mica__steps;

/* A volume with an answer for each voxel. */
typedef struct mica__scan {
  const struct mica__nifti *header; /* its sides, spacing and orientation (data/volume/nifti.h) */
  const uint8_t *decided,
      *truth;               /* (D, H, W): each voxel's class; 255 in truth if it has no class; truth may be NULL */
  const uint8_t *slices[3]; /* slices through the middle of its first channel: (H, W), (D, W), (D, H) */
} mica__scan;

/* A sample that was predicted, or that a report shows. Members that do not apply to it are NULL or 0. */
typedef struct mica__sample {
  const char *name;
  const double *truths; /* the true answer: mica__truth_count numbers (run/predict/truths.h) */
  /* text: the input, of `bytes` bytes, if it is a text. meaning: the true output text (a translation, or the words of
   * a recording); NULL if not known. */
  const char *text, *meaning;
  const int32_t *ids; /* tokens of the text, `id_count` of them */
  size_t bytes, id_count;
  const uint8_t *pixels;    /* of a picture; NULL for other samples */
  const uint8_t *mask;      /* (H, W): the true class of each pixel, 255 where unknown; NULL if not known */
  const float *depths;      /* (H, W): the true depth of each pixel, 0 where unknown; NULL if not known */
  const mica__ahead *ahead; /* of a window of time series; NULL for other samples */
  const mica__steps *steps; /* of a recording that is answered step by step; NULL for other samples */
  const mica__scan *scan;   /* of a volume; NULL for other samples */
  /* (C, H, W) of a picture in its own size; a scalar if the picture has the shape that the run stores as "input". */
  mica_shape shape;
} mica__sample;

/* Receives a sample and the head's outputs for it. */
typedef mica_status mica__sample_fn(mica_run *run, const mica__sample *sample, const float *outputs, void *user);

#endif
