/* Pooling of tensors, over windows and over whole planes. */
#include "eager/eager.h"

#include <mica/nodes.h>
#include <mica/pool.h>

#define ROW(of, tag)                                                                                                   \
  { .name = #of, .kind = MICA__ATTR_##tag, .offset = offsetof(mica_pool_config, of) }
_Static_assert(sizeof((mica_pool_config){0}.size) == MICA__MAX_SPATIAL * sizeof(int64_t), "a SPATIAL");
static const mica__attr rows[] = {ROW(size, SPATIAL),
                                  ROW(stride, SPATIAL),
                                  ROW(pad, SPATIAL),
                                  ROW(pad_more, SPATIAL),
                                  ROW(dilation, SPATIAL),
                                  ROW(ceil_mode, BOOL),
                                  ROW(count_include_pad, BOOL),
                                  ROW(p, REAL)};
const mica__attr_list mica__pool_config_list = {
    .rows = rows, .count = sizeof rows / sizeof *rows, .bytes = sizeof(mica_pool_config)};

static mica_status run(mica_queue *queue, mica__eager_call call, const mica_pool_config *c) {
  static const mica_pool_config none = {0};
  call.attr_list = &mica__pool_config_list;
  call.attrs = c ? c : &none;
  return mica__eager_run(queue, &call);
}

static void build_max(const mica__eager_call *call, const mica_value *in, mica_value *out) {
  out[0] = mica_max_pool(in[0], call->attrs);
}

static void build_average(const mica__eager_call *call, const mica_value *in, mica_value *out) {
  out[0] = mica_average_pool(in[0], call->attrs);
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
/* A backward call. Max pooling needs x to find the position of each maximum. Average pooling does not need x, and
 * passes NO_X. */
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
