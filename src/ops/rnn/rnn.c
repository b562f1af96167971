/* The builder mica_rnn, and the op rnn, which computes a recurrent layer. */
#include "ops/rnn/rnn.h"

#include "base/arith.h"
#include "ops/common/build.h"

#include <math.h>

static const struct {
  const char *name;
  double alpha, beta;
} functions[] = {
#define FUNCTION(label, first, second) {#label, first, second},
    MICA_RNN_FUNCTION_LIST(FUNCTION)
#undef FUNCTION
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* Checks the shapes of x, w and r. Sets *units to the number of units, which r determines, and *directions to 1 or
 * 2. */
static mica_status check_weights(const mica__rnn_attrs *attrs, const mica__type *inputs, int64_t *units,
                                 int64_t *directions) {
  char text[MICA_SHAPE_TEXT];
  mica_shape x = inputs[MICA__RNN_X].shape, r = inputs[MICA__RNN_R].shape;
  int64_t gates = mica__rnn_gates(attrs->kind), d = mica__rnn_directions(attrs->direction);
  if (x.rank != 3)
    return mica__fail(MICA_E_SHAPE,
                      "x is %s, but must be (steps, sequences, features) or, with batch_first, (sequences, "
                      "steps, features)",
                      mica_shape_format(x, text));
  if (r.rank != 3 || r.dim[2] < 1 || x.dim[2] < 1)
    return mica__fail(
        MICA_E_SHAPE,
        "x has %lld features (-1: not known) and r is %s, but r must be (directions, gates times units, units), and "
        "features and units must be known and at least 1",
        (long long)x.dim[2], mica_shape_format(r, text));
  *units = r.dim[2];
  *directions = d;
  MICA_TRY(mica__rnn_expect("r", r, MICA_SHAPE(d, gates * *units, *units)));
  return mica__rnn_expect("w", inputs[MICA__RNN_W].shape, MICA_SHAPE(d, gates * *units, x.dim[2]));
}

static mica_status infer_rnn(const mica__type *inputs, int32_t input_count, void *attributes, mica__type *out) {
  (void)input_count;
  const mica__rnn_attrs *attrs = attributes;
  int64_t units = 0, d = 0, gates = mica__rnn_gates(attrs->kind);
  MICA_TRY(check_weights(attrs, inputs, &units, &d));
  mica_shape x = inputs[MICA__RNN_X].shape;
  int64_t batch = x.dim[!attrs->batch_first];
  const struct {
    int32_t operand;
    const char *name;
    mica_shape want;
  } further[] = {
      {MICA__RNN_B, "b", MICA_SHAPE(d, 2 * gates * units)},
      {MICA__RNN_LENGTHS, "lengths", MICA_SHAPE(batch)},
      {MICA__RNN_H0, "h0", MICA_SHAPE(d, batch, units)},
      {MICA__RNN_C0, "c0", MICA_SHAPE(d, batch, units)},
      {MICA__RNN_PEEPHOLES, "peepholes", MICA_SHAPE(d, 3 * units)},
  };
  for (size_t i = 0; i < sizeof further / sizeof *further; i++) {
    int32_t at = mica__present_index(attrs->present, further[i].operand);
    if (at >= 0) MICA_TRY(mica__rnn_expect(further[i].name, inputs[at].shape, further[i].want));
  }
  bool lstm = attrs->kind == MICA__RNN_LSTM, cells = lstm || attrs->kind == MICA__RNN_GRU_BEFORE;
  out[MICA__RNN_Y].shape = MICA_SHAPE(x.dim[0], x.dim[1], d, units);
  out[MICA__RNN_H].shape = MICA_SHAPE(d, batch, units);
  out[MICA__RNN_C].shape = MICA_SHAPE(d, batch, lstm ? units : 0);
  out[MICA__RNN_SUMS].shape = MICA_SHAPE(x.dim[0], x.dim[1], d, mica__rnn_sums(attrs->kind) * units);
  out[MICA__RNN_BEFORE].shape = out[MICA__RNN_Y].shape;
  out[MICA__RNN_CELLS].shape = MICA_SHAPE(x.dim[0], x.dim[1], d, cells ? units : 0);
  return MICA_OK;
}

static mica_status launch_rnn(const mica__exec *exec) {
  const mica__rnn_layer layer = mica__rnn_layer_of(exec->attrs, mica_tensor_shape(exec->inputs[MICA__RNN_X]),
                                                   mica_tensor_shape(exec->inputs[MICA__RNN_R]));
  if (layer.B == 0) return MICA_OK;
  if (layer.T == 0) {
    MICA_TRY(mica__rnn_copy_state(exec, MICA__RNN_H0, MICA__RNN_H));
    return mica__rnn_copy_state(exec, MICA__RNN_C0, MICA__RNN_C);
  }
  return mica__rnn_run(exec, &layer, false);
}

static double flops_rnn(const mica__node *node, const mica__type *inputs) {
  const mica_shape w = inputs[MICA__RNN_W].shape, y = node->type.shape;
  return 2 * (double)y.dim[0] * (double)y.dim[1] * (double)w.dim[0] * (double)w.dim[1] * (double)(w.dim[2] + y.dim[3]);
}

static mica_status check_rnn(mica__check *check) { return mica__rnn_check_layers(check, &mica__op_rnn, false); }

static const mica__kernel_desc *const kernels[] = {&mica__rnn_pack_forward_kernel, &mica__rnn_forward_cpu_kernel,
                                                   &mica__rnn_forward_gpu_kernel, NULL};
const mica__op mica__op_rnn = {.name = "rnn",
                               .kernels = kernels,
                               .check = check_rnn,
                               .kind = MICA__OP_LAUNCH,
                               .min_inputs = MICA__RNN_B,
                               .max_inputs = MICA__RNN_OPERANDS,
                               .results = MICA__RNN_RESULTS,
                               .attrs = &mica__rnn_attr_list,
                               .dtypes = "f000x000>000000",
                               .infer = infer_rnn,
                               .grad = mica__rnn_gradient,
                               .evaluate = mica__rnn_evaluate,
                               .launch = launch_rnn,
                               .flops = flops_rnn};

/* Sets *function, *alpha and *beta to those of `given`. `standard` replaces the default function; a zero alpha or beta
 * is replaced by the function's default. Returns false if it records an error in x's graph. */
static bool resolve(mica_value x, mica_rnn_activation given, mica_rnn_function standard, int32_t *function,
                    double *alpha, double *beta) {
  mica_rnn_function which = given.function == MICA_RNN_FUNCTION_DEFAULT ? standard : given.function;
  if ((int32_t)which < 0 || (int32_t)which >= FUNCTIONS) {
    mica__builder_fail("rnn", x, MICA_E_INVALID, "%d is not a mica_rnn_function", (int)which);
    return false;
  }
  if (!isfinite(given.alpha) || !isfinite(given.beta)) {
    mica__builder_fail("rnn", x, MICA_E_INVALID, "alpha (%g) and beta (%g) of %s must be finite", given.alpha,
                       given.beta, functions[which].name);
    return false;
  }
  *function = (int32_t)which;
  *alpha = mica__or_default(given.alpha, functions[which].alpha);
  *beta = mica__or_default(given.beta, functions[which].beta);
  return true;
}

static bool resolve_functions(mica_value x, const mica_rnn_config *config, mica__rnn_attrs *attrs) {
  const mica_rnn_function tanh_ = MICA_RNN_FUNCTION_TANH, sigmoid = MICA_RNN_FUNCTION_SIGMOID;
  const mica_rnn_function f = config->kind == MICA_RNN_KIND_TANH   ? tanh_
                              : config->kind == MICA_RNN_KIND_RELU ? MICA_RNN_FUNCTION_RELU
                                                                   : sigmoid;
  const mica_rnn_activation(*given)[3] = config->activations;
  return resolve(x, given[0][0], f, &attrs->f0, &attrs->f0_alpha, &attrs->f0_beta) &&
         resolve(x, given[0][1], tanh_, &attrs->g0, &attrs->g0_alpha, &attrs->g0_beta) &&
         resolve(x, given[0][2], tanh_, &attrs->p0, &attrs->p0_alpha, &attrs->p0_beta) &&
         resolve(x, given[1][0], f, &attrs->f1, &attrs->f1_alpha, &attrs->f1_beta) &&
         resolve(x, given[1][1], tanh_, &attrs->g1, &attrs->g1_alpha, &attrs->g1_beta) &&
         resolve(x, given[1][2], tanh_, &attrs->p1, &attrs->p1_alpha, &attrs->p1_beta);
}

/* True if the settings are valid, as far as that does not depend on shapes. If not, records an error in x's graph. */
static bool config_is_right(mica_value x, const mica_rnn_config *config) {
  bool lstm = config->kind == MICA_RNN_KIND_LSTM;
  const char *what = NULL;
  if ((int32_t)config->kind < 0 || config->kind > MICA_RNN_KIND_GRU)
    what = "kind is not a value of mica_rnn_kind";
  else if ((int32_t)config->direction < 0 || config->direction > MICA_RNN_DIRECTION_BOTH)
    what = "direction is not a value of mica_rnn_direction";
  else if (!lstm && (config->c0.graph || config->peepholes.graph || config->input_forget || config->byte_state))
    what = "c0, peepholes, input_forget and byte_state are only possible for LSTM layers";
  else if (config->kind != MICA_RNN_KIND_GRU && config->reset_before)
    what = "reset_before is only possible for GRU layers";
  else if (!(config->clip >= 0) || !isfinite(config->clip))
    what = "clip must be finite and not negative";
  if (what) mica__builder_fail("rnn", x, MICA_E_INVALID, "%s", what);
  return !what;
}

mica_rnn_results mica_rnn(mica_value x, mica_value w, mica_value r, mica_value b, const mica_rnn_config *config) {
  mica_rnn_config standard = {0};
  mica__rnn_attrs attrs;
  mica_rnn_results results = {{0}, {0}, {0}};
  if (!config) config = &standard;
  mica__attrs_set_defaults(&mica__rnn_attr_list, &attrs);
  if (!x.graph || !config_is_right(x, config) || !resolve_functions(x, config, &attrs)) return results;
  attrs.kind = config->kind == MICA_RNN_KIND_LSTM  ? MICA__RNN_LSTM
               : config->kind != MICA_RNN_KIND_GRU ? MICA__RNN_PLAIN
               : config->reset_before              ? MICA__RNN_GRU_BEFORE
                                                   : MICA__RNN_GRU;
  attrs.direction = (int32_t)config->direction;
  attrs.batch_first = config->batch_first;
  attrs.input_forget = config->input_forget;
  attrs.clip = config->clip;
  attrs.byte_state = config->byte_state;
  const mica_value operands[] = {x, w, r, b, config->lengths, config->h0, config->c0, config->peepholes};
  results.y = mica__graph_add_present(&mica__op_rnn, operands, MICA__RNN_OPERANDS, &attrs);
  results.h = mica__graph_result(results.y, MICA__RNN_H);
  if (attrs.kind == MICA__RNN_LSTM) results.c = mica__graph_result(results.y, MICA__RNN_C);
  return results;
}
