/* labels: device single
 *
 * Operators whose versions or attributes change the answer, each beside loops in double or beside what undoes it. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/onnx_node.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

/* --- attention --- */

#define BATCH 2
#define HEADS 2
#define ROWS 5
#define WIDTH 3
#define MOST_KEYS 9

typedef struct attending {
  int version, past, keys, mask; /* mask: 0 none, 1 of bools (rows, keys), 2 of floats (heads, rows, keys) */
  int64_t causal, left, right;
  int64_t lengths[BATCH]; /* 0 in the first: none */
} attending;

static float q[BATCH * HEADS * ROWS * WIDTH], k[BATCH * HEADS * MOST_KEYS * WIDTH],
    v[BATCH * HEADS * MOST_KEYS * WIDTH];
static float past_k[BATCH * HEADS * MOST_KEYS * WIDTH], past_v[BATCH * HEADS * MOST_KEYS * WIDTH];
static bool truths[ROWS * MOST_KEYS];
static float added[HEADS * ROWS * MOST_KEYS];

static double key_at(const attending *a, const float *past, const float *now, int head, int j, int d) {
  const float *from = j < a->past ? past : now;
  const int rows = j < a->past ? a->past : a->keys, at = j < a->past ? j : j - a->past;
  return (double)from[(head * rows + at) * WIDTH + d];
}

static bool sees(const attending *a, int b, int h, int i, int j, double *bias) {
  const int all = a->past + a->keys;
  const int64_t p = (a->lengths[0] ? a->lengths[b] - ROWS : a->past) + i;
  *bias = a->mask == 2 ? (double)added[(h * ROWS + i) * all + j] : 0;
  if (a->mask == 1 && !truths[i * all + j]) return false;
  if (a->lengths[0] && j >= a->lengths[b]) return false;
  if (a->causal && j > p) return false;
  return (a->left < 0 || j >= p - a->left) && (a->right < 0 || j <= p + a->right) && *bias > -INFINITY;
}

static void attend(const attending *a, double *y, double *weights) {
  const int all = a->past + a->keys;
  for (int r = 0; r < BATCH * HEADS * ROWS; r++) {
    const int head = r / ROWS, i = r % ROWS;
    double *w = &weights[r * all], sum = 0;
    for (int j = 0; j < all; j++) {
      double bias, dot = 0;
      const bool seen = sees(a, head / HEADS, head % HEADS, i, j, &bias);
      for (int d = 0; d < WIDTH; d++) dot += (double)q[r * WIDTH + d] * key_at(a, past_k, k, head, j, d);
      w[j] = seen ? exp(dot / sqrt(WIDTH) + bias) : 0;
      sum += w[j];
    }
    for (int j = 0; j < all; j++) w[j] = sum > 0 ? w[j] / sum : 0;
    for (int d = 0; d < WIDTH; d++) {
      y[r * WIDTH + d] = 0;
      for (int j = 0; j < all; j++) y[r * WIDTH + d] += w[j] * key_at(a, past_v, v, head, j, d);
    }
  }
}

static void fill_attention(const attending *a) {
  for (int i = 0; i < BATCH * HEADS * ROWS * WIDTH; i++) q[i] = noise(i);
  for (int i = 0; i < BATCH * HEADS * MOST_KEYS * WIDTH; i++) {
    k[i] = noise(i + 1000);
    v[i] = noise(i + 2000);
    past_k[i] = noise(i + 3000);
    past_v[i] = noise(i + 4000);
  }
  const int all = a->past + a->keys;
  /* Row 1 sees no key, whatever else there is. */
  for (int i = 0; i < ROWS * all; i++) truths[i] = i / all != 1 && noise(i + 5000) > -0.5F;
  for (int i = 0; i < HEADS * ROWS * all; i++)
    added[i] = i / all % ROWS == 1 || noise(i + 6000) < -1 ? -INFINITY : noise(i + 7000);
}

/* The answer, or the weights where those are asked for: y is then computed from them. */
static void check_attention(const attending *a, int at, bool shown) {
  static double want_y[BATCH * HEADS * ROWS * WIDTH], want_w[BATCH * HEADS * ROWS * MOST_KEYS];
  static float y[BATCH * HEADS * ROWS * MOST_KEYS], w[BATCH * HEADS * ROWS * MOST_KEYS];
  const int all = a->past + a->keys, count = BATCH * HEADS * ROWS;
  attribute list[6] = {NUMBER("is_causal", a->causal), NUMBER("qk_matmul_output_mode", 3)};
  if (a->version >= 25) list[2] = (attribute)NUMBER("left_window_size", a->left);
  if (a->version >= 25) list[3] = (attribute)NUMBER("right_window_size", a->right);
  operand operands[8] = {{"q", FLOAT, {BATCH, HEADS, ROWS, WIDTH, -1}, q},
                         {"k", FLOAT, {BATCH, HEADS, a->keys, WIDTH, -1}, k},
                         {"v", FLOAT, {BATCH, HEADS, a->keys, WIDTH, -1}, v}};
  int n = 3;
  if (a->mask == 1) operands[n++] = (operand){"m", BOOL, {ROWS, all, -1}, truths};
  if (a->mask == 2) operands[n++] = (operand){"m", FLOAT, {HEADS, ROWS, all, -1}, added};
  if (a->past) operands[n++] = (operand){"pk", FLOAT, {BATCH, HEADS, a->past, WIDTH, -1}, past_k};
  if (a->past) operands[n++] = (operand){"pv", FLOAT, {BATCH, HEADS, a->past, WIDTH, -1}, past_v};
  if (a->lengths[0]) operands[n++] = (operand){"n", INT64, {BATCH, -1}, a->lengths};
  char text[128];
  snprintf(text, sizeof text, "Attention q k v %s %s %s > %s", a->mask ? "m" : "-", a->past ? "pk pv" : "- -",
           a->lengths[0] ? "n" : "-", shown ? "z - - y" : "y");
  fill_attention(a);
  attend(a, want_y, want_w);
  const int elements = shown ? count * all : count * WIDTH;
  run_node(text, a->version, list, operands, elements, sizeof *y, shown ? w : y);
  for (int i = 0; i < elements; i++) {
    const double want = shown ? want_w[i] : want_y[i], got = (double)(shown ? w[i] : y[i]);
    ck_assert_msg(fabs(got - want) < 1e-5, "case %d, %s: element %d is %g, not %g", at, text, i, got, want);
  }
}

START_TEST(attention_sees_the_keys_of_its_window) {
  static const attending cases[] = {
      {.version = 23, .keys = 5, .mask = 1, .left = -1, .right = -1},
      {.version = 23, .keys = 5, .mask = 2, .causal = 1, .left = -1, .right = -1},
      {.version = 23, .keys = 5, .past = 3, .causal = 1, .left = -1, .right = -1},
      {.version = 24, .keys = 7, .lengths = {7, 4}, .left = -1, .right = -1},
      {.version = 24, .keys = 7, .lengths = {7, 6}, .causal = 1, .left = -1, .right = -1},
      {.version = 24, .keys = 7, .lengths = {5, 2}, .causal = 1, .mask = 1, .left = -1, .right = -1},
      {.version = 25, .keys = 7, .left = 2, .right = 2},
      {.version = 25, .keys = 7, .left = 2, .right = 1},
      {.version = 25, .keys = 7, .left = 1, .right = -1, .mask = 1},
      {.version = 25, .keys = 7, .left = -1, .right = 0},
      {.version = 25, .keys = 7, .left = 0, .right = 3, .mask = 2},
      {.version = 25, .keys = 5, .past = 4, .left = 2, .right = -1, .causal = 1},
      {.version = 25, .keys = 5, .past = 4, .left = 3, .right = 1},
      {.version = 25, .keys = 8, .lengths = {8, 5}, .left = 2, .right = 2},
      {.version = 25, .keys = 8, .lengths = {6, 3}, .left = 1, .right = 2, .mask = 2},
      {.version = 25, .keys = 8, .lengths = {8, 5}, .left = 2, .right = 4, .causal = 1},
  };
  for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++)
    for (int shown = 0; shown < 2; shown++) check_attention(&cases[i], i, shown);
}
END_TEST

/* --- what undoes a pooling or a convolution --- */

/* An output_shape asks for paddings: of an odd sum the larger part lies before, unless auto_pad is SAME_UPPER. Beside
 * the same with these paddings. */
START_TEST(transposed_convolutions_pad_more_before) {
  static const struct {
    int version;
    const char *same;
    int64_t extent, before;
  } cases[] = {{11, NULL, 6, 2}, {22, NULL, 6, 2}, {1, NULL, 6, 2},          {22, NULL, 7, 1},
               {22, NULL, 8, 1}, {22, NULL, 9, 0}, {22, "SAME_UPPER", 6, 1}, {22, "SAME_LOWER", 6, 2}};
  float x[4], w[3], got[9], want[9];
  for (int i = 0; i < 4; i++) x[i] = noise(i);
  for (int i = 0; i < 3; i++) w[i] = noise(i + 50);
  const operand operands[] = {{"x", FLOAT, {1, 1, 4, -1}, x}, {"w", FLOAT, {1, 1, 3, -1}, w}, {0}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    const int64_t extent = cases[c].extent, all = 9 - extent, before = cases[c].before;
    const attribute asked[] = {LIST("strides", 2),
                               LIST("output_shape", extent),
                               cases[c].same ? (attribute)TEXT("auto_pad", cases[c].same) : (attribute){0},
                               {0}};
    const attribute told[] = {LIST("strides", 2), LIST("pads", before, all - before), {0}};
    run_node("ConvTranspose x w > y", cases[c].version, asked, operands, extent, sizeof *got, got);
    run_node("ConvTranspose x w > y", 22, told, operands, extent, sizeof *want, want);
    for (int i = 0; i < extent; i++)
      ck_assert_msg(got[i] == want[i], "case %zu: element %d is %g, not %g", c, i, (double)got[i], (double)want[i]);
  }
}
END_TEST

/* What MaxPool took of 5 x 5 lies where it was, for 5 x 5 that output_shape asks for: rows and columns that no window
 * reaches count. */
START_TEST(unpooling_puts_back_what_pooling_took) {
  float x[2 * 25], y[2 * 25], want[2 * 25] = {0};
  const attribute window[] = {LIST("kernel_shape", 2, 2), LIST("strides", 2, 2), {0}};
  const int64_t shape[] = {1, 2, 5, 5};
  for (int i = 0; i < 50; i++) x[i] = noise(i);
  for (int w = 0; w < 8; w++) {
    int best = -1;
    for (int i = 0; i < 4; i++) {
      const int at = w / 4 * 25 + (w / 2 % 2 * 2 + i / 2) * 5 + w % 2 * 2 + i % 2;
      if (best < 0 || x[at] > x[best]) best = at;
    }
    want[best] = x[best];
  }
  mica__text graph = {0}, pool = node_with("MaxPool x > p i", window), back = node_with("MaxUnpool p i s > y", window);
  mica__text s = wire_tensor("s", INT64, (int64_t[]){4, -1}, shape, sizeof shape);
  wire_inside(&graph, WIRE_GRAPH_NODE, &pool);
  wire_inside(&graph, WIRE_GRAPH_NODE, &back);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &s);
  run_graph(&graph, 22, (const operand[]){{"x", FLOAT, {1, 2, 5, 5, -1}, x}, {0}}, 50, sizeof *y, y);
  ck_assert_mem_eq(y, want, sizeof y);
}
END_TEST

/* --- element by element --- */

START_TEST(shifts_beyond_the_type_leave_the_sign) {
  static const int32_t a[] = {-8, 1, 5, -1, 5, -5, 7, -7}, b[] = {3, 31, 32, 33, -1, -1, 100, INT32_MIN};
  static const int32_t left[] = {-64, INT32_MIN, 0, 0, 0, 0, 0, 0}, right[] = {-1, 0, 0, -1, 0, -1, 0, -1};
  const operand operands[] = {{"a", INT32, {8, -1}, a}, {"b", INT32, {8, -1}, b}, {0}};
  int32_t y[8];
  run_node("BitShift a b > y", 28, (const attribute[]){TEXT("direction", "LEFT"), {0}}, operands, 8, sizeof *y, y);
  ck_assert_mem_eq(y, left, sizeof y);
  run_node("BitShift a b > y", 28, (const attribute[]){TEXT("direction", "RIGHT"), {0}}, operands, 8, sizeof *y, y);
  ck_assert_mem_eq(y, right, sizeof y);
}
END_TEST

START_TEST(a_modulus_of_zero_has_the_divisors_sign) {
  static const float a[] = {6, -6, 6, -6, 0, -0.0F, -7, 7}, b[] = {3, 3, -3, -3, -2, 2, 3, -INFINITY};
  static const float want[] = {0, 0, -0.0F, -0.0F, -0.0F, 0, 2, -INFINITY};
  const operand operands[] = {{"a", FLOAT, {8, -1}, a}, {"b", FLOAT, {8, -1}, b}, {0}};
  float y[8];
  run_node("Mod a b > y", 28, (const attribute[]){NUMBER("fmod", 0), {0}}, operands, 8, sizeof *y, y);
  for (int i = 0; i < 8; i++)
    ck_assert_msg(y[i] == want[i] && signbit(y[i]) == signbit(want[i]), "%d: %g", i, (double)y[i]);
}
END_TEST

/* Large numbers and infinities beside small ones in a vector. */
START_TEST(sines_do_not_see_their_neighbours) {
  static const struct {
    const char *node;
    double (*of)(double x);
  } cases[] = {{"Sin x > y", sin}, {"Cos x > y", cos}, {"Tan x > y", tan}};
  enum { COUNT = 64 };
  float x[COUNT], y[COUNT];
  for (int i = 0; i < COUNT; i++) x[i] = i % 5 == 2 ? noise(i) * 1e8F : i % 7 == 3 ? INFINITY : noise(i) * 1e-4F;
  for (size_t c = 0; c < 3; c++) {
    run_node(cases[c].node, 22, NULL, (const operand[]){{"x", FLOAT, {COUNT, -1}, x}, {0}}, COUNT, sizeof *y, y);
    for (int i = 0; i < COUNT; i++) {
      const double want = cases[c].of((double)x[i]);
      if (isinf(x[i]))
        ck_assert_float_nan(y[i]);
      else
        ck_assert_msg(fabs((double)y[i] - want) <= 5e-7 * fabs(want), "%s: of %g %g, not %g", cases[c].node,
                      (double)x[i], (double)y[i], want);
    }
  }
}
END_TEST

START_TEST(extremes_of_no_bools_are_the_least_and_the_greatest) {
  const operand operands[] = {{"x", BOOL, {2, 0, 3, -1}, ""}, {0}};
  const int64_t axis[] = {1};
  for (int c = 0; c < 2; c++) {
    mica__text graph = {0}, node = wire_node(c ? "ReduceMin x a > y" : "ReduceMax x a > y");
    mica__text a = wire_tensor("a", INT64, (int64_t[]){1, -1}, axis, sizeof axis);
    unsigned char y[6];
    wire_inside(&graph, WIRE_GRAPH_NODE, &node);
    wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &a);
    run_graph(&graph, 20, operands, 6, 1, y);
    for (int i = 0; i < 6; i++) ck_assert_int_eq(y[i], c);
  }
}
END_TEST

/* A bool of another byte than 0 and 1 is true, from a feed as from a file. */
START_TEST(bools_of_any_byte_are_true) {
  static const unsigned char x[] = {0, 1, 2, 255, 128, 0, 254, 1};
  const operand operands[] = {{"x", BOOL, {8, -1}, x}, {0}};
  mica__text graph = {0}, node = wire_node("Equal x k > y");
  mica__text constant = wire_tensor("k", BOOL, (int64_t[]){8, -1}, x, sizeof x);
  unsigned char y[8];
  wire_inside(&graph, WIRE_GRAPH_NODE, &node);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &constant);
  run_graph(&graph, 19, operands, 8, 1, y);
  for (int i = 0; i < 8; i++) ck_assert_int_eq(y[i], 1);
  run_node("Not x > y", 19, NULL, operands, 8, 1, y);
  for (int i = 0; i < 8; i++) ck_assert_int_eq(y[i], !x[i]);
}
END_TEST

/* Before version 21 the scale has one number per group, so its shape does not tell the channels. */
START_TEST(groups_of_open_channels_are_refused) {
  static const float one = 1;
  mica__text graph = {0},
             node = node_with("GroupNormalization x s s > y", (const attribute[]){NUMBER("num_groups", 1), {0}});
  mica__text x = wire_port("x", FLOAT, (int64_t[]){2, MICA_DYNAMIC - 1, 4, -1});
  mica__text y = wire_port("y", FLOAT, (int64_t[]){2, MICA_DYNAMIC - 1, 4, -1});
  mica__text s = wire_tensor("s", FLOAT, (int64_t[]){1, -1}, &one, sizeof one);
  mica_onnx_parameter *parameters = NULL;
  mica_onnx *model = NULL;
  mica_graph *built = NULL;
  mica_value output;
  size_t count = 0;
  wire_inside(&graph, WIRE_GRAPH_NODE, &node);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &s);
  wire_inside(&graph, WIRE_GRAPH_INPUT, &x);
  wire_inside(&graph, WIRE_GRAPH_OUTPUT, &y);
  mica__text file = wire_model_of(&graph, 18);
  ck_ok(mica_onnx_open_memory("m", file.data, file.length, &model));
  mica__text_free(&file);
  ck_ok(mica_graph_create(&built));
  mica_value input = mica_input(built, "x", MICA_F32, MICA_SHAPE(2, MICA_DYNAMIC, 4));
  ck_assert_int_ne(mica_onnx_build(model, built, &input, 1, &output, 1, NULL, &parameters, &count), MICA_OK);
  ck_assert_msg(strstr(mica_error_message(), "the number of channels must be known"), "%s", mica_error_message());
  mica_graph_destroy(built);
  mica_free(parameters);
  mica_onnx_close(model);
}
END_TEST

TESTS(BOTH(NEEDS(ONNX), DEVICE), NULL, NULL, attention_sees_the_keys_of_its_window,
      transposed_convolutions_pad_more_before, unpooling_puts_back_what_pooling_took,
      shifts_beyond_the_type_leave_the_sign, a_modulus_of_zero_has_the_divisors_sign, sines_do_not_see_their_neighbours,
      extremes_of_no_bools_are_the_least_and_the_greatest, bools_of_any_byte_are_true,
      groups_of_open_channels_are_refused)
