/* labels: device single
 *
 * Bags of embeddings against loops; scatters; negative samples: none is its positive, all others come as often as they
 * should; sampled softmax against the formula, and near the whole softmax where all ids are drawn. */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <string.h>

static mica_graph *graph;
static mica_tensor *fed[4];
static mica_feed feeds[4];
static size_t feed_count;
static bool open_first; /* the first axis of what is given is open in the graph */

static void setup(void) { ck_ok(mica_graph_create(&graph)); }
static void teardown(void) {
  mica_graph_destroy(graph);
  while (feed_count > 0) mica_tensor_destroy(fed[--feed_count]);
}

static mica_value given(mica_dtype dtype, mica_shape shape, const void *data) {
  static const char *const names[] = {"0", "1", "2", "3"};
  ck_ok(mica_tensor_create_from(test_engine(), dtype, shape, data, &fed[feed_count]));
  feeds[feed_count] = (mica_feed){names[feed_count], fed[feed_count]};
  if (open_first && shape.rank > 0) shape.dim[0] = MICA_DYNAMIC;
  return mica_input(graph, names[feed_count++], dtype, shape);
}

/* Runs so often, as `step` counts; out gets `bytes` of the output of each run. */
static void run(mica_value y, size_t runs, void *out, size_t bytes) {
  mica_session *session = NULL;
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, &y, 1, NULL, &session));
  for (size_t i = 0; i < runs; i++) {
    ck_ok(mica_session_run(session, test_queue(), feeds, feed_count));
    ck_assert_uint_eq(mica_tensor_bytes(mica_session_output(session, 0)), bytes);
    ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), (char *)out + i * bytes, bytes));
  }
  mica_session_destroy(session);
}

static mica_value counter(void) {
  mica_value step = mica_parameter(graph, "step", MICA_I64, MICA_SCALAR);
  mica_assign(step, mica_add(step, mica_scalar(graph, MICA_I64, 1)));
  return step;
}

enum { V = 9, D = 3, N = 4, M = 5 };
static const int32_t bags[N * M] = {1, 2, 2, 8, 0, 4, 4, 4, 4, 4, 7, 0, 0, 0, 0, 3, 1, 5, 6, 2};
static const int32_t lengths[N] = {3, 5, 0, 4};

static void fill(float *x, size_t count) {
  for (size_t i = 0; i < count; i++) x[i] = (float)((i * 37) % 23) / 8 - 1;
}

START_TEST(bags_of_rows) {
  float table[V * D], weights[N * M], got[N * D];
  fill(table, V * D);
  for (int i = 0; i < N * M; i++) weights[i] = (float)(i % 7) / 4;
  for (int variant = 0; variant < 16; variant++) {
    const bool cut = variant & 1, weighted = variant & 2, mean = variant & 4;
    open_first = variant & 8;
    mica_value none = {0}, t = given(MICA_F32, MICA_SHAPE(V, D), table);
    mica_value i = given(MICA_I32, MICA_SHAPE(N, M), bags);
    mica_value l = cut ? given(MICA_I32, MICA_SHAPE(N), lengths) : none;
    mica_value w = weighted ? given(MICA_F32, MICA_SHAPE(N, M), weights) : none;
    run(mica_embedding_bag(t, i, l, w, mean ? MICA_BAG_MEAN : MICA_BAG_SUM), 1, got, sizeof got);
    for (int n = 0; n < N; n++)
      for (int d = 0; d < D; d++) {
        double sum = 0, all = 0;
        for (int j = 0; j < (cut ? lengths[n] : M); j++) {
          const double share = weighted ? (double)weights[n * M + j] : 1;
          sum += share * (double)table[bags[n * M + j] * D + d];
          all += share;
        }
        const double want = mean ? all != 0 ? sum / all : 0 : sum;
        ck_assert_msg(fabs((double)got[n * D + d] - want) <= 1e-6 * (1 + fabs(want)), "%d: [%d][%d] %g, not %g",
                      variant, n, d, (double)got[n * D + d], want);
      }
    teardown();
    setup();
  }
  open_first = false;
}
END_TEST

/* Into the first column of rows whose number is open: the other column stays. */
START_TEST(scatters_into_open_rows) {
  static const float x[] = {1, 2, 3, 4, 5, 6}, updates[] = {7, 8}, want[] = {8, 2, 3, 4, 7, 6};
  static const int32_t rows[] = {-1, 0};
  float got[6];
  open_first = true;
  mica_value into = given(MICA_F32, MICA_SHAPE(3, 2), x), at = given(MICA_I32, MICA_SHAPE(2, 1), rows);
  mica_value from = given(MICA_F32, MICA_SHAPE(2, 1), updates);
  open_first = false;
  run(mica_scatter_elements(into, at, from, 0, MICA_SCATTER_SET), 1, got, sizeof got);
  ck_assert_mem_eq(got, want, sizeof got);
}
END_TEST

/* Products of pairs and their gradient: with y = x_i x_j and weights w of the pairs, dx_i = sum of w_ij x_j. */
START_TEST(products_of_pairs) {
  enum { F = 5, PAIRS = F * (F - 1) / 2 };
  float x[N * F * D], w[PAIRS], got[N * PAIRS], slope[N * F * D];
  fill(x, N * F * D);
  for (int k = 0; k < PAIRS; k++) w[k] = (float)(k * k % 7) - 2;
  mica_value v = given(MICA_F32, MICA_SHAPE(N, F, D), x), y = mica_dot_interaction(v), g;
  run(y, 1, got, sizeof got);
  for (int n = 0; n < N; n++)
    for (int i = 1, k = 0; i < F; i++)
      for (int j = 0; j < i; j++, k++) {
        double sum = 0;
        for (int d = 0; d < D; d++) sum += (double)x[(n * F + i) * D + d] * (double)x[(n * F + j) * D + d];
        ck_assert_double_eq_tol((double)got[n * PAIRS + k], sum, 1e-6);
      }
  mica_value weights = mica_constant(graph, MICA_F32, MICA_SHAPE(1, PAIRS), w);
  ck_ok(mica_gradients(mica_sum(mica_mul(y, weights), MICA_ALL_AXES, false), &v, 1, &g));
  run(g, 1, slope, sizeof slope);
  for (int n = 0; n < N; n++)
    for (int a = 0; a < F; a++)
      for (int d = 0; d < D; d++) {
        double sum = 0;
        for (int i = 1, k = 0; i < F; i++)
          for (int j = 0; j < i; j++, k++)
            if (i == a || j == a) sum += (double)w[k] * (double)x[(n * F + (i == a ? j : i)) * D + d];
        ck_assert_double_eq_tol((double)slope[(n * F + a) * D + d], sum, 1e-5);
      }
}
END_TEST

enum { IDS = 11, FIRST = 1, POSITIVES = 64, SAMPLES = 8, RUNS = 40 };

/* The counts of a draw lie within five deviations of what is expected. */
START_TEST(samples) {
  static int32_t positives[POSITIVES], got[RUNS * POSITIVES * SAMPLES];
  static const double popularity[IDS] = {50, 1, 16, 0, 1, 81, 1, 1, 16, 1, 1};
  for (int i = 0; i < POSITIVES; i++) positives[i] = FIRST + i % (IDS - FIRST);
  for (int popular = 0; popular < 2; popular++) {
    const mica_negative_config c = {
        .count = IDS, .first = FIRST, .samples = SAMPLES, .popularity = popular ? popularity : NULL, .seed = 5};
    mica_value p = given(MICA_I32, MICA_SHAPE(POSITIVES), positives);
    run(mica_negative_samples(counter(), p, &c), RUNS, got, sizeof got / RUNS);
    int count[IDS] = {0}, same = 0;
    for (int i = 0; i < RUNS * POSITIVES * SAMPLES; i++) {
      const int32_t id = got[i], positive = positives[i / SAMPLES % POSITIVES];
      ck_assert_msg(id >= FIRST && id < IDS && id != positive, "%d for %d", (int)id, (int)positive);
      count[id]++;
      same += i >= POSITIVES * SAMPLES && got[i] == got[i - POSITIVES * SAMPLES];
    }
    ck_assert_int_lt(same, RUNS * POSITIVES * SAMPLES / 2); /* another step, other ids */
    for (int i = FIRST; i < IDS && !popular; i++) {
      const double mean = (double)RUNS * POSITIVES * SAMPLES / (IDS - FIRST);
      ck_assert_msg(fabs(count[i] - mean) < 5 * sqrt(mean), "%d comes %d times, not %g", i, count[i], mean);
    }
    /* Ids that are positive equally often are drawn as their popularity says. */
    if (popular) {
      ck_assert_int_gt(count[5], 2 * count[2]);
      ck_assert_int_gt(count[2], 4 * count[1]);
      ck_assert_int_lt(count[3], count[1] * 2);
      ck_assert_double_eq_tol((double)count[5] / (double)count[8], pow(81.0 / 16, 0.75), 1.2);
    }
    teardown();
    setup();
  }
}
END_TEST

/* With every id drawn many times the loss is the whole softmax's, whatever it is drawn by. */
START_TEST(sampled) {
  enum { ROWS = 6, CLASSES = 7, DRAWN = 30000 };
  static const double popularity[CLASSES] = {3, 1, 4, 1, 5, 9, 2};
  static const int32_t positives[ROWS] = {0, 3, 6, 5, 2, 3};
  float x[ROWS * D], table[CLASSES * D], bias[CLASSES], got[ROWS];
  fill(x, ROWS * D);
  fill(table, CLASSES * D);
  fill(bias, CLASSES);
  for (int popular = 0; popular < 2; popular++) {
    const mica_negative_config c = {
        .count = CLASSES, .samples = DRAWN, .popularity = popular ? popularity : NULL, .seed = 3};
    mica_value xs = given(MICA_F32, MICA_SHAPE(ROWS, D), x), t = given(MICA_F32, MICA_SHAPE(CLASSES, D), table);
    mica_value b = given(MICA_F32, MICA_SHAPE(CLASSES), bias), p = given(MICA_I32, MICA_SHAPE(ROWS), positives);
    run(mica_sampled_softmax(counter(), xs, t, b, p, &c), 1, got, sizeof got);
    double total = 0;
    for (int v = 0; v < CLASSES; v++) total += popular ? pow(popularity[v], 0.75) : 1;
    for (int n = 0; n < ROWS; n++) {
      double sum = 0, own = 0;
      for (int v = 0; v < CLASSES; v++) {
        const double q = (popular ? pow(popularity[v], 0.75) : 1) / total;
        double s = (double)bias[v];
        for (int d = 0; d < D; d++) s += (double)x[n * D + d] * (double)table[v * D + d];
        /* The positive stands once, the others as often as they are drawn. */
        if (v == positives[n]) own = s - (popular ? log(q) : 0);
        sum += v == positives[n] ? exp(own) : DRAWN * q * exp(s - (popular ? log(q) : 0));
      }
      ck_assert_msg(fabs((double)got[n] - (log(sum) - own)) < 0.1, "%d: %g, not %g", n, (double)got[n], log(sum) - own);
    }
    teardown();
    setup();
  }
}
END_TEST

START_TEST(refused) {
  static const double nothing[4] = {0};
  const mica_negative_config wrong[] = {{.count = 1, .samples = 1},
                                        {.count = 4, .first = 3, .samples = 1},
                                        {.count = 4},
                                        {.count = 1 << 25, .samples = 1},
                                        {.count = 4, .samples = 1, .popularity = nothing}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    mica_value p = mica_input(graph, "p", MICA_I32, MICA_SHAPE(3));
    ck_assert(mica_value_is_null(mica_negative_samples(counter(), p, &wrong[i])));
    ck_assert_int_eq(mica_graph_status(graph), MICA_E_INVALID);
    teardown();
    setup();
  }
  mica_value table = mica_parameter(graph, "t", MICA_F32, MICA_SHAPE(4, 2)), none = {0};
  mica_dot_interaction(mica_input(graph, "v", MICA_F32, MICA_SHAPE(4, 1, 3)));
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_SHAPE);
  ck_assert_ptr_nonnull(strstr(mica_graph_message(graph), "the vectors of a sample, from 2 to 1024"));
  teardown();
  setup();
  table = mica_input(graph, "t", MICA_F32, MICA_SHAPE(V, D));
  mica_embedding_bag(table, mica_input(graph, "i", MICA_I32, MICA_SHAPE(3)), none, none, MICA_BAG_SUM);
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_SHAPE);
}
END_TEST

TESTS(DEVICE, setup, teardown, bags_of_rows, scatters_into_open_rows, products_of_pairs, samples, sampled, refused)
