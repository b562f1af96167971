/* labels: device slow
 *
 * Pruning: which channels go together, and that a network without them answers as the whole one with zeros in their
 * place; files and shares that make no sense. */
#include "compress/prune.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/network.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void make(network *n, const mica_model_config *config, const mica_safetensors *like) {
  const mica_shape s = config->input, shape = {.rank = 4, .dim = {1, s.dim[0], s.dim[1], s.dim[2]}};
  network_begin(n, &(mica_nn_config){.seed = 3, .like = like});
  network_end(n, config->name, mica_model_build(n->nn, mica_input(n->graph, "x", MICA_F32, shape), config));
}

/* Biases, and statistics of norms, that are not what they begin as. */
static void disturb(network *n) {
  ck_ok(mica_nn_initialise(n->nn, n->session));
  for (size_t i = 0; i < mica_nn_parameter_count(n->nn); i++) {
    mica_tensor *tensor = mica_session_parameter(n->session, mica_nn_parameter_at(n->nn, i)->name);
    float values[4096];
    if (!tensor || mica_tensor_shape(tensor).rank != 1) continue;
    const size_t count = mica_tensor_bytes(tensor) / sizeof(float);
    ck_assert_uint_le(count, 4096);
    for (size_t k = 0; k < count; k++) values[k] = 0.5f + (float)((k * 7919 + i * 131) % 97) / 97;
    ck_ok(mica_tensor_upload(mica_engine_queue(test_engine()), tensor, values, count * sizeof(float)));
  }
}

static size_t answer(network *n, float *to, size_t room) {
  const mica_tensor *z = NULL;
  mica_queue *queue = mica_engine_queue(test_engine());
  static float picture[3 * 64 * 64];
  mica_tensor *x = NULL;
  for (size_t i = 0; i < sizeof picture / sizeof *picture; i++) picture[i] = (float)((i * 37) % 101) / 50 - 1;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(1, 3, 32, 32), picture, &x));
  ck_ok(mica_session_run(n->session, queue, &(mica_feed){"x", x}, 1));
  z = mica_session_output(n->session, 0);
  ck_assert_uint_le(mica_tensor_bytes(z), room * sizeof *to);
  ck_ok(mica_tensor_download(queue, z, to, mica_tensor_bytes(z)));
  mica_tensor_destroy(x);
  return mica_tensor_bytes(z) / sizeof *to;
}

/* Prunes the network to `share` of its FLOPs and compares what is left with the whole one that has zeros there. */
static void prune(const mica_model_config *config, double share) {
  static float of_masked[8192], of_pruned[8192];
  network whole, pruned;
  mica_pruning *p = NULL;
  make(&whole, config, NULL);
  disturb(&whole);
  mica_safetensors *file = network_save(&whole, "whole.safetensors");
  ck_ok(mica_pruning_create(whole.nn, &p));
  ck_assert_double_eq(mica_pruning_flops(p), 1);
  network_score(p, file);
  ck_ok(mica_pruning_cut(p, share));
  ck_assert(mica_pruning_flops(p) <= share && mica_pruning_flops(p) > 0.7 * share);
  ck_ok(mica_pruning_write(p, file, true, files_path("masked.safetensors")));
  mica_safetensors *left = network_save_left(p, file);
  mica_safetensors_close(file);
  ck_ok(mica_nn_load(whole.nn, whole.session, files_path("masked.safetensors"), NULL));
  ck_assert_ptr_nonnull(mica_safetensors_metadata(left, MICA_PRUNED_KEY));
  make(&pruned, config, left);
  ck_ok(mica_nn_load(pruned.nn, pruned.session, files_path("left.safetensors"), NULL));
  mica_session_report before, after;
  ck_ok(mica_session_describe(whole.session, &before));
  ck_ok(mica_session_describe(pruned.session, &after));
  ck_assert_msg(after.flops < 1.1 * share * before.flops + 0.05 * before.flops, "%s: %g of %g FLOPs", config->name,
                after.flops, before.flops);
  ck_assert_int_lt(mica_nn_element_count(pruned.nn, false), mica_nn_element_count(whole.nn, false));
  const size_t count = answer(&whole, of_masked, 8192);
  ck_assert_uint_eq(answer(&pruned, of_pruned, 8192), count);
  double largest = 0, apart = 0;
  for (size_t i = 0; i < count; i++) {
    largest = fmax(largest, fabs((double)of_masked[i]));
    apart = fmax(apart, fabs((double)of_masked[i] - (double)of_pruned[i]));
  }
  /* Sums have other orders, through up to 120 layers. */
  ck_assert_msg(apart <= 2e-4 * largest && largest > 0, "%s: %g of %g", config->name, apart, largest);
  mica_safetensors_close(left);
  mica_pruning_destroy(p);
  network_drop(&pruned);
  network_drop(&whole);
}

START_TEST(a_pruned_network_is_the_masked_one) {
  static const mica_model_config configs[] = {
      {.name = "cnn", .input = {3, {3, 32, 32}}},
      {.name = "convnet", .input = {3, {3, 32, 32}}},
      {.name = "vgg11", .input = {3, {3, 32, 32}}},
      {.name = "resnet18", .input = {3, {3, 32, 32}}},
      {.name = "resnet50", .input = {3, {3, 32, 32}}},
      {.name = "mobilenetv2", .input = {3, {3, 32, 32}}},
      {.name = "efficientnetb0", .input = {3, {3, 32, 32}}},
      {.name = "densenet121", .input = {3, {3, 32, 32}}},
      {.name = "unet", .input = {3, {3, 32, 32}}, .width = 8, .depth = 2, .classes = 3},
      {.name = "detector", .input = {3, {3, 32, 32}}, .width = 16, .classes = 3},
  };
  prune(&configs[_i], 0.5);
}
END_TEST

START_TEST(residuals_and_norms_tie_filters) {
  network n;
  mica_pruning *p = NULL;
  make(&n, &(mica_model_config){.name = "resnet18", .input = {3, {3, 32, 32}}}, NULL);
  ck_ok(mica_pruning_create(n.nn, &p));
  /* Within a block: filters, a norm's four vectors, and the next layer's channels. */
  const mica_prune_group *inner = network_group(p, "layer1.0.conv1.weight", 0, NULL);
  ck_assert_ptr_nonnull(inner);
  ck_assert(inner->member_count == 6 && inner->channels == 64);
  ck_assert_ptr_eq(inner, network_group(p, "layer1.0.bn1.running_var", 0, NULL));
  ck_assert_ptr_eq(inner, network_group(p, "layer1.0.conv2.weight", 1, NULL));
  /* Around it: all that is added to the first convolution. */
  const mica_prune_group *outer = network_group(p, "conv1.weight", 0, NULL);
  ck_assert_ptr_eq(outer, network_group(p, "layer1.1.conv2.weight", 0, NULL));
  ck_assert_ptr_eq(outer, network_group(p, "layer2.0.downsample.0.weight", 1, NULL));
  ck_assert_ptr_ne(outer, network_group(p, "layer2.0.downsample.0.weight", 0, NULL));
  ck_assert_ptr_eq(network_group(p, "layer4.1.conv2.weight", 0, NULL), network_group(p, "fc.weight", 1, NULL));
  /* Pictures and classes stay. */
  ck_assert_ptr_null(network_group(p, "conv1.weight", 1, NULL));
  ck_assert_ptr_null(network_group(p, "fc.weight", 0, NULL));
  ck_assert_ptr_null(network_group(p, "conv1.weight", 2, NULL));
  ck_ok(mica_pruning_remove(p, 0, 0));
  ck_ok(mica_pruning_remove(p, 0, 0));
  ck_assert_int_eq(mica_pruning_group_at(p, 0)->left, mica_pruning_group_at(p, 0)->channels - 1);
  ck_assert_int_eq(mica_pruning_remove(p, 0, 64), MICA_E_INVALID);
  ck_assert_int_eq(mica_pruning_remove(p, 1000, 0), MICA_E_INVALID);
  mica_pruning_destroy(p);
  network_drop(&n);
}
END_TEST

START_TEST(what_cannot_be_pruned_is_said) {
  network n;
  mica_pruning *p = NULL;
  make(&n,
       &(mica_model_config){
           .name = "unet", .width = 8, .depth = 1, .norm = MICA_MODEL_NORM_GROUP, .input = {3, {3, 32, 32}}},
       NULL);
  ck_ok(mica_pruning_create(n.nn, &p));
  /* No group norm's channels are among those that may go. */
  const mica_prune_group *g;
  for (size_t i = 0; (g = mica_pruning_group_at(p, i)); i++)
    for (size_t k = 0; k < g->member_count; k++)
      ck_assert_msg(!strstr(g->members[k].name, "gn"), "%s", g->members[k].name);
  ck_assert_ptr_null(network_group(p, "down0.conv1.weight", 0, NULL));
  ck_assert_int_eq(mica_pruning_cut(p, 0.01), MICA_E_STATE);
  ck_assert_msg(strstr(mica_error_message(), "at most"), "%s", mica_error_message());
  ck_assert_int_eq(mica_pruning_cut(p, 0), MICA_E_INVALID);
  ck_assert_int_eq(mica_pruning_note(p, "none", (float[]){1}, NULL), MICA_E_NOT_FOUND);
  ck_assert_int_eq(mica_pruning_create(NULL, &p), MICA_E_INVALID);
  mica_pruning_destroy(p);
  network_drop(&n);
}
END_TEST

/* Scores by hand: two units, of which the second moves the loss less. */
START_TEST(the_least_score_goes) {
  network n;
  make(&n, &(mica_model_config){.name = "cnn", .width = 2, .classes = 3, .input = {3, {3, 32, 32}}}, NULL);
  for (int taylor = 0; taylor < 2; taylor++) {
    mica_pruning *p = NULL;
    ck_ok(mica_pruning_create(n.nn, &p));
    /* conv1: filter 0 of large weights that do not matter, filter 1 of small ones that do. */
    float weights[2 * 3 * 9], gradients[2 * 3 * 9];
    for (int i = 0; i < 54; i++) weights[i] = i < 27 ? 2 : 1, gradients[i] = i < 27 ? 0.01f : 1;
    ck_ok(mica_pruning_note(p, "conv1.weight", weights, taylor ? gradients : NULL));
    const mica_prune_group *g = network_group(p, "conv1.weight", 0, NULL);
    ck_assert_int_eq(g->channels, 2);
    mica_status status = mica_pruning_cut(p, 0.9);
    ck_ok(status);
    ck_ok(mica_nn_initialise(n.nn, n.session));
    ck_ok(mica_tensor_upload(mica_engine_queue(test_engine()), mica_session_parameter(n.session, "conv1.weight"),
                             weights, sizeof weights));
    mica_safetensors *file = network_save(&n, "two.safetensors");
    while (g->left == 2) ck_ok(mica_pruning_cut(p, mica_pruning_flops(p) * 0.99));
    mica_safetensors *left = network_save_left(p, file);
    const mica_safetensors_entry *e = mica_safetensors_find(left, "conv1.weight");
    ck_assert_int_eq(e->shape.dim[0], 1);
    ck_assert_float_eq(((const float *)e->data)[0], taylor ? 1 : 2);
    mica_safetensors_close(left);
    mica_safetensors_close(file);
    mica_pruning_destroy(p);
  }
  network_drop(&n);
}
END_TEST

/* A look ahead leaves the channels that were removed before it, whether or not the share can be reached. */
START_TEST(a_look_ahead_removes_nothing) {
  network n;
  mica_pruning *p = NULL;
  make(&n, &(mica_model_config){.name = "cnn", .width = 8, .classes = 3, .input = {3, {3, 32, 32}}}, NULL);
  ck_ok(mica_pruning_create(n.nn, &p));
  ck_ok(mica_pruning_remove(p, 0, 1));
  const mica_prune_group *g = mica_pruning_group_at(p, 0);
  const int64_t left = g->left;
  const double flops = mica_pruning_flops(p);
  ck_assert_int_eq(left, g->channels - 1);
  ck_ok(mica__pruning_foresee(p, 0.6 * flops, 2));
  ck_assert_int_eq(g->left, left);
  ck_assert_double_eq(mica_pruning_flops(p), flops);
  ck_assert_int_eq(mica__pruning_foresee(p, 1e-6, 2), MICA_E_STATE);
  ck_assert_int_eq(g->left, left);
  ck_assert_double_eq(mica_pruning_flops(p), flops);
  ck_ok(mica_pruning_remove(p, 0, 1));
  ck_assert_int_eq(g->left, left);
  mica_pruning_destroy(p);
  network_drop(&n);
}
END_TEST

TESTS(DEVICE, NULL, files_remove, LOOP(a_pruned_network_is_the_masked_one, 0, 9), residuals_and_norms_tie_filters,
      what_cannot_be_pruned_is_said, the_least_score_goes, a_look_ahead_removes_nothing)
