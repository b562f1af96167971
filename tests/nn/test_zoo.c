/* labels: device single
 *
 * The networks that are known by name: their sizes as published, their results' shapes, and that they learn. */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mica_graph *graph;
static mica_nn *nn;

static mica_value build(mica_model_config config, int64_t batch, bool training) {
  mica_shape s = config.input, shape = {.rank = s.rank + 1, .dim = {batch, s.dim[0], s.dim[1], s.dim[2]}};
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.training = training}, &nn));
  return mica_model_build(nn, mica_input(graph, "x", MICA_F32, shape), &config);
}

static void drop(void) {
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}

/* Weights of torchvision's networks, or counted by hand. */
START_TEST(sizes) {
  static const struct {
    mica_model_config config;
    int64_t count;
    mica_shape result; /* of a sample */
  } table[] = {
      {{.name = "mlp", .input = {3, {1, 28, 28}}}, 784 * 128 + 128 + 1280 + 10, {1, {10}}},
      {{.name = "lenet", .input = {3, {1, 28, 28}}}, 61706, {1, {10}}},
      {{.name = "cnn", .input = {3, {1, 28, 28}}}, 320 + 18496 + 3136 * 128 + 128 + 1290, {1, {10}}},
      /* By hand: weights of convolutions, two numbers per norm and channel, the last layer. */
      {{.name = "convnet", .input = {3, {3, 32, 48}}, .classes = 4},
       27 * 32 + 288 * 64 + 576 * 128 + 1152 * 256 + 2 * (32 + 64 + 128 + 256) + 257 * 4,
       {1, {4}}},
      /* Large pictures begin with stride 2: 80 points become 40, then 20, 10, 5 and 2. */
      {{.name = "convnet", .input = {3, {1, 80, 80}}, .width = 2},
       18 + 18 * 4 + 36 * 8 + 72 * 16 + 2 * (2 + 4 + 8 + 16) + 17 * 10,
       {1, {10}}},
      /* 224 become 112, then 56, 28, 14, 7, and in a fifth stage 3. */
      {{.name = "convnet", .input = {3, {3, 224, 224}}, .width = 1},
       27 + 18 + 72 + 288 + 576 + 2 * (1 + 2 + 4 + 8 + 8) + 9 * 10,
       {1, {10}}},
      /* One point is not pooled; a line of 9 is: 4, 2 and 1. */
      {{.name = "convnet", .input = {3, {1, 1, 1}}, .width = 2}, 18 + 4 + 3 * 10, {1, {10}}},
      {{.name = "convnet", .input = {3, {1, 1, 9}}, .width = 2}, 18 + 72 + 288 + 2 * 14 + 9 * 10, {1, {10}}},
      {{.name = "vgg11", .input = {3, {3, 224, 224}}, .classes = 1000}, 132863336, {1, {1000}}},
      {{.name = "resnet18", .input = {3, {3, 224, 224}}, .classes = 1000}, 11689512, {1, {1000}}},
      {{.name = "resnet50", .input = {3, {3, 224, 224}}, .classes = 1000}, 25557032, {1, {1000}}},
      {{.name = "mobilenetv2", .input = {3, {3, 224, 224}}, .classes = 1000}, 3504872, {1, {1000}}},
      {{.name = "unet", .input = {3, {1, 64, 48}}, .classes = 2}, 31036546, {3, {2, 64, 48}}},
      /* 12 x 8, 6 x 4 and 3 x 2 points with 3 classes and 5 numbers each. */
      {{.name = "detector", .input = {3, {3, 64, 96}}, .classes = 3}, 1572507, {2, {96 + 24 + 6, 8}}},
      {{.name = "unet", .input = {3, {1, 64, 48}}, .classes = 2, .norm = MICA_MODEL_NORM_GROUP},
       31036546,
       {3, {2, 64, 48}}},
      /* By hand: both levels down, the way up, the last layer. */
      {{.name = "unet", .input = {3, {1, 64, 48}}, .classes = 2, .width = 5, .depth = 1},
       45 + 225 + 20 + 450 + 900 + 40 + 205 + 450 + 225 + 20 + 12,
       {3, {2, 64, 48}}},
      {{.name = "densenet121", .input = {3, {3, 224, 224}}, .classes = 1000}, 7978856, {1, {1000}}},
      {{.name = "efficientnetb0", .input = {3, {3, 224, 224}}, .classes = 1000}, 5288548, {1, {1000}}},
      /* The kernel of the first layer is 3 instead of 7. */
      {{.name = "resnet18", .input = {3, {3, 32, 32}}}, 11689512 - 990 * 513 - 64 * 3 * 40, {1, {10}}},
      {{.name = "mobilenetv2", .input = {3, {3, 32, 32}}}, 3504872 - 990 * 1281, {1, {10}}},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    mica_value z = build(table[i].config, MICA_DYNAMIC, false);
    mica_shape is = mica_value_shape(z), want = {.rank = table[i].result.rank + 1, .dim = {MICA_DYNAMIC}};
    for (int32_t d = 0; d < table[i].result.rank; d++) want.dim[d + 1] = table[i].result.dim[d];
    ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
    ck_assert_msg(mica_shape_equal(is, want), "%s", table[i].config.name);
    ck_assert_msg(mica_nn_element_count(nn, false) == table[i].count, "%s has %lld weights, not %lld",
                  table[i].config.name, (long long)mica_nn_element_count(nn, false), (long long)table[i].count);
    drop();
  }
}
END_TEST

START_TEST(names) {
  size_t count = 0;
  while (mica_model_name(count)) ck_assert_ptr_nonnull(mica_model_text(count++));
  ck_assert_uint_ge(count, 12);
  ck_assert_str_eq(mica_model_family_name(mica_model_family_of(0)), "table");
  ck_assert_str_eq(mica_model_family_name(mica_model_family_of(1)), "image");
  ck_assert_str_eq(mica_model_family_name((mica_model_family)9), "?");
  mica_value z = build((mica_model_config){.name = "resnet19", .input = {3, {3, 32, 32}}}, 1, false);
  ck_assert(mica_value_is_null(z));
  ck_assert_msg(strstr(mica_graph_message(graph), "no model 'resnet19', only mlp, lenet"), "%s",
                mica_graph_message(graph));
  drop();
  build((mica_model_config){.name = "cnn", .input = {3, {0, 0, 0}}}, MICA_DYNAMIC, false);
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_SHAPE);
  drop();
  build((mica_model_config){.name = "resnet18", .input = {3, {3, 64, 64}}}, 1, false);
  bool found = false;
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++)
    found = found || !strcmp(mica_nn_parameter_at(nn, i)->name, "layer2.0.downsample.1.running_var");
  ck_assert(found);
  drop();
}
END_TEST

/* Points of each stride, row by row. */
START_TEST(points_of_the_detector) {
  float points[3 * 126];
  ck_assert_int_eq(mica_detector_points(64, 96, NULL), 126);
  ck_assert_int_eq(mica_detector_points(64, 96, points), 126);
  static const float wanted[][4] = {{0, 4, 4, 8}, {13, 12, 12, 8}, {96, 8, 8, 16}, {125, 80, 48, 32}};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    for (int k = 0; k < 3; k++) ck_assert_float_eq(points[3 * (int)wanted[i][0] + k], wanted[i][k + 1]);
  build((mica_model_config){.name = "detector", .input = {3, {3, 48, 64}}}, 1, false);
  ck_assert_ptr_nonnull(
      strstr(mica_graph_message(graph), "detector: pictures have 64 x 48 pixels; the sides must be multiples of 32"));
  drop();
  build((mica_model_config){.name = "detector", .input = {3, {3, 64, 64}}, .width = 12}, 1, false);
  ck_assert_ptr_nonnull(strstr(mica_graph_message(graph), "the width is 12, but must be a multiple of 8"));
  drop();
}
END_TEST

/* Enumerators and numbers outside of theirs, also where nothing is drawn. */
START_TEST(what_is_no_stem_and_no_rate) {
  mica_model_config odd = {.name = "unet", .input = {3, {1, 24, 32}}, .depth = 4};
  ck_assert(mica_value_is_null(build(odd, 1, false)));
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_SHAPE);
  ck_assert_ptr_nonnull(strstr(mica_graph_message(graph), "24, 32) can be halved evenly at most 3 times, not 4"));
  drop();
  static const int64_t depths[] = {-1, INT64_MIN, 9, INT64_MAX};
  for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
    char text[80];
    snprintf(text, sizeof text, "unet: the depth is %lld, but must be 1 to 8, or 0 for automatic",
             (long long)depths[i]);
    odd.depth = depths[i];
    ck_assert(mica_value_is_null(build(odd, 1, false)));
    ck_assert_int_eq(mica_graph_status(graph), MICA_E_INVALID);
    ck_assert_str_eq(mica_graph_message(graph), text);
    drop();
  }
  mica_model_config norm = {.name = "unet", .input = {3, {1, 32, 32}}, .norm = (mica_model_norm)7};
  ck_assert(mica_value_is_null(build(norm, 1, false)));
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_INVALID);
  drop();
  mica_model_config stem = {.name = "resnet18", .input = {3, {3, 32, 32}}, .stem = (mica_stem)99};
  ck_assert(mica_value_is_null(build(stem, 1, false)));
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_graph_message(graph), "resnet18: the stem is 99, but must be 0 to 2"));
  drop();
  for (int training = 0; training < 2; training++) {
    mica_model_config rate = {.name = "mlp", .input = {3, {1, 28, 28}}, .dropout = 7};
    ck_assert(mica_value_is_null(build(rate, 1, training)));
    ck_assert_int_eq(mica_graph_status(graph), MICA_E_INVALID);
    ck_assert_ptr_nonnull(strstr(mica_graph_message(graph), "rate is 7, but must be"));
    drop();
  }
}
END_TEST

/* Networks whose training differs from their testing: all gradients are there. */
START_TEST(training_graphs) {
  static const char *const list[] = {"densenet121", "efficientnetb0", "unet"};
  const mica_optimizer_config how = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM);
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    mica_value z = build((mica_model_config){.name = list[i], .input = {3, {3, 32, 32}}, .width = 4}, 2, true);
    mica_value y = mica_input(graph, "y", MICA_I32, i == 2 ? MICA_SHAPE(2, 32, 32) : MICA_SHAPE(2));
    mica_optimize(nn, mica_cross_entropy(z, y, NULL), &how, NULL);
    ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s: %s", list[i], mica_graph_message(graph));
    drop();
  }
}
END_TEST

START_TEST(a_model_with_a_session) {
  mica_model *model = NULL;
  float x[3 * 28 * 28], z[3 * 10];
  mica_tensor *inputs;
  for (int i = 0; i < 3 * 28 * 28; i++) x[i] = (float)(i % 17) / 17;
  ck_ok(mica_model_create(test_engine(), "lenet", &(mica_model_config){.input = MICA_SHAPE(1, 28, 28)}, &model));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(3, 1, 28, 28), x, &inputs));
  mica_session *session = mica_model_session(model);
  ck_ok(mica_session_run(session, test_queue(), (mica_feed[]){{"inputs", inputs}}, 1));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), z, sizeof z));
  for (int i = 0; i < 30; i++) ck_assert(isfinite(z[i]));
  ck_assert(z[0] != z[1] && z[0] != z[10]);
  mica_model_destroy(model);
  ck_ok(mica_model_create(test_engine(), "lenet", &(mica_model_config){.input = MICA_SHAPE(1, 28, 28), .blank = true},
                          &model));
  session = mica_model_session(model);
  ck_ok(mica_session_run(session, test_queue(), (mica_feed[]){{"inputs", inputs}}, 1));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), z, sizeof z));
  for (int i = 0; i < 30; i++) ck_assert(z[i] == 0); /* biases of zeros */
  mica_tensor_destroy(inputs);
  mica_model_destroy(model);
}
END_TEST

/* --- learning --- */

#define BATCH 8
#define SIDE 16

static mica_value with_norm(mica_nn *n, mica_value x) {
  x = mica_relu(mica_nn_batch_norm(n, "bn", mica_nn_conv(n, "conv", x, 6, 3, NULL), NULL));
  x = mica_nn_conv_transpose(n, "back", x, 4, 2, &(mica_nn_conv_config){.how = {.stride = {2, 2}}});
  x = mica_relu(mica_nn_group_norm(n, "gn", x, 2, NULL));
  return mica_nn_dense(n, "fc", mica_mean(x, MICA_AXES(2, 3), false), 2, NULL);
}

/* Light above or below. */
static void pictures(float *x, int32_t *y) {
  uint32_t state = 5;
  for (int i = 0; i < BATCH * SIDE * SIDE; i++) {
    state = state * 1664525u + 1013904223u;
    int picture = i / (SIDE * SIDE), row = i / SIDE % SIDE;
    y[picture] = picture % 2;
    x[i] = (float)(int32_t)state * 0x1p-31f + ((row < SIDE / 2) == (picture % 2 == 0) ? 1.0f : -1.0f);
  }
}

static float run(mica_session *session, const mica_feed *feeds, size_t count) {
  float loss = 0;
  ck_ok(mica_session_run(session, test_queue(), feeds, count));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), &loss, sizeof loss));
  return loss;
}

static mica_value loss_of(bool training, bool zoo) {
  mica_value z;
  if (zoo) {
    z = build((mica_model_config){.name = "cnn", .classes = 2, .input = {3, {1, SIDE, SIDE}}}, BATCH, training);
  } else {
    ck_ok(mica_graph_create(&graph));
    ck_ok(mica_nn_create(graph, &(mica_nn_config){.training = training}, &nn));
    z = with_norm(nn, mica_input(graph, "x", MICA_F32, MICA_SHAPE(BATCH, 1, SIDE, SIDE)));
  }
  return mica_cross_entropy(z, mica_input(graph, "y", MICA_I32, MICA_SHAPE(BATCH)), NULL);
}

static void learns(bool zoo, int steps) {
  float x[BATCH * SIDE * SIDE], rate = 0.01f, first = 0, last = 0;
  int32_t y[BATCH];
  mica_session *training, *testing;
  pictures(x, y);
  mica_tensor *tensors[3];
  mica_shape shape = MICA_SHAPE(BATCH, 1, SIDE, SIDE);
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, shape, x, &tensors[0]));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(BATCH), y, &tensors[1]));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SCALAR, &rate, &tensors[2]));
  mica_feed feeds[] = {{"x", tensors[0]}, {"y", tensors[1]}, {MICA_LEARNING_RATE, tensors[2]}};
  mica_optimizer_config how = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM);
  mica_value loss = loss_of(true, zoo);
  mica_optimize(nn, loss, &how, NULL);
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, &loss, 1, NULL, &training));
  ck_ok(mica_nn_initialise(nn, training));
  drop();
  for (int i = 0; i < steps; i++) {
    last = run(training, feeds, 3);
    if (i == 0) first = last;
  }
  ck_assert_msg(last < 0.3f * first, "from %g to %g", (double)first, (double)last);
  loss = loss_of(false, zoo);
  ck_ok(mica_session_create(test_engine(), graph, &loss, 1, NULL, &testing));
  ck_ok(mica_nn_share(nn, testing, training));
  float tested = run(testing, feeds, 2);
  ck_assert_msg(tested < 0.5f * first, "inference: %g", (double)tested);
  drop();
  mica_session_destroy(testing);
  mica_session_destroy(training);
  for (int i = 0; i < 3; i++) mica_tensor_destroy(tensors[i]);
}

START_TEST(the_cnn_learns) { learns(true, 20); }
END_TEST

START_TEST(norms_and_transposed_convolutions_learn) { learns(false, 60); }
END_TEST

TESTS(DEVICE, NULL, NULL, sizes, names, points_of_the_detector, what_is_no_stem_and_no_rate, training_graphs,
      a_model_with_a_session, the_cnn_learns, norms_and_transposed_convolutions_learn)
