/* labels: device single
 *
 * Operators that are made of several of Mica's, beside loops in double. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/onnx_node.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

/* --- diagonals of Einsum --- */

/* A row: the equation, the operand's dimensions, the result's, and for each axis of the operand the axis of the result
 * along which it is read (-1: the one that is summed). */
static const struct {
  const char *equation;
  int64_t x[6], y[4];
  int axis[5];
} einsums[] = {
    {"ii->i", {5, 5, -1}, {5, -1}, {0, 0}},
    {"ii", {5, 5, -1}, {-1}, {-1, -1}},
    {"...ii->...i", {3, 2, 4, 4, -1}, {3, 2, 4, -1}, {0, 1, 2, 2}},
    {"...ii", {3, 4, 4, -1}, {3, -1}, {0, -1, -1}},
    {"aibi->ba", {2, 4, 3, 4, -1}, {3, 2, -1}, {1, -1, 0, -1}},
    {"iijj->ji", {3, 3, 4, 4, -1}, {4, 3, -1}, {1, 1, 0, 0}},
    {"iaibi->iab", {3, 2, 3, 4, 3, -1}, {3, 2, 4, -1}, {0, 1, 0, 2, 0}},
    {"aii->ai", {2, 1, 1, -1}, {2, 1, -1}, {0, 1, 1}},
    {"aii->a", {2, 0, 0, -1}, {2, -1}, {0, -1, -1}},
};

START_TEST(a_letter_twice_takes_the_diagonal) {
  for (size_t c = 0; c < sizeof einsums / sizeof *einsums; c++) {
    float x[216], got[24] = {0};
    double want[24] = {0};
    int64_t summed = 1, count = 1;
    for (int i = 0; i < 216; i++) x[i] = noise(i);
    for (int k = 0; einsums[c].x[k] >= 0; k++)
      if (einsums[c].axis[k] < 0) summed = einsums[c].x[k];
    for (int k = 0; einsums[c].y[k] >= 0; k++) count *= einsums[c].y[k];
    for (int64_t r = 0; r < count * summed; r++) {
      int64_t at[4], rest = r / summed, from = 0;
      int rank = 0;
      while (einsums[c].y[rank] >= 0) rank++;
      for (int k = rank - 1; k >= 0; k--) at[k] = rest % einsums[c].y[k], rest /= einsums[c].y[k];
      for (int k = 0; einsums[c].x[k] >= 0; k++)
        from = from * einsums[c].x[k] + (einsums[c].axis[k] < 0 ? r % summed : at[einsums[c].axis[k]]);
      want[r / summed] += (double)x[from];
    }
    operand operands[] = {{"x", FLOAT, {0}, x}, {0}};
    memcpy(operands[0].dims, einsums[c].x, sizeof einsums[c].x);
    run_node("Einsum x > y", 12, (const attribute[]){TEXT("equation", einsums[c].equation), {0}}, operands, count,
             sizeof *got, got);
    for (int64_t i = 0; i < count; i++)
      ck_assert_msg(fabs((double)got[i] - want[i]) <= 1e-6, "%s: element %d is %g, not %g", einsums[c].equation, (int)i,
                    (double)got[i], want[i]);
  }
}
END_TEST

/* --- boxes with samples by their size --- */

enum { BOXES = 6, CHANNELS = 2, SIDE_Y = 7, SIDE_X = 9, CELLS_Y = 2, CELLS_X = 3 };

static double pixel(const float *x, int image, int channel, double v, double u) {
  double sum = 0;
  if (v < -1 || v > SIDE_Y || u < -1 || u > SIDE_X) return 0;
  v = fmin(fmax(v, 0), SIDE_Y - 1);
  u = fmin(fmax(u, 0), SIDE_X - 1);
  for (int i = 0; i < 4; i++) {
    const int row = (int)v + i / 2, column = (int)u + i % 2;
    if (row >= SIDE_Y || column >= SIDE_X) continue;
    sum += (1 - fabs(v - row)) * (1 - fabs(u - column)) *
           (double)x[((image * CHANNELS + channel) * SIDE_Y + row) * SIDE_X + column];
  }
  return sum;
}

/* The mean of the samples of cell (i, j) of a box. */
static double cell_of(const float *x, const float *box, int image, int channel, int i, int j, bool whole,
                      double scale) {
  double from[2], size[2], sum = 0;
  int samples[2];
  const int cells[] = {CELLS_X, CELLS_Y};
  for (int a = 0; a < 2; a++) {
    from[a] = (double)box[a] * scale - (whole ? 0 : 0.5);
    size[a] = ((double)box[2 + a] - (double)box[a]) * scale;
    if (whole) size[a] = fmax(size[a], 1);
    samples[a] = (int)ceil(size[a] / cells[a]);
  }
  for (int p = 0; p < samples[1]; p++)
    for (int q = 0; q < samples[0]; q++)
      sum += pixel(x, image, channel, from[1] + size[1] * (i + (p + 0.5) / samples[1]) / CELLS_Y,
                   from[0] + size[0] * (j + (q + 0.5) / samples[0]) / CELLS_X);
  return sum / fmax(samples[0] * samples[1], 1);
}

/* Boxes of several sizes, one of none, one beyond the picture; known, and computed from data. */
START_TEST(boxes_take_samples_by_their_size) {
  static const float boxes[BOXES * 4] = {1, 1, 6, 5, 0,  0,  17, 13, 3, 2, 3.5F, 2.4F,
                                         9, 9, 9, 9, -4, -3, 26, 20, 5, 1, 12,   3};
  const int64_t images[BOXES] = {0, 1, 1, 0, 1, 0};
  float x[2 * CHANNELS * SIDE_Y * SIDE_X], got[BOXES * CHANNELS * CELLS_Y * CELLS_X];
  for (size_t i = 0; i < sizeof x / sizeof *x; i++) x[i] = noise((int)i);
  for (int c = 0; c < 4; c++) {
    const bool whole = c & 1, known = c & 2;
    mica__text graph = {0}, node = node_with(known ? "RoiAlign x b i > y" : "RoiAlign x c i > y",
                                             (const attribute[]){NUMBER("output_height", CELLS_Y),
                                                                 NUMBER("output_width", CELLS_X),
                                                                 REAL("spatial_scale", 0.5),
                                                                 TEXT("coordinate_transformation_mode",
                                                                      whole ? "output_half_pixel" : "half_pixel"),
                                                                 {0}});
    mica__text same = wire_node("Identity b > c"),
               i = wire_tensor("i", INT64, (int64_t[]){BOXES, -1}, images, sizeof images);
    mica__text b = wire_tensor("b", FLOAT, (int64_t[]){BOXES, 4, -1}, boxes, sizeof boxes);
    const operand operands[] = {{"x", FLOAT, {2, CHANNELS, SIDE_Y, SIDE_X, -1}, x},
                                known ? (operand){0} : (operand){"b", FLOAT, {BOXES, 4, -1}, boxes},
                                {0}};
    wire_inside(&graph, WIRE_GRAPH_NODE, &same);
    wire_inside(&graph, WIRE_GRAPH_NODE, &node);
    wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &i);
    if (known)
      wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &b);
    else
      mica__text_free(&b);
    run_graph(&graph, 16, operands, BOXES * CHANNELS * CELLS_Y * CELLS_X, sizeof *got, got);
    for (int at = 0; at < BOXES * CHANNELS * CELLS_Y * CELLS_X; at++) {
      const int box = at / (CHANNELS * CELLS_Y * CELLS_X), channel = at / (CELLS_Y * CELLS_X) % CHANNELS;
      const double want =
          cell_of(x, &boxes[4 * box], (int)images[box], channel, at / CELLS_X % CELLS_Y, at % CELLS_X, whole, 0.5);
      ck_assert_msg(fabs((double)got[at] - want) <= 5e-6, "case %d: element %d is %g, not %g", c, at, (double)got[at],
                    want);
    }
  }
}
END_TEST

/* --- frames of a signal --- */

/* A signal with and without an axis of one part. */
START_TEST(frames_are_transformed) {
  enum { ROWS = 2, LENGTH = 11, WIDTH = 5, STEP = 3, FRAMES = 3, HALF = 3 };
  float x[ROWS * LENGTH], window[WIDTH], got[ROWS * FRAMES * HALF * 2];
  const int64_t step = STEP, width = WIDTH;
  for (int i = 0; i < ROWS * LENGTH; i++) x[i] = noise(i);
  for (int i = 0; i < WIDTH; i++) window[i] = noise(i + 90);
  for (int rank = 2; rank <= 3; rank++) {
    mica__text graph = {0}, node = wire_node("STFT x s w l > y");
    mica__text s = wire_tensor("s", INT64, (int64_t[]){-1}, &step, 8),
               l = wire_tensor("l", INT64, (int64_t[]){-1}, &width, 8);
    operand operands[] = {{"x", FLOAT, {ROWS, LENGTH, 1, -1}, x}, {"w", FLOAT, {WIDTH, -1}, window}, {0}};
    operands[0].dims[rank] = -1;
    wire_inside(&graph, WIRE_GRAPH_NODE, &node);
    wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &s);
    wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &l);
    run_graph(&graph, 17, operands, ROWS * FRAMES * HALF * 2, sizeof *got, got);
    for (int i = 0; i < ROWS * FRAMES * HALF; i++) {
      const int row = i / (FRAMES * HALF), frame = i / HALF % FRAMES, k = i % HALF;
      double real = 0, imaginary = 0;
      for (int t = 0; t < WIDTH; t++) {
        const double value = (double)x[row * LENGTH + frame * STEP + t] * (double)window[t];
        real += value * cos(2 * acos(-1) * k * t / WIDTH);
        imaginary -= value * sin(2 * acos(-1) * k * t / WIDTH);
      }
      ck_assert_double_eq_tol((double)got[2 * i], real, 2e-6);
      ck_assert_double_eq_tol((double)got[2 * i + 1], imaginary, 2e-6);
    }
  }
}
END_TEST

/* --- gated units --- */

START_TEST(the_gate_is_multiplied_by_its_sigmoid) {
  const double alphas[] = {1, 1.702, -0.5};
  float a[12], b[12], got[12];
  for (int i = 0; i < 12; i++) a[i] = 3 * noise(i), b[i] = noise(i + 31);
  const operand operands[] = {{"a", FLOAT, {3, 4, -1}, a}, {"b", FLOAT, {3, 4, -1}, b}, {0}};
  for (int c = 0; c < 3; c++) {
    run_node("SwiGLU a b > y", 28, (const attribute[]){REAL("alpha", alphas[c]), {0}}, operands, 12, sizeof *got, got);
    for (int i = 0; i < 12; i++) {
      const double x = (double)a[i], want = x / (1 + exp(-(double)(float)alphas[c] * x)) * (double)b[i];
      ck_assert_double_eq_tol((double)got[i], want, 2e-6);
    }
  }
}
END_TEST

/* --- LSTMs with weights of integers --- */

#define STEPS 3
#define BATCH 2
#define IN 5
#define HIDDEN 4
#define GATES (4 * HIDDEN)

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* x in 255 steps of its range, 0 included, as DynamicQuantizeLinear rounds it. */
static void round_to_bytes(const double *x, int count, double *rounded) {
  double low = 0, high = 0;
  for (int i = 0; i < count; i++) low = fmin(low, x[i]), high = fmax(high, x[i]);
  const double step = high > low ? (high - low) / 255 : 1, zero = rint(-low / step);
  for (int i = 0; i < count; i++) rounded[i] = (fmin(fmax(rint(x[i] / step) + zero, 0), 255) - zero) * step;
}

/* One direction: h (BATCH, HIDDEN) of every step, each sequence's rounded before its product, by weights (inputs, gates
 * i o f c of hidden) and (hidden, gates). */
static void lstm(const double *x, const double *w, const double *r, const float *bias, bool back, double *y) {
  double h[BATCH][HIDDEN] = {{0}}, c[BATCH][HIDDEN] = {{0}};
  for (int s = 0; s < STEPS; s++) {
    const int t = back ? STEPS - 1 - s : s;
    double now[BATCH][HIDDEN], steps[BATCH][HIDDEN];
    for (int b = 0; b < BATCH; b++) {
      round_to_bytes(h[b], HIDDEN, steps[b]);
      for (int k = 0; k < HIDDEN; k++) {
        double gate[4];
        for (int g = 0; g < 4; g++) {
          const int column = g * HIDDEN + k;
          gate[g] = (double)bias[column] + (double)bias[GATES + column];
          for (int i = 0; i < IN; i++) gate[g] += x[(t * BATCH + b) * IN + i] * w[i * GATES + column];
          for (int i = 0; i < HIDDEN; i++) gate[g] += steps[b][i] * r[i * GATES + column];
        }
        c[b][k] = sigmoid(gate[2]) * c[b][k] + sigmoid(gate[0]) * tanh(gate[3]);
        now[b][k] = sigmoid(gate[1]) * tanh(c[b][k]);
      }
    }
    memcpy(h, now, sizeof h);
    for (int b = 0; b < BATCH; b++)
      for (int k = 0; k < HIDDEN; k++) y[(t * 2 * BATCH + b) * HIDDEN + k] = h[b][k];
  }
}

/* Both directions, with a scale and zero point per direction or per column, of bytes with and without a sign. */
START_TEST(weights_of_integers_stand_for_numbers) {
  float x[STEPS * BATCH * IN], bias[2 * 2 * GATES], scale[2][2 * GATES], got[STEPS * 2 * BATCH * HIDDEN];
  unsigned char w[2][2 * IN * GATES], zero[2][2 * GATES];
  double real[2][2 * IN * GATES], want[STEPS * 2 * BATCH * HIDDEN], rounded[STEPS * BATCH * IN];
  for (int i = 0; i < STEPS * BATCH * IN; i++) rounded[i] = (double)(x[i] = noise(i));
  round_to_bytes(rounded, STEPS * BATCH * IN, rounded);
  for (int i = 0; i < 4 * GATES; i++) bias[i] = 0.2F * noise(i + 7);
  for (int c = 0; c < 4; c++) {
    const bool columns = c & 1, with_sign = c & 2;
    const int type = with_sign ? INT8 : UINT8, parts = columns ? GATES : 1;
    const int64_t rank_one[6] = {2, -1}, rank_two[6] = {2, GATES, -1};
    for (int m = 0; m < 2; m++) {
      const int rows = m ? HIDDEN : IN;
      for (int i = 0; i < 2 * parts; i++) scale[m][i] = 0.01F + 0.002F * fabsf(noise(i + m));
      for (int i = 0; i < 2 * parts; i++) zero[m][i] = (unsigned char)(with_sign ? i % 5 : 120 + i % 7);
      for (int i = 0; i < 2 * rows * GATES; i++) {
        const int part = i / (rows * GATES) * parts + (columns ? i % GATES : 0);
        w[m][i] = (unsigned char)(i * 37 + m);
        real[m][i] = ((with_sign ? (signed char)w[m][i] : w[m][i]) - zero[m][part]) * (double)scale[m][part];
      }
    }
    for (int d = 0; d < 2; d++)
      lstm(rounded, real[0] + d * IN * GATES, real[1] + d * HIDDEN * GATES, bias + d * 2 * GATES, d,
           want + d * BATCH * HIDDEN);
    operand operands[] = {{"x", FLOAT, {STEPS, BATCH, IN, -1}, x},
                          {"w", type, {2, IN, GATES, -1}, w[0]},
                          {"r", type, {2, HIDDEN, GATES, -1}, w[1]},
                          {"b", FLOAT, {2, 2 * GATES, -1}, bias},
                          {"ws", FLOAT, {0}, scale[0]},
                          {"wz", type, {0}, zero[0]},
                          {"rs", FLOAT, {0}, scale[1]},
                          {"rz", type, {0}, zero[1]},
                          {0}};
    for (int k = 4; k < 8; k++) memcpy(operands[k].dims, columns ? rank_two : rank_one, sizeof rank_one);
    run_node_of("com.microsoft", "DynamicQuantizeLSTM x w r b - - - - ws wz rs rz > y", 1,
                (const attribute[]){NUMBER("hidden_size", HIDDEN), TEXT("direction", "bidirectional"), {0}}, operands,
                STEPS * 2 * BATCH * HIDDEN, sizeof *got, got);
    for (int i = 0; i < STEPS * 2 * BATCH * HIDDEN; i++)
      ck_assert_msg(fabs((double)got[i] - want[i]) <= 5e-6, "case %d: element %d is %g, not %g", c, i, (double)got[i],
                    want[i]);
  }
}
END_TEST

/* What onnxruntime 1.32 gives: 5.9e-3 off what it would be without rounding. */
START_TEST(states_are_rounded_as_onnxruntime_rounds_them) {
  enum { T = 5, I = 3, H = 4, G = 4 * H };
  static const float want[T * H] = {-0.466862231F,   -0.0664243102F, 0.0377201177F,   0.410747617F,   0.187965631F,
                                    -0.00235409639F, 0.272849649F,   -0.00971357711F, 0.0521892905F,  0.0817809701F,
                                    0.210292995F,    -0.0345339328F, 0.0664616004F,   0.117263146F,   0.145712838F,
                                    -0.0966166183F,  0.0207422078F,  0.412744612F,    -0.0191949233F, -0.156911656F};
  float x[T * I], bias[2 * G], got[T * H];
  unsigned char w[I * G], r[H * G];
  for (int i = 0; i < T * I; i++) x[i] = (float)(i * 7 % 11 - 5) / 4;
  for (int i = 0; i < 2 * G; i++) bias[i] = (float)(i % 5 - 2) / 8;
  for (int i = 0; i < I * G; i++) w[i] = (unsigned char)(i * 37);
  for (int i = 0; i < H * G; i++) r[i] = (unsigned char)(i * 53 + 11);
  const operand operands[] = {{"x", FLOAT, {T, 1, I, -1}, x},
                              {"w", UINT8, {1, I, G, -1}, w},
                              {"r", UINT8, {1, H, G, -1}, r},
                              {"b", FLOAT, {1, 2 * G, -1}, bias},
                              {"ws", FLOAT, {1, -1}, (const float[]){1.F / 64}},
                              {"wz", UINT8, {1, -1}, (const unsigned char[]){128}},
                              {"rs", FLOAT, {1, -1}, (const float[]){1.F / 32}},
                              {"rz", UINT8, {1, -1}, (const unsigned char[]){120}},
                              {0}};
  run_node_of("com.microsoft", "DynamicQuantizeLSTM x w r b - - - - ws wz rs rz > y", 1,
              (const attribute[]){NUMBER("hidden_size", H), {0}}, operands, T * H, sizeof *got, got);
  for (int i = 0; i < T * H; i++)
    ck_assert_msg(fabsf(got[i] - want[i]) <= 1e-6F, "element %d is %.9g, not %.9g", i, (double)got[i], (double)want[i]);
}
END_TEST

TESTS(BOTH(NEEDS(ONNX), DEVICE), NULL, NULL, a_letter_twice_takes_the_diagonal, boxes_take_samples_by_their_size,
      frames_are_transformed, the_gate_is_multiplied_by_its_sigmoid, states_are_rounded_as_onnxruntime_rounds_them,
      weights_of_integers_stand_for_numbers)
