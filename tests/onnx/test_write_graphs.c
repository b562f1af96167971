/* labels: null single
 *
 * Random graphs of builders, written with an open number of samples, read again and computed on the host: the same
 * numbers. MICA_TEST_GRAPHS says how many (150 unless it does). */
#include "base/element.h"
#include "ops/common/build.h"
#include "support/check_main.h"
#include "support/interpret.h"

#include <math.h>
#include <mica/mica.h>
#include <mica/onnx.h>
#include <mica/signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAMPLES 3
#define STEPS 6

static char path[512];

/* A graph twice: open in the number of samples, by which steps are chosen, and with SAMPLES of them. */
typedef struct pair {
  mica_value open, known;
} pair;

static const mica_value none;
static uint64_t state;
static uint32_t next(uint32_t below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33) % below;
}
static double uniform(void) { return next(1u << 20) / (double)(1u << 20); }

/* Numbers of either sign, away from 0, the same in both graphs. */
static float *numbers(mica_shape shape, double low, double high) {
  int64_t count = 1;
  for (int32_t i = 0; i < shape.rank; i++) count *= shape.dim[i];
  float *data = malloc((size_t)count * sizeof *data + 1);
  for (int64_t i = 0; i < count; i++) data[i] = (float)(low + (high - low) * uniform());
  return data;
}

static mica_value constant(mica_value like, mica_shape shape, double low, double high) {
  float *data = numbers(shape, low, high);
  mica_value made = mica_constant(like.graph, MICA_F32, shape, data);
  free(data);
  return made;
}

/* An axis whose extent is known; -1: there is none. */
static int32_t known_axis(mica_shape shape) {
  for (int tries = 0; tries < 20 && shape.rank; tries++) {
    const int32_t axis = (int32_t)next((uint32_t)shape.rank);
    if (shape.dim[axis] > 0) return axis;
  }
  return -1;
}

/* --- steps of a value whose shape, open in the number of samples, is given; null where it does not suit. What is drawn
 * is the same in both graphs --- */

typedef mica_value unary_fn(mica_value x);

static mica_value unary(mica_value x, mica_shape shape) {
  (void)shape;
  static unary_fn *const list[] = {
      mica_neg,        mica_abs,       mica_square, mica_relu,       mica_erf,  mica_sin,      mica_cos,
      mica_tanh,       mica_floor,     mica_round,  mica_trunc,      mica_ceil, mica_sigmoid,  mica_silu,
      mica_gelu,       mica_gelu_tanh, mica_selu,   mica_mish,       mica_atan, mica_softplus, mica_softsign,
      mica_hard_swish, mica_sign,      mica_asinh,  mica_quick_gelu, mica_relu2};
  static unary_fn *const positive[] = {mica_sqrt,  mica_rsqrt, mica_log,       mica_log2,
                                       mica_log10, mica_log1p, mica_reciprocal};
  unary_fn *small[] = {mica_exp, mica_exp2, mica_expm1, mica_sinh, mica_cosh, mica_tan};
  const uint32_t k = next(26), kind = next(4);
  if (kind == 0) return positive[k % 7](mica_affine(mica_abs(x), 1, 0.25));
  if (kind == 1) return small[k % 6](mica_clip(x, -1, 1));
  return list[k](x);
}

static mica_value with_numbers(mica_value x, mica_shape shape) {
  (void)shape;
  /* Models hold these as f32, and what is rounded after them must not differ. */
  const double a = (double)(float)(0.1 + uniform()), b = (double)(float)(uniform() - 0.5);
  switch (next(9)) {
  case 0: return mica_affine(x, a, b);
  case 1: return mica_clip(x, -a, INFINITY);
  case 2: return mica_leaky_relu(x, a);
  case 3: return mica_elu(x, a);
  case 4: return mica_celu(x, a);
  case 5: return mica_thresholded_relu(x, a);
  case 6: return mica_shrink(x, a, b);
  case 7: return mica_hard_sigmoid(x, a, b);
  default: return mica_cast(mica_cast(mica_affine(x, 5, 0), MICA_I32), MICA_F32);
  }
}

static mica_value binary(mica_value x, mica_shape shape) {
  mica_shape last = {.rank = shape.rank ? 1 : 0, .dim = {shape.rank ? shape.dim[shape.rank - 1] : 0}};
  if (mica__shape_is_open(last)) last = MICA_SCALAR;
  mica_value c = constant(x, last, 0.5, 2);
  const uint32_t kind = next(10);
#define WITH(function) function(x, c)
  switch (kind) {
  case 0: return WITH(mica_add);
  case 1: return WITH(mica_sub);
  case 2: return WITH(mica_mul);
  case 3: return WITH(mica_div);
  case 4: return WITH(mica_maximum);
  case 5: return WITH(mica_minimum);
  case 6: return WITH(mica_prelu);
  case 7: return WITH(mica_mod);
  case 8: return WITH(mica_fmod);
  default: break;
  }
  mica_value yes = WITH(mica_greater);
  return mica_where(yes, x, mica_full_like(x, 0.25));
}

static mica_value reduction(mica_value x, mica_shape shape) {
  const int32_t axis = shape.rank ? (int32_t)next((uint32_t)shape.rank) : 0;
  const bool keep = next(2) || shape.rank < 3;
  if (!shape.rank || axis == 0) return none;
  switch (next(8)) {
  case 0: return mica_sum(x, MICA_AXES(axis), keep);
  case 1: return mica_mean(x, MICA_AXES(axis), keep);
  case 2: return mica_max(x, MICA_AXES(axis), keep);
  case 3: return mica_min(x, MICA_AXES(axis), keep);
  case 4: return mica_prod(mica_tanh(x), MICA_AXES(axis), keep);
  case 5: return mica_softmax(x, axis);
  case 6: return mica_log_softmax(x, axis);
  default: return mica_cumsum(x, axis, axis == 1, axis == 2);
  }
}

static mica_value view(mica_value x, mica_shape shape) {
  mica_axes order = {.count = shape.rank};
  for (int32_t i = 0; i < shape.rank; i++) order.axis[i] = i;
  for (int32_t i = shape.rank - 1; i > 0; i--) {
    const int32_t k = (int32_t)next((uint32_t)i + 1), was = order.axis[i];
    order.axis[i] = order.axis[k];
    order.axis[k] = was;
  }
  const int32_t axis = known_axis(shape);
  const int64_t n = axis < 0 ? 0 : shape.dim[axis];
  switch (next(8)) {
  case 0: return mica_transpose(x, order);
  case 1: return shape.rank < 5 ? mica_unsqueeze(x, MICA_AXES(1)) : none;
  case 2: return shape.rank > 1 && shape.dim[0] < 0 ? mica_flatten(x, 1) : none;
  case 3: return n > 1 ? mica_slice(x, axis, 1, n, 1) : none;
  case 4: return n > 1 ? mica_slice(x, axis, n - 1, MICA_END, -2) : none;
  case 5: return axis >= 0 ? mica_flip(x, MICA_AXES(axis)) : none;
  case 6: return axis >= 0 ? mica__pad_axis(x, axis, 1, 2, 0.5) : none;
  default: return shape.rank > 0 ? mica_concat((mica_value[]){x, mica_neg(x)}, 2, shape.rank - 1) : x;
  }
}

static mica_value indexing(mica_value x, mica_shape shape) {
  const int32_t axis = known_axis(shape);
  if (axis < 0 || shape.dim[axis] < 2) return none;
  const int32_t rows[] = {1, 0, -1};
  const int64_t k = 1 + next(2);
  switch (next(4)) {
  case 0: return mica_gather(x, mica_constant(x.graph, MICA_I32, MICA_SHAPE(3), rows), axis);
  case 1: return mica_top_k(x, k, axis, next(2)).values;
  case 2: return mica_cast(mica_top_k(x, k, axis, true).indices, MICA_F32);
  default: return mica_cast(mica_argmax(x, axis, true), MICA_F32);
  }
}

static mica_value product(mica_value x, mica_shape shape) {
  if (shape.rank < 2 || shape.dim[shape.rank - 1] < 0) return none;
  const int64_t c = shape.dim[shape.rank - 1];
  if (shape.rank == 2 && next(2)) {
    mica_value w = constant(x, MICA_SHAPE(3, c), -1, 1), b = constant(x, MICA_SHAPE(3), -1, 1);
    return mica_gemm(x, mica_transpose(w, MICA_AXES(1, 0)), b, 0.5, 2);
  }
  mica_value w = constant(x, MICA_SHAPE(c, 4), -1, 1);
  return mica_matmul(x, w);
}

static mica_value window(mica_value x, mica_shape shape) {
  if (shape.rank != 4 || shape.dim[0] > 0 || shape.dim[1] < 1 || shape.dim[2] < 3 || shape.dim[3] < 3) return none;
  const mica_pool_config pool = {.size = {2, 3}, .stride = {1 + next(2), 1}, .pad = {next(2), 1}, .ceil_mode = next(2)};
  mica_pool_config with_pad = pool;
  const mica_conv_config conv = {
      .stride = {1 + next(2), 1}, .pad = {1, next(2)}, .pad_more = {0, 1}, .dilation = {1, 1}};
  const mica_resize_config twice = {.mode = next(2) ? MICA_RESIZE_MODE_LINEAR : MICA_RESIZE_MODE_NEAREST,
                                    .coordinates = next(2) ? MICA_RESIZE_COORDINATES_HALF_PIXEL
                                                           : MICA_RESIZE_COORDINATES_ASYMMETRIC,
                                    .scale = {0, 0, 2, 2}};
  const mica_resize_config sizes = {.mode = MICA_RESIZE_MODE_CUBIC, .size = {0, 0, 5, 7}};
  const int64_t adaptive[] = {2, 3};
  with_pad.count_include_pad = true;
  with_pad.ceil_mode = false;
  mica_value w = constant(x, MICA_SHAPE(2, shape.dim[1], 3, 3), -0.5, 0.5), b = constant(x, MICA_SHAPE(2), -1, 1);
  mica_value t = constant(x, MICA_SHAPE(shape.dim[1], 2, 3, 3), -0.5, 0.5);
  const mica_conv_config plain = {.stride = {2, 1}, .pad = {1, 0}, .output_pad = {1, 0}};
  switch (next(10)) {
  case 0: return mica_conv(x, w, b, &conv);
  case 1: return mica_conv(x, w, (mica_value){0}, &conv);
  case 2: return mica_conv_transpose(x, t, b, &plain);
  case 3: return mica_max_pool(x, &pool);
  case 4: return mica_average_pool(x, &pool);
  case 5: return mica_average_pool(x, &with_pad);
  case 6: return mica_resize(x, &twice);
  case 7: return mica_resize(x, &sizes);
  case 8: return mica_adaptive_average_pool(x, adaptive);
  default: return mica_global_average_pool(x);
  }
}

static mica_value norm(mica_value x, mica_shape shape) {
  const int32_t last = shape.rank - 1;
  if (shape.rank < 3 || shape.dim[0] > 0 || mica__shape_is_open((mica_shape){2, {shape.dim[1], shape.dim[last]}}))
    return none;
  const int64_t channels = shape.dim[1];
  mica_value a = constant(x, MICA_SHAPE(channels), 0.5, 1.5), b = constant(x, MICA_SHAPE(channels), -1, 1);
  mica_value v = constant(x, MICA_SHAPE(channels), 0.5, 1.5), r = constant(x, MICA_SHAPE(shape.dim[last]), 0.5, 1.5);
  switch (next(6)) {
  case 0: return mica_batch_norm(x, a, b, b, v, 1e-3);
  case 1: return mica_layer_norm(x, -1, r, (mica_value){0}, 1e-3);
  case 2: return mica_rms_norm(x, -1, r, 1e-3);
  case 3: return mica_instance_norm(x, a, b, 1e-3);
  case 4: return mica_group_norm(x, a, b, channels, 1e-3);
  default: return mica_local_response_norm(x, 3, 0.3, 0.75, 1.5);
  }
}

static mica_value recurrent(mica_value x, mica_shape shape) {
  if (shape.rank != 3 || shape.dim[0] > 0 || shape.dim[1] < 1 || shape.dim[2] < 1) return none;
  const mica_rnn_config how = {
      .kind = (mica_rnn_kind)next(4), .direction = (mica_rnn_direction)next(3), .batch_first = true};
  const int64_t d = how.direction == MICA_RNN_DIRECTION_BOTH ? 2 : 1;
  const int64_t gates = (const int64_t[]){1, 1, 4, 3}[how.kind];
  mica_value w = constant(x, MICA_SHAPE(d, gates * 3, shape.dim[2]), -1, 1);
  mica_value r = constant(x, MICA_SHAPE(d, gates * 3, 3), -1, 1), b = constant(x, MICA_SHAPE(d, 2 * gates * 3), -1, 1);
  const bool last = next(2);
  const mica_rnn_results made = mica_rnn(x, w, r, b, &how);
  return last ? made.h : made.y;
}

static mica_value attention(mica_value x, mica_shape shape) {
  if (shape.rank != 4 || shape.dim[0] > 0 || shape.dim[1] < 1 || shape.dim[2] < 1 || shape.dim[3] < 1) return none;
  const mica_attention_config how = {.causal = next(2), .window = next(2) ? 2 : 0, .soft_cap = next(2) ? 3 : 0};
  /* With a window over the first key alone, later queries see nothing. */
  mica_value k = how.window ? mica_slice(x, 2, 0, 1, 1) : x;
  return mica_attention(x, mica_neg(k), k, &how);
}

static mica_value quantised(mica_value x, mica_shape shape) {
  (void)shape;
  const mica_quantize_config how = {.dtype = next(2) ? MICA_U8 : MICA_I8, .narrow = false};
  const double zero = next(20);
  return mica_dequantize(
      mica_quantize(x, mica_scalar(x.graph, MICA_F32, 0.0625), mica_scalar(x.graph, MICA_I32, zero), &how),
      mica_scalar(x.graph, MICA_F32, 0.0625), mica_scalar(x.graph, MICA_I32, zero), NULL);
}

typedef mica_value step_fn(mica_value x, mica_shape shape);
static step_fn *const steps[] = {unary,   with_numbers, binary, reduction, view,      indexing,
                                 product, window,       norm,   recurrent, attention, quantised};

/* --- the test --- */

/* The elements of an initial value of the file. */
static double *elements_of(const mica_onnx *model, const char *wanted) {
  const char *name = "";
  for (size_t i = 0; name; i++) {
    mica_dtype dtype;
    mica_shape shape;
    void *data = NULL;
    ck_assert(mica_onnx_initial_read(model, i, &name, &dtype, &shape, &data) == MICA_OK);
    if (!name || strcmp(name, wanted) != 0) {
      mica_free(data);
      continue;
    }
    double *elements = calloc((size_t)test_count(shape) + 1, sizeof *elements);
    for (int64_t k = 0; k < test_count(shape); k++) elements[k] = mica__element_get(dtype, data, k);
    mica_free(data);
    return elements;
  }
  ck_abort_msg("there is no initial value %s", wanted);
  return NULL;
}

/* What a graph computes of the feed, and of the file's weights. */
static test_values interpreted(const mica_graph *graph, mica_value x, double *feed, const mica_onnx *model,
                               const mica_onnx_parameter *parameters, size_t count) {
  double **feeds = calloc((size_t)graph->count, sizeof *feeds);
  feeds[x.id - 1] = feed;
  for (size_t i = 0; i < count; i++) feeds[parameters[i].value.id - 1] = elements_of(model, parameters[i].file_name);
  test_values all = test_interpret(graph, feeds);
  for (size_t i = 0; i < count; i++) free(feeds[parameters[i].value.id - 1]);
  free(feeds);
  return all;
}

static void compare(uint64_t seed, mica_value was, mica_value is, const double *a, const double *b) {
  double largest = 1;
  const mica_shape shape = mica_value_shape(was);
  ck_assert_msg(mica_shape_equal(shape, mica_value_shape(is)), "graph %d: another shape", (int)seed);
  for (int64_t i = 0; i < test_count(shape); i++)
    if (isfinite(a[i])) largest = fmax(largest, fabs(a[i]));
  for (int64_t i = 0; i < test_count(shape); i++) {
    const bool same = a[i] == b[i] || (isnan(a[i]) && isnan(b[i])) || fabs(a[i] - b[i]) <= 1e-4 * largest;
    ck_assert_msg(same, "graph %d: element %d is %g, and was %g", (int)seed, (int)i, b[i], a[i]);
  }
}

static void check_read(uint64_t seed, pair x, pair y) {
  const mica_shape shape = mica_value_shape(x.known);
  mica_onnx *model = NULL;
  mica_graph *graph = NULL;
  mica_onnx_parameter *parameters = NULL;
  size_t count = 0;
  mica_value again = {0};
  test_values was, is;
  ck_assert_msg(mica_onnx_write(path, &y.open, 1, &(mica_onnx_write_config){.opset = 17 + (int64_t)(seed % 7)}) ==
                    MICA_OK,
                "graph %d: %s", (int)seed, mica_error_message());
  ck_assert_msg(mica_onnx_open(path, &model) == MICA_OK, "graph %d: %s", (int)seed, mica_error_message());
  ck_assert(mica_graph_create(&graph) == MICA_OK);
  mica_value input = mica_input(graph, "x", MICA_F32, shape);
  ck_assert_msg(mica_onnx_build(model, graph, &input, 1, &again, 1, NULL, &parameters, &count) == MICA_OK,
                "graph %d: %s", (int)seed, mica_error_message());
  double *feed = calloc((size_t)test_count(shape), sizeof *feed);
  for (int64_t i = 0; i < test_count(shape); i++) feed[i] = 2 * uniform() - 1;
  was = interpreted(x.known.graph, x.known, feed, NULL, NULL, 0);
  is = interpreted(graph, input, feed, model, parameters, count);
  compare(seed, y.known, again, was.value[y.known.id - 1], is.value[again.id - 1]);
  test_values_free(&was);
  test_values_free(&is);
  free(feed);
  mica_free(parameters);
  mica_graph_destroy(graph);
  mica_onnx_close(model);
}

/* False where the steps that were drawn led nowhere. */
static bool check_graph(uint64_t seed) {
  mica_graph *open = NULL, *known = NULL;
  const mica_shape shape = next(3) ? MICA_SHAPE(SAMPLES, 2, 4, 5) : MICA_SHAPE(SAMPLES, 4, 3);
  mica_shape any = shape;
  any.dim[0] = MICA_DYNAMIC;
  ck_assert(mica_graph_create(&open) == MICA_OK && mica_graph_create(&known) == MICA_OK);
  const pair x = {mica_input(open, "x", MICA_F32, any), mica_input(known, "x", MICA_F32, shape)};
  pair y = x;
  int made = 0;
  for (int i = 0; i < 4 * STEPS && made < STEPS; i++) {
    step_fn *step = steps[next(sizeof steps / sizeof *steps)];
    const mica_shape now = mica_value_shape(y.open);
    const uint64_t before = state;
    pair longer = {.open = step(y.open, now)};
    state = before;
    longer.known = step(y.known, now);
    if (mica_graph_status(open) != MICA_OK || mica_graph_status(known) != MICA_OK) break;
    if (!longer.open.graph || mica_value_dtype(longer.open) != MICA_F32 || mica_value_shape(longer.open).rank > 5)
      continue;
    if (test_count(mica_value_shape(longer.known)) > 4000) continue;
    y = longer;
    made++;
  }
  const bool good = made > 1 && mica_graph_status(open) == MICA_OK && mica_graph_status(known) == MICA_OK;
  if (good) check_read(seed, x, y);
  mica_graph_destroy(open);
  mica_graph_destroy(known);
  return good;
}

START_TEST(random_graphs_are_written_and_read) {
  const char *wanted = getenv("MICA_TEST_GRAPHS");
  const int count = wanted ? atoi(wanted) : 150;
  int good = 0;
  for (int seed = 0; seed < count; seed++) {
    state = (uint64_t)seed * 7919 + 17;
    good += check_graph((uint64_t)seed);
  }
  remove(path);
  ck_assert_msg(good * 10 > count * 8, "%d of %d graphs", good, count);
}
END_TEST

/* --- signals (N, 50) --- */

static mica_value plain_stft(mica_value x) {
  return mica_stft(x, &(mica_stft_config){.length = 16, .hop = 5, .window = MICA_SIGNAL_WINDOW_HAMMING});
}
static mica_value narrow_stft(mica_value x) {
  return mica_stft(x, &(mica_stft_config){.length = 16, .hop = 4, .width = 11, .pad = MICA_SIGNAL_PAD_NONE});
}
static mica_value mirrored_mel(mica_value x) {
  const mica_mel_config c = mica_mel_torchaudio(16000, 32, 8, 6);
  return mica_mel(x, &c);
}
static mica_value snipped_mel(mica_value x) {
  const mica_mel_config c = {.stft = {.length = 16, .hop = 7, .width = 13, .snip = true, .preemphasis = 0.9},
                             .mels = 5};
  return mica_mel(x, &c);
}
static mica_value edged_frames(mica_value x) { return mica_frames(x, 7, 3, MICA_SIGNAL_PAD_EDGE); }
static mica_value bare_frames(mica_value x) { return mica_frames(x, 50, 3, MICA_SIGNAL_PAD_NONE); }

START_TEST(signals_are_written_and_read) {
  static unary_fn *const signals[] = {plain_stft, narrow_stft, mirrored_mel, snipped_mel, edged_frames, bare_frames};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
    mica_graph *open = NULL, *known = NULL;
    ck_assert(mica_graph_create(&open) == MICA_OK && mica_graph_create(&known) == MICA_OK);
    const pair x = {mica_input(open, "x", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, 50)),
                    mica_input(known, "x", MICA_F32, MICA_SHAPE(SAMPLES, 50))};
    const pair y = {signals[i](x.open), signals[i](x.known)};
    ck_assert_msg(mica_graph_status(open) == MICA_OK, "%s", mica_graph_message(open));
    check_read(i, x, y);
    mica_graph_destroy(open);
    mica_graph_destroy(known);
  }
  remove(path);
}
END_TEST

static void name_file(void) {
  const char *tmp = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/mica-graph-%ld.onnx", tmp ? tmp : "/tmp", (long)getpid());
}

TESTS(NEEDS(ONNX), name_file, NULL, random_graphs_are_written_and_read, signals_are_written_and_read)
