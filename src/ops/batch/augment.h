/* ops/batch/augment.h: the launches that make a batch (cl/batch): they gather, normalise and augment planes, gather
 * masks and ragged columns, and copy small columns. */
#ifndef MICA_OPS_BATCH_AUGMENT_H
#define MICA_OPS_BATCH_AUGMENT_H

#include "base/error.h"
#include "base/shared.h"
#include "ops/random/permutation.h"

#include <mica/tensor.h>

/* The samples of a batch, and how they are changed. */
typedef struct mica__augment {
  const mica_tensor *order;      /* i32 sample indices; NULL: the permutation gives them */
  mica__permutation permutation; /* if its bits are 0: the identity */
  uint32_t first;                /* sample s of the batch is sample order[first + s] or permutation(first + s) of x */
  uint32_t position, epoch;      /* the random numbers of sample s depend on position + s, epoch and seed */
  uint64_t seed;
  int32_t crop, flip, cutout;
  float angle, zoom, brightness, contrast;
  int32_t high, wide; /* the size of the window that is cut from pictures and masks; 0: whole */
  float elastic;
  /* Sample s takes a rectangle from sample N - 1 - s of the N in the batch; blend applies only to labels then. */
  bool cuts;
  bool either;     /* some batches are mixed by a rectangle, others blended: both kernels are built */
  int32_t rect[4]; /* x0 y0 x1 y1; x1 and y1 are exclusive */
  float blend;     /* weight of sample s; sample N - 1 - s is added with weight 1 - blend. 1: no mixing */
} mica__augment;

/* mica__augment_is_active: true if pictures are changed other than by mixing. mica__augment_moves: true if their
 * pixels are moved, so that masks and boxes change too. */
bool mica__augment_is_active(const mica__augment *augment);
bool mica__augment_moves(const mica__augment *augment);

/* The small columns of a batch, in 32-bit words.
 *
 * - records (n, width) i32: one record of `width` words per sample
 * - table (width, 2) i32: where each word of a record goes in `out`, i32 (cl/batch/words.clh)
 * - mixed (N, classes) f32: if it is not NULL, word 0 of a record is a class, and `mixed` receives class probabilities
 *   instead of that word */
typedef struct mica__words {
  const mica_tensor *records, *table;
  mica_tensor *out, *mixed;
} mica__words;

struct mica__variant;
struct mica__kernel_desc;

/* Makes y (N, C, H, W), f32, f16 or bf16, of the window's size, from x (n, C, H, W), u8 or f32. affine (C, 2) f32 has
 * the scale and the shift of each channel. If y has another rank than 4, or affine another number of rows than y has
 * channels, each sample is one row, and all of it gets the first scale and shift. `words` may be NULL.
 *
 * In all four functions below, operands must be contiguous, and a NULL `variant` means the device's default. */
MICA__SHARED mica_status mica__augment_launch(mica_queue *queue, const struct mica__variant *variant,
                                              const mica__augment *augment, const mica_tensor *x,
                                              const mica_tensor *affine, mica_tensor *y, const mica__words *words);
/* Makes only the small columns of N samples. */
MICA__SHARED mica_status mica__words_launch(mica_queue *queue, const struct mica__variant *variant,
                                            const mica__augment *augment, const mica__words *words, int64_t N);
/* Makes y (N, H, W) i32, of the window's size, from x (n, H, W) u8. Values that are at least `classes` (0 means 255),
 * and pixels outside of x, become -1. If x and y are f32, copies numbers instead, with 0 outside of x. */
MICA__SHARED mica_status mica__mask_launch(mica_queue *queue, const struct mica__variant *variant,
                                           const mica__augment *augment, const mica_tensor *x, int32_t classes,
                                           mica_tensor *y);

/* A ragged column: one in which samples have different numbers of rows. */
typedef struct mica__ragged {
  const mica_tensor *x;       /* (rows, ...), or (n, T, ...) if starts is NULL */
  const mica_tensor *starts;  /* (n) i64: the first row of each sample */
  const mica_tensor *records; /* (n, width) i32; word `word` is the sample's length */
  int32_t word;
  int32_t pad;
  float scale;           /* if y is floating, its elements are those of x times this */
  int32_t height, width; /* of the picture, if the rows are boxes in it; 0: they are not boxes */
} mica__ragged;
/* Makes y (N, T, ...): the first T rows of each sample. If a sample has fewer rows, the rest of its T rows is filled
 * with `pad`, or with 0 if y is floating. Rows that are boxes move with the picture. */
MICA__SHARED mica_status mica__ragged_launch(mica_queue *queue, const struct mica__variant *variant,
                                             const mica__augment *augment, const mica__ragged *ragged, mica_tensor *y);

extern const struct mica__kernel_desc mica__augment_kernel, mica__words_kernel, mica__mask_kernel, mica__ragged_kernel;

#endif
