/* labels: device single
 *
 * Names, shapes, initial values and the summary of networks; and that networks learn and share their weights. */
#include "ir/graph.h"
#include "ir/op.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/number.h"

#include <math.h>
#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

static mica_graph *graph;
static mica_nn *nn;

static void setup_as(const mica_nn_config *config) {
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, config, &nn));
}

static void setup(void) { setup_as(NULL); }

static void teardown(void) {
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}

#define ck_graph() ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph))

static mica_session *session_of(mica_value output) {
  mica_session *session = NULL;
  ck_graph();
  ck_ok(mica_session_create(test_engine(), graph, &output, 1, NULL, &session));
  ck_ok(mica_nn_initialise(nn, session));
  return session;
}

static mica_value two_layers(mica_nn *n, mica_value x, const void *units) {
  mica_value h = mica_relu(mica_nn_dense(n, "in", x, *(const int64_t *)units, NULL));
  return mica_nn_dense(n, "out", h, mica_value_shape(x).dim[1], NULL);
}

START_TEST(names_and_shapes) {
  static const char *const expected[] = {"embed.weight",    "body.0.in.weight", "body.0.in.bias", "body.0.out.weight",
                                         "body.0.out.bias", "body.1.in.weight", "body.1.in.bias", "body.1.out.weight",
                                         "body.1.out.bias", "res.in.weight",    "res.in.bias",    "res.out.weight",
                                         "res.out.bias",    "norm.weight",      "norm.bias",      "rms.weight",
                                         "head.last.weight"};
  int64_t wide = 24, narrow = 6;
  mica_value ids = mica_input(graph, "ids", MICA_I32, MICA_SHAPE(MICA_DYNAMIC));
  mica_value h = mica_nn_embedding(nn, "embed", ids, 50, 8, NULL);
  mica_nn_stage stages[] = {{two_layers, &wide}, {two_layers, &narrow}};
  h = mica_nn_sequential(nn, "body", h, stages, 2);
  h = mica_nn_residual(nn, "res", h, two_layers, &wide);
  h = mica_nn_rms_norm(nn, "rms", mica_nn_layer_norm(nn, "norm", h, NULL), NULL);
  mica_nn_push(nn, "head");
  h = mica_nn_dense(nn, "last", mica_nn_dropout(nn, h, 0.5), 3, &(mica_dense_config){.no_bias = true});
  mica_nn_pop(nn);
  ck_graph();
  ck_assert_uint_eq(mica_nn_parameter_count(nn), sizeof expected / sizeof *expected);
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    ck_assert_str_eq(info->name, expected[i]);
    ck_assert_int_eq(info->decay, mica_value_shape(info->value).rank > 1);
  }
  mica_shape out = mica_value_shape(h);
  ck_assert(mica_shape_equal(out, MICA_SHAPE(MICA_DYNAMIC, 3)));
  ck_assert_int_eq(mica_nn_element_count(nn, true), 50 * 8 + 2 * (8 * 24 * 2 + 24 + 8) + 8 * 6 * 2 + 6 + 8 + 24 + 24);
}
END_TEST

START_TEST(summary_tells_the_costs) {
  char *text = NULL;
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, 784));
  mica_value h = mica_relu(mica_nn_dense(nn, "fc1", x, 128, NULL));
  mica_nn_dense(nn, "fc2", h, 10, NULL);
  ck_ok(mica_nn_summary(nn, &text));
  ck_assert_msg(strstr(text, "fc1") && strstr(text, "(?, 128)") && strstr(text, "100480") && strstr(text, "101770"),
                "%s", text);
  /* 2 784 128 + 128 of the bias */
  ck_assert_msg(strstr(text, "0.201"), "%s", text);
  mica_free(text);
}
END_TEST

/* Whatever number of samples is open, all positions of one are counted, and attention between them. */
START_TEST(summary_counts_all_positions) {
  const mica_model_config config = {
      .name = "gpt", .width = 24, .sequence = {.vocabulary = 11, .context = 16, .layers = 1, .heads = 3, .hidden = 48}};
  const double rows = 16, in_proj = rows * (2 * 24 * 72 + 72), linear1 = rows * (2 * 24 * 48 + 48);
  for (int64_t batch = MICA_DYNAMIC; batch <= 1; batch += 2) {
    char *text = NULL;
    mica_graph *g = NULL;
    mica_nn *n = NULL;
    ck_ok(mica_graph_create(&g));
    ck_ok(mica_nn_create(g, NULL, &n));
    mica_model_build(n, mica_input(g, "ids", MICA_I32, MICA_SHAPE(batch, 16)), &config);
    ck_ok(mica_nn_summary(n, &text));
    struct {
      const char *layer;
      double flops, room; /* room: for activations, biases and the softmax */
    } is[] = {{"layers.0.self_attn.in_proj ", in_proj, 0},
              {"layers.0.self_attn.attention ", 2 * rows * rows * 24, 2 * rows * 24},
              {"layers.0.linear1 ", linear1, 0},
              {"head ", 2 * rows * 24 * 11, 24 * 11}};
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
      const char *line = strstr(text, is[i].layer);
      ck_assert_msg(line != NULL, "%s: %s", is[i].layer, text);
      double mflop = 0;
      const char *end = strchr(line, '\n');
      while (end[-1] != ' ') end--;
      mflop = mica__strtod(end, NULL);
      ck_assert_msg(1e6 * mflop > is[i].flops - 501 && 1e6 * mflop < is[i].flops + is[i].room + 501, "%s: %g of %g",
                    is[i].layer, 1e6 * mflop, is[i].flops);
    }
    mica_free(text);
    mica_nn_destroy(n);
    mica_graph_destroy(g);
  }
}
END_TEST

START_TEST(summary_has_recurrent_layers) {
  char *text = NULL;
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, 50, 8));
  mica_nn_rnn(nn, "lstm", x, 24, &(mica_nn_rnn_config){.kind = MICA_RNN_KIND_LSTM, .layers = 2});
  ck_graph();
  ck_ok(mica_nn_summary(nn, &text));
  /* Four gates of inputs and of states, and two biases each; 50 steps of 2 4 24 (8 + 24) or 2 4 24 48. */
  const char *first = strstr(text, "lstm.l0 "), *second = strstr(text, "lstm.l1 ");
  ck_assert_msg(first && second && strstr(first, " 3264 ") && strstr(second, " 4800 "), "%s", text);
  const double flops = mica__strtod(strstr(first, " 3264 ") + 6, NULL),
               more = mica__strtod(strstr(second, " 4800 ") + 6, NULL);
  ck_assert_msg(flops >= 0.307 && flops < 0.4 && more >= 0.460 && more < 0.6, "%g and %g MFLOP: %s", flops, more, text);
  mica_free(text);
}
END_TEST

START_TEST(errors_are_sticky) {
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(4, MICA_DYNAMIC));
  mica_value h = mica_nn_dense(nn, "a", mica_nn_dense(nn, "fc", x, 3, NULL), 3, NULL);
  ck_assert(mica_value_is_null(h));
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_SHAPE);
  ck_assert_msg(strstr(mica_graph_message(graph), "dense: axis -1"), "%s", mica_graph_message(graph));
  mica_optimize(nn, h, NULL, NULL);
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_SHAPE);
}
END_TEST

/* --- initial values --- */

#define ROWS 96
#define COLUMNS 64
static float first[ROWS * COLUMNS], again[ROWS * COLUMNS];

static void initial(mica_init_config init, float *out) {
  setup_as(&(mica_nn_config){.seed = 5});
  mica_session *session = session_of(mica_nn_parameter(nn, "w", MICA_SHAPE(ROWS, COLUMNS), &init));
  ck_ok(mica_tensor_download(test_queue(), mica_session_parameter(session, "w"), out, sizeof first));
  mica_session_destroy(session);
  teardown();
}

static double deviation(const float *x, double *highest) {
  double sum = 0, square = 0, n = ROWS * COLUMNS;
  *highest = 0;
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    sum += (double)x[i];
    square += (double)x[i] * (double)x[i];
    *highest = fmax(*highest, fabs((double)x[i]));
  }
  return sqrt(square / n - sum / n * sum / n);
}

START_TEST(initialisers) {
  /* The deviation of a normal distribution that is cut at two of its own is 0.8796 of it. */
  static const struct {
    mica_init_config init;
    double deviation, highest;
  } table[] = {
      {{.kind = MICA_INIT_UNIFORM, .value = 0.3}, 0.3 / 1.7320508, 0.3},
      {{.kind = MICA_INIT_NORMAL, .value = 0.02}, 0.02, 0.12},
      {{.kind = MICA_INIT_TRUNCATED_NORMAL, .value = 0.02}, 0.02 * 0.87962566, 0.04},
      {{.kind = MICA_INIT_KAIMING_NORMAL, .value = 1.41421356}, 1.41421356 / 8, 1.1},
      {{.kind = MICA_INIT_KAIMING_UNIFORM, .fan_out = true}, 1 / 9.7979590, 1.7320509 / 9.7979590},
      {{.kind = MICA_INIT_KAIMING_NORMAL, .fan_in = 4}, 0.5, 3},
      {{.kind = MICA_INIT_XAVIER_NORMAL}, 0.1118034, 0.7},
      {{.kind = MICA_INIT_XAVIER_UNIFORM}, 0.1118034, 0.1936492},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    double highest, is;
    initial(table[i].init, first);
    is = deviation(first, &highest);
    /* The deviation of 6144 numbers is known to about a hundredth. */
    ck_assert_msg(fabs(is / table[i].deviation - 1) < 0.04, "%zu: %g, not %g", i, is, table[i].deviation);
    ck_assert_msg(highest <= table[i].highest * (1 + 1e-6), "%zu: as large as %g", i, highest);
  }
  initial(table[1].init, first);
  initial(table[1].init, again);
  ck_assert_mem_eq(first, again, sizeof first);
}
END_TEST

START_TEST(orthogonal) {
  initial((mica_init_config){.kind = MICA_INIT_ORTHOGONAL, .value = 2}, first);
  for (int a = 0; a < COLUMNS; a++)
    for (int b = 0; b <= a; b++) {
      double dot = 0;
      for (int i = 0; i < ROWS; i++) dot += (double)first[i * COLUMNS + a] * (double)first[i * COLUMNS + b];
      ck_assert_double_eq_tol(dot, a == b ? 4 : 0, 1e-5);
    }
}
END_TEST

/* --- learning --- */

#define BATCH 32
#define INPUTS 20
#define CLASSES 4

/* The class is the quarter with the largest sum. */
static void batch(uint32_t *state, float *x, int32_t *y) {
  for (int i = 0; i < BATCH; i++) {
    float best = -1e9f;
    for (int c = 0; c < CLASSES; c++) {
      float sum = 0;
      for (int j = 0; j < INPUTS / CLASSES; j++) {
        *state = *state * 1664525u + 1013904223u;
        sum += x[i * INPUTS + c * (INPUTS / CLASSES) + j] = (float)(int32_t)*state * 0x1p-31f;
      }
      if (sum > best) y[i] = c;
      best = fmaxf(best, sum);
    }
  }
}

static mica_value classifier(mica_nn *n, mica_value x) {
  mica_value h = mica_nn_layer_norm(n, "norm", mica_nn_dense(n, "fc1", x, 32, NULL), NULL);
  return mica_nn_dense(n, "fc2", mica_nn_dropout(n, mica_gelu(h), 0.1), CLASSES, NULL);
}

static mica_value loss_of(mica_nn *n, mica_graph *g, mica_value *logits) {
  mica_value x = mica_input(g, "x", MICA_F32, MICA_SHAPE(BATCH, INPUTS));
  mica_value y = mica_input(g, "y", MICA_I32, MICA_SHAPE(BATCH));
  *logits = classifier(n, x);
  return mica_cross_entropy(*logits, y, NULL);
}

static double train(mica_dtype dtype, mica_optimizer_config how) {
  mica_tensor *x, *y, *rate;
  float r = 0.01f, xs[BATCH * INPUTS], value = 0;
  int32_t ys[BATCH];
  uint32_t state = 1;
  setup_as(&(mica_nn_config){.training = true, .dtype = dtype, .seed = 3});
  mica_value logits, loss = loss_of(nn, graph, &logits);
  mica_optimize(nn, loss, &how, NULL);
  mica_session *training = session_of(loss);

  mica_graph *other;
  mica_nn *tested;
  mica_session *testing;
  ck_ok(mica_graph_create(&other));
  ck_ok(mica_nn_create(other, &(mica_nn_config){.dtype = dtype}, &tested));
  mica_value test_loss = loss_of(tested, other, &logits);
  ck_ok(mica_session_create(test_engine(), other, &test_loss, 1, NULL, &testing));
  ck_ok(mica_nn_share(tested, testing, training));

  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(BATCH, INPUTS), &x));
  ck_ok(mica_tensor_create(test_engine(), MICA_I32, MICA_SHAPE(BATCH), &y));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SCALAR, &r, &rate));
  for (int i = 0; i < 300; i++) {
    batch(&state, xs, ys);
    ck_ok(mica_tensor_upload(test_queue(), x, xs, sizeof xs));
    ck_ok(mica_tensor_upload(test_queue(), y, ys, sizeof ys));
    mica_feed feeds[] = {{"x", x}, {"y", y}, {MICA_LEARNING_RATE, rate}};
    ck_ok(mica_session_run(training, test_queue(), feeds, 3));
  }
  batch(&state, xs, ys);
  ck_ok(mica_tensor_upload(test_queue(), x, xs, sizeof xs));
  ck_ok(mica_tensor_upload(test_queue(), y, ys, sizeof ys));
  ck_ok(mica_session_run(testing, test_queue(), (mica_feed[]){{"x", x}, {"y", y}}, 2));
  const mica_tensor *result = mica_session_output(testing, 0);
  if (dtype == MICA_F32) {
    ck_ok(mica_tensor_download(test_queue(), result, &value, sizeof value));
  } else {
    mica_tensor *wide;
    ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SCALAR, &wide));
    ck_ok(mica_op_cast(test_queue(), result, wide));
    ck_ok(mica_tensor_download(test_queue(), wide, &value, sizeof value));
    mica_tensor_destroy(wide);
  }
  mica_tensor_destroy(x);
  mica_tensor_destroy(y);
  mica_tensor_destroy(rate);
  mica_session_destroy(testing);
  mica_session_destroy(training);
  mica_nn_destroy(tested);
  mica_graph_destroy(other);
  teardown();
  return (double)value;
}

/* How many nodes of the graph are convolutions in some pass, and how many of those may be rounded to tf32. */
static int count_convs(int *rounded) {
  int convs = 0;
  for (int32_t id = 1; id <= graph->count; id++) {
    const mica__node *node = mica__graph_node(graph, id);
    const mica__attr_list *list = node->op->attrs;
    for (int32_t i = 0; list && i < list->count; i++) {
      if (strcmp(list->rows[i].name, "allow_tf32") != 0) continue;
      convs++;
      *rounded += *(const bool *)((const char *)node->attrs + list->rows[i].offset);
    }
  }
  return convs;
}

/* All three passes of every convolution of a network that allows it, none of one that does not. */
START_TEST(tf32_is_allowed_in_all_passes) {
  for (int allowed = 0; allowed < 2; allowed++) {
    int rounded = 0;
    setup_as(&(mica_nn_config){.allow_tf32 = allowed == 1});
    mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(2, 3, 8, 8));
    mica_value h = mica_nn_conv(nn, "a", x, 4, 3, NULL);
    mica_value y = mica_nn_conv(nn, "b", h, 5, 3, &(mica_nn_conv_config){.no_bias = true});
    ck_graph();
    const mica_value w = {graph, mica__graph_node(graph, y.id)->inputs[1]};
    ck_ok(mica_gradients(mica_sum(y, MICA_ALL_AXES, false), (const mica_value[]){x, w}, 2, (mica_value[2]){0}));
    /* Two forward, two to the data, one at least to filters. */
    const int convs = count_convs(&rounded);
    ck_assert_int_ge(convs, 5);
    ck_assert_int_eq(rounded, allowed ? convs : 0);
    teardown();
  }
}
END_TEST

/* --- norms of networks in 16 bits --- */

enum { IMAGES = 16, CHANNELS = 8, SIDE = 8, CELLS = IMAGES * CHANNELS * SIDE * SIDE };

static mica_value norm_layer(mica_nn *n, int kind, mica_value x, const mica_norm_config *how) {
  return kind == 0   ? mica_nn_layer_norm(n, "norm", x, how)
         : kind == 1 ? mica_nn_rms_norm(n, "norm", x, how)
         : kind == 2 ? mica_nn_batch_norm(n, "norm", x, how)
                     : mica_nn_group_norm(n, "norm", x, 2, how);
}

/* A scale in the middle of two bf16 numbers is used as it is, and its gradient comes in f32. The result is rounded, but
 * to both sides: the mean over 8192 elements of 1.1e-3 each is known to 1.3e-5. */
START_TEST(norms_keep_their_numbers_wide) {
  static float data[CELLS], got[2][CELLS], slope[CHANNELS];
  const double scale = 1 + 0x1p-9;
  mica_tensor *x = NULL;
  uint32_t state = 9;
  for (int i = 0; i < CELLS; i++) {
    state = state * 1664525u + 1013904223u;
    data[i] = (float)(int32_t)state * 0x1p-30f;
  }
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(IMAGES, CHANNELS, SIDE, SIDE), data, &x));
  for (int k = 0; k < 2; k++) {
    mica_session *session = NULL;
    setup_as(&(mica_nn_config){.training = true, .dtype = MICA_BF16});
    const mica_norm_config how = {.scale = k ? scale : 1, .no_bias = true};
    mica_value in = mica_input(graph, "x", MICA_F32, MICA_SHAPE(IMAGES, CHANNELS, SIDE, SIDE)), outputs[2];
    outputs[0] = mica_cast(norm_layer(nn, _i, in, &how), MICA_F32);
    const mica_value weight = mica_nn_parameter_at(nn, 0)->value;
    mica_value loss = mica_sum(mica_mul(outputs[0], in), MICA_ALL_AXES, false);
    ck_assert_int_eq(mica_value_dtype(weight), MICA_F32);
    ck_ok(mica_gradients(loss, &weight, 1, &outputs[1]));
    ck_graph();
    ck_ok(mica_session_create(test_engine(), graph, outputs, 2, NULL, &session));
    ck_ok(mica_nn_initialise(nn, session));
    ck_ok(mica_session_run(session, test_queue(), (mica_feed[]){{"x", x}}, 1));
    ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), got[k], sizeof got[k]));
    ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 1), slope, sizeof slope));
    mica_session_destroy(session);
    teardown();
  }
  mica_tensor_destroy(x);
  double both = 0, square = 0;
  for (int i = 0; i < CELLS; i++)
    both += (double)got[0][i] * (double)got[1][i], square += (double)got[0][i] * (double)got[0][i];
  ck_assert_msg(fabs(both / square - scale) < 2e-4, "norm %d scales by %.6f, not by %.6f", _i, both / square, scale);
  int wide = 0;
  for (int c = 0; c < CHANNELS; c++) {
    uint32_t bits;
    memcpy(&bits, &slope[c], sizeof bits);
    wide += (bits & 0xffff) != 0;
  }
  ck_assert_msg(wide >= CHANNELS / 2, "norm %d: %d of %d gradients have more than 8 bits", _i, wide, CHANNELS);
}
END_TEST

/* Guessing costs log 4 = 1.39. */
START_TEST(a_classifier_learns) {
  mica_optimizer_config how = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM);
  double loss = train(MICA_F32, how);
  ck_assert_msg(loss < 0.4, "%g", loss);
}
END_TEST

START_TEST(in_sixteen_bits_too) {
  mica_optimizer_config how = mica_optimizer_config_default(MICA_OPTIMIZER_ADAMW);
  how.loss_scale = 4096;
  double loss = train(MICA_F16, how);
  ck_assert_msg(loss < 0.45, "f16: %g", loss);
  loss = train(MICA_BF16, mica_optimizer_config_default(MICA_OPTIMIZER_ADAM));
  ck_assert_msg(loss < 0.45, "bf16: %g", loss);
}
END_TEST

/* One value a channel has no variance: the running one stays, as any number of values moves it by the unbiased one. The
 * last batch of an epoch is often such, and one made it NaN for good. */
START_TEST(batch_norm_of_one_value) {
  static const float values[] = {1, 2, 3, 5, 9, 7};
  float variance[2], rate = 0;
  mica_graph *g = NULL;
  mica_nn *net = NULL;
  mica_session *session = NULL;
  mica_tensor *x = NULL, *r = NULL;
  ck_ok(mica_graph_create(&g));
  ck_ok(mica_nn_create(g, &(mica_nn_config){.training = true}, &net));
  mica_value in = mica_input(g, "x", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, 2));
  mica_value loss = mica_mean(mica_square(mica_nn_batch_norm(net, "bn", in, NULL)), MICA_ALL_AXES, false);
  mica_optimize(net, loss, NULL, NULL);
  ck_ok(mica_session_create(test_engine(), g, &loss, 1, NULL, &session));
  ck_ok(mica_nn_initialise(net, session));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SCALAR, &rate, &r));
  /* The unbiased variances of three rows are 52/3 and 19/3, of two 2 and 4.5; momentum is 0.1. */
  const struct {
    int64_t rows;
    double first, second;
  } steps[] = {{3, 0.9 + 5.2 / 3, 0.9 + 1.9 / 3},
               {1, 0.9 + 5.2 / 3, 0.9 + 1.9 / 3},
               {2, 0.9 * (0.9 + 5.2 / 3) + 0.2, 0.9 * (0.9 + 1.9 / 3) + 0.45}};
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(steps[i].rows, 2), values, &x));
    ck_ok(mica_session_run(session, test_queue(), (mica_feed[]){{"x", x}, {MICA_LEARNING_RATE, r}}, 2));
    ck_ok(mica_tensor_download(test_queue(), mica_session_parameter(session, "bn.running_var"), variance,
                               sizeof variance));
    ck_assert_double_eq_tol((double)variance[0], steps[i].first, 1e-6);
    ck_assert_double_eq_tol((double)variance[1], steps[i].second, 1e-6);
    mica_tensor_destroy(x);
  }
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(0, 2), &x));
  ck_assert_int_eq(mica_session_run(session, test_queue(), (mica_feed[]){{"x", x}, {MICA_LEARNING_RATE, r}}, 2),
                   MICA_E_SHAPE);
  ck_assert_msg(strstr(mica_error_message(), "batch norm in training needs elements"), "%s", mica_error_message());
  mica_tensor_destroy(x);
  mica_tensor_destroy(r);
  mica_session_destroy(session);
  mica_nn_destroy(net);
  mica_graph_destroy(g);
}
END_TEST

START_TEST(batch_norm_of_no_momentum) {
  mica_graph *g = NULL;
  mica_nn *net = NULL;
  ck_ok(mica_graph_create(&g));
  ck_ok(mica_nn_create(g, &(mica_nn_config){.training = true}, &net));
  (void)mica_nn_batch_norm(net, "bn", mica_input(g, "x", MICA_F32, MICA_SHAPE(4, 2)),
                           &(mica_norm_config){.momentum = 5});
  ck_assert_int_eq(mica_graph_status(g), MICA_E_INVALID);
  ck_assert_msg(strstr(mica_graph_message(g), "'bn': the momentum is 5"), "%s", mica_graph_message(g));
  mica_nn_destroy(net);
  mica_graph_destroy(g);
}
END_TEST

/* The session of one width, the network of another. */
START_TEST(initial_values_of_another_network) {
  mica_graph *graphs[2];
  mica_nn *nets[2];
  mica_session *sessions[2];
  for (int i = 0; i < 2; i++) {
    ck_ok(mica_graph_create(&graphs[i]));
    ck_ok(mica_nn_create(graphs[i], NULL, &nets[i]));
    mica_value y = mica_nn_dense(nets[i], "fc", mica_input(graphs[i], "x", MICA_F32, MICA_SHAPE(1, 2)), 8 + i, NULL);
    ck_ok(mica_session_create(test_engine(), graphs[i], &y, 1, NULL, &sessions[i]));
  }
  ck_ok(mica_nn_initialise(nets[0], sessions[0]));
  ck_assert_int_eq(mica_nn_initialise(nets[1], sessions[0]), MICA_E_SHAPE);
  ck_assert_msg(strstr(mica_error_message(), "its 'fc.weight' is (8, 2), but this network's is (9, 2)"), "%s",
                mica_error_message());
  for (int i = 0; i < 2; i++) {
    mica_session_destroy(sessions[i]);
    mica_nn_destroy(nets[i]);
    mica_graph_destroy(graphs[i]);
  }
}
END_TEST

#define STREAM_SHAPE MICA_SHAPE(1, 4, 16)
#define STREAM 64

/* d loss / d h for what a block gives, of which norms and another block read what its cast has rounded. */
static void gradient_behind_a_block(mica_dtype dtype, float *got) {
  float x[STREAM];
  mica_tensor *fed = NULL;
  setup_as(&(mica_nn_config){.dtype = dtype, .seed = 5});
  mica_value far = mica_input(graph, "x", MICA_F32, STREAM_SHAPE), in = mica_cast(far, dtype), none = {0};
  const mica_transformer_config config = {.self = {.heads = 2}, .hidden = 24};
  mica_value h = mica_nn_transformer(nn, "first", in, none, &config), dh = none;
  mica_value norm = mica_cast(mica_nn_layer_norm(nn, "norm", h, NULL), MICA_F32);
  mica_value next = mica_cast(mica_nn_transformer(nn, "next", h, none, &config), MICA_F32);
  mica_value read = mica_affine(mica_cast(h, MICA_F32), 0.25, 0);
  mica_value all = mica_mul(mica_add(mica_add(norm, next), read), far);
  ck_ok(mica_gradients(mica_sum(all, MICA_ALL_AXES, false), &h, 1, &dh));
  ck_assert_int_eq(mica_value_dtype(dh), dtype);
  mica_session *session = session_of(mica_cast(dh, MICA_F32));
  for (int i = 0; i < STREAM; i++) x[i] = sinf((float)(i * i));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, STREAM_SHAPE, x, &fed));
  ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", fed}, 1));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), got, STREAM * sizeof *got));
  mica_tensor_destroy(fed);
  mica_session_destroy(session);
  teardown();
}

START_TEST(gradients_of_blocks_are_whole) {
  float wide[STREAM], narrow[STREAM];
  double apart = 0, size = 0;
  gradient_behind_a_block(MICA_F32, wide);
  gradient_behind_a_block(MICA_BF16, narrow);
  for (int i = 0; i < STREAM; i++) {
    apart += pow((double)narrow[i] - wide[i], 2);
    size += pow(wide[i], 2);
  }
  ck_assert_double_gt(size, 0);
  ck_assert_double_lt(sqrt(apart / size), 0.02);
}
END_TEST

TEST_GROUPS(DEVICE,
            EACH(setup, teardown, names_and_shapes, summary_tells_the_costs, summary_counts_all_positions,
                 summary_has_recurrent_layers, errors_are_sticky, batch_norm_of_no_momentum),
            EACH(NULL, NULL, initialisers, orthogonal, LOOP(norms_keep_their_numbers_wide, 0, 4),
                 gradients_of_blocks_are_whole, batch_norm_of_one_value, initial_values_of_another_network,
                 tf32_is_allowed_in_all_passes, a_classifier_learns, in_sixteen_bits_too))
