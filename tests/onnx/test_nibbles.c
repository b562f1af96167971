/* labels: device single
 *
 * Tensors of int4 and uint4: two elements to a byte in the file, cut to 4 bits by casts and quantisation. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/onnx_node.h"

#include <math.h>
#include <mica/mica.h>
#include <mica/onnx.h>
#include <string.h>

enum { ROWS = 3, COLUMNS = 5, COUNT = ROWS * COLUMNS, BYTES = (COUNT + 1) / 2 };

static int nibble_at(const unsigned char *bytes, int i, int type) {
  const int bits = bytes[i / 2] >> (i % 2 ? 4 : 0) & 15;
  return type == INT4 && bits > 7 ? bits - 16 : bits;
}

static void fill(unsigned char *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) bytes[i] = (unsigned char)(i * 91 + 23);
}

/* An initial value of 4 bits, as raw bytes or as a list of numbers. */
static void add_nibbles(mica__text *graph, const char *name, int type, const int64_t *dims, const unsigned char *bytes,
                        size_t count, bool list) {
  mica__text tensor = wire_tensor(name, type, dims, list ? NULL : bytes, count);
  for (size_t i = 0; list && i < count; i++) wire_int(&tensor, 5, bytes[i]);
  wire_inside(graph, WIRE_GRAPH_INITIALIZER, &tensor);
}

static void add_scales(mica__text *graph, const int64_t *dims, float *scales, int64_t count) {
  for (int64_t i = 0; i < count; i++) scales[i] = 0.25F + 0.125F * (float)i;
  mica__text tensor = wire_tensor("s", FLOAT, dims, scales, (size_t)count * sizeof *scales);
  wire_inside(graph, WIRE_GRAPH_INITIALIZER, &tensor);
}

/* One scale, one per row, and one per block of two columns, with and without zero points of 4 bits. */
START_TEST(nibbles_are_dequantised) {
  for (int c = 0; c < 24; c++) {
    const int type = c % 2 ? INT4 : UINT4, form = c / 2 % 3, parts = form == 0 ? 1 : form == 1 ? ROWS : ROWS * 3;
    const bool list = c / 6 % 2, zeros = c / 12;
    const int64_t dims[] = {ROWS, COLUMNS, -1}, none[] = {-1}, rows[] = {ROWS, -1}, blocks[] = {ROWS, 3, -1};
    const int64_t *shape = form == 0 ? none : form == 1 ? rows : blocks;
    unsigned char q[BYTES], z[8];
    float scales[ROWS * 3], y[COUNT];
    const attribute attributes[] = {
        NUMBER("axis", form == 2), form == 2 ? (attribute)NUMBER("block_size", 2) : (attribute){0}, {0}};
    mica__text graph = {0},
               node = node_with(zeros ? "DequantizeLinear q s z > y" : "DequantizeLinear q s > y", attributes);
    fill(q, sizeof q);
    fill(z, sizeof z);
    wire_inside(&graph, WIRE_GRAPH_NODE, &node);
    add_nibbles(&graph, "q", type, dims, q, BYTES, list);
    if (zeros) add_nibbles(&graph, "z", type, shape, z, (size_t)(parts + 1) / 2, list);
    add_scales(&graph, shape, scales, parts);
    run_graph(&graph, 21, (const operand[]){{0}}, COUNT, sizeof *y, y);
    for (int i = 0; i < COUNT; i++) {
      const int row = i / COLUMNS, part = form == 0 ? 0 : form == 1 ? row : row * 3 + i % COLUMNS / 2;
      const int steps = nibble_at(q, i, type) - (zeros ? nibble_at(z, part, type) : 0);
      ck_assert_msg(y[i] == (float)steps * scales[part], "case %d: element %d is %g, not %g", c, i, (double)y[i],
                    (double)((float)steps * scales[part]));
    }
  }
}
END_TEST

/* Casts keep the low 4 bits. */
START_TEST(casts_wrap) {
  for (int type = UINT4; type <= INT4; type++) {
    int32_t x[64];
    float y[64];
    for (int i = 0; i < 64; i++) x[i] = 3 * i - 90;
    mica__text graph = {0}, to = node_with("Cast x > q", (const attribute[]){NUMBER("to", type), {0}});
    mica__text back = node_with("Cast q > y", (const attribute[]){NUMBER("to", FLOAT), {0}});
    wire_inside(&graph, WIRE_GRAPH_NODE, &to);
    wire_inside(&graph, WIRE_GRAPH_NODE, &back);
    run_graph(&graph, 21, (const operand[]){{"x", INT32, {64, -1}, x}, {0}}, 64, sizeof *y, y);
    for (int i = 0; i < 64; i++) {
      const int bits = x[i] & 15;
      ck_assert_float_eq(y[i], (float)(type == INT4 && bits > 7 ? bits - 16 : bits));
    }
  }
}
END_TEST

/* By a zero point of the type, an initial value or an input, and by the attribute alone. */
START_TEST(quantisation_saturates) {
  for (int c = 0; c < 6; c++) {
    const int type = c % 2 ? INT4 : UINT4;
    const bool zeros = c / 2, fed = c / 4;
    const int64_t none[] = {-1};
    const unsigned char z = 2;
    float x[40], scale, y[40];
    for (int i = 0; i < 40; i++) x[i] = 0.3F * (float)i - 6;
    mica__text graph = {0};
    mica__text to =
        node_with(zeros ? "QuantizeLinear x s z > q" : "QuantizeLinear x s > q",
                  (const attribute[]){zeros ? (attribute){0} : (attribute)NUMBER("output_dtype", type), {0}});
    mica__text back = node_with(zeros ? "DequantizeLinear q s z > y" : "DequantizeLinear q s > y", NULL);
    wire_inside(&graph, WIRE_GRAPH_NODE, &to);
    wire_inside(&graph, WIRE_GRAPH_NODE, &back);
    if (!fed) add_nibbles(&graph, "z", type, none, &z, 1, false);
    add_scales(&graph, none, &scale, 1);
    const operand operands[] = {{"x", FLOAT, {40, -1}, x}, fed ? (operand){"z", type, {-1}, &z} : (operand){0}, {0}};
    run_graph(&graph, 21, operands, 40, sizeof *y, y);
    for (int i = 0; i < 40; i++) {
      const int zero = zeros ? 2 : 0, least = type == INT4 ? -8 : 0;
      const double steps = rint((double)(x[i] / scale)) + zero;
      const double cut = fmin(fmax(steps, least), least + 15) - zero;
      ck_assert_float_eq(y[i], (float)(cut * (double)scale));
    }
  }
}
END_TEST

/* 15 elements lie in 8 bytes, as raw bytes and as numbers. */
START_TEST(other_sizes_are_refused) {
  for (int c = 0; c < 4; c++) {
    const size_t bytes = c % 2 ? BYTES - 1 : COUNT;
    unsigned char q[COUNT];
    float scale;
    mica__text graph = {0}, node = wire_node("DequantizeLinear q s > y");
    mica_onnx *model = NULL;
    mica_onnx_runner *runner = NULL;
    fill(q, sizeof q);
    wire_inside(&graph, WIRE_GRAPH_NODE, &node);
    add_nibbles(&graph, "q", INT4, (const int64_t[]){ROWS, COLUMNS, -1}, q, bytes, c / 2);
    add_scales(&graph, (const int64_t[]){-1}, &scale, 1);
    mica__text y = wire_port("y", FLOAT, (int64_t[]){-1});
    wire_inside(&graph, WIRE_GRAPH_OUTPUT, &y);
    mica__text file = wire_model_of(&graph, 21);
    ck_ok(mica_onnx_open_memory("model", file.data, file.length, &model));
    mica__text_free(&file);
    ck_ok(mica_onnx_runner_create(test_engine(), model, NULL, &runner));
    ck_assert_int_eq((int)mica_onnx_run(runner, test_queue(), NULL, 0), (int)MICA_E_FORMAT);
    ck_assert_ptr_nonnull(strstr(mica_error_message(), "tensor 'q' is i8 (3, 5), but has"));
    mica_onnx_runner_destroy(runner);
    mica_onnx_close(model);
  }
}
END_TEST

TESTS(BOTH(NEEDS(ONNX), DEVICE), NULL, NULL, nibbles_are_dequantised, casts_wrap, quantisation_saturates,
      other_sizes_are_refused)
