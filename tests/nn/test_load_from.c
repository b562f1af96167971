/* labels: device single
 *
 * Parameters out of sources of weights: names, slices, transposes, types, and what does not fit. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/source.h"

#include <math.h>
#include <mica/gguf.h>
#include <mica/mica.h>
#include <mica/safetensors.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNITS 5
#define INPUTS 3
#define MOST 64

static mica_graph *graph;
static mica_nn *nn;
static mica_session *session;
static mica_weights *weights;
static float numbers[MOST], *wide;
static uint16_t halves[MOST];

static void teardown(void) {
  mica_weights_close(weights);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  free(wide);
  weights = NULL;
  session = NULL;
  nn = NULL;
  graph = NULL;
  wide = NULL;
}

static void start(void) {
  for (int i = 0; i < MOST; i++) numbers[i] = (float)(i - 20) / 4;
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.name_prefix = "net."}, &nn));
}

static void finish(mica_value output) {
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, &output, 1, NULL, &session));
}

/* Two layers "blocks.0" and "blocks.12", of UNITS x INPUTS and INPUTS x UNITS, and a norm. */
static void setup(void) {
  start();
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(2, INPUTS));
  mica_value h = mica_nn_dense(nn, "blocks.0", x, UNITS, NULL);
  h = mica_nn_dense(nn, "blocks.12", h, INPUTS, &(mica_dense_config){.no_bias = true});
  finish(mica_nn_rms_norm(nn, "norm", h, NULL));
}

/* Element i of a parameter. */
static float element(const char *name, size_t i) {
  float values[MOST];
  mica_tensor *t = mica_session_parameter(session, name);
  ck_assert_ptr_nonnull(t);
  ck_assert_uint_le(mica_tensor_bytes(t), sizeof values);
  ck_ok(mica_tensor_download(test_queue(), t, values, mica_tensor_bytes(t)));
  return values[i];
}

static void refused(mica_status status, const mica_name_map *map, const char *reason) {
  const mica_status got = mica_nn_load_from(nn, session, weights, map, NULL);
  ck_assert_msg(got == status && strstr(mica_error_message(), reason), "%d: %s", got, mica_error_message());
}

#define MAP(...)                                                                                                       \
  (&(mica_name_map){.rows = (mica_name_row[]){__VA_ARGS__},                                                            \
                    .count = sizeof((mica_name_row[]){__VA_ARGS__}) / sizeof(mica_name_row)})

static const mica_shape wide_shape = {2, {UNITS, INPUTS}}, tall_shape = {2, {INPUTS, UNITS}};

/* --- names --- */

START_TEST(equal_names_need_no_map) {
  weights =
      source_open((mica_safetensors_entry[]){source_tensor("blocks.0.weight", MICA_F32, wide_shape, numbers),
                                             source_tensor("blocks.0.bias", MICA_F32, MICA_SHAPE(UNITS), numbers + 1),
                                             source_tensor("blocks.12.weight", MICA_F32, tall_shape, numbers + 2),
                                             source_tensor("norm.weight", MICA_F32, MICA_SHAPE(INPUTS), numbers + 3),
                                             source_tensor("more", MICA_F32, MICA_SHAPE(1), numbers)},
                  5);
  ck_ok(mica_nn_load_from(nn, session, weights, NULL, NULL));
  for (size_t i = 0; i < UNITS * INPUTS; i++) {
    ck_assert(element("net.blocks.0.weight", i) == numbers[i]);
    ck_assert(element("net.blocks.12.weight", i) == numbers[i + 2]);
  }
  ck_assert(element("net.blocks.0.bias", 4) == numbers[5] && element("net.norm.weight", 2) == numbers[5]);
}
END_TEST

static const mica_safetensors_entry *published(void) {
  static mica_safetensors_entry entries[4];
  entries[0] = source_tensor("model.h.0.w", MICA_F32, wide_shape, numbers);
  entries[1] = source_tensor("model.h.0.b", MICA_F32, MICA_SHAPE(UNITS), numbers + 1);
  entries[2] = source_tensor("model.h.12.w", MICA_F32, tall_shape, numbers + 2);
  entries[3] = source_tensor("ln_f", MICA_F32, MICA_SHAPE(INPUTS), numbers + 3);
  return entries;
}

START_TEST(a_number_in_a_name_stands_for_itself) {
  weights = source_open(published(), 4);
  ck_ok(mica_nn_load_from(
      nn, session, weights,
      MAP({.own = "blocks.#.weight", .source = "h.#.w|model.h.#.w"}, {.own = "blocks.#.bias", .source = "model.h.#.b"},
          {.own = "norm.weight", .source = "nothing"}, {.own = "norm.weight", .source = "ln_f", .add = 1}, ),
      NULL));
  ck_assert(element("net.blocks.0.weight", 7) == numbers[7] && element("net.blocks.12.weight", 7) == numbers[9]);
  ck_assert(element("net.blocks.0.bias", 0) == numbers[1] && element("net.norm.weight", 1) == numbers[4] + 1);
}
END_TEST

/* Row u of blocks.0.weight is the tensor "part.u"; one of them has 16 bits. */
START_TEST(several_tensors_become_one) {
  static const mica_name_row rows[] = {{.own = "blocks.0.weight", .source = "no.@|part.@", .stacked = UNITS}};
  static const char *const names[UNITS] = {"part.0", "part.1", "part.2", "part.3", "part.4"};
  mica_name_map map = {.rows = rows, .count = 1, .complete = true};
  mica_safetensors_entry entries[UNITS];
  size_t missing = 0;
  for (int u = 0; u < UNITS; u++)
    entries[u] = source_tensor(names[u], MICA_F32, MICA_SHAPE(INPUTS), numbers + INPUTS * u);
  for (int i = 0; i < INPUTS; i++) memcpy(&halves[i], (const char *)&numbers[2 * INPUTS + i] + 2, 2);
  entries[2] = source_tensor(names[2], MICA_BF16, MICA_SHAPE(INPUTS), halves);
  weights = source_open(entries, UNITS);
  ck_ok(mica_nn_load_from(nn, session, weights, &map, &missing));
  for (size_t i = 0; i < UNITS * INPUTS; i++) ck_assert_float_eq(element("net.blocks.0.weight", i), numbers[i]);
  mica_weights_close(weights);
  weights = source_open(entries, UNITS - 1);
  refused(MICA_E_FORMAT, &map, "tensor 4 (from 0) of 5 for 'blocks.0.weight' is missing");
  entries[3].shape = MICA_SHAPE(1, INPUTS);
  mica_weights_close(weights);
  weights = source_open(entries, UNITS);
  ck_assert_int_eq(mica_nn_load_from(nn, session, weights, &map, &missing), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "the tensor 'part.3' is (1, 3), not (3)"));
  const mica_name_map other = {.rows = &(mica_name_row){.own = "blocks.0.weight", .source = "part.@", .stacked = 4},
                               .count = 1};
  ck_assert_int_eq(mica_nn_load_from(nn, session, weights, &other, &missing), MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "from 4 tensors, but the parameter's shape is "));
}
END_TEST

/* One tensor is every row of a weight, and another parameter too; it is noted once. */
START_TEST(parts_may_be_one_tensor) {
  const mica_name_map map = {.rows = (mica_name_row[]){{.own = "blocks.0.weight", .source = "part", .stacked = UNITS},
                                                       {.own = "norm.weight", .source = "part"}},
                             .count = 2};
  mica_safetensors_entry part = source_tensor("part", MICA_F32, MICA_SHAPE(INPUTS), numbers);
  size_t missing = 0;
  weights = source_open(&part, 1);
  ck_ok(mica_nn_load_from(nn, session, weights, &map, &missing));
  for (size_t i = 0; i < UNITS * INPUTS; i++)
    ck_assert_float_eq(element("net.blocks.0.weight", i), numbers[i % INPUTS]);
  ck_assert_float_eq(element("net.norm.weight", 2), numbers[2]);
}
END_TEST

START_TEST(what_is_missing_is_counted_or_refused) {
  size_t missing = 9;
  const mica_name_map *map = MAP({.own = "blocks.#.weight", .source = "model.h.#.w"});
  weights = source_open(published(), 3);
  refused(MICA_E_FORMAT, map,
          "source.safetensors: the file is of another network: there is no tensor for 'blocks.0.bias'");
  ck_assert(element("net.blocks.0.weight", 3) == 0);
  ck_ok(mica_nn_load_from(nn, session, weights, map, &missing));
  ck_assert_uint_eq(missing, 2);
  ck_assert(element("net.blocks.0.weight", 3) == numbers[3] && element("net.blocks.0.bias", 3) == 0);
}
END_TEST

START_TEST(a_complete_map_leaves_no_tensor) {
  size_t missing = 0;
  mica_name_row rows[] = {{.own = "blocks.#.weight", .source = "model.h.#.w"},
                          {.own = "blocks.#.bias", .source = "model.h.#.b"},
                          {.source = "buffers.#.mask|ln_#"},
                          {.source = "ln_f"}};
  mica_name_map map = {.rows = rows, .count = 4, .complete = true};
  weights = source_open(published(), 4);
  ck_ok(mica_nn_load_from(nn, session, weights, &map, &missing));
  ck_assert_uint_eq(missing, 1);
  map.count = 3;
  ck_assert_int_eq(mica_nn_load_from(nn, session, weights, &map, &missing), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "this network has no parameter for the tensor 'ln_f'"));
}
END_TEST

/* --- forms --- */

START_TEST(rows_of_a_tensor_and_its_transpose) {
  weights =
      source_open((mica_safetensors_entry[]){source_tensor("qkv", MICA_F32, MICA_SHAPE(UNITS + 4, INPUTS), numbers),
                                             source_tensor("b", MICA_F32, MICA_SHAPE(UNITS + 4), numbers),
                                             source_tensor("t", MICA_F32, MICA_SHAPE(UNITS, INPUTS + 3), numbers),
                                             source_tensor("n", MICA_F32, MICA_SHAPE(1, INPUTS, 1), numbers + 3)},
                  4);
  ck_ok(mica_nn_load_from(
      nn, session, weights,
      MAP({.own = "blocks.0.weight", .source = "qkv", .first = 4, .of = UNITS + 4},
          {.own = "blocks.0.bias", .source = "b", .first = 2, .of = UNITS + 4},
          {.own = "blocks.12.weight", .source = "t", .transposed = true, .first = 1, .of = INPUTS + 3},
          {.own = "norm.weight", .source = "n", .reshaped = true}),
      NULL));
  for (size_t i = 0; i < UNITS * INPUTS; i++) {
    ck_assert(element("net.blocks.0.weight", i) == numbers[4 * INPUTS + i]);
    ck_assert(element("net.blocks.12.weight", i) == numbers[(i % UNITS) * (INPUTS + 3) + 1 + i / UNITS]);
  }
  ck_assert(element("net.blocks.0.bias", 0) == numbers[2] && element("net.norm.weight", 0) == numbers[3]);
}
END_TEST

START_TEST(halves_are_widened) {
  const mica_dtype dtype = _i ? MICA_BF16 : MICA_F16;
  static double doubles[INPUTS] = {1, 0.1, -3};
  for (int i = 0; i < MOST; i++) halves[i] = (uint16_t)(_i ? 0x3f80 + i : 0x3c00 + i);
  halves[0] = 1;
  halves[1] = 0x83ff;
  weights = source_open((mica_safetensors_entry[]){source_tensor("blocks.0.weight", dtype, wide_shape, halves),
                                                   source_tensor("blocks.0.bias", dtype, MICA_SHAPE(UNITS), halves + 3),
                                                   source_tensor("blocks.12.weight", dtype, wide_shape, halves),
                                                   source_tensor("norm.weight", MICA_F64, MICA_SHAPE(INPUTS), doubles)},
                        4);
  ck_ok(mica_nn_load_from(
      nn, session, weights,
      MAP({.own = "blocks.12.weight", .source = "blocks.12.weight", .transposed = true, .add = 0.5}), NULL));
  const float unit = _i ? 0x1p-7F : 0x1p-10F;
  ck_assert(element("net.blocks.0.weight", 0) == (_i ? 0x1p-133F : 0x1p-24F));
  ck_assert(element("net.blocks.0.weight", 1) == (_i ? -0x1.fep-120F : -1023 * 0x1p-24F));
  ck_assert(element("net.blocks.0.bias", 2) == 1 + 5 * unit);
  ck_assert(element("net.blocks.12.weight", 1) == 1 + 3 * unit + 0.5F);
  ck_assert(element("net.norm.weight", 1) == 0.1F);
}
END_TEST

/* More elements than are converted at a time. */
START_TEST(large_tensors_are_read_in_parts) {
  const int64_t rows = 1031, columns = 517;
  teardown();
  start();
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(1, columns));
  finish(mica_nn_dense(nn, "a", x, rows, &(mica_dense_config){.no_bias = true}));
  const size_t count = (size_t)(rows * columns);
  uint16_t *narrow = malloc(count * sizeof *narrow);
  wide = malloc(count * sizeof *wide);
  for (size_t i = 0; i < count; i++) narrow[i] = (uint16_t)(i * 40503 >> 3 & 0xbfff);
  weights = source_open((mica_safetensors_entry[]){source_tensor(
                            "a.weight", MICA_BF16, _i ? MICA_SHAPE(columns, rows) : MICA_SHAPE(rows, columns), narrow)},
                        1);
  ck_ok(
      mica_nn_load_from(nn, session, weights, MAP({.own = "a.weight", .source = "a.weight", .transposed = _i}), NULL));
  ck_ok(
      mica_tensor_download(test_queue(), mica_session_parameter(session, "net.a.weight"), wide, count * sizeof *wide));
  for (size_t i = 0; i < count; i++) {
    const size_t at = _i ? i % (size_t)columns * (size_t)rows + i / (size_t)columns : i;
    uint32_t bits;
    memcpy(&bits, &wide[i], sizeof bits);
    ck_assert_uint_eq(bits, (uint32_t)narrow[at] << 16);
  }
  free(narrow);
}
END_TEST

/* --- what does not fit --- */

START_TEST(what_does_not_fit_is_refused) {
  static int32_t integers[UNITS * INPUTS];
  float bad[INPUTS] = {1, INFINITY, 2};
  weights = source_open((mica_safetensors_entry[]){source_tensor("i", MICA_I32, wide_shape, integers),
                                                   source_tensor("b", MICA_F32, MICA_SHAPE(UNITS), numbers),
                                                   source_tensor("w", MICA_F32, wide_shape, numbers),
                                                   source_tensor("bad", MICA_F32, MICA_SHAPE(INPUTS), bad)},
                        4);
  refused(MICA_E_FORMAT, MAP({.own = "blocks.#.weight", .source = "i"}), "'i' is I32, which 'blocks.0.weight' (f32)");
  refused(MICA_E_FORMAT, MAP({.own = "blocks.0.weight", .source = "b"}),
          "the tensor 'b' is (5), not (5, 3) as 'blocks.0.weight' needs");
  refused(MICA_E_FORMAT, MAP({.own = "blocks.0.weight", .source = "w", .of = 7}), "is (5, 3), not (7, 3)");
  refused(MICA_E_FORMAT, MAP({.own = "blocks.0.weight", .source = "w", .transposed = true}), "is (5, 3), not (3, 5)");
  refused(MICA_E_INVALID, MAP({.own = "blocks.0.weight", .source = "w", .first = 1, .of = UNITS}),
          "from row 1 on, but the tensor has only 5 rows");
  refused(MICA_E_FORMAT, MAP({.own = "blocks.0.weight", .source = "b", .reshaped = true}), "'b' is (5), not");
  refused(MICA_E_INVALID,
          MAP({.own = "blocks.0.weight", .source = "w"}, {.own = "blocks.0.bias", .source = "b", .transposed = true}),
          "the map reads 'blocks.0.bias' transposed, but the parameter's shape, (5), does not allow this");
  refused(MICA_E_FORMAT,
          MAP({.own = "blocks.0.weight", .source = "w"}, {.own = "blocks.0.bias", .source = "b"},
              {.own = "blocks.12.weight", .source = "w", .transposed = true}, {.own = "norm.weight", .source = "bad"}),
          "element 1 of the weight 'norm.weight' (read from the tensor 'bad') is infinite or NaN");
  ck_assert(element("net.blocks.0.weight", 1) == 0);
}
END_TEST

START_TEST(numbers_of_matrices_are_checked_on_demand) {
  size_t missing = 0;
  mica_name_row row = {.own = "blocks.0.weight", .source = "w"};
  mica_name_map map = {.rows = &row, .count = 1};
  numbers[14] = NAN;
  weights = source_open((mica_safetensors_entry[]){source_tensor("w", MICA_F32, wide_shape, numbers)}, 1);
  ck_ok(mica_nn_load_from(nn, session, weights, &map, &missing));
  map.finite = true;
  ck_assert_int_eq(mica_nn_load_from(nn, session, weights, &map, &missing), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "element 14"));
}
END_TEST

START_TEST(rows_that_cannot_be_are_refused) {
  size_t missing = 0;
  weights = source_open(published(), 4);
  refused(MICA_E_INVALID, MAP({.own = "a"}), "row 0 of the map has no source");
  refused(MICA_E_INVALID, MAP({.own = "a.#", .source = "b|b.#.#"}), "'b.#.#' has more '#' than a.#");
  refused(MICA_E_INVALID, MAP({.own = "#.#.#.#.#", .source = "b"}), "has more than 4 '#'");
  refused(MICA_E_INVALID, MAP({.own = "a", .source = "b", .first = 3, .of = 3}), "first (3) must be below of (3)");
  refused(MICA_E_INVALID, MAP({.own = "a", .source = "b", .first = -1}), "first (-1) must be below of (0)");
  refused(MICA_E_INVALID, MAP({.own = "a", .source = "b", .of = -1}), "first (0) must be below of (-1)");
  refused(MICA_E_INVALID, MAP({.own = "a", .source = "b", .transposed = true, .reshaped = true}), "not both");
  refused(MICA_E_INVALID, MAP({.own = "a", .source = "b.@", .stacked = -1}), "stacked is -1");
  refused(MICA_E_INVALID, MAP({.own = "a", .source = "b.@", .stacked = 2, .add = 1}), "stacked tensors cannot be cut");
  refused(MICA_E_INVALID, &(mica_name_map){.count = 1}, "rows are NULL");
  ck_assert_int_eq(mica_nn_load_from(NULL, session, weights, NULL, &missing), MICA_E_INVALID);
  ck_assert_int_eq(mica_nn_load_from(nn, NULL, weights, NULL, &missing), MICA_E_INVALID);
  ck_assert_int_eq(mica_nn_load_from(nn, session, NULL, NULL, &missing), MICA_E_INVALID);
}
END_TEST

START_TEST(blocks_are_refused) {
  const unsigned char blocks[INPUTS * 18] = {0};
  const mica_weight_entry entry = {.name = "norm.weight",
                                   .block = MICA_BLOCK_Q4_0,
                                   .shape = MICA_SHAPE(INPUTS, 32),
                                   .data = blocks,
                                   .bytes = sizeof blocks};
  size_t missing = 0;
  ck_ok(mica_gguf_write(files_path("blocks.gguf"), NULL, 0, &entry, 1));
  ck_ok(mica_weights_open(files_path("blocks.gguf"), &weights));
  ck_assert_int_eq(mica_nn_load_from(nn, session, weights, NULL, &missing), MICA_E_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "q4_0"));
}
END_TEST

/* --- bindings --- */

#define LAYERS 3
#define WIDE 96

static mica_block held_block;

static bool hold(void *user, const char *name, mica_shape shape, mica_nn_held *held) {
  (void)user, (void)name, (void)shape;
  *held = (mica_nn_held){.dtype = MICA_BF16, .block = held_block};
  return true;
}

/* A network of LAYERS layers of WIDE units, whose weights are held. */
static mica_value bound_network(void) {
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.hold = hold, .name_prefix = "net."}, &nn));
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(2, WIDE));
  for (int i = 0; i < LAYERS; i++) {
    char name[8];
    snprintf(name, sizeof name, "l%d", i);
    x = mica_nn_dense(nn, name, x, WIDE, NULL);
  }
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  return x;
}

/* GGUF puts tensors at multiples of 32: of three weights of 18 WIDE^2 / 32 bytes, or 2 WIDE^2, some are at multiples of
 * 64. Weight i is all (i + 1) / 64, bias i is i. */
static void write_source(void) {
  static float values[WIDE * WIDE], bias[LAYERS][WIDE];
  static unsigned char data[LAYERS][2 * WIDE * WIDE];
  mica_weight_entry entries[2 * LAYERS];
  static const char *const names[] = {"l0.weight", "l1.weight", "l2.weight", "l0.bias", "l1.bias", "l2.bias"};
  for (int i = 0; i < LAYERS; i++) {
    for (int k = 0; k < WIDE * WIDE; k++) values[k] = (float)(i + 1) / 64;
    for (int k = 0; k < WIDE; k++) bias[i][k] = (float)i;
    const bool blocks = held_block != MICA_BLOCK_NONE;
    entries[i] =
        (mica_weight_entry){.name = names[i],
                            .dtype = blocks ? MICA_DTYPE_COUNT : MICA_BF16,
                            .block = held_block,
                            .shape = MICA_SHAPE(WIDE, WIDE),
                            .data = data[i],
                            .bytes = blocks ? sizeof values / 128 * mica_block_bytes(held_block) : sizeof data[i]};
    if (blocks) ck_ok(mica_block_quantize(held_block, values, WIDE * WIDE, NULL, data[i]));
    for (int k = 0; !blocks && k < WIDE * WIDE; k++) {
      uint32_t bits;
      memcpy(&bits, &values[k], sizeof bits);
      memcpy(data[i] + 2 * k, &(uint16_t){(uint16_t)(bits >> 16)}, 2);
    }
    entries[LAYERS + i] = (mica_weight_entry){.name = names[LAYERS + i],
                                              .dtype = MICA_F32,
                                              .shape = MICA_SHAPE(WIDE),
                                              .data = bias[i],
                                              .bytes = sizeof bias[i]};
  }
  ck_ok(mica_gguf_write(files_path("bound.gguf"), NULL, 0, entries, 2 * LAYERS));
  ck_ok(mica_weights_open(files_path("bound.gguf"), &weights));
}

static const mica_block bound_blocks[] = {MICA_BLOCK_NONE, MICA_BLOCK_Q4_0, MICA_BLOCK_Q8_0};

START_TEST(held_weights_are_bound_to_the_file) {
  teardown();
  held_block = bound_blocks[_i];
  write_source();
  mica_value y = bound_network();
  mica_bindings *bindings = NULL;
  ck_ok(mica_nn_bind(nn, test_engine(), weights, NULL, &bindings));
  size_t count = 0;
  const mica_binding *list = mica_bindings_list(bindings, &count);
  ck_assert_uint_eq(count, LAYERS);
  mica_session_config config = {.parameters = list, .parameter_count = count};
  ck_ok(mica_session_create(test_engine(), graph, &y, 1, &config, &session));
  mica_bindings_destroy(bindings);
  ck_ok(mica_nn_load_from(nn, session, weights, NULL, NULL));
  /* The session keeps the file open. */
  mica_weights_close(weights);
  weights = NULL;
  mica_session_report report;
  ck_ok(mica_session_describe(session, &report));
  ck_assert_uint_eq(report.parameter_bytes, LAYERS * WIDE * sizeof(float));
  float x[2 * WIDE], got[2 * WIDE];
  for (int i = 0; i < 2 * WIDE; i++) x[i] = i < WIDE ? 1 : 0;
  mica_tensor *fed = NULL;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(2, WIDE), x, &fed));
  ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", fed}, 1));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), got, sizeof got));
  mica_tensor_destroy(fed);
  for (int row = 0; row < 2; row++) {
    double expected = row == 0;
    for (int i = 0; i < LAYERS; i++) expected = expected * WIDE * (i + 1) / 64 + i;
    /* Q4_0 and Q8_0 have scales of f16, which round by 2^-11 and twice that where a number is not a power of two. */
    const double most = held_block == MICA_BLOCK_NONE ? 0 : expected * LAYERS * 0x1p-9;
    for (int k = 0; k < WIDE; k++) ck_assert_double_le(fabs(got[row * WIDE + k] - expected), most);
  }
}
END_TEST

START_TEST(what_cannot_be_bound_is_refused) {
  teardown();
  held_block = MICA_BLOCK_NONE;
  write_source();
  mica_value y = bound_network();
  mica_bindings *bindings = NULL;
  ck_assert(!mica_value_is_null(y));
  ck_assert_int_eq(mica_nn_bind(nn, test_engine(), weights, MAP({.own = "l1.weight", .source = "none"}), &bindings),
                   MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "no tensor for 'l1.weight'"));
  ck_assert_int_eq(mica_nn_bind(nn, test_engine(), weights, MAP({.own = "l1.weight", .source = "l1.bias"}), &bindings),
                   MICA_E_FORMAT);
  ck_assert_int_eq(mica_nn_bind(nn, test_engine(), weights, MAP({.own = "l1.weight"}), &bindings), MICA_E_INVALID);
  ck_assert_int_eq(mica_nn_bind(NULL, test_engine(), weights, NULL, &bindings), MICA_E_INVALID);
  ck_assert_int_eq(mica_nn_bind(nn, NULL, weights, NULL, &bindings), MICA_E_INVALID);
  ck_assert_int_eq(mica_nn_bind(nn, test_engine(), NULL, NULL, &bindings), MICA_E_INVALID);
  ck_assert_int_eq(mica_nn_bind(nn, test_engine(), weights, NULL, NULL), MICA_E_INVALID);
  ck_assert_ptr_null(bindings);
  mica_bindings_destroy(NULL);
}
END_TEST

/* A transposed weight is read into memory of its own. */
START_TEST(a_weight_in_another_form_is_read) {
  teardown();
  held_block = MICA_BLOCK_NONE;
  write_source();
  mica_value y = bound_network();
  mica_bindings *bindings = NULL;
  ck_ok(mica_nn_bind(nn, test_engine(), weights,
                     MAP({.own = "l#.weight", .source = "l#.weight", .transposed = true, .add = 1}), &bindings));
  size_t count = 0;
  const mica_binding *list = mica_bindings_list(bindings, &count);
  ck_assert(!mica_value_is_null(y) && count == LAYERS);
  static uint16_t got[WIDE * WIDE];
  ck_ok(mica_tensor_download(test_queue(), list[1].tensor, got, sizeof got));
  ck_assert_str_eq(list[1].name, "net.l1.weight");
  for (int i = 0; i < WIDE * WIDE; i++) ck_assert_uint_eq(got[i], 0x3f84); /* 1 + 1 / 32 */
  mica_bindings_destroy(bindings);
}
END_TEST

TESTS(BOTH(NEEDS(CJSON), DEVICE), setup, teardown, equal_names_need_no_map, a_number_in_a_name_stands_for_itself,
      several_tensors_become_one, parts_may_be_one_tensor, what_is_missing_is_counted_or_refused,
      a_complete_map_leaves_no_tensor, rows_of_a_tensor_and_its_transpose, LOOP(halves_are_widened, 0, 2),
      LOOP(large_tensors_are_read_in_parts, 0, 2), what_does_not_fit_is_refused,
      numbers_of_matrices_are_checked_on_demand, rows_that_cannot_be_are_refused, blocks_are_refused,
      LOOP(held_weights_are_bound_to_the_file, 0, 3), what_cannot_be_bound_is_refused, a_weight_in_another_form_is_read)
