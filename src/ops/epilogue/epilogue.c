#include "ops/epilogue/epilogue.h"

#include "base/error.h"
#include "ops/common/activation.h"

mica_status mica__epilogue_begin(mica_queue *queue, const mica__kernel_desc *desc, int32_t *values,
                                 const mica__epilogue *epilogue, mica__launch *launch) {
  mica__kernel *kernel = NULL;
  mica_dtype d = mica_tensor_dtype(epilogue->d.tensor);
  mica__kernel_set(desc, values, "D_T", (int32_t)d);
  mica__kernel_set(desc, values, "ACC_T", (int32_t)epilogue->acc);
  mica__kernel_set(desc, values, "BIAS_T", (int32_t)(epilogue->bias ? mica_tensor_dtype(epilogue->bias) : d));
  mica__kernel_set(desc, values, "BIAS",
                   epilogue->bias_axis == MICA_BIAS_AXIS_ROW ? MICA_BIAS_AXIS_ROW : MICA_BIAS_AXIS_COLUMN);
  const char *prelude = mica__activation_prelude(epilogue->activation, d);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, prelude, &kernel));
  *launch = mica__launch_of(kernel);
  return MICA_OK;
}

void mica__epilogue_push_bias(mica__launch *launch, const mica__epilogue *epilogue) {
  if (epilogue->bias)
    mica__launch_tensor(launch, epilogue->bias);
  else
    mica__launch_buffer(launch, NULL, -1);
  mica__launch_float(launch, mica__activation_argument(epilogue->activation, epilogue->activation_arg));
}

static void push_matrix(mica__launch *launch, const mica__matrix *matrix) {
  mica__launch_tensor(launch, matrix->tensor);
  mica__launch_long(launch, matrix->row);
  mica__launch_long(launch, matrix->batch);
}

void mica__epilogue_push(mica__launch *launch, const mica__epilogue *epilogue) {
  mica_dtype d = mica_tensor_dtype(epilogue->d.tensor);
  mica__launch_scalar(launch, d, epilogue->alpha);
  mica__launch_scalar(launch, d, epilogue->beta);
  push_matrix(launch, &epilogue->d);
  push_matrix(launch, &epilogue->c);
  mica__epilogue_push_bias(launch, epilogue);
}
