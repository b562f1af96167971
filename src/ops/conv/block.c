#include "ops/conv/block.h"

#include "base/error.h"
#include "ops/conv/attrs.h"
#include "ops/select/registry.h"

#include <math.h>

bool mica__block_is_part(const mica_graph *graph, int32_t id, double *low, double *high) {
  const mica__node *node = mica__graph_node(graph, id);
  if (node->op != &mica__op_conv || node->type.shape.rank != 4) return false;
  const mica__conv_attrs *attrs = node->attrs;
  const mica_activation activation = (mica_activation)attrs->activation;
  *low = activation == MICA_ACTIVATION_NONE ? (double)-INFINITY : 0;
  *high = activation == MICA_ACTIVATION_CLIPPED_RELU ? attrs->activation_argument : (double)INFINITY;
  if (activation != MICA_ACTIVATION_NONE && activation != MICA_ACTIVATION_RELU &&
      activation != MICA_ACTIVATION_CLIPPED_RELU)
    return false;
  return attrs->bias && !attrs->allow_tf32 && attrs->dilation[0] == 1 && attrs->dilation[1] == 1;
}

bool mica__block_is_product(const mica_graph *graph, int32_t id, double *low, double *high) {
  if (!mica__block_is_part(graph, id, low, high)) return false;
  const mica__node *node = mica__graph_node(graph, id);
  const mica__conv_attrs *attrs = node->attrs;
  const mica_shape w = mica__graph_node(graph, node->inputs[1])->type.shape;
  bool plain = attrs->groups == 1 && w.dim[2] == 1 && w.dim[3] == 1;
  for (int i = 0; i < 2; i++) plain = plain && attrs->stride[i] == 1 && attrs->pad[i] == 0 && attrs->pad_more[i] == 0;
  return plain;
}

mica_conv_epilogue mica__block_epilogue(double low, double high) {
  return (mica_conv_epilogue){.activation = high < INFINITY   ? MICA_ACTIVATION_CLIPPED_RELU
                                            : low > -INFINITY ? MICA_ACTIVATION_RELU
                                                              : MICA_ACTIVATION_NONE,
                              .activation_arg = (float)high};
}

mica_status mica__block_launch_part(const mica__exec *exec, const mica_conv_config *config, const mica_tensor *x,
                                    int32_t w, int32_t bias, mica_conv_epilogue epilogue, mica_tensor *y) {
  mica_tensor *view = NULL;
  MICA_TRY(mica_tensor_view(exec->inputs[bias], MICA_SHAPE(mica_tensor_shape(y).dim[1]), NULL, 0, &view));
  epilogue.bias = view;
  const mica_status status = mica_op_conv_fwd(exec->queue, config, x, exec->inputs[w], &epilogue, y);
  mica_tensor_destroy(view);
  return status;
}

bool mica__block_pools(const mica__max_pool_attrs *w, int i, int64_t extent, int64_t pooled) {
  if (w->dilation[i] != 1 || w->outputs[i] || w->size[i] > MICA__BLOCK_MOST_SIDE ||
      w->stride[i] > MICA__BLOCK_MOST_SIDE)
    return false;
  return w->pad[i] >= 0 && w->pad[i] < w->size[i] && (pooled - 1) * w->stride[i] - w->pad[i] < extent;
}

void mica__block_add_bias(double *y, const double *bias, int64_t images, int64_t channels, int64_t plane, double low,
                          double high) {
  for (int64_t i = 0; i < images * channels * plane; i++) {
    const double v = y[i] + bias[i / plane % channels];
    y[i] = v < low ? low : v > high ? high : v;
  }
}
