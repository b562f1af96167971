/* labels: device single
 *
 * Parameters whose elements are apart in the file: each second row of a tensor, swapped axes, and MXFP4 whose scales
 * are a tensor of their own. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/source.h"

#include <math.h>
#include <mica/mica.h>
#include <mica/safetensors.h>
#include <string.h>

enum { E = 3, R = 5, C = 64, WIDE = E * 2 * R * C };

static mica_graph *graph;
static mica_nn *nn;
static mica_session *session;
static mica_weights *weights;
static float numbers[WIDE];
static uint16_t halves[WIDE];
static uint8_t blocks[WIDE / 2], scales[WIDE / 32];

static void teardown(void) {
  mica_weights_close(weights);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  weights = NULL;
  session = NULL;
  nn = NULL;
  graph = NULL;
}

static void setup(void) {
  for (int i = 0; i < WIDE; i++) numbers[i] = (float)(i % 251) - 99;
  for (int i = 0; i < WIDE; i++) memcpy(&halves[i], (const char *)&numbers[i] + 2, 2);
  for (int i = 0; i < WIDE / 2; i++) blocks[i] = (uint8_t)(i * 37 + i / 7);
  for (int i = 0; i < WIDE / 32; i++) scales[i] = (uint8_t)(117 + i % 23);
}

/* A parameter "net.w" of this shape. */
static void build(mica_shape shape) {
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.name_prefix = "net."}, &nn));
  const mica_value y = mica_affine(mica_nn_parameter(nn, "w", shape, NULL), 1, 1);
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, &y, 1, NULL, &session));
}

static mica_status load(mica_name_row row) {
  row.own = "w";
  if (!row.source) row.source = "t";
  return mica_nn_load_from(nn, session, weights, &(mica_name_map){.rows = &row, .count = 1, .complete = true}, NULL);
}

static void refused(mica_name_row row, mica_status status, const char *reason) {
  ck_assert_int_eq(load(row), status);
  ck_assert_msg(strstr(mica_error_message(), reason) != NULL, "%s: %s", reason, mica_error_message());
}

static const float *loaded(void) {
  static float values[WIDE];
  mica_tensor *t = mica_session_parameter(session, "net.w");
  ck_ok(mica_tensor_download(test_queue(), t, values, mica_tensor_bytes(t)));
  return values;
}

/* Matrices (R, C) of rows phase, phase + every, ...; `swapped`: the file has (C, every R). */
static void check_matrices(mica_dtype dtype, int every, int phase, bool swapped) {
  const int64_t rows = every * R;
  const mica_shape shape = swapped ? MICA_SHAPE(E, C, rows) : MICA_SHAPE(E, rows, C);
  const mica_safetensors_entry t =
      source_tensor("t", dtype, shape, dtype == MICA_F32 ? (void *)numbers : (void *)halves);
  setup();
  build(MICA_SHAPE(E, R, C));
  weights = source_open(&t, 1);
  ck_ok(load((mica_name_row){.every = every > 1 ? every : 0, .phase = phase, .transposed = swapped}));
  const float *w = loaded();
  for (int64_t e = 0; e < E; e++)
    for (int64_t r = 0; r < R; r++)
      for (int64_t c = 0; c < C; c++) {
        const int64_t row = phase + every * r, at = swapped ? (e * C + c) * rows + row : (e * rows + row) * C + c;
        ck_assert_float_eq(w[(e * R + r) * C + c], numbers[at]);
      }
  teardown();
}

START_TEST(matrices_of_some_rows) {
  const mica_dtype dtypes[] = {MICA_F32, MICA_BF16};
  for (int d = 0; d < 2; d++)
    for (int swapped = 0; swapped < 2; swapped++) {
      check_matrices(dtypes[d], 2, 0, swapped);
      check_matrices(dtypes[d], 2, 1, swapped);
      if (swapped) check_matrices(dtypes[d], 1, 0, true);
    }
}
END_TEST

START_TEST(vectors_of_some_numbers) {
  const mica_safetensors_entry t = source_tensor("t", MICA_F32, MICA_SHAPE(E, 3 * R), numbers);
  build(MICA_SHAPE(E, R));
  weights = source_open(&t, 1);
  ck_ok(load((mica_name_row){.every = 3, .phase = 2, .add = 1}));
  const float *w = loaded();
  for (int i = 0; i < E * R; i++) ck_assert_float_eq(w[i], numbers[i / R * 3 * R + i % R * 3 + 2] + 1);
  refused((mica_name_row){.every = 2}, MICA_E_FORMAT, "the tensor 't' is (3, 15), not (3, 10) as 'w' needs");
  refused((mica_name_row){.every = 3, .transposed = true}, MICA_E_INVALID, "reads 'w' transposed");
  refused((mica_name_row){.every = 3, .phase = 3}, MICA_E_INVALID,
          "every (3) must be 0 to 65536, and phase (3) 0 or from 1");
  refused((mica_name_row){.every = -1}, MICA_E_INVALID, "every (-1) must be 0 to 65536, and phase (0) 0 or from 1");
  refused((mica_name_row){.phase = 1}, MICA_E_INVALID, "every (0) must be 0 to 65536, and phase (1) 0 or from 1");
  refused((mica_name_row){.every = 3, .of = 4}, MICA_E_INVALID, "every cannot be combined with");
  refused((mica_name_row){.every = 3, .stacked = 3}, MICA_E_INVALID, "every cannot be combined with");
}
END_TEST

/* Element `at` of a tensor with two in each byte, by the definition of MXFP4. */
static float element(int64_t at) {
  static const float values[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  const int code = blocks[at / 2] >> (at % 2 * 4) & 15;
  return ldexpf(code & 8 ? -values[code & 7] : values[code & 7], scales[at / 32] - 127);
}

START_TEST(blocks_with_scales) {
  const mica_safetensors_entry t[] = {source_tensor("b", MICA_U8, MICA_SHAPE(E, 2 * R, C / 32, 16), blocks),
                                      source_tensor("s", MICA_U8, MICA_SHAPE(E, 2 * R, C / 32), scales)};
  const mica_name_row row = {.source = "b", .scales = "no|s", .every = 2, .phase = 1};
  build(MICA_SHAPE(E, R, C));
  weights = source_open(t, 2);
  ck_ok(load(row));
  const float *w = loaded();
  for (int64_t e = 0; e < E; e++)
    for (int64_t r = 0; r < R; r++)
      for (int64_t c = 0; c < C; c++)
        ck_assert_float_eq(w[(e * R + r) * C + c], element((e * 2 * R + 2 * r + 1) * C + c));
  mica_name_row other = row;
  other.scales = "no";
  refused(other, MICA_E_FORMAT, "'b' has blocks, but the tensor of their scales is missing");
  other.scales = "b";
  refused(other, MICA_E_FORMAT, "MXFP4 blocks must be U8 with 16 bytes each and a U8 scale");
  other = row;
  other.transposed = true;
  refused(other, MICA_E_INVALID, "blocks with scales cannot be cut");
  other = row;
  other.every = other.phase = 0;
  refused(other, MICA_E_FORMAT, "the tensor 'b' is (3, 10, 64), not (3, 5, 64) as 'w' needs");
}
END_TEST

START_TEST(whole_blocks_with_scales) {
  const mica_safetensors_entry t[] = {source_tensor("b", MICA_U8, MICA_SHAPE(R, C / 32, 16), blocks),
                                      source_tensor("s", MICA_U8, MICA_SHAPE(R, C / 32), scales)};
  build(MICA_SHAPE(R, C));
  weights = source_open(t, 2);
  ck_ok(load((mica_name_row){.source = "b", .scales = "s"}));
  for (int64_t i = 0; i < R * C; i++) ck_assert_float_eq(loaded()[i], element(i));
}
END_TEST

/* Scales of a shape that is not that of the blocks, numbers in place of bytes, a parameter of another rank. */
START_TEST(blocks_that_cannot_be_are_refused) {
  const mica_safetensors_entry cases[][2] = {
      {source_tensor("b", MICA_U8, MICA_SHAPE(R, 2, 16), blocks),
       source_tensor("s", MICA_U8, MICA_SHAPE(R, 1), scales)},
      {source_tensor("b", MICA_U8, MICA_SHAPE(R, 4, 8), blocks), source_tensor("s", MICA_U8, MICA_SHAPE(R, 4), scales)},
      {source_tensor("b", MICA_F32, MICA_SHAPE(R, 2, 16), numbers),
       source_tensor("s", MICA_U8, MICA_SHAPE(R, 2), scales)},
      {source_tensor("b", MICA_U8, MICA_SHAPE(R, 2, 16), blocks),
       source_tensor("s", MICA_F32, MICA_SHAPE(R, 2), numbers)},
      {source_tensor("b", MICA_U8, MICA_SHAPE(16), blocks), source_tensor("s", MICA_U8, MICA_SHAPE(1), scales)},
      {source_tensor("b", MICA_U8, MICA_SHAPE(0), blocks), source_tensor("s", MICA_U8, MICA_SHAPE(0), scales)},
  };
  const mica_name_row row = {.source = "b", .scales = "s"};
  build(MICA_SHAPE(R, C));
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    weights = source_open(cases[c], 2);
    refused(row, MICA_E_FORMAT, "MXFP4 blocks must be U8 with 16 bytes each and a U8 scale");
    mica_weights_close(weights);
    weights = NULL;
  }
  teardown();
  build(MICA_SHAPE(C));
  weights = source_open(cases[0], 2);
  refused(row, MICA_E_INVALID,
          "the map reads 'w' as blocks with scales, but the parameter's shape, (64), does not allow this");
}
END_TEST

TESTS(DEVICE, setup, teardown, matrices_of_some_rows, vectors_of_some_numbers, blocks_with_scales,
      whole_blocks_with_scales, blocks_that_cannot_be_are_refused)
