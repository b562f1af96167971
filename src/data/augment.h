/* data/augment.h: gathers a batch of samples, normalises and augments it (cl/data/augment.cl). */
#ifndef MICA_DATA_AUGMENT_H
#define MICA_DATA_AUGMENT_H

#include "base/error.h"
#include "ops/random/permutation.h"

#include <mica/tensor.h>

typedef struct mica__augment {
  mica__permutation permutation; /* bits 0: the identity */
  uint32_t first;                /* sample s of the batch is number permutation(first + s) of x */
  uint32_t position, epoch;      /* with the seed, the counters of the random numbers of sample position + s */
  uint64_t seed;
  int32_t crop, flip, cutout;
  float angle, zoom, brightness, contrast;
  float blend; /* weight of the sample itself; 1 - blend is that of sample N - 1 - s. 1: no mixing */
} mica__augment;

/* True if pictures are changed other than by mixing. */
bool mica__augment_is_active(const mica__augment *augment);

/* Makes y (N, C, H, W) or (N, W), f32, f16 or bf16, from x (n, C, H, W) or (n, W), u8 or f32, with affine (C or 1, 2)
 * f32, the scale and shift of each channel. targets is of labels' type, i32 or f32, and has N elements; or it is
 * (N, classes) and f32, and gets probabilities, which mixing demands. Operands are contiguous. */
mica_status mica__augment_launch(mica_queue *queue, const mica__augment *augment, const mica_tensor *x,
                                 const mica_tensor *labels, const mica_tensor *affine, mica_tensor *y,
                                 mica_tensor *targets);

/* mica__augment_launch with a given variant of the kernel; NULL for the device's default. */
struct mica__variant;
mica_status mica__augment_launch_as(mica_queue *queue, const struct mica__variant *variant,
                                    const mica__augment *augment, const mica_tensor *x, const mica_tensor *labels,
                                    const mica_tensor *affine, mica_tensor *y, mica_tensor *targets);

struct mica__kernel_desc;
extern const struct mica__kernel_desc mica__augment_kernel;

#endif
