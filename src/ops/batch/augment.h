/* ops/batch/augment.h: the launches that make a batch: planes gathered, normalised and augmented, masks and ragged
 * columns likewise, small columns copied (cl/batch). */
#ifndef MICA_OPS_BATCH_AUGMENT_H
#define MICA_OPS_BATCH_AUGMENT_H

#include "base/error.h"
#include "base/shared.h"
#include "ops/random/permutation.h"

#include <mica/tensor.h>

/* What a batch's samples are, and how they are changed. */
typedef struct mica__augment {
  const mica_tensor *order;      /* i32; NULL: the permutation */
  mica__permutation permutation; /* bits 0: the identity */
  uint32_t first;                /* sample s of the batch is number order[first + s], or permutation(first + s) */
  uint32_t position, epoch;      /* with the seed, the counters of the random numbers of sample position + s */
  uint64_t seed;
  int32_t crop, flip, cutout;
  float angle, zoom, brightness, contrast;
  int32_t high, wide; /* of the window that pictures and masks come as; 0: whole */
  float elastic;
  bool cuts;       /* a rectangle is that of sample N - 1 - s, and blend the share of the rest, for labels alone */
  bool either;     /* mixes some batches with a rectangle and blends others: the kernels of both are built */
  int32_t rect[4]; /* x0 y0 x1 y1, the latter two outside of it */
  float blend;     /* weight of the sample itself; 1 - blend is that of sample N - 1 - s. 1: no mixing */
} mica__augment;

/* True if pictures are changed other than by mixing; and if they are moved. */
bool mica__augment_is_active(const mica__augment *augment);
bool mica__augment_moves(const mica__augment *augment);
/* A copy without what changes pictures alone, for columns that are none. */
MICA__SHARED mica__augment mica__augment_plain(const mica__augment *augment);

/* Small columns: records (n, width) i32, table (width, 2) i32, out i32; mixed (N, classes) f32 or NULL, the
 * probabilities of the class that is word 0. */
typedef struct mica__words {
  const mica_tensor *records, *table;
  mica_tensor *out, *mixed;
} mica__words;

struct mica__variant;
struct mica__kernel_desc;

/* Makes y (N, C, H, W), of the window's size, f32, f16 or bf16, from x (n, C, H, W), u8 or f32, with affine (C, 2) f32,
 * the scale and shift of each channel. With affine (1, 2) and another rank or C a sample is one row. words may be NULL.
 * variant NULL is the device's default, here and below. Operands are contiguous. */
MICA__SHARED mica_status mica__augment_launch(mica_queue *queue, const struct mica__variant *variant,
                                              const mica__augment *augment, const mica_tensor *x,
                                              const mica_tensor *affine, mica_tensor *y, const mica__words *words);
/* The small columns of N samples by themselves. */
MICA__SHARED mica_status mica__words_launch(mica_queue *queue, const struct mica__variant *variant,
                                            const mica__augment *augment, const mica__words *words, int64_t N);
/* Makes y (N, H, W) i32, of the window's size, from x (n, H, W) u8; 255 and what is not below classes (0: 255) becomes
 * -1. */
MICA__SHARED mica_status mica__mask_launch(mica_queue *queue, const struct mica__variant *variant,
                                           const mica__augment *augment, const mica_tensor *x, int32_t classes,
                                           mica_tensor *y);

/* A ragged column. */
typedef struct mica__ragged {
  const mica_tensor *x;       /* (rows, ...), or (n, T, ...) where starts is NULL */
  const mica_tensor *starts;  /* (n) i64: the first row of each sample */
  const mica_tensor *records; /* (n, width) i32, whose word `word` is a sample's length */
  int32_t word;
  int32_t pad;
  float scale;           /* of floating y */
  int32_t height, width; /* of the picture whose boxes the rows are; 0: they are none */
} mica__ragged;
/* Makes y (N, T, ...). */
MICA__SHARED mica_status mica__ragged_launch(mica_queue *queue, const struct mica__variant *variant,
                                             const mica__augment *augment, const mica__ragged *ragged, mica_tensor *y);

extern const struct mica__kernel_desc mica__augment_kernel, mica__words_kernel, mica__mask_kernel, mica__ragged_kernel;

#endif
