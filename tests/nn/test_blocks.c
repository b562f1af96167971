/* labels: device
 *
 * Blocks of published language models give what transformers gives of the same weights, and the same gradients:
 * blocks.safetensors, which blocks_oracle.py wrote. */
#include "base/text.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define B 2
#define T 7
#define C 12
#define HIDDEN 20
#define MOST 24 /* parameters of a block */

#define ROTARY .positions = MICA_POSITIONS_KIND_ROTARY
#define WIDE .heads = 4, .groups = 2, .head_size = 6, .apart = true, ROTARY
#define LLAMA .hidden = HIDDEN, .rms_norm = true, .epsilon = 1e-6, .apart = true
#define SWIGLU .feed_forward = MICA_FEED_FORWARD_SWIGLU
#define GEMMA_NORMS LLAMA, .norms = MICA_BLOCK_NORMS_AROUND
#define GEMMA_ATTENTION WIDE, .causal = true, .no_bias = true, .scale = 0.44721359549995794

static const struct {
  const char *name;
  mica_transformer_config config;
} cases[] = {
    {"llama", {LLAMA, SWIGLU, .self = {WIDE, .causal = true, .no_bias = true, .rotary = {.base = 100}}}},
    {"mistral", {LLAMA, SWIGLU, .self = {WIDE, .causal = true, .no_bias = true, .window = 3}}},
    {"qwen2",
     {LLAMA, SWIGLU, .no_feed_bias = true,
      .self = {WIDE, .causal = true, .without_bias = MICA_ATTENTION_OUT, .rotary = {.base = 100}}}},
    {"qwen3",
     {LLAMA, SWIGLU,
      .self = {WIDE, .causal = true, .no_bias = true, .qk_norm = true, .qk_epsilon = 1e-6, .rotary = {.base = 100}}}},
    {"gemma2",
     {GEMMA_NORMS, .feed_forward = MICA_FEED_FORWARD_GEGLU_TANH,
      .self = {GEMMA_ATTENTION, .window = 3, .soft_cap = 2}}},
    {"gemma3",
     {GEMMA_NORMS, .feed_forward = MICA_FEED_FORWARD_GEGLU_TANH,
      .self = {GEMMA_ATTENTION, .window = 3, .qk_norm = true, .qk_epsilon = 1e-6, .rotary = {.base = 50}}}},
    {"gemma3_full",
     {GEMMA_NORMS, .feed_forward = MICA_FEED_FORWARD_GEGLU,
      .self = {GEMMA_ATTENTION, .qk_norm = true, .qk_epsilon = 1e-6, .rotary = {.base = 100}}}},
    {"phi3",
     {SWIGLU, .hidden = HIDDEN, .rms_norm = true,
      .self =
          {.heads = 2, .groups = 1, .causal = true, .no_bias = true, ROTARY, .rotary = {.base = 100, .rotated = 4}}}},
    {"gpt2", {.hidden = HIDDEN, .feed_forward = MICA_FEED_FORWARD_GELU_TANH, .self = {.heads = 2, .causal = true}}},
    {"gpt_neox",
     {.hidden = HIDDEN,
      .order = MICA_BLOCK_ORDER_TWO_NORMS,
      .self = {.heads = 2, .causal = true, ROTARY, .rotary = {.base = 100, .rotated = 4}}}},
    {"phi",
     {.hidden = HIDDEN,
      .apart = true,
      .feed_forward = MICA_FEED_FORWARD_GELU_TANH,
      .order = MICA_BLOCK_ORDER_ONE_NORM,
      .self = {.heads = 2, .causal = true, .apart = true, ROTARY, .rotary = {.base = 100, .rotated = 2}}}},
    {"arcee",
     {LLAMA, .feed_forward = MICA_FEED_FORWARD_RELU2,
      .self = {WIDE, .causal = true, .no_bias = true, .rotary = {.base = 100}}}},
    {"clip",
     {.hidden = HIDDEN,
      .apart = true,
      .feed_forward = MICA_FEED_FORWARD_QUICK_GELU,
      .self = {.heads = 2, .apart = true}}},
    {"bert",
     {.hidden = HIDDEN,
      .apart = true,
      .norms = MICA_BLOCK_NORMS_AFTER,
      .epsilon = 1e-12,
      .self = {.heads = 2, .apart = true}}},
};
#define CASES (sizeof cases / sizeof *cases)

/* --- numbers --- */

/* Numbers in [-1, 1) by the hash of "CASE.NAME", as blocks_oracle.py makes them. */
static void make_noise(const char *which, const char *name, float *numbers, size_t count) {
  char full[96];
  uint64_t state = UINT64_C(0xcbf29ce484222325);
  snprintf(full, sizeof full, "%s.%s", which, name);
  for (const char *at = full; *at; at++) state = (state ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
  for (size_t i = 0; i < count; i++) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    numbers[i] = (float)((double)(state >> 33) * 0x1p-30 - 1);
  }
}

static size_t elements_of(mica_shape shape) {
  int64_t count = 0;
  ck_ok(mica_shape_count(shape, &count));
  return (size_t)count;
}

/* Fills a tensor with scale noise + offset. */
static void fill(mica_tensor *tensor, const char *which, const char *name, float scale, float offset) {
  const size_t count = elements_of(mica_tensor_shape(tensor));
  float *numbers = malloc((count + 1) * sizeof *numbers);
  ck_assert(numbers);
  make_noise(which, name, numbers, count);
  for (size_t i = 0; i < count; i++) numbers[i] = offset + scale * numbers[i];
  ck_ok(mica_tensor_upload(test_queue(), tensor, numbers, count * sizeof *numbers));
  free(numbers);
}

static mica_safetensors *golden_file(void) {
  char path[512];
  const char *root = getenv("MICA_SOURCE_DIR");
  mica_safetensors *file = NULL;
  snprintf(path, sizeof path, "%s/tests/nn/blocks.safetensors", root ? root : ".");
  ck_ok(mica_safetensors_open(path, &file));
  return file;
}

static const mica_safetensors_entry *golden(const mica_safetensors *file, const char *which, const char *prefix,
                                            const char *name) {
  char full[96];
  snprintf(full, sizeof full, "%s.%s%s", which, prefix, name);
  return mica_safetensors_find(file, full);
}

/* The largest difference is at most `within` of the largest number, or of 1: without rotary positions the gradient of a
 * bias of keys is 0, a sum of terms of about 1, because softmax takes no notice of a constant. */
static void check_near(const mica_safetensors_entry *expected, const mica_tensor *tensor, double within) {
  ck_assert_ptr_nonnull(expected);
  const size_t count = elements_of(mica_tensor_shape(tensor));
  const float *want = expected->data;
  float *got = malloc((count + 1) * sizeof *got);
  double largest = 0, off = 0;
  ck_assert(got);
  ck_assert_msg(mica_shape_equal(expected->shape, mica_tensor_shape(tensor)), "%s: another shape", expected->name);
  ck_ok(mica_tensor_download(test_queue(), tensor, got, count * sizeof *got));
  for (size_t i = 0; i < count; i++) {
    largest = fmax(largest, fabs((double)want[i]));
    off = fmax(off, fabs((double)got[i] - (double)want[i]));
    ck_assert_msg(isfinite(got[i]), "%s: not finite", expected->name);
  }
  if (getenv("MICA_TEST_VERBOSE")) printf("%-44s %.2e of %.3g\n", expected->name, off / largest, largest);
  ck_assert_msg(off <= within * fmax(largest, 1), "%s: %.3g off, of %.3g", expected->name, off, largest);
  free(got);
}

/* --- a case --- */

typedef struct built {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_tensor *x, *g;
  size_t parameters;
} built;

/* A block, with outputs y and the gradients of x and its parameters. open: B and T are known to runs alone. */
static built build(size_t which, const mica_safetensors *file, bool open) {
  mica_transformer_config c = cases[which].config;
  mica_value outputs[MOST + 2], wrt[MOST + 1];
  built b = {0};
  const mica_safetensors_entry *factors = golden(file, cases[which].name, "", "factors");
  if (factors) {
    c.self.rotary.factors = factors->data;
    c.self.rotary.scale = *(const double *)golden(file, cases[which].name, "", "scale")->data;
  }
  ck_ok(mica_graph_create(&b.graph));
  ck_ok(mica_nn_create(b.graph, NULL, &b.nn));
  const mica_shape shape = open ? MICA_SHAPE(MICA_DYNAMIC, MICA_DYNAMIC, C) : MICA_SHAPE(B, T, C);
  wrt[0] = mica_input(b.graph, "x", MICA_F32, shape);
  mica_value g = mica_input(b.graph, "g", MICA_F32, shape);
  outputs[0] = mica_nn_transformer(b.nn, "layer", wrt[0], (mica_value){0}, &c);
  mica_value loss = mica_sum(mica_mul(outputs[0], g), MICA_ALL_AXES, false);
  b.parameters = mica_nn_parameter_count(b.nn);
  ck_assert_uint_le(b.parameters, MOST);
  for (size_t i = 0; i < b.parameters; i++) wrt[i + 1] = mica_nn_parameter_at(b.nn, i)->value;
  ck_assert_msg(mica_graph_status(b.graph) == MICA_OK, "%s: %s", cases[which].name, mica_graph_message(b.graph));
  ck_ok(mica_gradients(loss, wrt, b.parameters + 1, outputs + 1));
  ck_ok(mica_session_create(test_engine(), b.graph, outputs, b.parameters + 2, NULL, &b.session));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(B, T, C), &b.x));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(B, T, C), &b.g));
  return b;
}

static void destroy(built *b) {
  mica_tensor_destroy(b->x);
  mica_tensor_destroy(b->g);
  mica_session_destroy(b->session);
  mica_nn_destroy(b->nn);
  mica_graph_destroy(b->graph);
}

/* The name of a parameter within its block. */
static const char *name_of(const mica_nn *nn, size_t parameter) {
  return mica_nn_parameter_at(nn, parameter)->name + strlen("layer.");
}

static void fill_parameter(mica_session *session, const mica_nn *nn, size_t parameter, const char *which) {
  const char *name = name_of(nn, parameter);
  const size_t length = strlen(name);
  const bool scale = strstr(name, "norm") && length > 6 && !strcmp(name + length - 6, "weight");
  mica_tensor *tensor = mica_session_parameter(session, mica_nn_parameter_at(nn, parameter)->name);
  fill(tensor, which, name, scale ? 0.25F : 0.5F, scale ? 1 : 0);
}

static void run_case(size_t which, const mica_safetensors *file, bool open) {
  const char *name = cases[which].name;
  size_t expected = 0;
  built b = build(which, file, open);
  for (size_t i = 0; i < b.parameters; i++) fill_parameter(b.session, b.nn, i, name);
  fill(b.x, name, "x", 2, 0);
  fill(b.g, name, "g", 1, 0);
  const mica_feed feeds[] = {{"x", b.x}, {"g", b.g}};
  ck_ok(mica_session_run(b.session, test_queue(), feeds, 2));
  check_near(golden(file, name, "", "y"), mica_session_output(b.session, 0), 2e-6);
  check_near(golden(file, name, "d.", "x"), mica_session_output(b.session, 1), 1e-5);
  for (size_t i = 0; i < b.parameters; i++)
    check_near(golden(file, name, "d.", name_of(b.nn, i)), mica_session_output(b.session, i + 2), 1e-5);
  /* The model has no parameter that the block lacks. */
  for (size_t i = 0; i < mica_safetensors_count(file); i++) {
    const char *tensor = mica_safetensors_at(file, i)->name;
    expected += !strncmp(tensor, name, strlen(name)) && !strncmp(tensor + strlen(name), ".d.", 3);
  }
  ck_assert_uint_eq(expected, b.parameters + 1);
  destroy(&b);
}

START_TEST(families) {
  mica_safetensors *file = golden_file();
  run_case((size_t)_i / 2, file, _i % 2);
  mica_safetensors_close(file);
}
END_TEST

/* --- with a cache --- */

#define READ 4 /* positions of the first run; the others come one by one */

/* A block over `count` positions that go on from a cache; the first ones begin it. */
static built build_cached(size_t which, const mica_safetensors *file, int64_t count, bool begins) {
  mica_transformer_config c = cases[which].config;
  built b = {0};
  const mica_safetensors_entry *factors = golden(file, cases[which].name, "", "factors");
  if (factors) {
    c.self.rotary.factors = factors->data;
    c.self.rotary.scale = *(const double *)golden(file, cases[which].name, "", "scale")->data;
  }
  ck_ok(mica_graph_create(&b.graph));
  ck_ok(mica_nn_create(b.graph, NULL, &b.nn));
  mica_value x = mica_input(b.graph, "x", MICA_F32, MICA_SHAPE(B, count, C));
  mica_kv_cache cache = {.batch = B, .length = T};
  if (!begins) cache.offset = mica_input(b.graph, "offset", MICA_I32, MICA_SHAPE(B));
  c.self.cache = &cache;
  mica_value y = mica_nn_transformer(b.nn, "layer", x, (mica_value){0}, &c);
  ck_assert_msg(mica_graph_status(b.graph) == MICA_OK, "%s: %s", cases[which].name, mica_graph_message(b.graph));
  ck_ok(mica_session_create(test_engine(), b.graph, &y, 1, NULL, &b.session));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(B, count, C), &b.x));
  ck_ok(mica_tensor_create(test_engine(), MICA_I32, MICA_SHAPE(B), &b.g));
  return b;
}

/* Runs positions [from, from + count) of x, and compares with y's. */
static void run_part(built *b, const float *x, const float *y, int32_t from, int64_t count) {
  float part[B * T * C];
  const int32_t offsets[B] = {from, from};
  const size_t row = (size_t)count * C;
  const mica_feed feeds[] = {{"x", b->x}, {"offset", b->g}};
  for (size_t i = 0; i < B; i++) memcpy(part + i * row, x + (i * T + (size_t)from) * C, row * sizeof *part);
  ck_ok(mica_tensor_upload(test_queue(), b->x, part, B * row * sizeof *part));
  ck_ok(mica_tensor_upload(test_queue(), b->g, offsets, sizeof offsets));
  ck_ok(mica_session_run(b->session, test_queue(), feeds, from == 0 ? 1 : 2));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(b->session, 0), part, B * row * sizeof *part));
  for (size_t i = 0; i < B; i++)
    for (size_t k = 0; k < row; k++) {
      const float want = y[(i * T + (size_t)from) * C + k];
      ck_assert_msg(fabsf(part[i * row + k] - want) <= 2e-5F, "position %d: %g, not %g", (int)from,
                    (double)part[i * row + k], (double)want);
    }
}

START_TEST(a_cache_goes_on) {
  const size_t which = (size_t)_i;
  mica_safetensors *file = golden_file();
  float x[B * T * C];
  if (cases[which].config.self.causal) {
    const float *y = golden(file, cases[which].name, "", "y")->data;
    built first = build_cached(which, file, READ, true), next = build_cached(which, file, 1, false);
    make_noise(cases[which].name, "x", x, B * T * C);
    for (size_t i = 0; i < B * T * C; i++) x[i] *= 2;
    for (size_t i = 0; i < mica_nn_parameter_count(first.nn); i++)
      if (mica_nn_parameter_at(first.nn, i)->role == MICA_NN_ROLE_WEIGHT)
        fill_parameter(first.session, first.nn, i, cases[which].name);
    ck_ok(mica_nn_share(next.nn, next.session, first.session));
    run_part(&first, x, y, 0, READ);
    for (int32_t at = READ; at < T; at++) run_part(&next, x, y, at, 1);
    destroy(&next);
    destroy(&first);
  }
  mica_safetensors_close(file);
}
END_TEST

/* Rotary positions that are given: twice the distance at half the frequency is the same angle. */
START_TEST(positions_are_given) {
  static const int32_t ids[T] = {5, 7, 9, 11, 13, 15, 17};
  double factors[3];
  mica_safetensors *file = golden_file();
  mica_transformer_config c = cases[0].config;
  built b = {0};
  for (int i = 0; i < 3; i++) factors[i] = 2 * ((const double *)golden(file, "llama", "", "factors")->data)[i];
  c.self.rotary.factors = factors;
  ck_ok(mica_graph_create(&b.graph));
  ck_ok(mica_nn_create(b.graph, NULL, &b.nn));
  c.self.position_ids = mica_constant(b.graph, MICA_I32, MICA_SHAPE(T), ids);
  mica_value x = mica_input(b.graph, "x", MICA_F32, MICA_SHAPE(B, T, C));
  mica_value shifted = mica_nn_transformer(b.nn, "layer", x, (mica_value){0}, &c);
  ck_ok(mica_session_create(test_engine(), b.graph, &shifted, 1, NULL, &b.session));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(B, T, C), &b.x));
  for (size_t i = 0; i < mica_nn_parameter_count(b.nn); i++) fill_parameter(b.session, b.nn, i, "llama");
  fill(b.x, "llama", "x", 2, 0);
  ck_ok(mica_session_run(b.session, test_queue(), &(mica_feed){"x", b.x}, 1));
  check_near(golden(file, "llama", "", "y"), mica_session_output(b.session, 0), 2e-6);
  destroy(&b);
  mica_safetensors_close(file);
}
END_TEST

/* --- what a block cannot be --- */

static void refuse(const mica_transformer_config *c, const char *text) {
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, NULL, &nn));
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(B, T, C));
  ck_assert(mica_value_is_null(mica_nn_transformer(nn, "layer", x, (mica_value){0}, c)));
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_INVALID);
  ck_assert_msg(strstr(mica_graph_message(graph), text) != NULL, "%s", mica_graph_message(graph));
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}

START_TEST(refusals) {
  static const double factors[] = {1, 0, 1};
  refuse(&(mica_transformer_config){.norms = (mica_block_norms)3}, "norms (3)");
  refuse(&(mica_transformer_config){.order = (mica_block_order)-1}, "order (-1)");
  refuse(&(mica_transformer_config){.norms = MICA_BLOCK_NORMS_AROUND, .post_norm = true}, "AROUND");
  refuse(&(mica_transformer_config){.order = MICA_BLOCK_ORDER_ONE_NORM, .post_norm = true}, "BEFORE");
  refuse(&(mica_transformer_config){.order = MICA_BLOCK_ORDER_TWO_NORMS, .norms = MICA_BLOCK_NORMS_AROUND}, "BEFORE");
  refuse(&(mica_transformer_config){.feed_forward = (mica_feed_forward)99}, "99 is not an activation");
  refuse(&(mica_transformer_config){.self = {.without_bias = MICA_ATTENTION_K}}, "all have a bias or none has");
  refuse(&(mica_transformer_config){.self = {.heads = 2, ROTARY, .rotary = {.factors = factors}}}, "factor 1 is 0");
  refuse(&(mica_transformer_config){.self = {.heads = 2, ROTARY, .rotary = {.scale = INFINITY}}},
         "the scale is inf, but must be finite");
}
END_TEST

TESTS(BOTH(DEVICE, NEEDS(CJSON)), NULL, NULL, LOOP(families, 0, 2 * CASES), LOOP(a_cache_goes_on, 0, CASES),
      positions_are_given, refusals)
