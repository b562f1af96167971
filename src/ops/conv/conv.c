#include "ops/conv/conv.h"

#include "base/error.h"

#define NOTHING(name)
#define ADDRESS(name) &mica__##name,

static const mica__impl *const forward[] = {
#define FORWARD ADDRESS
#define BACKWARD_DATA NOTHING
#define BACKWARD_FILTER NOTHING
#define KERNEL NOTHING
#include "ops/conv/conv.def"
    NULL};

static const mica__impl *const backward_data[] = {
#define FORWARD NOTHING
#define BACKWARD_DATA ADDRESS
#define BACKWARD_FILTER NOTHING
#define KERNEL NOTHING
#include "ops/conv/conv.def"
    NULL};

static const mica__impl *const backward_filter[] = {
#define FORWARD NOTHING
#define BACKWARD_DATA NOTHING
#define BACKWARD_FILTER ADDRESS
#define KERNEL NOTHING
#include "ops/conv/conv.def"
    NULL};

const mica__impl *const *const mica__conv_impls[MICA__CONV_PASSES] = {forward, backward_data, backward_filter};

const mica__kernel_desc *const mica__conv_kernels[] = {
#define FORWARD NOTHING
#define BACKWARD_DATA NOTHING
#define BACKWARD_FILTER NOTHING
#define KERNEL(name) &mica__##name##_kernel,
#include "ops/conv/conv.def"
    NULL};

static mica_status run(mica_queue *queue, mica__conv_pass pass, const mica_conv_config *config, const mica_tensor *x,
                       const mica_tensor *w, const mica_tensor *y, const mica_conv_epilogue *epilogue) {
  mica__conv conv;
  char key[MICA__TUNING_TEXT];
  MICA_TRY(mica__conv_problem(queue, pass, config, x, w, y, epilogue, &conv));
  if (mica_tensor_count(conv.result.d.tensor) == 0) return MICA_OK;
  mica__conv_key(&conv, key);
  return mica__choose_and_launch(queue, mica__conv_impls[pass], &conv, key);
}

mica_status mica_op_conv_fwd(mica_queue *queue, const mica_conv_config *config, const mica_tensor *x,
                             const mica_tensor *w, const mica_conv_epilogue *epilogue, mica_tensor *y) {
  return run(queue, MICA__CONV_FWD, config, x, w, y, epilogue);
}

mica_status mica_op_conv_bwd_data(mica_queue *queue, const mica_conv_config *config, const mica_tensor *dy,
                                  const mica_tensor *w, const mica_conv_epilogue *epilogue, mica_tensor *dx) {
  return run(queue, MICA__CONV_BWD_DATA, config, dx, w, dy, epilogue);
}

mica_status mica_op_conv_bwd_filter(mica_queue *queue, const mica_conv_config *config, const mica_tensor *x,
                                    const mica_tensor *dy, mica_tensor *dw) {
  return run(queue, MICA__CONV_BWD_FILTER, config, x, dw, dy, NULL);
}
