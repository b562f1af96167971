/* labels: device single
 *
 * Mixtures of experts against plain C: routes with ties, experts that no row chooses, one row and many rows, the same
 * bits twice and in any company. */
#include "support/graph_run.h"

#include <math.h>
#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

enum { E = 6, N = 37, K = 70 };

static float next(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return (float)(*state >> 8) / (float)(1 << 23) - 1;
}

static float *numbers(int64_t count, uint32_t seed) {
  float *x = malloc((size_t)count * sizeof *x);
  ck_assert_ptr_nonnull(x);
  for (int64_t i = 0; i < count; i++) x[i] = next(&seed);
  return x;
}

/* Logits of a row. EVEN: all equal; TIES: of three values; FEW: experts 4 and 5 are never chosen. */
enum kind { FREE, EVEN, TIES, FEW, KINDS };
static void make_logits(enum kind kind, int64_t rows, float *logits) {
  uint32_t seed = 11;
  for (int64_t i = 0; i < rows * E; i++) {
    const float value = next(&seed);
    logits[i] = kind == EVEN ? 0.5f : kind == TIES ? floorf(1.5f * value) : value;
    if (kind == FEW && i % E >= 4) logits[i] -= 20;
  }
}

/* The reference: y (rows, N) and the ids. */
static void reference(const float *x, const float *w, const float *logits, int64_t rows, int64_t chosen, bool normalise,
                      double *y, int64_t *ids) {
  for (int64_t r = 0; r < rows; r++) {
    double p[E], sum = 0, kept = 0;
    bool taken[E] = {false};
    for (int e = 0; e < E; e++) sum += p[e] = exp((double)logits[r * E + e]);
    for (int64_t s = 0; s < chosen; s++) {
      int best = -1;
      for (int e = 0; e < E; e++)
        if (!taken[e] && (best < 0 || logits[r * E + e] > logits[r * E + best])) best = e;
      taken[best] = true;
      ids[r * chosen + s] = best;
      kept += p[best] / sum;
    }
    for (int64_t j = 0; j < N; j++) {
      double total = 0;
      for (int64_t s = 0; s < chosen; s++) {
        const int64_t e = ids[r * chosen + s];
        double dot = 0;
        for (int64_t i = 0; i < K; i++) dot += (double)x[r * K + i] * (double)w[(e * N + j) * K + i];
        total += dot * p[e] / sum / (normalise ? kept : 1);
      }
      y[r * N + j] = total;
    }
  }
}

/* The device's result of the same operands. */
static void compute(const float *x, const float *w, const float *logits, int64_t rows, int64_t chosen, bool normalise,
                    float *y, int64_t *ids) {
  mica_graph *own = NULL;
  mica_session *session = NULL;
  mica_tensor *tensors[3] = {NULL};
  ck_ok(mica_graph_create(&own));
  mica_value in = mica_input(own, "x", MICA_F32, MICA_SHAPE(rows, K)),
             weights = mica_input(own, "w", MICA_F32, MICA_SHAPE(E, N, K)),
             scores = mica_input(own, "logits", MICA_F32, MICA_SHAPE(rows, E));
  const mica_routes routes = mica_route(scores, &(mica_route_config){.k = chosen, .normalise = normalise});
  mica_value each = mica_expert_product(mica_unsqueeze(in, MICA_AXES(1)), weights, routes.ids, NULL);
  mica_value out[] = {mica_expert_sum(each, routes.weights), routes.ids};
  ck_ok(mica_session_create(test_engine(), own, out, 2, NULL, &session));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(rows, K), x, &tensors[0]));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(E, N, K), w, &tensors[1]));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(rows, E), logits, &tensors[2]));
  const mica_feed feeds[] = {{"x", tensors[0]}, {"w", tensors[1]}, {"logits", tensors[2]}};
  ck_ok(mica_session_run(session, test_queue(), feeds, 3));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), y, (size_t)(rows * N) * sizeof *y));
  ck_ok(
      mica_tensor_download(test_queue(), mica_session_output(session, 1), ids, (size_t)(rows * chosen) * sizeof *ids));
  for (int i = 0; i < 3; i++) mica_tensor_destroy(tensors[i]);
  mica_session_destroy(session);
  mica_graph_destroy(own);
}

static const int64_t all_rows[] = {1, 16, 17, 512};

START_TEST(equals_plain_c) {
  const int64_t rows = all_rows[_i / KINDS], chosen = 1 + _i % 3;
  const bool normalise = _i % 2;
  float *x = numbers(rows * K, 3), *w = numbers(E * N * K, 5), *logits = numbers(rows * E, 7);
  float *y = numbers(rows * N, 1), *again = numbers(rows * N, 2);
  double *want = malloc((size_t)(rows * N) * sizeof *want);
  int64_t *ids = malloc((size_t)(2 * rows * chosen) * sizeof *ids), *got = ids + rows * chosen;
  make_logits((enum kind)(_i % KINDS), rows, logits);
  reference(x, w, logits, rows, chosen, normalise, want, ids);
  compute(x, w, logits, rows, chosen, normalise, y, got);
  for (int64_t i = 0; i < rows * chosen; i++) ck_assert_int_eq(got[i], ids[i]);
  /* Sums of 70 products of numbers below 1, and few operations on them. */
  for (int64_t i = 0; i < rows * N; i++)
    ck_assert_msg(fabs(y[i] - want[i]) <= 80 * K * 0x1p-24, "%g, not %g", (double)y[i], want[i]);
  compute(x, w, logits, rows, chosen, normalise, again, got);
  ck_assert_mem_eq(y, again, (size_t)(rows * N) * sizeof *y);
  free(ids);
  free(want);
  free(again);
  free(y);
  free(logits);
  free(w);
  free(x);
}
END_TEST

/* Up to 16 rows are computed alike, and so are more than 16. */
START_TEST(a_row_does_not_depend_on_others) {
  const int64_t rows = _i ? 300 : 16, few = _i ? 29 : 1;
  float *x = numbers(rows * K, 3), *w = numbers(E * N * K, 5), *logits = numbers(rows * E, 7);
  float *y = numbers(rows * N, 1), *part = numbers(rows * N, 2);
  int64_t *ids = malloc((size_t)(2 * rows) * sizeof *ids);
  compute(x, w, logits, rows, 2, true, y, ids);
  compute(x + (rows - few) * K, w, logits + (rows - few) * E, few, 2, true, part, ids);
  ck_assert_mem_eq(y + (rows - few) * N, part, (size_t)(few * N) * sizeof *y);
  free(ids);
  free(part);
  free(y);
  free(logits);
  free(w);
  free(x);
}
END_TEST

TESTS(DEVICE, NULL, NULL, LOOP(equals_plain_c, 0, 4 * KINDS), LOOP(a_row_does_not_depend_on_others, 0, 2))
