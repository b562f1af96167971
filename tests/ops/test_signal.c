/* labels: device single
 *
 * Fourier transforms of many lengths against sums in double; inverses of spectrograms, and random changes of sounds, by
 * what they are. tests/ops/test_signal_golden.c has features. */
#include "support/graph_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- transforms --- */

static uint64_t state = 7;
static float *random_values(int64_t count) {
  float *values = malloc((size_t)count * sizeof *values + 1);
  ck_assert_ptr_nonnull(values);
  for (int64_t i = 0; i < count; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    values[i] = (float)((double)(state >> 11) / 9007199254740992.0 * 2 - 1);
  }
  return values;
}

static double sum_of_squares(const double *y, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += y[i] * y[i];
  return sum;
}

/* y (m pairs) of x, h pairs, as sums in double. */
static void transform(const double *x, int64_t h, int64_t n, int64_t m, int sign, double *y) {
  const double pi = acos(-1);
  for (int64_t k = 0; k < m; k++) {
    y[2 * k] = y[2 * k + 1] = 0;
    for (int64_t j = 0; j < h; j++) {
      double a = sign * 2 * pi * (double)(j * k % n) / (double)n;
      y[2 * k] += x[2 * j] * cos(a) - x[2 * j + 1] * sin(a);
      y[2 * k + 1] += x[2 * j] * sin(a) + x[2 * j + 1] * cos(a);
    }
  }
}

/* The errors of an FFT are a few units in the last place of the root mean square of its results (Higham 2002, 24.1);
 * Bluestein's way makes three of more numbers. */
static void expect(const char *what, int64_t n, const float *got, const double *want, int64_t count) {
  double error = 0, size = sqrt(sum_of_squares(want, count));
  for (int64_t i = 0; i < count; i++) error += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
  ck_assert_msg(sqrt(error) <= 2e-6 * size + 1e-12, "%s of %d: %g of %g", what, (int)n, sqrt(error), size);
}

/* One of the four builders on an operand of h numbers, n being asked for (0: its own). */
static void try_transform(int kind, int64_t h, int64_t n) {
  static const char *const names[] = {"fft", "ifft", "rfft", "irfft"};
  const bool real_in = kind == 2, real_out = kind == 3;
  const int64_t full = n ? n : real_out ? 2 * (h - 1) : h, m = real_in ? full / 2 + 1 : full;
  float *x = random_values(2 * 2 * h);
  double *pairs = calloc((size_t)(2 * full + 4), sizeof *pairs), *y = calloc((size_t)(2 * m), sizeof *y);
  ck_assert(pairs && y);
  mica_shape shape = real_in ? MICA_SHAPE(2, h) : MICA_SHAPE(2, h, 2);
  mica_value a = mica_input(graph, "a", MICA_F32, shape);
  mica_value value = kind == 0   ? mica_fft(a, n)
                     : kind == 1 ? mica_ifft(a, n)
                     : kind == 2 ? mica_rfft(a, n)
                                 : mica_irfft(a, n);
  float *got = graph_run(value, shape, x, NULL);
  for (int64_t row = 0; row < 2; row++) {
    memset(pairs, 0, (size_t)(2 * full) * sizeof *pairs);
    for (int64_t j = 0; j < h && j < (real_out ? full / 2 + 1 : full); j++) {
      double re = (double)x[(row * h + j) * (real_in ? 1 : 2)];
      double im = real_in ? 0 : (double)x[(row * h + j) * 2 + 1];
      if (real_out && (j == 0 || 2 * j == full)) im = 0;
      pairs[2 * j] = re;
      pairs[2 * j + 1] = im;
      if (real_out && j > 0 && 2 * j != full) {
        pairs[2 * (full - j)] = re;
        pairs[2 * (full - j) + 1] = -im;
      }
    }
    transform(pairs, full, full, m, kind % 2 ? 1 : -1, y);
    for (int64_t k = 0; kind % 2 && k < 2 * m; k++) y[k] /= (double)full;
    for (int64_t k = 0; real_out && k < m; k++) y[k] = y[2 * k];
    int64_t count = real_out ? m : 2 * m;
    expect(names[kind], full, got + row * count, y, count);
  }
  free(x);
  free(pairs);
  free(y);
  free(got);
  graph_anew();
}

START_TEST(transforms_of_any_length) {
  static const int64_t lengths[] = {1, 2, 3, 4, 5, 7, 8, 12, 30, 61, 64, 97, 100, 118, 127, 243, 400, 625, 1009, 2048};
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
    for (int kind = 0; kind < 4; kind++) {
      int64_t n = lengths[k], h = kind == 3 ? n / 2 + 1 : n;
      try_transform(kind, h, n);
    }
  for (int kind = 0; kind < 4; kind++) {
    try_transform(kind, 11, 0);
    try_transform(kind, 11, 8);
    try_transform(kind, 11, 67);
  }
}
END_TEST

/* --- inverses --- */

/* Every convention's inverse gives back what its frames cover. */
START_TEST(inverse_gives_the_signal_back) {
  const mica_stft_config configs[] = {
      {.length = 64, .hop = 16},
      {.length = 64, .hop = 20, .width = 50, .pad = MICA_SIGNAL_PAD_REFLECT, .normalized = true},
      {.length = 2048, .hop = 500, .width = 2000, .window = MICA_SIGNAL_WINDOW_HAMMING},
      {.length = 45, .hop = 15, .window = MICA_SIGNAL_WINDOW_BLACKMAN, .pad = MICA_SIGNAL_PAD_EDGE},
      {.length = 32, .hop = 32, .window = MICA_SIGNAL_WINDOW_RECTANGULAR, .pad = MICA_SIGNAL_PAD_NONE},
  };
  for (size_t k = 0; k < sizeof configs / sizeof *configs; k++) {
    const int64_t t = 3200;
    float *x = random_values(2 * t);
    mica_value a = mica_input(graph, "a", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, MICA_DYNAMIC));
    mica_value y = mica_istft(mica_stft(a, &configs[k]), a, &configs[k]);
    float *got = graph_run(y, MICA_SHAPE(2, t), x, NULL);
    for (int64_t i = 0; i < 2 * t; i++)
      if (i % t < t - configs[k].length)
        ck_assert_msg(fabsf(got[i] - x[i]) < 2e-5f, "config %d, sample %d: %g, not %g", (int)k, (int)i, (double)got[i],
                      (double)x[i]);
    free(x);
    free(got);
    graph_anew();
  }
}
END_TEST

/* What a product folds into its matrix, a long transform does sample by sample. */
START_TEST(long_frames_are_prepared_as_short_ones) {
  const int64_t t = 4000, width = 1000;
  mica_stft_config folded = {.length = 1024,
                             .hop = 700,
                             .width = width,
                             .window = MICA_SIGNAL_WINDOW_POVEY,
                             .symmetric = true,
                             .snip = true,
                             .centered_values = true,
                             .preemphasis = 0.9},
                   apart = folded;
  apart.length = 2048; /* zeros behind the same samples: every second frequency is one of the others */
  float *x = random_values(t);
  mica_value a = mica_input(graph, "a", MICA_F32, MICA_SHAPE(1, t));
  mica_value whole = mica_stft(a, &folded), other = mica_slice(mica_stft(a, &apart), 1, 0, MICA_END, 2);
  mica_value off = mica_max(mica_abs(mica_sub(whole, other)), MICA_ALL_AXES, false);
  mica_value of = mica_max(mica_abs(whole), MICA_ALL_AXES, false);
  mica_value share = mica_div(off, of);
  float *got = graph_run(share, MICA_SHAPE(1, t), x, NULL);
  ck_assert_msg(got[0] < 1e-5f, "off by %g", (double)got[0]);
  free(x);
  free(got);
}
END_TEST

/* --- random changes --- */

static mica_tensor *step_of(int32_t step) {
  mica_tensor *tensor = NULL;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(1), &step, &tensor));
  return tensor;
}

START_TEST(ranges_are_masked) {
  enum { N = 64, C = 20, F = 50 };
  float x[N * C * F], hidden = 0;
  for (int i = 0; i < N * C * F; i++) x[i] = 1;
  mica_tensor *step = step_of(3);
  mica_value a = mica_input(graph, "a", MICA_F32, MICA_SHAPE(N, C, MICA_DYNAMIC));
  mica_value b = mica_input(graph, "b", MICA_I32, MICA_SHAPE(1));
  mica_value y = mica_spec_augment(
      a, b, &(mica_spec_augment_config){.frequency_masks = 1, .frequency_width = 6, .time_masks = 1, .time_width = 10});
  float *got = graph_run(y, MICA_SHAPE(N, C, F), x, step);
  int widths[2][16] = {{0}};
  for (int n = 0; n < N; n++) {
    bool row[C], column[F];
    int rows = 0, columns = 0, edges = 0;
    for (int c = 0; c < C; c++) row[c] = true;
    for (int f = 0; f < F; f++) column[f] = true;
    for (int c = 0; c < C; c++)
      for (int f = 0; f < F; f++)
        if (got[(n * C + c) * F + f] != 0) row[c] = column[f] = false;
    for (int c = 0; c < C; c++) rows += row[c], edges += row[c] && (c == 0 || !row[c - 1]);
    for (int f = 0; f < F; f++) columns += column[f], edges += column[f] && (f == 0 || !column[f - 1]);
    for (int c = 0; c < C; c++)
      for (int f = 0; f < F; f++)
        ck_assert_msg(got[(n * C + c) * F + f] == (row[c] || column[f] ? 0.0f : 1.0f), "sample %d", n);
    ck_assert_int_le(rows, 6);
    ck_assert_int_le(columns, 10);
    ck_assert_int_le(edges, 2);
    widths[0][rows]++, widths[1][columns]++;
    hidden += (float)(rows * F + columns * C);
  }
  ck_assert(widths[0][0] < N / 2 && widths[0][6] > 0 && widths[1][10] > 0 && hidden > 0);
  free(got);
  mica_tensor_destroy(step);
}
END_TEST

START_TEST(signals_are_shifted) {
  enum { N = 50, T = 40, MOST = 7 };
  float x[N * T];
  for (int i = 0; i < N * T; i++) x[i] = (float)(i % T + 1);
  mica_tensor *step = step_of(1);
  mica_value a = mica_input(graph, "a", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, MICA_DYNAMIC));
  mica_value y = mica_time_shift(a, mica_input(graph, "b", MICA_I32, MICA_SHAPE(1)), 5, MOST);
  float *got = graph_run(y, MICA_SHAPE(N, T), x, step);
  int seen[2 * MOST + 1] = {0}, different = 0;
  for (int n = 0; n < N; n++) {
    int shift = T / 2 + 1 - (int)got[n * T + T / 2];
    ck_assert_int_le(abs(shift), MOST);
    different += seen[shift + MOST]++ == 0;
    for (int i = 0; i < T; i++) {
      int from = i - shift;
      ck_assert_msg(got[n * T + i] == (from < 0 || from >= T ? 0.0f : (float)(from + 1)), "signal %d", n);
    }
  }
  ck_assert_int_gt(different, MOST);
  free(got);
  mica_tensor_destroy(step);
}
END_TEST

START_TEST(noise_has_its_ratio) {
  enum { N = 4, T = 20000 };
  float *x = random_values(N * T);
  mica_tensor *step = step_of(0);
  mica_value a = mica_input(graph, "a", MICA_F32, MICA_SHAPE(N, MICA_DYNAMIC));
  mica_value y = mica_add_noise(a, mica_input(graph, "b", MICA_I32, MICA_SHAPE(1)), 5, 10, 10);
  float *got = graph_run(y, MICA_SHAPE(N, T), x, step);
  for (int n = 0; n < N; n++) {
    double signal = 0, noise = 0;
    for (int i = n * T; i < (n + 1) * T; i++) {
      signal += (double)x[i] * (double)x[i];
      noise += ((double)got[i] - (double)x[i]) * ((double)got[i] - (double)x[i]);
    }
    /* The deviation of a sum of 20,000 squares is 1 % of it: 0.04 dB; five of these. */
    ck_assert_msg(fabs(10 * log10(signal / noise) - 10) < 0.2, "%g dB", 10 * log10(signal / noise));
  }
  free(x);
  free(got);
  mica_tensor_destroy(step);
}
END_TEST

TESTS(DEVICE, graph_setup, graph_teardown, transforms_of_any_length, inverse_gives_the_signal_back,
      long_frames_are_prepared_as_short_ones, ranges_are_masked, signals_are_shifted, noise_has_its_ratio)
