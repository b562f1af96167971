/* labels: device single
 *
 * Products of bytes in graphs, to the bit: integer kernels are found where they should be (by the names in the
 * profile), sums wrap, extreme values, zero points, values that several products share. */
#include "ops/quant/int8.h"
#include "ops/select/choice.h"
#include "runtime/host_cpu.h"
#include "runtime/tuning.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static mica_graph *graph;
static mica_feed feeds[4];
static mica_tensor *fed[4];
static size_t feed_count;
static uint32_t state;

static void setup(void) {
  ck_ok(mica_graph_create(&graph));
  state = 20261125;
}

static void teardown(void) {
  mica_graph_destroy(graph);
  while (feed_count > 0) mica_tensor_destroy(fed[--feed_count]);
}

/* An input of bytes from least to most, extremes among them. */
static mica_value bytes(mica_dtype dtype, mica_shape shape, uint8_t *data) {
  static const char *const names[] = {"0", "1", "2", "3"};
  int64_t count = 0;
  ck_ok(mica_shape_count(shape, &count));
  for (int64_t i = 0; i < count; i++) {
    state = state * 1664525 + 1013904223;
    data[i] = i % 5 == 0 ? (i % 2 ? 0x80 : 0x7F) : i % 7 == 0 ? 0xFF : (uint8_t)(state >> 24);
  }
  ck_ok(mica_tensor_create_from(test_engine(), dtype, shape, data, &fed[feed_count]));
  feeds[feed_count] = (mica_feed){names[feed_count], fed[feed_count]};
  return mica_input(graph, names[feed_count++], dtype, shape);
}

static int value_of(mica_dtype dtype, uint8_t byte) { return dtype == MICA_I8 ? (int8_t)byte : byte; }

static uint64_t splits; /* launches of the last run that split filters, as some processors need */

/* Runs the graph and tells how many launches have a kernel whose name begins so, without those that split filters. */
static uint64_t run(const mica_value *outputs, size_t count, void *const *results, const size_t *sizes,
                    const char *kernel) {
  mica_session *session = NULL;
  mica_profile_row rows[32];
  size_t row_count = 0;
  uint64_t launches = 0;
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, outputs, count, NULL, &session));
  ck_ok(mica_profile_start(test_engine()));
  ck_ok(mica_session_run(session, test_queue(), feeds, feed_count));
  ck_ok(mica_profile_stop(test_engine()));
  ck_ok(mica_profile_rows(test_engine(), rows, 32, &row_count));
  splits = 0;
  for (size_t i = 0; i < row_count; i++)
    if (!strcmp(rows[i].kernel, "int8_split"))
      splits += rows[i].count;
    else if (!strncmp(rows[i].kernel, kernel, strlen(kernel)))
      launches += rows[i].count;
  for (size_t i = 0; i < count; i++)
    ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, i), results[i], sizes[i]));
  mica_session_destroy(session);
  return launches;
}

static mica_value real(mica_value q, double scale, int zero) {
  return mica_dequantize(q, mica_scalar(graph, MICA_F32, scale), mica_scalar(graph, MICA_I32, zero), NULL);
}

/* Every mix of signs, with zero points of both; n is no multiple of a vector. */
START_TEST(sums_are_exact) {
  enum { M = 7, N = 35, K = 131 };
  static uint8_t a[M * K], b[K * N];
  static int32_t y[M * N];
  const mica_dtype first = _i & 1 ? MICA_I8 : MICA_U8, second = _i & 2 ? MICA_I8 : MICA_U8;
  const int za = first == MICA_I8 ? -117 : 201, zb = second == MICA_I8 ? 93 : 5;
  mica_value x = bytes(first, MICA_SHAPE(M, K), a), w = bytes(second, MICA_SHAPE(K, N), b);
  mica_value sums = _i & 4 ? mica_matmul(mica_sub(mica_cast(x, MICA_I32), mica_scalar(graph, MICA_I32, za)),
                                         mica_sub(mica_cast(w, MICA_I32), mica_scalar(graph, MICA_I32, zb)))
                           : mica_cast(mica_matmul(real(x, 1, za), real(w, 1, zb)), MICA_I32);
  ck_assert_uint_eq(run(&sums, 1, (void *[]){y}, (size_t[]){sizeof y}, "int8_pack"), 2);
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      int32_t sum = 0;
      for (int k = 0; k < K; k++) sum += (value_of(first, a[i * K + k]) - za) * (value_of(second, b[k * N + j]) - zb);
      ck_assert_msg(y[i * N + j] == sum, "(%d, %d): %d, not %d", i, j, y[i * N + j], sum);
    }
}
END_TEST

/* 255 * -128, more often than i32 can hold. */
START_TEST(sums_wrap) {
  enum { K = 70000 };
  static uint8_t a[K], b[K];
  int32_t y = 0;
  mica_value x = bytes(MICA_U8, MICA_SHAPE(1, K), a), w = bytes(MICA_I8, MICA_SHAPE(K, 1), b);
  memset(a, 0xFF, sizeof a);
  memset(b, 0x80, sizeof b);
  ck_ok(mica_tensor_upload(test_queue(), fed[0], a, sizeof a));
  ck_ok(mica_tensor_upload(test_queue(), fed[1], b, sizeof b));
  mica_value sum = mica_cast(mica_matmul(real(x, 1, 0), real(w, 1, 0)), MICA_I32);
  ck_assert_uint_eq(run(&sum, 1, (void *[]){&y}, (size_t[]){sizeof y}, "int8_pack"), 2);
  ck_assert_int_eq(y, (int32_t)(uint32_t)(INT64_C(-32640) * K));
}
END_TEST

/* Two products of bytes may exceed 16 bits, by each sign and by little: 255 by all pairs of these weights. Filters are
 * split only if they are constant. */
START_TEST(pairs_do_not_saturate) {
  static const int8_t some[] = {-128, -127, -65, -64, -63, -1, 0, 1, 2, 63, 64, 65, 127};
  enum { S = sizeof some, F = S * S, C = 6, N = 21 };
  static uint8_t x[C * N], w[F * C];
  static int32_t y[F * N];
  const mica_shape shape = MICA_SHAPE(F, C, 1, 1);
  const bool constant = _i & 1, standard = _i & 2;
  mica_value q = bytes(MICA_U8, MICA_SHAPE(1, C, 1, N), x), filters = {0};
  memset(x, 0xFF, sizeof x);
  if (!constant) filters = bytes(MICA_I8, shape, w);
  for (int f = 0; f < F; f++)
    for (int c = 0; c < C; c++) w[f * C + c] = (uint8_t)some[c % 2 ? f / S : f % S];
  if (constant)
    filters = mica_constant(graph, MICA_I8, shape, w);
  else
    ck_ok(mica_tensor_upload(test_queue(), fed[1], w, sizeof w));
  ck_ok(mica_tensor_upload(test_queue(), fed[0], x, sizeof x));
  mica_value sums = mica_cast(mica_conv(real(q, 1, 0), real(filters, 1, 0), (mica_value){0}, NULL), MICA_I32);
  if (standard) ck_assert(mica__choice_leave_out("int8_cpu_amx") && mica__choice_leave_out("int8_cpu_vnni"));
  run(&sums, 1, (void *[]){y}, (size_t[]){sizeof y}, "int8_");
  mica__choice_leave_out(NULL);
  const mica_device_info *device = mica_engine_device(test_engine());
  if (standard && mica__host_has_avx2(device)) ck_assert_uint_eq(splits, constant);
  if (!constant) ck_assert_uint_eq(splits, 0);
  for (int at = 0; at < F * N; at++) {
    const int f = at / N, want = 255 * (C / 2) * (some[f / S] + some[f % S]);
    ck_assert_msg(y[at] == want, "%d and %d: %d, not %d", some[f / S], some[f % S], y[at], want);
  }
}
END_TEST

/* Constant filters of 3 x 3, which AVX2 takes by Winograd's method. _i 0: the most channels for which 4 times a result
 * fits an int, all products as negative as can be. 1: the same channels, mixed values. 2: one more, which another
 * kernel takes. */
START_TEST(many_channels_of_three_by_three) {
  enum { MOST = 1825, H = 3, W = 5, F = 17 };
  static uint8_t x[MOST * H * W], w[F * MOST * 9];
  static int32_t y[F * H * W];
  const int channels = _i == 2 ? MOST : MOST - 1;
  const mica_value q = bytes(MICA_U8, MICA_SHAPE(1, channels, H, W), x);
  for (size_t i = 0; i < sizeof w; i++) w[i] = _i == 1 ? (uint8_t)(i * 37 + i / 11) : 0x80;
  if (_i != 1) memset(x, 0xFF, sizeof x);
  ck_ok(mica_tensor_upload(test_queue(), fed[0], x, (size_t)channels * H * W));
  const mica_value filters = mica_constant(graph, MICA_I8, MICA_SHAPE(F, channels, 3, 3), w);
  const mica_conv_config config = {.pad = {1, 1}};
  const mica_value sums = mica_cast(mica_conv(real(q, 1, 0), real(filters, 1, 0), (mica_value){0}, &config), MICA_I32);
  ck_assert(mica__choice_leave_out("int8_cpu_amx") && mica__choice_leave_out("int8_cpu_vnni"));
  const uint64_t found = run(&sums, 1, (void *[]){y}, (size_t[]){sizeof y}, "int8_winograd");
  mica__choice_leave_out(NULL);
  const mica_device_info *device = mica_engine_device(test_engine());
  if (mica__host_has_avx2(device) && !mica__host_has_avx512bw(device)) ck_assert_uint_eq(found > 0, _i < 2);
  for (int at = 0; at < F * H * W; at++) {
    const int f = at / (H * W), p = at / W % H, column = at % W;
    int32_t want = 0;
    for (int c = 0; c < channels; c++)
      for (int t = 0; t < 9; t++) {
        const int h = p - 1 + t / 3, l = column - 1 + t % 3;
        if (h >= 0 && h < H && l >= 0 && l < W) want += x[(c * H + h) * W + l] * (int8_t)w[(f * channels + c) * 9 + t];
      }
    ck_assert_msg(y[at] == want, "%d: element %d is %d, not %d", _i, at, y[at], want);
  }
}
END_TEST

/* Filters of 3 x 3 on lines that padding makes `all` pixels wide, with `before` of them before the image. Winograd's
 * method takes lines of up to 512 pixels, wherever the padding is. */
START_TEST(wide_padding_of_three_by_three) {
  enum { C = 16, F = 16, MOST = 3000 };
  static const struct {
    int width, before, all;
  } cases[] = {{1, 0, 512}, {1, 0, 513}, {1, 0, MOST}, {1, 511, 512}, {1, 512, 513}, {400, 0, 512}, {400, 3, 514}};
  static uint8_t x[C * 3 * 400], w[F * C * 9];
  static int32_t y[F * MOST];
  const int width = cases[_i].width, before = cases[_i].before, all = cases[_i].all, q = all - 2;
  const mica_value image = bytes(MICA_U8, MICA_SHAPE(1, C, 3, width), x);
  for (size_t i = 0; i < sizeof w; i++) w[i] = (uint8_t)(i * 37 + i / 11);
  const mica_value filters = mica_constant(graph, MICA_I8, MICA_SHAPE(F, C, 3, 3), w);
  const mica_conv_config config = {.pad = {0, before}, .pad_more = {0, all - width - 2 * before}};
  const mica_value sums =
      mica_cast(mica_conv(real(image, 1, 7), real(filters, 1, 0), (mica_value){0}, &config), MICA_I32);
  ck_assert(mica__choice_leave_out("int8_cpu_amx") && mica__choice_leave_out("int8_cpu_vnni"));
  const uint64_t found = run(&sums, 1, (void *[]){y}, (size_t[]){sizeof *y * (size_t)(F * q)}, "int8_winograd");
  mica__choice_leave_out(NULL);
  const mica_device_info *device = mica_engine_device(test_engine());
  if (mica__host_has_avx2(device) && !mica__host_has_avx512bw(device)) ck_assert_uint_eq(found > 0, all <= 512);
  for (int at = 0; at < F * q; at++) {
    int32_t want = 0;
    for (int c = 0; c < C; c++)
      for (int t = 0; t < 9; t++) {
        const int l = at % q - before + t % 3;
        if (l >= 0 && l < width) want += (x[(c * 3 + t / 3) * width + l] - 7) * (int8_t)w[(at / q * C + c) * 9 + t];
      }
    ck_assert_msg(y[at] == want, "element %d is %d, not %d", at, y[at], want);
  }
}
END_TEST

/* While one of the three kernels of Winograd's method is in quarantine, another method computes the product. The
 * emulation does not stand in for the instruction. */
START_TEST(winograd_heeds_the_quarantine) {
  enum { C = 16, F = 16, SIDE = 6 };
  static const char *const names[] = {"int8_winograd.avx2", "int8_winograd_image.cpu", "int8_winograd_filters.cpu"};
  static uint8_t x[C * SIDE * SIDE], w[F * C * 9];
  static int32_t y[F * SIDE * SIDE], want[F * SIDE * SIDE];
  const mica_value image = bytes(MICA_U8, MICA_SHAPE(1, C, SIDE, SIDE), x);
  for (size_t i = 0; i < sizeof w; i++) w[i] = (uint8_t)(i * 37 + i / 11);
  const mica_value filters = mica_constant(graph, MICA_I8, MICA_SHAPE(F, C, 3, 3), w);
  const mica_conv_config config = {.pad = {1, 1}};
  const mica_value sums =
      mica_cast(mica_conv(real(image, 1, 7), real(filters, 1, 0), (mica_value){0}, &config), MICA_I32);
  const mica_device_info *device = mica_engine_device(test_engine());
  const bool is_used = mica__host_has_avx2(device) && !mica__host_has_avx512bw(device);
  ck_assert(mica__choice_leave_out("int8_cpu_amx") && mica__choice_leave_out("int8_cpu_vnni"));
  run(&sums, 1, (void *[]){want}, (size_t[]){sizeof want}, "int8_");
  ck_ok(mica__tuning_avoid(test_engine(), names[_i], "a test says so"));
  const uint64_t wrong = run(&sums, 1, (void *[]){y}, (size_t[]){sizeof y}, "int8_winograd");
  ck_assert_mem_eq(y, want, sizeof y);
  ck_assert(!mica__tuning_is_bad(test_engine(), "int8_winograd"));
  ck_ok(mica__tuning_unquarantine(test_engine(), names[_i]));
  const uint64_t right = run(&sums, 1, (void *[]){y}, (size_t[]){sizeof y}, "int8_winograd");
  mica__choice_leave_out(NULL);
  ck_assert_uint_eq(wrong, 0);
  if (is_used) ck_assert_uint_eq(right, 3);
  ck_assert_mem_eq(y, want, sizeof y);
}
END_TEST

/* What follows sums of integers is no part of the product. */
START_TEST(sums_keep_their_activation) {
  enum { M = 3, N = 5, K = 20 };
  static uint8_t a[M * K], b[K * N];
  static int32_t y[M * N];
  mica_value x = bytes(MICA_U8, MICA_SHAPE(M, K), a), w = bytes(MICA_I8, MICA_SHAPE(K, N), b);
  mica_value sums = mica_matmul(mica_cast(x, MICA_I32), mica_cast(w, MICA_I32));
  mica_value cut = _i ? mica_clip(sums, -500, 700) : mica_relu(sums);
  int low = _i ? -500 : 0, high = _i ? 700 : INT32_MAX, outside = 0;
  ck_assert_uint_eq(run(&cut, 1, (void *[]){y}, (size_t[]){sizeof y}, "int8_pack"), 2);
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      int32_t sum = 0;
      for (int k = 0; k < K; k++) sum += a[i * K + k] * (int8_t)b[k * N + j];
      outside += sum < low || sum > high;
      ck_assert_int_eq(y[i * N + j], sum < low ? low : sum > high ? high : sum);
    }
  ck_assert_int_gt(outside, 0);
}
END_TEST

static uint8_t requantized(int32_t sum, float factor, float bias, float low, float scale, int zero) {
  float v = fmaf((float)sum, factor, bias);
  v = v < low ? low : v;
  float step = rintf(v / scale) + (float)zero;
  return (uint8_t)(step < 0 ? 0 : step > 255 ? 255 : step);
}

/* quantize(relu(conv(dequantize, dequantize) + bias)), a scale a filter; depthwise too; x has two users. */
START_TEST(convolutions_are_found) {
  enum { C = 6, H = 9, W = 21, F = 6, P = 5, Q = 11 };
  static uint8_t x[C * H * W], w[F * C * 9], each[C * 9], y[2][C * P * Q];
  static float scales[C], bias[C];
  for (int f = 0; f < C; f++) scales[f] = 0.001F * (float)(f + 1), bias[f] = (float)(f - 2);
  mica_value q = bytes(MICA_U8, MICA_SHAPE(1, C, H, W), x);
  mica_value filters = bytes(MICA_I8, MICA_SHAPE(F, C, 3, 3), w),
             channels = bytes(MICA_I8, MICA_SHAPE(C, 1, 3, 3), each);
  mica_value s = mica_constant(graph, MICA_F32, MICA_SHAPE(C), scales),
             b = mica_constant(graph, MICA_F32, MICA_SHAPE(C), bias);
  mica_value in = real(q, 0.05, 131), none = {0}, outputs[2];
  for (int i = 0; i < 2; i++) {
    const mica_conv_config config = {.stride = {2, 2}, .pad = {1, 1}, .groups = i ? C : 1};
    mica_value weights = mica_dequantize(i ? channels : filters, s, none, NULL);
    outputs[i] = mica_quantize(mica_relu(mica_conv(in, weights, b, &config)), mica_scalar(graph, MICA_F32, 0.11),
                               mica_scalar(graph, MICA_U8, 7), &(mica_quantize_config){.dtype = MICA_U8});
  }
  uint64_t found = run(outputs, 2, (void *[]){y[0], y[1]}, (size_t[]){sizeof y[0], sizeof y[1]}, "int8_");
  /* Filters and images are packed, multiplied; channels are not packed. */
  ck_assert_uint_eq(found, 4);
  for (int i = 0; i < 2; i++)
    for (int at = 0; at < C * P * Q; at++) {
      int f = at / (P * Q), p = at / Q % P, column = at % Q;
      int32_t sum = 0;
      for (int c = 0; c < (i ? 1 : C); c++)
        for (int t = 0; t < 9; t++) {
          int h = p * 2 - 1 + t / 3, l = column * 2 - 1 + t % 3;
          if (h < 0 || h >= H || l < 0 || l >= W) continue;
          sum += (x[((i ? f : c) * H + h) * W + l] - 131) * (int8_t)(i ? each[f * 9 + t] : w[(f * C + c) * 9 + t]);
        }
      uint8_t want = requantized(sum, 0.05F * scales[f], bias[f], 0, 0.11F, 7);
      ck_assert_msg(y[i][at] == want, "%d: element %d is %d, not %d", i, at, y[i][at], want);
    }
}
END_TEST

/* quantize(relu(dequantize(bytes of a convolution) + dequantize(other))) in no launch but the integers' own: filters of
 * one pixel, of nine, and, in the last, bytes that are wanted themselves, where the sum is computed behind them. */
START_TEST(residuals_are_found) {
  enum { C = 10, H = 7, W = 13, F = 8 };
  static uint8_t x[C * H * W], w[F * C * 9], other[F * H * W], y[2][F * H * W];
  const int side = _i == 1 ? 3 : 1;
  const mica_quantize_config u8 = {.dtype = MICA_U8};
  const mica_conv_config config = {.pad = {side / 2, side / 2}};
  mica_value q = bytes(MICA_U8, MICA_SHAPE(1, C, H, W), x);
  mica_value filters = bytes(MICA_I8, MICA_SHAPE(F, C, side, side), w);
  mica_value beside = real(bytes(MICA_U8, MICA_SHAPE(1, F, H, W), other), 0.03, 120);
  mica_value made = mica_conv(real(q, 0.05, 131), real(filters, 0.002, 0), (mica_value){0}, &config);
  mica_value inner = mica_quantize(made, mica_scalar(graph, MICA_F32, 0.11), mica_scalar(graph, MICA_U8, 77), &u8);
  mica_value sum = mica_relu(mica_add(beside, real(inner, 0.11, 77)));
  mica_value outputs[] = {mica_quantize(sum, mica_scalar(graph, MICA_F32, 0.07), mica_scalar(graph, MICA_U8, 3), &u8),
                          inner};
  uint64_t found = run(outputs, _i == 2 ? 2 : 1, (void *[]){y[0], y[1]}, (size_t[]){sizeof y[0], sizeof y[1]}, "fused");
  ck_assert_uint_eq(found, _i == 2);
  for (int at = 0; at < F * H * W; at++) {
    int32_t total = 0;
    for (int c = 0; c < C; c++)
      for (int t = 0; t < side * side; t++) {
        int h = at / W % H - side / 2 + t / side, l = at % W - side / 2 + t % side;
        if (h < 0 || h >= H || l < 0 || l >= W) continue;
        total += (x[(c * H + h) * W + l] - 131) * (int8_t)w[(at / (H * W) * C + c) * side * side + t];
      }
    uint8_t byte = requantized(total, 0.05F * 0.002F, 0, -INFINITY, 0.11F, 77);
    float own = (float)(byte - 77) * 0.11F, also = (float)(other[at] - 120) * 0.03F, real_sum = own + also;
    uint8_t want = requantized(0, 0, real_sum < 0 ? 0 : real_sum, -INFINITY, 0.07F, 3);
    ck_assert_msg(y[0][at] == want, "%d: element %d is %d, not %d", _i, at, y[0][at], want);
    if (_i == 2) ck_assert_uint_eq(y[1][at], byte);
  }
}
END_TEST

/* A layer of a transformer: (batch, steps, features) by a weight stored row by row, a scale a row. */
START_TEST(layers_are_found) {
  enum { B = 2, T = 3, K = 64, N = 17 };
  static uint8_t x[B * T * K], w[N * K];
  static float scales[N], bias[N], y[B * T * N];
  for (int n = 0; n < N; n++) scales[n] = 0.002F * (float)(n + 1), bias[n] = (float)n / 3;
  mica_value in = real(bytes(MICA_U8, MICA_SHAPE(B, T, K), x), 0.03, 120), none = {0};
  mica_value s = mica_constant(graph, MICA_F32, MICA_SHAPE(N), scales);
  mica_value weight = mica_dequantize(bytes(MICA_I8, MICA_SHAPE(N, K), w), s, none, NULL);
  mica_value out = mica_add(mica_matmul(in, mica_transpose(weight, MICA_AXES(1, 0))),
                            mica_constant(graph, MICA_F32, MICA_SHAPE(N), bias));
  ck_assert_uint_eq(run(&out, 1, (void *[]){y}, (size_t[]){sizeof y}, "int8_"), 3);
  for (int row = 0; row < B * T; row++)
    for (int n = 0; n < N; n++) {
      int32_t sum = 0;
      for (int k = 0; k < K; k++) sum += (x[row * K + k] - 120) * (int8_t)w[n * K + k];
      ck_assert(y[row * N + n] == fmaf((float)sum, 0.03F * scales[n], bias[n]));
    }
}
END_TEST

/* One to three rows by weights of 8 and 4 bits, (n, k) and (k, n), scales a group: read as they are stored, and what
 * follows the product done in passing. Beside the same in floating point. */
START_TEST(weights_stay_as_they_are_stored) {
  enum { MOST = 3, N = 37, K = 128, GROUP = 32 };
  static uint8_t q[N * K], rows[MOST * K];
  static float x[MOST * K], scales[N * K / GROUP], y[MOST * N], bias[N], addend[MOST * N];
  const int form = _i % 3, m = _i / 3 + 1;
  const bool nibbles = form == 1, by_k = form == 2;
  const mica_shape shape = by_k ? MICA_SHAPE(K, N) : MICA_SHAPE(N, nibbles ? K / 2 : K);
  const mica_shape parts = by_k ? MICA_SHAPE(K / GROUP, N) : MICA_SHAPE(N, K / GROUP);
  for (int i = 0; i < N * K / GROUP; i++) scales[i] = 0.001F * (float)(i % 17 + 1);
  for (int i = 0; i < N; i++) bias[i] = (float)(i % 5) - 2;
  for (int i = 0; i < m * N; i++) addend[i] = (float)(i % 7) * 0.5F - 1;
  mica_value in =
      mica_mul(mica_cast(bytes(MICA_I8, MICA_SHAPE(m, K), rows), MICA_F32), mica_scalar(graph, MICA_F32, 0.125));
  for (int i = 0; i < m * K; i++) x[i] = 0.125F * (float)(int8_t)rows[i];
  const mica_quantize_config config = {.axis = !by_k, .block = GROUP, .bits = nibbles ? 4 : 0};
  mica_value w = mica_dequantize(bytes(nibbles ? MICA_U8 : MICA_I8, shape, q),
                                 mica_constant(graph, MICA_F32, parts, scales), (mica_value){0}, &config);
  mica_value out = mica_matmul(in, by_k ? w : mica_transpose(w, MICA_AXES(1, 0)));
  out = mica_add(out, mica_constant(graph, MICA_F32, MICA_SHAPE(N), bias));
  out = mica_tanh(mica_add(mica_constant(graph, MICA_F32, MICA_SHAPE(m, N), addend), out));
  /* The one that is generated makes x. */
  ck_assert_uint_eq(run(&out, 1, (void *[]){y}, (size_t[]){sizeof *y * (size_t)(m * N)}, "fused"), 1);
  for (int i = 0; i < m; i++)
    for (int n = 0; n < N; n++) {
      double sum = 0, terms = 0;
      for (int k = 0; k < K; k++) {
        int value = by_k ? (int8_t)q[k * N + n] : (int8_t)q[n * K + k];
        if (nibbles) value = ((q[(n * K + k) / 2] >> 4 * (k % 2) & 15) ^ 8) - 8;
        double scale = (double)scales[by_k ? k / GROUP * N + n : n * (K / GROUP) + k / GROUP];
        sum += (double)x[i * K + k] * value * scale;
        terms += fabs((double)x[i * K + k]) * 256 * scale;
      }
      const double want = tanh(sum + (double)bias[n] + (double)addend[i * N + n]);
      ck_assert_msg(fabs((double)y[i * N + n] - want) <= K * 0x1p-24 * (terms + 4), "(%d, %d): %.9g, not %.9g", i, n,
                    (double)y[i * N + n], want);
    }
}
END_TEST

/* Between equal scales and zero points bytes are compared (_i 0, 1), otherwise reals. */
START_TEST(pooled_bytes_stay_bytes) {
  enum { C = 3, H = 9, W = 37, P = 5, Q = 19 };
  static uint8_t x[C * H * W], y[C * P * Q];
  const mica_dtype dtype = _i & 1 ? MICA_I8 : MICA_U8;
  const int zero = _i & 1 ? -3 : 77;
  const double scale = 0.0371, other = _i == 2 ? 0.0372 : scale;
  const mica_pool_config config = {.size = {3, 3}, .stride = {2, 2}, .pad = {1, 1}};
  const mica_value q = bytes(dtype, MICA_SHAPE(1, C, H, W), x);
  const mica_value pooled = mica_max_pool(real(q, scale, zero), &config);
  const mica_value result =
      mica_quantize(pooled, mica_scalar(graph, MICA_F32, other), mica_scalar(graph, dtype, zero + (_i == 3)),
                    &(mica_quantize_config){.dtype = dtype});
  const uint64_t conversions = run(&result, 1, (void *[]){y}, (size_t[]){sizeof y}, "fused");
  if (_i < 2)
    ck_assert_uint_eq(conversions, 0);
  else
    ck_assert_uint_gt(conversions, 0);
  for (int at = 0; at < C * P * Q; at++) {
    const int c = at / (P * Q), top = 2 * (at / Q % P) - 1, left = 2 * (at % Q) - 1;
    int best = -1000;
    for (int h = top; h < top + 3; h++)
      for (int w = left; w < left + 3; w++)
        if (h >= 0 && h < H && w >= 0 && w < W) {
          const int v = value_of(dtype, x[(c * H + h) * W + w]);
          best = v > best ? v : best;
        }
    const float step = rintf(((float)best - (float)zero) * (float)scale / (float)other);
    const int least = dtype == MICA_I8 ? -128 : 0, most = least + 255, want = (int)step + zero + (_i == 3);
    ck_assert_int_eq(value_of(dtype, y[at]), want < least ? least : want > most ? most : want);
  }
}
END_TEST

/* Problems that differ in a size or a type have different keys, so that none gets the choice of another. */
START_TEST(keys_have_all_sizes) {
  mica_tensor *i8 = NULL, *u8 = NULL;
  char key[MICA__TUNING_TEXT], other[MICA__TUNING_TEXT];
  ck_ok(mica_tensor_create(test_engine(), MICA_I8, MICA_SHAPE(1), &i8));
  ck_ok(mica_tensor_create(test_engine(), MICA_U8, MICA_SHAPE(1), &u8));
  mica__int8 conv = {.conv = true, .in = {i8, i8}, .batches = 1, .row_batches = 1, .m = 1, .depth = 1};
  mica__int8 matrix = {.in = {i8, i8}, .batches = 1, .row_batches = 1, .m = 1, .n = 1, .depth = 1};
  const mica__conv_dims *d = &conv.dims;
  const int64_t *const sizes[] = {&d->n,     &d->groups, &d->c,     &d->k,  d->in,
                                  d->filter, d->out,     d->stride, d->pad, d->dilation};
  mica__int8_key(&conv, key);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    for (int axis = 0; axis < (i < 4 ? 1 : 3); axis++) {
      int64_t *size = (int64_t *)sizes[i] + axis;
      *size += 7;
      mica__int8_key(&conv, other);
      ck_assert_str_ne(key, other);
      *size -= 7;
    }
  conv.in[_i] = u8;
  mica__int8_key(&conv, other);
  ck_assert_str_ne(key, other);
  mica__int8_key(&matrix, key);
  ck_assert_str_ne(key, other);
  int64_t *const numbers[] = {&matrix.m, &matrix.n, &matrix.depth, &matrix.batches};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    *numbers[i] += 7;
    mica__int8_key(&matrix, other);
    ck_assert_str_ne(key, other);
    *numbers[i] -= 7;
  }
  matrix.transposed = true;
  mica__int8_key(&matrix, other);
  ck_assert_str_ne(key, other);
  matrix.transposed = false;
  matrix.in[_i] = u8;
  mica__int8_key(&matrix, other);
  ck_assert_str_ne(key, other);
  mica_tensor_destroy(i8);
  mica_tensor_destroy(u8);
}
END_TEST

TESTS(DEVICE, setup, teardown, LOOP(sums_are_exact, 0, 8), sums_wrap, LOOP(pairs_do_not_saturate, 0, 4),
      LOOP(many_channels_of_three_by_three, 0, 3), LOOP(wide_padding_of_three_by_three, 0, 7),
      LOOP(winograd_heeds_the_quarantine, 0, 3), LOOP(sums_keep_their_activation, 0, 2), convolutions_are_found,
      LOOP(residuals_are_found, 0, 3), layers_are_found, LOOP(pooled_bytes_stay_bytes, 0, 4),
      LOOP(weights_stay_as_they_are_stored, 0, 9), LOOP(keys_have_all_sizes, 0, 2))
