/* labels: device single
 *
 * Sorting, different elements, segments and scattered rows against plain C: ties, NaN, both zeros, extremes of every
 * type, no element, one, odd and many; and that a scatter into a parameter takes a time of its updates alone. */
#include "support/check_main.h"
#include "support/engine.h"

#include "base/element.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static mica_graph *graph;
static mica_session *session;
static uint64_t state;
/* What the graph reads: inputs, for constants would be folded on the host. */
static mica_feed feeds[4];
static mica_tensor *fed[4];
static size_t feed_count;

static void setup(void) {
  ck_ok(mica_graph_create(&graph));
  state = 88172645463325252u;
}

static void teardown(void) {
  mica_session_destroy(session);
  session = NULL;
  mica_graph_destroy(graph);
  graph = NULL;
  while (feed_count > 0) mica_tensor_destroy(fed[--feed_count]);
}

static mica_value given(mica_dtype dtype, mica_shape shape, const void *data) {
  static const char *const names[] = {"0", "1", "2", "3"};
  ck_ok(mica_tensor_create_from(test_engine(), dtype, shape, data, &fed[feed_count]));
  feeds[feed_count] = (mica_feed){names[feed_count], fed[feed_count]};
  return mica_input(graph, names[feed_count++], dtype, shape);
}

/* xorshift64: Marsaglia 2003. */
static uint64_t draw(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

static void run(const mica_value *outputs, size_t count) {
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, outputs, count, NULL, &session));
  ck_ok(mica_session_run(session, test_queue(), feeds, feed_count));
}

/* For the caller to free. */
static void *output(size_t index) {
  const mica_tensor *tensor = mica_session_output(session, index);
  size_t bytes = mica_tensor_bytes(tensor);
  void *data = malloc(bytes + 1);
  ck_assert_ptr_nonnull(data);
  ck_ok(mica_tensor_download(test_queue(), tensor, data, bytes));
  return data;
}

/* --- sorting --- */

typedef struct element {
  double value;        /* what f32 and narrower types hold */
  int64_t i;           /* what i64 holds */
  uint64_t u;          /* what u64 holds */
  bool whole, natural; /* compared as i, as u */
  int64_t at;
} element;

static int compare_values(const element *a, const element *b) {
  if (a->natural) return (a->u > b->u) - (a->u < b->u);
  if (a->whole) return (a->i > b->i) - (a->i < b->i);
  return (a->value > b->value) - (a->value < b->value);
}

static int compare(const element *a, const element *b, bool falling) {
  if (isnan(a->value) != isnan(b->value)) return isnan(a->value) ? -1 : 1;
  int order = compare_values(a, b);
  if (order) return falling ? -order : order;
  return (a->at > b->at) - (a->at < b->at);
}

static int rising(const void *a, const void *b) { return compare(a, b, false); }
static int falling(const void *a, const void *b) { return compare(a, b, true); }

/* Random elements of which many are equal, and among which are the extremes and special values of the type. */
static void fill(mica_dtype dtype, void *data, int64_t n) {
  static const double special[] = {NAN, INFINITY, -INFINITY, 0, -0.0, 1e-40, -1e-40, 65504, -65504, 3, -3, 255};
  size_t size = mica_dtype_size(dtype);
  for (int64_t i = 0; i < n; i++) {
    uint64_t bits = draw();
    if (bits % 5 == 0)
      mica__element_set(dtype, data, i, special[bits / 5 % (sizeof special / sizeof *special)]);
    else if (bits % 5 == 1)
      mica__element_wrap(dtype, data, i, (double)(int64_t)(bits / 5 % 41) - 20);
    else
      memcpy((unsigned char *)data + (size_t)i * size, &bits, size);
  }
}

static element element_of(mica_dtype dtype, const void *data, int64_t i) {
  element e = {.value = mica__element_get(dtype, data, i), .at = i, .whole = dtype == MICA_I64};
  e.natural = dtype == MICA_U64;
  if (e.whole) e.i = ((const int64_t *)data)[i];
  if (e.natural) e.u = ((const uint64_t *)data)[i];
  return e;
}

static void sort_case(mica_dtype dtype, int64_t n, bool falls) {
  size_t size = mica_dtype_size(dtype);
  if (dtype == MICA_F64 && !(mica_engine_device(test_engine())->features & MICA_FEATURE_FP64)) return;
  unsigned char *data = malloc((size_t)n * size + 1);
  element *want = malloc(((size_t)n + 1) * sizeof *want);
  ck_assert(data && want);
  fill(dtype, data, n);
  for (int64_t i = 0; i < n; i++) want[i] = element_of(dtype, data, i);
  qsort(want, (size_t)n, sizeof *want, falls ? falling : rising);
  mica_top_k_results sorted = mica_sort(given(dtype, MICA_SHAPE(n), data), 0, falls);
  run((const mica_value[]){sorted.values, sorted.indices}, 2);
  unsigned char *values = output(0);
  int64_t *indices = output(1);
  for (int64_t i = 0; i < n; i++) {
    ck_assert_msg(indices[i] == want[i].at, "%s, %lld elements, %s: place %lld has element %lld, not %lld",
                  mica_dtype_name(dtype), (long long)n, falls ? "falling" : "rising", (long long)i,
                  (long long)indices[i], (long long)want[i].at);
    double got = mica__element_get(dtype, values, i);
    ck_assert_msg(isnan(got) ? isnan(want[i].value) : got == want[i].value, "%s: value %lld", mica_dtype_name(dtype),
                  (long long)i);
  }
  free(values);
  free(indices);
  free(want);
  free(data);
  teardown();
  ck_ok(mica_graph_create(&graph));
}

START_TEST(sorts_every_type) {
  static const int64_t sizes[] = {0, 1, 2, 63, 65, 1000};
  static const mica_dtype dtypes[] = {MICA_F32, MICA_F16, MICA_BF16, MICA_F64, MICA_I8,  MICA_U8,
                                      MICA_I16, MICA_U16, MICA_I32,  MICA_U32, MICA_I64, MICA_U64};
  for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++)
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) sort_case(dtypes[t], sizes[s], (s + t) & 1);
}
END_TEST

START_TEST(sorts_millions) {
  sort_case(MICA_F32, 500003, false);
  sort_case(MICA_I64, 1048577, true);
}
END_TEST

/* A vocabulary: more results than are walked for. */
START_TEST(top_k_of_long_rows) {
  enum { ROWS = 3, N = 5000, K = 40 };
  float *x = malloc(ROWS * N * sizeof *x);
  ck_assert_ptr_nonnull(x);
  fill(MICA_F32, x, ROWS * N);
  mica_top_k_results top = mica_top_k(given(MICA_F32, MICA_SHAPE(ROWS, N), x), K, 1, false);
  run(&top.indices, 1);
  int64_t *got = output(0);
  element want[N];
  for (int r = 0; r < ROWS; r++) {
    for (int64_t i = 0; i < N; i++) want[i] = element_of(MICA_F32, x, r * N + i);
    qsort(want, N, sizeof *want, falling);
    for (int k = 0; k < K; k++) ck_assert_int_eq(got[r * K + k], want[k].at - r * N);
  }
  free(got);
  free(x);
}
END_TEST

/* --- different elements --- */

static void unique_case(mica_dtype dtype, int64_t n) {
  size_t size = mica_dtype_size(dtype);
  unsigned char *data = malloc((size_t)n * size + 1);
  element *sorted = malloc(((size_t)n + 1) * sizeof *sorted);
  int32_t *want = malloc(((size_t)n + 1) * sizeof *want), different = 0;
  ck_assert(data && sorted && want);
  fill(dtype, data, n);
  for (int64_t i = 0; i < n; i++) sorted[i] = element_of(dtype, data, i);
  qsort(sorted, (size_t)n, sizeof *sorted, rising);
  for (int64_t i = 0; i < n; i++) {
    bool both = i > 0 && isnan(sorted[i].value) && isnan(sorted[i - 1].value);
    different += i == 0 || (!both && (compare_values(&sorted[i], &sorted[i - 1]) || isnan(sorted[i - 1].value)));
    want[sorted[i].at] = different - 1;
  }
  mica_unique_results u = mica_unique(given(dtype, MICA_SHAPE(1, n), data), 7);
  run((const mica_value[]){u.values, u.inverse, u.count}, 3);
  unsigned char *values = output(0);
  int32_t *inverse = output(1), *count = output(2);
  ck_assert_msg(*count == different, "%s, %lld elements: %d are different, not %d", mica_dtype_name(dtype),
                (long long)n, (int)*count, (int)different);
  for (int64_t i = 0; i < n; i++) {
    ck_assert_int_eq(inverse[i], want[i]);
    element e = element_of(dtype, data, i), v = element_of(dtype, values, inverse[i]);
    ck_assert(isnan(e.value) ? isnan(v.value) : compare_values(&e, &v) == 0);
    if (i >= different) ck_assert(mica__element_get(dtype, values, i) == 7);
  }
  free(values);
  free(inverse);
  free(count);
  free(want);
  free(sorted);
  free(data);
  teardown();
  ck_ok(mica_graph_create(&graph));
}

START_TEST(unique_elements) {
  static const int64_t sizes[] = {0, 1, 2, 65, 4097};
  static const mica_dtype dtypes[] = {MICA_F32, MICA_BF16, MICA_I8, MICA_I64, MICA_U64};
  for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++)
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) unique_case(dtypes[t], sizes[s]);
  unique_case(MICA_I32, 1000001);
}
END_TEST

/* --- segments --- */

START_TEST(sums_of_segments) {
  enum { M = 3001, W = 19, COUNT = 200 };
  float *x = malloc(M * W * sizeof *x), want[COUNT * W] = {0};
  int32_t segments[M], at = -2;
  ck_assert_ptr_nonnull(x);
  for (int j = 0; j < M; j++) {
    segments[j] = at;
    if (draw() % 14 == 0) at += 1 + (int32_t)(draw() % 2);
  }
  for (int i = 0; i < M * W; i++) {
    int32_t s = segments[i / W];
    x[i] = (float)(draw() % 2001) / 1000 - 1;
    if (s >= 0 && s < COUNT) want[s * W + i % W] += x[i];
  }
  mica_value rows = mica_parameter(graph, "x", MICA_F32, MICA_SHAPE(M, W));
  mica_value where = given(MICA_I32, MICA_SHAPE(M), segments), dx;
  mica_value y = mica_segment_sum(rows, where, COUNT);
  ck_ok(mica_gradients(mica_sum(mica_mul(y, y), MICA_ALL_AXES, false), &rows, 1, &dx));
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, (const mica_value[]){y, dx}, 2, NULL, &session));
  ck_ok(mica_tensor_upload(test_queue(), mica_session_parameter(session, "x"), x, M * W * sizeof *x));
  ck_ok(mica_session_run(session, test_queue(), feeds, feed_count));
  float *got = output(0), *gradient = output(1);
  ck_assert_int_gt(segments[M - 1], COUNT); /* some lie outside */
  for (int i = 0; i < COUNT * W; i++) ck_assert_msg(got[i] == want[i], "%d: %g, not %g", i, got[i], want[i]);
  for (int i = 0; i < M * W; i++) {
    int32_t s = segments[i / W];
    float wanted = s >= 0 && s < COUNT ? 2 * want[s * W + i % W] : 0;
    ck_assert_msg(gradient[i] == wanted, "gradient %d: %g, not %g", i, gradient[i], wanted);
  }
  free(got);
  free(gradient);
  free(x);
}
END_TEST

/* --- scattered rows --- */

/* Sums in the order of the updates, bit for bit; the last of equal indices stays; indices outside do nothing. */
START_TEST(scattered_rows) {
  enum { N = 50, M = 700, W = 21 };
  float x[N * W], added[N * W], set[N * W], u[M * W];
  int64_t at[M];
  for (int i = 0; i < N * W; i++) x[i] = added[i] = set[i] = (float)(draw() % 2001) / 1000 - 1;
  for (int i = 0; i < M * W; i++) u[i] = (float)(draw() % 2001) / 1000 - 1;
  for (int j = 0; j < M; j++) {
    at[j] = draw() % 3 ? (int64_t)(draw() % (2 * N + 8)) - N - 4 : 7; /* one row is hot */
    int64_t k = at[j] < 0 ? at[j] + N : at[j];
    for (int i = 0; i < W && k >= 0 && k < N; i++) {
      added[k * W + i] += u[j * W + i];
      set[k * W + i] = u[j * W + i];
    }
  }
  mica_value table = given(MICA_F32, MICA_SHAPE(N, W), x);
  mica_value where = given(MICA_I64, MICA_SHAPE(M), at);
  mica_value rows = given(MICA_F32, MICA_SHAPE(M, W), u);
  run((const mica_value[]){mica_scatter_rows(table, where, rows, 0, MICA_SCATTER_ADD),
                           mica_scatter_rows(table, where, rows, 0, MICA_SCATTER_SET)},
      2);
  float *a = output(0), *s = output(1);
  ck_assert_mem_eq(a, added, sizeof added);
  ck_assert_mem_eq(s, set, sizeof set);
  free(a);
  free(s);
}
END_TEST

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { UPDATES = 4096, FLOATS = 32 };

/* The fastest of some runs that add 4,096 rows of 32 floats into a parameter of so many rows, the session left open. */
static double time_of_update(int64_t rows, mica_tensor *at, mica_tensor *u) {
  double best = INFINITY;
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(rows, FLOATS));
  mica_value i = mica_input(graph, "i", MICA_I64, MICA_SHAPE(UPDATES));
  mica_value r = mica_input(graph, "r", MICA_F32, MICA_SHAPE(UPDATES, FLOATS));
  mica_assign(p, mica_scatter_rows(p, i, r, 0, MICA_SCATTER_ADD));
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, NULL, 0, NULL, &session));
  for (int k = 0; k < 8; k++) {
    double begin = seconds();
    ck_ok(mica_session_run(session, test_queue(), (const mica_feed[]){{"i", at}, {"r", u}}, 2));
    ck_ok(mica_queue_finish(test_queue()));
    double took = seconds() - begin;
    if (k > 1 && took < best) best = took; /* the first runs touch the memory, and build kernels */
  }
  return best;
}

/* A table of 5 million rows (640 MB) is updated where it lies: the time is that of 4,096 rows. Writing the table would
 * take two hundred times as long as a table of 20,000 rows does, sorting by counting through its rows hundreds; caches
 * and pages that are not there account for less than eight. */
START_TEST(updates_of_a_large_table) {
  enum { FEW = 20000, MANY = 5000000 };
  int64_t *at = malloc(UPDATES * sizeof *at);
  float *u = malloc(UPDATES * FLOATS * sizeof *u);
  ck_assert(at && u);
  double took[2];
  for (int round = 0; round < 2; round++) {
    int64_t rows = round ? MANY : FEW;
    mica_tensor *where, *what;
    for (int j = 0; j < UPDATES; j++) at[j] = (int64_t)(draw() % (uint64_t)rows);
    at[0] = at[UPDATES - 1] = rows - 1;
    for (int j = 0; j < UPDATES * FLOATS; j++) u[j] = 1;
    ck_ok(mica_tensor_create_from(test_engine(), MICA_I64, MICA_SHAPE(UPDATES), at, &where));
    ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(UPDATES, FLOATS), u, &what));
    took[round] = time_of_update(rows, where, what);
    /* Eight runs have added at least twice to the last row. */
    float last[FLOATS];
    mica_tensor *row, *p = mica_session_parameter(session, "p");
    ck_ok(mica_tensor_view(p, (mica_shape){2, {1, FLOATS}}, NULL, (rows - 1) * FLOATS, &row));
    ck_ok(mica_tensor_download(test_queue(), row, last, sizeof last));
    for (int k = 0; k < FLOATS; k++) ck_assert_msg(last[k] >= 16, "%g", last[k]);
    mica_tensor_destroy(row);
    teardown();
    ck_ok(mica_graph_create(&graph));
    mica_tensor_destroy(where);
    mica_tensor_destroy(what);
  }
  printf("%.3f ms for %d rows of %d, %.3f ms for %d of %d\n", took[0] * 1e3, UPDATES, FEW, took[1] * 1e3, UPDATES,
         MANY);
  ck_assert_msg(took[1] < 8 * took[0], "%g s, with few rows %g s", took[1], took[0]);
  free(at);
  free(u);
}
END_TEST

TESTS(DEVICE, setup, teardown, sorts_every_type, sorts_millions, top_k_of_long_rows, unique_elements, sums_of_segments,
      scattered_rows, updates_of_a_large_table)
