/* labels: null single
 *
 * Operations on tensors refuse operands that do not fit, with a sentence that says which. */
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <string.h>

static mica_engine *engine, *other;
static mica_queue *queue;

static void setup(void) {
  const mica_engine_config config = {.device = "null", .cache_dir = ""};
  ck_ok(mica_engine_create(&config, &engine));
  ck_ok(mica_engine_create(&config, &other));
  queue = mica_engine_queue(engine);
}

static void teardown(void) {
  mica_engine_destroy(other);
  mica_engine_destroy(engine);
}

static mica_tensor *tensor_of(mica_engine *of, mica_dtype dtype, mica_shape shape) {
  mica_tensor *tensor = NULL;
  ck_ok(mica_tensor_create(of, dtype, shape, &tensor));
  return tensor;
}

static void refused(mica_status got, mica_status status, const char *words) {
  ck_assert_msg(got == status, "%s, not %s, in place of '%s': %s", mica_status_name(got), mica_status_name(status),
                words, mica_error_message());
  ck_assert_msg(strstr(mica_error_message(), words) != NULL, "'%s' does not say '%s'", mica_error_message(), words);
}

/* --- element by element --- */

static mica_status bitcast(const mica_tensor *x, mica_tensor *y) { return mica_op_bitcast(queue, x, y); }
static mica_status cast(const mica_tensor *x, mica_tensor *y) { return mica_op_cast(queue, x, y); }
static mica_status copy(const mica_tensor *x, mica_tensor *y) { return mica_op_copy(queue, x, y); }
static mica_status scale_add(const mica_tensor *x, mica_tensor *y) { return mica_op_scale_add(queue, 2, x, 3, y); }

static const struct {
  const char *name;
  mica_status (*run)(const mica_tensor *x, mica_tensor *y);
  bool one_dtype, floats;
} pairs[] = {{"bitcast", bitcast, false, false},
             {"cast", cast, false, false},
             {"copy", copy, true, false},
             {"scale_add", scale_add, true, true}};

START_TEST(pairs_are_checked) {
  mica_tensor *x = tensor_of(engine, MICA_F32, MICA_SHAPE(2, 3)), *y = tensor_of(engine, MICA_F32, MICA_SHAPE(2, 3));
  mica_tensor *wide = tensor_of(engine, MICA_F32, MICA_SHAPE(2, 4)), *view = NULL;
  mica_tensor *foreign = tensor_of(other, MICA_F32, MICA_SHAPE(2, 3));
  mica_tensor *integers = tensor_of(engine, MICA_I32, MICA_SHAPE(2, 3));
  ck_ok(mica_tensor_view(wide, MICA_SHAPE(2, 3), (const int64_t[]){4, 1}, 0, &view));
  ck_ok(pairs[_i].run(x, y));
  refused(pairs[_i].run(NULL, y), MICA_E_INVALID, pairs[_i].name);
  refused(pairs[_i].run(x, NULL), MICA_E_INVALID, pairs[_i].name);
  refused(pairs[_i].run(foreign, y), MICA_E_INVALID, "another engine");
  refused(pairs[_i].run(x, foreign), MICA_E_INVALID, "another engine");
  refused(pairs[_i].run(view, y), MICA_E_INVALID, "contiguous");
  refused(pairs[_i].run(x, view), MICA_E_INVALID, "contiguous");
  refused(pairs[_i].run(x, wide), MICA_E_SHAPE, "(2, 4)");
  if (pairs[_i].one_dtype)
    refused(pairs[_i].run(x, integers), MICA_E_DTYPE, "i32");
  else
    ck_ok(pairs[_i].run(x, integers));
  if (pairs[_i].run == bitcast) {
    mica_tensor *bytes = tensor_of(engine, MICA_U8, MICA_SHAPE(2, 3)),
                *bools = tensor_of(engine, MICA_BOOL, MICA_SHAPE(2, 3));
    ck_ok(bitcast(bools, bytes));
    refused(bitcast(bytes, bools), MICA_E_DTYPE, "bytes of u8 may be neither 0 nor 1");
    mica_tensor_destroy(bytes);
    mica_tensor_destroy(bools);
  }
  if (pairs[_i].floats) refused(pairs[_i].run(integers, integers), MICA_E_DTYPE, "i32");
  refused(mica_op_fill(queue, 1, NULL), MICA_E_INVALID, "fill");
  refused(mica_op_fill(queue, 1, view), MICA_E_INVALID, "contiguous");
  mica_tensor *const all[] = {view, x, y, wide, foreign, integers};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) mica_tensor_destroy(all[i]);
}
END_TEST

START_TEST(casts_to_no_dtype_are_refused) {
  mica_graph *graph = NULL;
  for (int which = 0; which < 2; which++) {
    ck_ok(mica_graph_create(&graph));
    mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(2));
    mica_value y = which ? mica_bitcast(x, MICA_DTYPE_COUNT) : mica_cast(x, MICA_DTYPE_COUNT);
    ck_assert(mica_value_is_null(y));
    ck_assert_int_eq(mica_graph_status(graph), MICA_E_DTYPE);
    ck_assert_ptr_nonnull(strstr(mica_graph_message(graph), "is not a dtype"));
    mica_graph_destroy(graph);
  }
}
END_TEST

/* --- convolution --- */

typedef struct conv_case {
  mica_shape x, w, y;
  mica_conv_config config;
  mica_dtype types[3]; /* of x, w, y; zeros are f32 */
  mica_status status;
  const char *words;
} conv_case;

#define X                                                                                                              \
  {                                                                                                                    \
    4, { 2, 4, 8, 8 }                                                                                                  \
  }
#define W                                                                                                              \
  {                                                                                                                    \
    4, { 6, 4, 3, 3 }                                                                                                  \
  }
#define Y                                                                                                              \
  {                                                                                                                    \
    4, { 2, 6, 6, 6 }                                                                                                  \
  }
static const conv_case conv_cases[] = {
    {X, W, Y, {.groups = 0}, {0}, MICA_OK, ""},
    {{2, {2, 4}}, W, Y, {.groups = 0}, {0}, MICA_E_SHAPE, "the same rank, from 3 to 5"},
    {{6, {2, 4, 1, 1, 8, 8}}, W, Y, {.groups = 0}, {0}, MICA_E_SHAPE, "the same rank, from 3 to 5"},
    {X, {3, {6, 4, 3}}, Y, {.groups = 0}, {0}, MICA_E_SHAPE, "the same rank, from 3 to 5"},
    {X, W, {3, {2, 6, 6}}, {.groups = 0}, {0}, MICA_E_SHAPE, "the same rank, from 3 to 5"},
    {X, {4, {6, 3, 3, 3}}, Y, {.groups = 0}, {0}, MICA_E_SHAPE, "the channels of x must be groups times those of w"},
    {X, {4, {6, 1, 3, 3}}, Y, {.groups = 4}, {0}, MICA_E_SHAPE, "the number of filters of w must be a multiple"},
    {X, W, {4, {3, 6, 6, 6}}, {.groups = 0}, {0}, MICA_E_SHAPE, "y must have the batch of x"},
    {X, W, {4, {2, 5, 6, 6}}, {.groups = 0}, {0}, MICA_E_SHAPE, "y must have the batch of x"},
    {X, W, {4, {2, 6, 6, 7}}, {.groups = 0}, {0}, MICA_E_SHAPE, "an extent of y is not what x, w"},
    {X, W, Y, {.stride = {-1}}, {0}, MICA_E_INVALID, "stride is -1, but must be from 0 to 2^29 - 1"},
    {X, W, Y, {.pad = {0, -2}}, {0}, MICA_E_INVALID, "pad is -2"},
    {X, W, Y, {.dilation = {INT64_MAX}}, {0}, MICA_E_INVALID, "dilation is 9223372036854775807"},
    {X, W, Y, {.output_pad = {-1}}, {0}, MICA_E_INVALID, "output_pad is -1"},
    {X, W, Y, {.pad_more = {-1}}, {0}, MICA_E_INVALID, "pad (0) and pad_more (-1) must add up to 0 or more"},
    {X,
     W,
     Y,
     {.pad_more = {INT64_MAX}},
     {0},
     MICA_E_INVALID,
     "pad_more is 9223372036854775807, but must be from -2^29 + 1"},
    {X, W, Y, {.groups = -2}, {0}, MICA_E_INVALID, "groups is -2, but must not be negative"},
    {X, W, Y, {.dilation = {1 << 28}}, {0}, MICA_E_SHAPE, "an extent of x, or of w with its dilation, exceeds"},
    {X, W, Y, {.groups = 0}, {MICA_I32, MICA_I32, MICA_I32}, MICA_E_DTYPE, "but must be of a floating type"},
    {X, W, Y, {.groups = 0}, {MICA_F32, MICA_F16, MICA_F32}, MICA_E_DTYPE, "f16"},
    {X, W, Y, {.groups = 0}, {MICA_F32, MICA_F32, MICA_BF16}, MICA_E_DTYPE, "bf16"},
};
#define CONV_CASES (sizeof conv_cases / sizeof *conv_cases)

START_TEST(convolutions_are_checked) {
  const conv_case *c = &conv_cases[_i];
  mica_tensor *x = tensor_of(engine, c->types[0], c->x), *w = tensor_of(engine, c->types[1], c->w);
  mica_tensor *y = tensor_of(engine, c->types[2], c->y);
  if (c->status == MICA_OK) {
    ck_ok(mica_op_conv_fwd(queue, &c->config, x, w, NULL, y));
    ck_ok(mica_op_conv_bwd_data(queue, &c->config, y, w, NULL, x));
    ck_ok(mica_op_conv_bwd_filter(queue, &c->config, x, y, w));
  } else {
    refused(mica_op_conv_fwd(queue, &c->config, x, w, NULL, y), c->status, c->words);
    refused(mica_op_conv_bwd_data(queue, &c->config, y, w, NULL, x), c->status, c->words);
    refused(mica_op_conv_bwd_filter(queue, &c->config, x, y, w), c->status, c->words);
  }
  mica_tensor_destroy(y);
  mica_tensor_destroy(w);
  mica_tensor_destroy(x);
}
END_TEST

START_TEST(epilogues_are_checked) {
  mica_tensor *x = tensor_of(engine, MICA_F32, (mica_shape)X), *w = tensor_of(engine, MICA_F32, (mica_shape)W);
  mica_tensor *y = tensor_of(engine, MICA_F32, (mica_shape)Y), *bias = tensor_of(engine, MICA_F32, MICA_SHAPE(6));
  mica_tensor *few = tensor_of(engine, MICA_F32, MICA_SHAPE(5)), *whole = tensor_of(engine, MICA_I32, MICA_SHAPE(6));
  mica_tensor *narrow = tensor_of(engine, MICA_F16, (mica_shape)Y),
              *foreign = tensor_of(other, MICA_F32, (mica_shape)Y);
  const mica_conv_config config = {.groups = 0};
  ck_ok(mica_op_conv_fwd(queue, &config, x, w, &(mica_conv_epilogue){.bias = bias, .addend = y}, y));
#define REFUSED(status, words, ...)                                                                                    \
  refused(mica_op_conv_fwd(queue, &config, x, w, &(mica_conv_epilogue){__VA_ARGS__}, y), status, words)
  REFUSED(MICA_E_SHAPE, "bias is (5), but must be (6)", .bias = few);
  REFUSED(MICA_E_DTYPE, "the bias is i32, but must be of a floating type", .bias = whole);
  REFUSED(MICA_E_SHAPE, "(2, 4, 8, 8)", .addend = x);
  REFUSED(MICA_E_DTYPE, "f16", .addend = narrow);
  REFUSED(MICA_E_INVALID, "addend", .addend = foreign);
  REFUSED(MICA_E_INVALID, "is not an activation", .activation = (mica_activation)1000);
  REFUSED(MICA_E_INVALID, "is not an activation", .activation = (mica_activation)-1);
#undef REFUSED
  refused(mica_op_conv_fwd(queue, &config, NULL, w, NULL, y), MICA_E_INVALID, "x");
  refused(mica_op_conv_bwd_data(queue, &config, y, NULL, NULL, x), MICA_E_INVALID, "w");
  refused(mica_op_conv_bwd_data(queue, &config, y, w, NULL, NULL), MICA_E_INVALID, "dx");
  refused(mica_op_conv_bwd_filter(queue, &config, x, NULL, w), MICA_E_INVALID, "dy");
  refused(mica_op_conv_bwd_filter(queue, &config, x, y, NULL), MICA_E_INVALID, "dw");
  mica_tensor *const all[] = {x, w, y, bias, few, whole, narrow, foreign};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) mica_tensor_destroy(all[i]);
}
END_TEST

TESTS(ANYWHERE, setup, teardown, LOOP(pairs_are_checked, 0, (int)(sizeof pairs / sizeof *pairs)),
      casts_to_no_dtype_are_refused, LOOP(convolutions_are_checked, 0, CONV_CASES), epilogues_are_checked)
