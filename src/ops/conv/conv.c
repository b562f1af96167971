#include "ops/conv/conv.h"

#include "base/error.h"
#include "ops/select/tunable.h"

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

static const mica__impl *const forward_last[] = {
#define FORWARD NOTHING
#define BACKWARD_DATA NOTHING
#define BACKWARD_FILTER NOTHING
#define FORWARD_LAST ADDRESS
#define BACKWARD_DATA_LAST NOTHING
#define BACKWARD_FILTER_LAST NOTHING
#define KERNEL NOTHING
#include "ops/conv/conv.def"
    NULL};

static const mica__impl *const backward_data_last[] = {
#define FORWARD NOTHING
#define BACKWARD_DATA NOTHING
#define BACKWARD_FILTER NOTHING
#define FORWARD_LAST NOTHING
#define BACKWARD_DATA_LAST ADDRESS
#define BACKWARD_FILTER_LAST NOTHING
#define KERNEL NOTHING
#include "ops/conv/conv.def"
    NULL};

static const mica__impl *const backward_filter_last[] = {
#define FORWARD NOTHING
#define BACKWARD_DATA NOTHING
#define BACKWARD_FILTER NOTHING
#define FORWARD_LAST NOTHING
#define BACKWARD_DATA_LAST NOTHING
#define BACKWARD_FILTER_LAST ADDRESS
#define KERNEL NOTHING
#include "ops/conv/conv.def"
    NULL};

const mica__impl *const *const mica__conv_last_impls[MICA__CONV_PASSES] = {forward_last, backward_data_last,
                                                                           backward_filter_last};

const mica__kernel_desc *const mica__conv_kernels[] = {
#define FORWARD NOTHING
#define BACKWARD_DATA NOTHING
#define BACKWARD_FILTER NOTHING
#define KERNEL(name) &mica__##name##_kernel,
#include "ops/conv/conv.def"
    NULL};

mica_queue *mica__conv_packer(const mica__conv *conv, mica_queue *queue) {
  return conv->prologue ? conv->prologue : queue;
}

void mica__conv_cost(mica__launch *launch, const mica__conv *conv, double share) {
  double bytes =
      (double)mica_tensor_bytes(conv->x) + (double)mica_tensor_bytes(conv->w) + (double)mica_tensor_bytes(conv->y);
  if (conv->epilogue.beta != 0) bytes += (double)mica_tensor_bytes(conv->epilogue.c.tensor);
  mica__launch_cost(launch, share * mica__conv_flops(&conv->dims), share * bytes);
}

mica_status mica__conv_end(mica_queue *queue, mica__launch *launch, const mica__conv *conv) {
  mica__epilogue_push(launch, &conv->epilogue);
  mica__conv_cost(launch, conv, 1);
  return mica__queue_submit(queue, launch);
}

static mica_status run(const mica__exec *exec, mica__conv_pass pass, unsigned last, const mica_conv_config *config,
                       const mica_tensor *x, const mica_tensor *w, const mica_tensor *y,
                       const mica_conv_epilogue *epilogue) {
  mica__conv conv;
  char key[MICA__TUNING_TEXT], problem[MICA__TUNING_TEXT];
  MICA_TRY(mica__conv_problem_last(exec->queue, pass, last, config, x, w, y, epilogue, &conv));
  if (mica_tensor_count(conv.epilogue.d.tensor) == 0) return MICA_OK;
  if (exec->constant & 2 && pass != MICA__CONV_BWD_FILTER) conv.prologue = exec->prologue;
  conv.lends = exec->lends & (pass == MICA__CONV_BWD_FILTER ? 2 : 1);
  mica__conv_key(&conv, key);
  if (mica__conv_tuner_problem(&conv, problem)) mica__tune_first_time(mica__queue_engine(exec->queue), key, problem);
  return mica__choose_and_launch(exec->queue, (last ? mica__conv_last_impls : mica__conv_impls)[pass], &conv, key);
}

mica_status mica__conv_run(const mica__exec *exec, mica__conv_pass pass, unsigned last, const mica_conv_config *config,
                           const mica_tensor *a, const mica_tensor *b, const mica_conv_epilogue *epilogue,
                           mica_tensor *result) {
  if (pass == MICA__CONV_FWD) return run(exec, pass, last, config, a, b, result, epilogue);
  if (pass == MICA__CONV_BWD_DATA) return run(exec, pass, last, config, result, b, a, epilogue);
  return run(exec, pass, last, config, a, result, b, epilogue);
}

mica_status mica_op_conv_fwd(mica_queue *queue, const mica_conv_config *config, const mica_tensor *x,
                             const mica_tensor *w, const mica_conv_epilogue *epilogue, mica_tensor *y) {
  return mica__conv_run(&(mica__exec){.queue = queue}, MICA__CONV_FWD, 0, config, x, w, epilogue, y);
}

mica_status mica_op_conv_bwd_data(mica_queue *queue, const mica_conv_config *config, const mica_tensor *dy,
                                  const mica_tensor *w, const mica_conv_epilogue *epilogue, mica_tensor *dx) {
  return mica__conv_run(&(mica__exec){.queue = queue}, MICA__CONV_BWD_DATA, 0, config, dy, w, epilogue, dx);
}

mica_status mica_op_conv_bwd_filter(mica_queue *queue, const mica_conv_config *config, const mica_tensor *x,
                                    const mica_tensor *dy, mica_tensor *dw) {
  return mica__conv_run(&(mica__exec){.queue = queue}, MICA__CONV_BWD_FILTER, 0, config, x, dy, NULL, dw);
}
