/* ops/epilogue/epilogue.h: the description of an epilogue (mica__epilogue), the steps from finished sums to a stored
 * result.
 *
 *   D[batch] = activation(alpha sums[batch] + beta C[batch] + bias)
 *
 * For kernels that end in EPILOGUE_PARAMS (cl/common/epilogue.clh), such as matrix products and convolutions: begins
 * their launches and packs their last arguments. */
#ifndef MICA_OPS_EPILOGUE_EPILOGUE_H
#define MICA_OPS_EPILOGUE_EPILOGUE_H

#include "runtime/launch.h"

#include <mica/ops.h>

/* A matrix for each batch: element (r, c) of matrix b is r * row + c * col + b * batch elements after the tensor's
 * first. Strides may be 0. */
typedef struct mica__matrix {
  const mica_tensor *tensor;
  int64_t row, col, batch;
} mica__matrix;

typedef struct mica__epilogue {
  mica__matrix c, d;       /* columns are adjacent; c is d if beta is 0 */
  mica_dtype acc;          /* type of the sums: f32 for f32 f16 bf16, i32 for i8 u8, f64 for f64 */
  const mica_tensor *bias; /* adjacent elements; NULL for none */
  mica_bias_axis bias_axis;
  double alpha, beta;
  mica_activation activation;
  float activation_arg;
} mica__epilogue;

/* Sets the parameters D_T, ACC_T, BIAS_T and BIAS in values, gets the kernel with the activation's source code in front
 * and begins its launch; the caller then adds the arguments that precede the epilogue's. */
mica_status mica__epilogue_begin(mica_queue *queue, const mica__kernel_desc *desc, int32_t *values,
                                 const mica__epilogue *epilogue, mica__launch *launch);
/* Adds the arguments of EPILOGUE_PARAMS. */
void mica__epilogue_push(mica__launch *launch, const mica__epilogue *epilogue);
/* Adds only the last three arguments of EPILOGUE_PARAMS: the bias and its offset (-1: no bias), and the activation's
 * argument. */
void mica__epilogue_push_bias(mica__launch *launch, const mica__epilogue *epilogue);

#endif
