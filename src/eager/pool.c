/* Poolings of tensors, over windows and over whole planes. */
#include "eager/eager.h"

#include <mica/nodes.h>
#include <mica/pool.h>

/* The config as arguments of a call; builders find it in one piece. */
static mica_status run(mica_queue *queue, mica__eager_call call, const mica_pool_config *c) {
  static const mica_pool_config none = {0};
  if (!c) c = &none;
  const int64_t *const parts[] = {c->size, c->stride, c->pad, c->pad_more, c->dilation};
  call.config = c;
  for (size_t i = 0; i < 5; i++)
    for (size_t k = 0; k < 3; k++) call.ints[3 * i + k] = parts[i][k];
  call.ints[15] = c->ceil_mode;
  call.ints[16] = c->count_include_pad;
  return mica__eager_run(queue, &call);
}

static void build_max(const mica__eager_call *call, const mica_value *in, mica_value *out) {
  out[0] = mica_max_pool(in[0], call->config);
}

static void build_average(const mica__eager_call *call, const mica_value *in, mica_value *out) {
  out[0] = mica_average_pool(in[0], call->config);
}

static void build_global_max(const mica__eager_call *call, const mica_value *in, mica_value *out) {
  (void)call;
  out[0] = mica_global_max_pool(in[0]);
}

static void build_global_average(const mica__eager_call *call, const mica_value *in, mica_value *out) {
  (void)call;
  out[0] = mica_global_average_pool(in[0]);
}

#define FORWARD(of)                                                                                                    \
  (mica__eager_call) {                                                                                                 \
    .op = #of "_pool_fwd", .build = build_##of, .in = {MICA__TENSOR(x)}, .out = { MICA__TENSOR(y) }                    \
  }
/* A maximum is found again in x; a mean's gradient does not look at it. */
#define BACKWARD(of, ...)                                                                                              \
  (mica__eager_call) {                                                                                                 \
    .op = #of "_pool_bwd", .build = build_##of, .backward = true, .in = {__VA_ARGS__, MICA__TENSOR(dy)}, .out = {      \
      MICA__TENSOR(dx)                                                                                                 \
    }                                                                                                                  \
  }
#define NO_X                                                                                                           \
  { .name = "x", .optional = true }

mica_status mica_op_max_pool_fwd(mica_queue *queue, const mica_pool_config *config, const mica_tensor *x,
                                 mica_tensor *y) {
  return run(queue, FORWARD(max), config);
}

mica_status mica_op_max_pool_bwd(mica_queue *queue, const mica_pool_config *config, const mica_tensor *x,
                                 const mica_tensor *dy, mica_tensor *dx) {
  return run(queue, BACKWARD(max, MICA__TENSOR(x)), config);
}

mica_status mica_op_average_pool_fwd(mica_queue *queue, const mica_pool_config *config, const mica_tensor *x,
                                     mica_tensor *y) {
  return run(queue, FORWARD(average), config);
}

mica_status mica_op_average_pool_bwd(mica_queue *queue, const mica_pool_config *config, const mica_tensor *dy,
                                     mica_tensor *dx) {
  return run(queue, BACKWARD(average, NO_X), config);
}

mica_status mica_op_global_max_pool_fwd(mica_queue *queue, const mica_tensor *x, mica_tensor *y) {
  return run(queue, FORWARD(global_max), NULL);
}

mica_status mica_op_global_max_pool_bwd(mica_queue *queue, const mica_tensor *x, const mica_tensor *dy,
                                        mica_tensor *dx) {
  return run(queue, BACKWARD(global_max, MICA__TENSOR(x)), NULL);
}

mica_status mica_op_global_average_pool_fwd(mica_queue *queue, const mica_tensor *x, mica_tensor *y) {
  return run(queue, FORWARD(global_average), NULL);
}

mica_status mica_op_global_average_pool_bwd(mica_queue *queue, const mica_tensor *dy, mica_tensor *dx) {
  return run(queue, BACKWARD(global_average, NO_X), NULL);
}
