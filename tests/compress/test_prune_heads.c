/* labels: device single
 *
 * Pruning of sequences' networks: heads, hidden units and recurrent units go together with all that is theirs, and a
 * network without them answers as the whole one that adds nothing of theirs; what stays, and why. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/network.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 2, STEPS = 7, CLASSES = 11, ROOM = BATCH * STEPS * CLASSES };

typedef struct kind kind;
typedef mica_value build_fn(mica_nn *nn, const kind *k, mica_value x);

/* A network, and the first of its attention layers or its recurrent one. */
struct kind {
  const char *name;
  build_fn *build;
  mica_model_config config;
  const char *layer;
  int64_t heads, groups, head_size; /* of that layer; groups: those that go one by one */
};

static mica_value model(mica_nn *nn, const kind *k, mica_value x) { return mica_model_build(nn, x, &k->config); }

static mica_value translator(mica_nn *nn, const kind *k, mica_value x) {
  mica_value memory = mica_translator_encode(nn, x, &k->config);
  return mica_translator_decode(nn, x, memory, (mica_value){0}, &k->config);
}

static mica_value conformer(mica_nn *nn, const kind *k, mica_value x) {
  const mica_conformer_config c = {.self = {.heads = k->heads, .causal = true, .window = 4}, .kernel = 3};
  x = mica_nn_embedding(nn, "embed", x, CLASSES, k->config.width, NULL);
  return mica_nn_dense(nn, "head", mica_nn_conformer(nn, "block", x, &c), CLASSES, NULL);
}

static mica_value gru(mica_nn *nn, const kind *k, mica_value x) {
  const mica_nn_rnn_config c = {.kind = MICA_RNN_KIND_GRU, .layers = 2, .no_bias = true};
  x = mica_nn_embedding(nn, "embed", x, CLASSES, 8, NULL);
  return mica_nn_dense(nn, "head", mica_nn_rnn(nn, "gru", x, k->config.width, &c).y, CLASSES, NULL);
}

/* A layer of which the last state alone is read, in both directions, of LSTM its cells too. */
static mica_value last(mica_nn *nn, const kind *k, mica_value x) {
  const mica_nn_rnn_config c = {.kind = MICA_RNN_KIND_LSTM, .direction = MICA_RNN_DIRECTION_BOTH};
  const mica_value one = mica_nn_embedding(nn, "embed", x, CLASSES, 8, NULL);
  const mica_rnn_results r = mica_nn_rnn(nn, "lstm", one, k->config.width, &c);
  const mica_value states = mica_transpose(r.h, MICA_AXES(1, 0, 2));
  return mica_nn_dense(nn, "head", mica_flatten(states, 1), CLASSES, NULL);
}

/* A convolution along positions and features. */
static mica_value spatial(mica_nn *nn, const kind *k, mica_value x) {
  x = mica_nn_embedding(nn, "embed", x, CLASSES, k->config.width, NULL);
  x = mica_nn_conv(nn, "conv", mica_unsqueeze(x, MICA_AXES(1)), 4, 3, NULL);
  return mica_nn_dense(nn, "head", mica_mean(x, MICA_AXES(2, 3), false), CLASSES, NULL);
}

/* Attention with a trained table of biases, one for all heads or one a head. */
static mica_value biased(mica_nn *nn, const kind *k, mica_value x) {
  const mica_shape shape = MICA_SHAPE(1, k->config.depth ? k->heads : 1, STEPS, STEPS);
  const mica_nn_attention_config c = {.heads = k->heads, .mask = mica_nn_parameter(nn, "biases", shape, NULL)};
  x = mica_nn_embedding(nn, "embed", x, CLASSES, k->config.width, NULL);
  return mica_nn_dense(nn, "head", mica_nn_attention(nn, "attention", x, (mica_value){0}, &c), CLASSES, NULL);
}

/* A recurrent layer one of whose weights is computed, so that nobody knows which of its rows are which gate's: depth 0
 * that of inputs, 1 that of states' biases, 2 none of them. */
static mica_value computed(mica_nn *nn, const kind *k, mica_value x) {
  const int64_t width = k->config.width, rows = 4 * width;
  mica_value w = mica_nn_parameter(nn, "w", MICA_SHAPE(1, rows, 8), NULL);
  mica_value r = mica_nn_parameter(nn, "r", MICA_SHAPE(1, rows, width), NULL);
  mica_value b = mica_nn_parameter(nn, "b", MICA_SHAPE(1, 2 * rows), NULL);
  if (k->config.depth == 0)
    w = mica_reshape(mica_nn_parameter(nn, "flat", MICA_SHAPE(rows * 8), NULL), MICA_SHAPE(1, rows, 8));
  if (k->config.depth == 1)
    b = mica_reshape(mica_nn_parameter(nn, "flat", MICA_SHAPE(2, rows), NULL), MICA_SHAPE(1, 2 * rows));
  x = mica_nn_embedding(nn, "embed", x, CLASSES, 8, NULL);
  mica_value y = mica_rnn(x, w, r, b, &(mica_rnn_config){.kind = MICA_RNN_KIND_LSTM, .batch_first = true}).y;
  return mica_nn_dense(nn, "head", mica_reshape(y, MICA_SHAPE(BATCH, STEPS, width)), CLASSES, NULL);
}

#define SIZES(...)                                                                                                     \
  {                                                                                                                    \
    .classes = CLASSES, .width = 24, .sequence = {.context = 16, .layers = 2, __VA_ARGS__ }                            \
  }
static const kind kinds[] = {
    {"gpt", model, SIZES(.heads = 6), "layers.0.self_attn.in_proj", 6, 6, 4},
    {"gpt", model,
     SIZES(.heads = 6, .groups = 3, .rms_norm = true, .positions = MICA_POSITIONS_KIND_ROTARY,
           .feed_forward = MICA_FEED_FORWARD_SWIGLU),
     "layers.1.self_attn.in_proj", 6, 3, 4},
    {"encoder", model, SIZES(.heads = 4, .post_norm = true), "layers.0.self_attn.in_proj", 4, 4, 6},
    {"encoder", model, SIZES(.heads = 3, .pooled = true), "layers.1.self_attn.in_proj", 3, 3, 8},
    {"translator", translator, SIZES(.heads = 4, .groups = 2), "decoder.layers.1.multihead_attn.q_proj", 4, 2, 6},
    {"conformer", conformer, SIZES(.heads = 4), "block.self_attn.in_proj", 4, 4, 6},
    {"tagger", model, SIZES(.pooled = true), NULL, 0, 0, 0},
    {"gru", gru, SIZES(.heads = 0), NULL, 0, 0, 0},
    {"tcn", model, SIZES(.heads = 0), NULL, 0, 0, 0},
    {"last", last, SIZES(.heads = 0), NULL, 0, 0, 0},
};
enum { KINDS = sizeof kinds / sizeof *kinds, WITH_HEADS = 6, GROUPED = 1, TAGGER = 6 };

static mica_value build(mica_nn *nn, const kind *k, mica_value x) {
  kind named = *k;
  named.config.name = k->name;
  return k->build(nn, &named, x);
}

static void make(network *n, const kind *k, const mica_safetensors *like) {
  network_begin(n, &(mica_nn_config){.seed = 3, .like = like});
  network_end(n, k->name, build(n->nn, k, mica_input(n->graph, "x", MICA_I32, MICA_SHAPE(BATCH, STEPS))));
}

/* Values of all weights that differ, biases too, as large as makes answers differ. */
static void disturb(network *n) {
  for (size_t i = 0; i < mica_nn_parameter_count(n->nn); i++) {
    mica_tensor *tensor = mica_session_parameter(n->session, mica_nn_parameter_at(n->nn, i)->name);
    if (!tensor) continue;
    const size_t count = mica_tensor_bytes(tensor) / sizeof(float);
    const bool vector = mica_tensor_shape(tensor).rank == 1;
    float *values = malloc(count * sizeof *values);
    for (size_t k = 0; k < count; k++)
      values[k] = (vector ? 0.5f : -0.5f) + (float)((k * 7919 + i * 131 + k * k % 31) % 97) / 97;
    ck_ok(mica_tensor_upload(test_queue(), tensor, values, count * sizeof *values));
    free(values);
  }
}

static size_t answer(network *n, float *to) {
  int32_t ids[BATCH * STEPS];
  mica_tensor *x = NULL;
  for (int i = 0; i < BATCH * STEPS; i++) ids[i] = i * 5 % CLASSES;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(BATCH, STEPS), ids, &x));
  ck_ok(mica_session_run(n->session, test_queue(), &(mica_feed){"x", x}, 1));
  const mica_tensor *z = mica_session_output(n->session, 0);
  ck_assert_uint_le(mica_tensor_bytes(z), ROOM * sizeof *to);
  ck_ok(mica_tensor_download(test_queue(), z, to, mica_tensor_bytes(z)));
  mica_tensor_destroy(x);
  return mica_tensor_bytes(z) / sizeof *to;
}

/* The networks' answers, of sums in another order. */
static void compare(const char *name, network *whole, network *pruned) {
  static float a[ROOM], b[ROOM];
  const size_t count = answer(whole, a);
  double largest = 0, apart = 0, wide = 0;
  ck_assert_uint_eq(answer(pruned, b), count);
  for (size_t i = 0; i < count; i++) {
    largest = fmax(largest, fabs((double)a[i]));
    apart = fmax(apart, fabs((double)a[i] - (double)b[i]));
    wide = fmax(wide, fabs((double)a[i] - (double)a[0]));
  }
  ck_assert_msg(apart <= 1e-5 * largest && wide > 1e-3 * largest, "%s: %g of %g", name, apart, largest);
}

/* What is left, written, built and loaded. */
static mica_safetensors *make_pruned(network *n, const kind *k, const mica_pruning *p, const mica_safetensors *whole) {
  mica_safetensors *file = network_save_left(p, whole);
  make(n, k, file);
  ck_ok(mica_nn_load(n->nn, n->session, files_path("left.safetensors"), NULL));
  return file;
}

/* The output projection beside "....in_proj" or "....q_proj". */
static const char *out_of(const kind *k) {
  static char name[96];
  snprintf(name, sizeof name, "%.*s.out_proj.weight", (int)(strrchr(k->layer, '.') - k->layer), k->layer);
  return name;
}

/* Half of the FLOPs go, by magnitude, and the whole network with zeros in their place says the same. */
START_TEST(a_pruned_network_is_the_masked_one) {
  const kind *k = &kinds[_i];
  network whole, pruned;
  mica_pruning *p = NULL;
  make(&whole, k, NULL);
  disturb(&whole);
  mica_safetensors *file = network_save(&whole, "whole.safetensors");
  ck_ok(mica_pruning_create_of(whole.nn, &whole.y, 1, &p));
  network_score(p, file);
  ck_ok(mica_pruning_cut(p, 0.5));
  ck_ok(mica_pruning_write(p, file, true, files_path("masked.safetensors")));
  ck_ok(mica_nn_load(whole.nn, whole.session, files_path("masked.safetensors"), NULL));
  mica_safetensors *left = make_pruned(&pruned, k, p, file);
  compare(k->name, &whole, &pruned);
  mica_session_report before, after;
  ck_ok(mica_session_describe(whole.session, &before));
  ck_ok(mica_session_describe(pruned.session, &after));
  ck_assert_msg(after.flops < 0.56 * before.flops, "%s: %g of %g FLOPs", k->name, after.flops, before.flops);
  mica_safetensors_close(left);
  mica_safetensors_close(file);
  mica_pruning_destroy(p);
  network_drop(&pruned);
  network_drop(&whole);
}
END_TEST

/* Zeros in the columns of the output projection that one group's heads have. */
static void silence(network *n, const kind *k, int64_t group) {
  mica_tensor *out = mica_session_parameter(n->session, out_of(k));
  const mica_shape s = mica_tensor_shape(out);
  const int64_t columns = k->heads / k->groups * k->head_size;
  float *values = malloc(mica_tensor_bytes(out));
  ck_assert_int_eq(s.dim[1], k->heads * k->head_size);
  ck_ok(mica_tensor_download(test_queue(), out, values, mica_tensor_bytes(out)));
  for (int64_t r = 0; r < s.dim[0]; r++)
    for (int64_t c = group * columns; c < (group + 1) * columns; c++) values[r * s.dim[1] + c] = 0;
  ck_ok(mica_tensor_upload(test_queue(), out, values, mica_tensor_bytes(out)));
  free(values);
}

/* A network without a head is the whole one to which the head adds nothing, whichever it is. */
START_TEST(a_head_that_goes_adds_nothing) {
  const kind *k = &kinds[_i];
  for (int64_t group = 0; group < k->groups; group++) {
    network whole, pruned;
    mica_pruning *p = NULL;
    size_t at = 0;
    make(&whole, k, NULL);
    disturb(&whole);
    mica_safetensors *file = network_save(&whole, "whole.safetensors");
    ck_ok(mica_pruning_create(whole.nn, &p));
    const mica_prune_group *g = network_group(p, out_of(k), 1, &at);
    ck_assert_msg(g && g->channels == k->groups, "%s: %s", k->name, k->layer);
    ck_ok(mica_pruning_remove(p, at, group));
    mica_safetensors *left = make_pruned(&pruned, k, p, file);
    const mica_safetensors_entry *e = mica_safetensors_find(left, out_of(k));
    ck_assert_int_eq(e->shape.dim[1], (k->groups - 1) * k->heads / k->groups * k->head_size);
    silence(&whole, k, group);
    compare(k->name, &whole, &pruned);
    mica_safetensors_close(left);
    mica_safetensors_close(file);
    mica_pruning_destroy(p);
    network_drop(&pruned);
    network_drop(&whole);
  }
}
END_TEST

/* Groups of an untrained network, in which those named by `layer` are `channels`; 0: there is none. */
static void expect(const kind *k, const char *name, int32_t axis, int64_t channels, size_t members) {
  network n;
  mica_pruning *p = NULL;
  make(&n, k, NULL);
  ck_ok(mica_pruning_create(n.nn, &p));
  const mica_prune_group *g = network_group(p, name, axis, NULL);
  ck_assert_msg((g ? g->channels : 0) == channels, "%s, %s: %lld", k->name, name, (long long)(g ? g->channels : 0));
  if (g) ck_assert_uint_eq(g->member_count, members);
  mica_pruning_destroy(p);
  network_drop(&n);
}

START_TEST(what_goes_together) {
  /* Queries, keys and values, their biases, and the projection of the result; units of both matrices. */
  expect(&kinds[0], "layers.0.self_attn.in_proj.weight", 0, 6, 3);
  expect(&kinds[0], "layers.1.linear1.weight", 0, 96, 3);
  expect(&kinds[GROUPED], "layers.0.linear2.weight", 1, 96, 3);
  expect(&kinds[GROUPED], "layers.0.self_attn.out_proj.weight", 1, 3, 3);
  /* Units of both directions, four gates of each: 4 tensors a direction, of one two axes, and the next layer. */
  expect(&kinds[TAGGER], "lstm.weight_hh_l0_reverse", 1, 24, 12);
  expect(&kinds[TAGGER], "lstm.weight_ih_l1", 1, 24, 12);
}
END_TEST

START_TEST(what_stays) {
  /* One head, one group that all heads share, and heads that a mask tells apart. */
  const kind one = {"gpt", model, SIZES(.heads = 1), NULL, 0, 0, 0};
  const kind shared = {"gpt", model, SIZES(.heads = 4, .groups = 1), NULL, 0, 0, 0};
  const kind apart = {"gpt", model, SIZES(.heads = 4, .positions = MICA_POSITIONS_KIND_ALIBI), NULL, 0, 0, 0};
  const kind *const all[] = {&one, &shared, &apart};
  for (int i = 0; i < 3; i++) {
    expect(all[i], "layers.0.self_attn.in_proj.weight", 0, 0, 0);
    expect(all[i], "layers.0.self_attn.out_proj.weight", 1, 0, 0);
    expect(all[i], "layers.0.linear1.weight", 0, 96, 3);
  }
  const kind features = {"spatial", spatial, SIZES(.heads = 0), NULL, 0, 0, 0};
  expect(&features, "embed.weight", 1, 0, 0);
  expect(&features, "conv.weight", 0, 4, 3);
  /* Rows and columns of biases, and heads that have their own. */
  for (int own = 0; own < 2; own++) {
    kind table = {"biased", biased, SIZES(.heads = 6), NULL, 6, 6, 4};
    table.config.depth = own;
    for (int32_t axis = 1; axis < 4; axis++) expect(&table, "biases", axis, 0, 0);
    expect(&table, "attention.out_proj.weight", 1, own ? 0 : 6, 3);
  }
  /* Units whose gates' rows are made of other numbers. */
  for (int64_t i = 0; i < 3; i++) {
    kind k = {"computed", computed, SIZES(.heads = 0), NULL, 0, 0, 0};
    k.config.depth = i;
    expect(&k, "r", 1, i == 2 ? 24 : 0, 5);
    expect(&k, "r", 2, i == 2 ? 24 : 0, 5);
    expect(&k, "head.weight", 1, i == 2 ? 24 : 0, 5);
  }
  /* What residuals add up, the vocabulary and positions; a table that is tied has no channels either. */
  expect(&kinds[0], "embed.weight", 0, 0, 0);
  expect(&kinds[0], "embed.weight", 1, 0, 0);
  expect(&kinds[0], "positions.weight", 0, 0, 0);
  expect(&kinds[0], "layers.0.self_attn.out_proj.weight", 0, 0, 0);
}
END_TEST

/* However many samples there may be, FLOPs of products and of attention are those of whole sequences: half of them are
 * half of what a session counts. */
START_TEST(open_batches_count_as_one) {
  const kind k = {"gpt", model, SIZES(.heads = 6, .hidden = 24), NULL, 0, 0, 0};
  mica_pruning *p = NULL;
  double shares[2];
  for (int open = 0; open < 2; open++) {
    network n;
    size_t at = 0;
    network_begin(&n, NULL);
    build(n.nn, &k, mica_input(n.graph, "x", MICA_I32, MICA_SHAPE(open ? MICA_DYNAMIC : 1, 16)));
    ck_ok(mica_pruning_create(n.nn, &p));
    ck_assert_ptr_nonnull(network_group(p, "layers.0.linear1.weight", 0, &at));
    for (int unit = 0; unit < 12; unit++) ck_ok(mica_pruning_remove(p, at, unit));
    shares[open] = mica_pruning_flops(p);
    mica_pruning_destroy(p);
    network_drop(&n);
  }
  ck_assert_double_eq_tol(shares[0], shares[1], 1e-12);
  ck_assert_double_lt(shares[1], 0.95);
}
END_TEST

/* Steps as many as features, heads or samples are none of them: the groups are those of any other number of steps. */
START_TEST(equal_extents_are_told_apart) {
  static const int64_t steps[] = {24, 6, 4, 16, 1, 72}; /* the width, heads, a head's features; none, one; the rows */
  const kind *k = &kinds[0];
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
    for (int64_t batch = MICA_DYNAMIC; batch <= steps[i]; batch += batch < 0 ? 2 : steps[i] > 1 ? steps[i] - 1 : 1) {
      kind sized = *k;
      network n;
      mica_pruning *p = NULL;
      sized.config.sequence.context = steps[i];
      network_begin(&n, NULL);
      build(n.nn, &sized, mica_input(n.graph, "x", MICA_I32, MICA_SHAPE(batch, steps[i])));
      ck_ok(mica_pruning_create(n.nn, &p));
      const mica_prune_group *heads = network_group(p, "layers.1.self_attn.out_proj.weight", 1, NULL);
      ck_assert_msg(heads && heads->channels == 6 && heads->member_count == 3, "%lld steps, batch %lld",
                    (long long)steps[i], (long long)batch);
      const mica_prune_group *units = network_group(p, "layers.0.linear1.weight", 0, NULL);
      ck_assert_msg(units && units->channels == 96 && units->member_count == 3, "%lld steps, batch %lld",
                    (long long)steps[i], (long long)batch);
      ck_assert_ptr_null(mica_pruning_group_at(p, 4)); /* two a block */
      mica_pruning_destroy(p);
      network_drop(&n);
    }
}
END_TEST

/* A file whose columns are no whole groups of heads. */
START_TEST(a_file_of_half_heads_is_refused) {
  const float row[24 * 24] = {0};
  const mica_safetensors_entry e = {.name = "layers.0.self_attn.in_proj.weight",
                                    .dtype = MICA_F32,
                                    .shape = MICA_SHAPE(10, 24),
                                    .data = row,
                                    .bytes = sizeof(float) * 240};
  mica_safetensors *file = NULL;
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  ck_ok(mica_safetensors_write(files_path("half.safetensors"), &e, 1, NULL, 0));
  ck_ok(mica_safetensors_open(files_path("half.safetensors"), &file));
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.like = file}, &nn));
  build(nn, &kinds[0], mica_input(graph, "x", MICA_I32, MICA_SHAPE(BATCH, STEPS)));
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_graph_message(graph), "must be a multiple of 12, the width of 3 heads of size 4"), "%s",
                mica_graph_message(graph));
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  mica_safetensors_close(file);
}
END_TEST

TESTS(DEVICE, NULL, files_remove, LOOP(a_pruned_network_is_the_masked_one, 0, KINDS),
      LOOP(a_head_that_goes_adds_nothing, 0, WITH_HEADS), what_goes_together, what_stays, open_batches_count_as_one,
      equal_extents_are_told_apart, a_file_of_half_heads_is_refused)
