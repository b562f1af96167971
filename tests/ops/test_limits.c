/* labels: device single
 *
 * Small and odd devices, made of this one by support/limited_api.h: where a kernel does not fit another takes over,
 * whose name is printed, and results stay right; what cannot be done at all ends in a sentence. Every device test runs
 * on such a device where MICA_TEST_LIMITS describes it. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/limited_api.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct limited {
  const char *name, *limits;
  const char *vector, *matrix; /* kernels of the products with a vector and with a matrix */
} limited;

static const limited devices[] = {
    {"a CPU", "class=cpu", "gemm_tile", "gemm_tile"},
    {"a CPU with little", "class=cpu group=64 local=16384 bits=32 nofp64", "gemm_tile", "gemm_tile"},
    {"a CPU with short vectors", "class=cpu vectors=8", "gemm_tile", "gemm_tile"},
    {"a GPU", "class=gpu", "gemv_gpu", "gemm_gpu"},
    {"a GPU with groups of 64", "class=gpu group=64 local=16384 bits=32 nofp64", "gemm_direct", "gemm_gpu"},
    {"a GPU with little local memory", "class=gpu local=4096", "gemv_gpu", "gemm_naive"},
};

enum { CPUS = 3 }; /* of them, which come first */

static mica_engine *begin(const char *limits) {
  mica_engine *engine = NULL;
  ck_assert(limited_install(limits));
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = ""}, &engine));
  return engine;
}

static void end(mica_engine *engine) {
  test_count_launches(mica_engine_stats(engine).launches);
  mica_engine_destroy(engine);
}

static float *random_floats(int64_t count) {
  float *x = malloc((size_t)count * sizeof *x);
  ck_assert_ptr_nonnull(x);
  for (int64_t i = 0; i < count; i++) x[i] = (float)((i * 7919 + 13) % 1009) / 504.5f - 1;
  return x;
}

static mica_tensor *tensor(mica_engine *engine, mica_shape shape, const float *data) {
  mica_tensor *t = NULL;
  if (data)
    ck_ok(mica_tensor_create_from(engine, MICA_F32, shape, data, &t));
  else
    ck_ok(mica_tensor_create(engine, MICA_F32, shape, &t));
  return t;
}

/* The kernels since the profile began, "gemm_tile" or "a, b". */
static void kernels_since(mica_engine *engine, char names[256]) {
  mica_profile_row rows[8];
  size_t count = 0, at = 0;
  ck_ok(mica_profile_stop(engine));
  ck_ok(mica_profile_rows(engine, rows, 8, &count));
  names[0] = '\0';
  for (size_t i = 0; i < count && i < 8; i++)
    at += (size_t)snprintf(names + at, 256 - at, "%s%s", at ? ", " : "", rows[i].kernel);
}

static void check_product(const limited *device, mica_engine *engine, int64_t m, int64_t n, int64_t k,
                          const char *kernel) {
  float *a = random_floats(m * k), *b = random_floats(k * n), *d = random_floats(m * n);
  mica_tensor *ta = tensor(engine, MICA_SHAPE(m, k), a), *tb = tensor(engine, MICA_SHAPE(k, n), b);
  mica_tensor *td = tensor(engine, MICA_SHAPE(m, n), NULL);
  char names[256];
  ck_ok(mica_profile_start(engine));
  ck_ok(mica_op_gemm(mica_engine_queue(engine), NULL, ta, tb, NULL, NULL, td));
  ck_ok(mica_tensor_download(mica_engine_queue(engine), td, d, (size_t)(m * n) * sizeof *d));
  kernels_since(engine, names);
  for (int64_t i = 0; i < m * n; i++) {
    double want = 0;
    for (int64_t l = 0; l < k; l++) want += (double)a[i / n * k + l] * (double)b[l * n + i % n];
    ck_assert_double_eq_tol((double)d[i], want, 1e-6 * (double)k);
  }
  printf("%s: product %d x %d x %d by %s\n", device->name, (int)m, (int)n, (int)k, names);
  ck_assert_str_eq(names, kernel);
  mica_tensor_destroy(ta);
  mica_tensor_destroy(tb);
  mica_tensor_destroy(td);
  free(a);
  free(b);
  free(d);
}

START_TEST(products) {
  const limited *device = &devices[_i];
  mica_engine *engine = begin(device->limits);
  check_product(device, engine, 1, 300, 200, device->vector);
  check_product(device, engine, 170, 190, 130, device->matrix);
  end(engine);
}
END_TEST

/* Rows that a group shares, with a costly value that is kept in local memory where there is some, and reductions. */
START_TEST(rows) {
  enum { ROWS = 5, LENGTH = 1000 };
  const limited *device = &devices[_i];
  mica_engine *engine = begin(device->limits);
  mica_queue *queue = mica_engine_queue(engine);
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  float *x = random_floats(ROWS * LENGTH), y[ROWS * LENGTH], sums[ROWS];
  mica_tensor *tx = tensor(engine, MICA_SHAPE(ROWS, LENGTH), x), *tsums = tensor(engine, MICA_SHAPE(ROWS), NULL);
  char names[256];
  ck_ok(mica_graph_create(&graph));
  mica_value out = mica_softmax(mica_erf(mica_input(graph, "x", MICA_F32, MICA_SHAPE(ROWS, LENGTH))), -1);
  ck_ok(mica_session_create(engine, graph, &out, 1, NULL, &session));
  ck_ok(mica_profile_start(engine));
  ck_ok(mica_session_run(session, queue, &(mica_feed){"x", tx}, 1));
  ck_ok(mica_op_reduce(queue, MICA_REDUCTION_SUM, tx, -1, tsums));
  ck_ok(mica_tensor_download(queue, mica_session_output(session, 0), y, sizeof y));
  ck_ok(mica_tensor_download(queue, tsums, sums, sizeof sums));
  kernels_since(engine, names);
  for (int r = 0; r < ROWS; r++) {
    const float *row = x + (ptrdiff_t)r * LENGTH;
    double sum = 0, sum_exp = 0;
    for (int i = 0; i < LENGTH; i++) sum += (double)row[i], sum_exp += exp(erf((double)row[i]));
    ck_assert_double_eq_tol((double)sums[r], sum, 1e-3);
    for (int i = 0; i < LENGTH; i++)
      ck_assert_double_eq_tol((double)y[r * LENGTH + i], exp(erf((double)row[i])) / sum_exp, 1e-7);
  }
  printf("%s: rows of %d by %s\n", device->name, LENGTH, names);
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  mica_tensor_destroy(tx);
  mica_tensor_destroy(tsums);
  free(x);
  end(engine);
}
END_TEST

typedef struct problem {
  const char *name;
  int64_t n, c, size, k, taps;
  int32_t groups;
} problem;

/* The filters' gradient, and the kernels that made it. */
static float *filter_gradient(mica_engine *engine, const problem *p, int64_t count, char names[256]) {
  mica_queue *queue = mica_engine_queue(engine);
  int64_t x_count = p->n * p->c * p->size * p->size, y_count = p->n * p->k * p->size * p->size;
  float *x = random_floats(x_count), *y = random_floats(y_count), *w = random_floats(count);
  mica_tensor *tx = tensor(engine, MICA_SHAPE(p->n, p->c, p->size, p->size), x);
  mica_tensor *ty = tensor(engine, MICA_SHAPE(p->n, p->k, p->size, p->size), y);
  mica_tensor *tw = tensor(engine, MICA_SHAPE(p->k, p->c / p->groups, p->taps, p->taps), NULL);
  const mica_conv_config config = {.pad = {p->taps / 2, p->taps / 2}, .groups = p->groups};
  ck_ok(mica_profile_start(engine));
  ck_ok(mica_op_conv_bwd_filter(queue, &config, tx, ty, tw));
  ck_ok(mica_tensor_download(queue, tw, w, (size_t)count * sizeof *w));
  kernels_since(engine, names);
  mica_tensor_destroy(tx);
  mica_tensor_destroy(ty);
  mica_tensor_destroy(tw);
  free(x);
  free(y);
  return w;
}

/* On the CPU each takes more local memory than the one with little has. */
static const problem problems[] = {
    {"depthwise", 2, 32, 40, 32, 3, 32},    {"a filter a channel", 2, 2, 70, 2, 5, 2},
    {"few channels", 2, 3, 70, 8, 3, 1},    {"many channels", 1, 8, 60, 48, 3, 1},
    {"a large filter", 1, 9, 20, 17, 9, 1},
};

START_TEST(filter_gradients) {
  const problem *p = &problems[_i];
  int64_t count = p->k * (p->c / p->groups) * p->taps * p->taps;
  char names[CPUS][256];
  float *dw[CPUS];
  for (int d = 0; d < CPUS; d++) {
    mica_engine *engine = begin(devices[d].limits);
    dw[d] = filter_gradient(engine, p, count, names[d]);
    end(engine);
    printf("%s: filters' gradient, %s, by %s\n", devices[d].name, p->name, names[d]);
  }
  float bound = 1e-5f * (float)(p->n * p->size * p->size);
  for (int d = 1; d < CPUS; d++)
    for (int64_t i = 0; i < count; i++) ck_assert_float_eq_tol(dw[0][i], dw[d][i], bound);
  for (int d = 0; d < CPUS; d++) free(dw[d]);
}
END_TEST

/* PoCL's number of a CPU may be another vendor's. */
START_TEST(the_vendor_is_what_the_text_says) {
  static const struct {
    const char *limits;
    mica_vendor vendor;
  } cases[] = {
      {"vendor=AuthenticAMD vendor_id=32902", MICA_VENDOR_AMD},
      {"vendor=GenuineIntel vendor_id=4098", MICA_VENDOR_INTEL},
      {"vendor=NVIDIA vendor_id=32902", MICA_VENDOR_NVIDIA},
      {"vendor=unknown vendor_id=5045", MICA_VENDOR_ARM},
      {"vendor=unknown vendor_id=1", MICA_VENDOR_OTHER},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mica_device_info info;
    ck_assert(limited_install(cases[i].limits));
    ck_ok(mica_device_find(NULL, &info));
    ck_assert_int_eq(info.vendor, cases[i].vendor);
  }
}
END_TEST

START_TEST(what_cannot_be_done_is_said) {
  mica_engine *engine = begin("buffer=1048576 nofp64");
  mica_tensor *t = NULL;
  ck_assert_int_eq(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(1024, 1024), &t), MICA_E_DEVICE_MEMORY);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "1048576"));
  ck_assert_int_eq(mica_tensor_create(engine, MICA_F64, MICA_SHAPE(8), &t), MICA_E_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "double"));
  ck_assert_ptr_null(t);
  end(engine);
}
END_TEST

static const char *lacks_device(void) {
  mica_device_info info;
  return mica_device_find(NULL, &info) == MICA_OK ? NULL : "no device";
}

TESTS(lacks_device(), NULL, NULL, LOOP(products, 0, sizeof devices / sizeof *devices),
      LOOP(rows, 0, sizeof devices / sizeof *devices), LOOP(filter_gradients, 0, sizeof problems / sizeof *problems),
      the_vendor_is_what_the_text_says, what_cannot_be_done_is_said)
