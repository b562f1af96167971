/* labels: device single
 *
 * Lesson 2: a matrix product, checked and timed. d = a b for matrices of N rows and columns; a handful of its elements
 * are computed again on the host in double precision, and the speed is that of products queued one behind another.
 *
 *   build/bin/samples/02_matrix_product [N]
 *
 * Exit status 0 when right, 1 when not, 77 where there is no device. */
#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DEFAULT_SIZE 1024
#define CHECKED 100
#define REPEATS 20

static double now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Any numbers will do, but no zeros: hardware is quick with those. */
static void fill(float *x, size_t count, unsigned seed) {
  for (size_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = (float)(seed >> 8) / (float)(1u << 23) - 1;
  }
}

/* The largest error of some elements, as a share of what rounding n products to single precision may cost. */
static double worst_error(const float *a, const float *b, const float *d, size_t n) {
  double worst = 0;
  for (size_t i = 0; i < CHECKED; i++) {
    size_t row = i * 7919 % n, col = i * 104729 % n;
    double sum = 0, magnitude = 0;
    for (size_t k = 0; k < n; k++) {
      double product = (double)a[row * n + k] * (double)b[k * n + col];
      sum += product;
      magnitude += fabs(product);
    }
    double share = fabs((double)d[row * n + col] - sum) / (ldexp(1, -24) * (4 + 2 * sqrt((double)n)) * magnitude);
    /* A NaN compares false, and must count as wrong. */
    if (!(share <= worst)) worst = share;
  }
  return worst;
}

/* Calls on a queue return when the work is queued; only finish waits. */
static mica_status time_products(mica_queue *queue, const mica_tensor *a, const mica_tensor *b, mica_tensor *d,
                                 double *seconds) {
  mica_status status = mica_queue_finish(queue);
  double begin = now();
  for (int i = 0; !status && i < REPEATS; i++) status = mica_op_gemm(queue, NULL, a, b, NULL, NULL, d);
  if (!status) status = mica_queue_finish(queue);
  *seconds = (now() - begin) / REPEATS;
  return status;
}

int main(int argc, char **argv) {
  size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : DEFAULT_SIZE;
  if (n == 0 || n > 1u << 14) {
    fprintf(stderr, "the size must be a whole number from 1 to %u\n", 1u << 14);
    return 2;
  }
  size_t count = n * n, bytes = count * sizeof(float);
  float *a_data = malloc(bytes), *b_data = malloc(bytes), *d_data = malloc(bytes);
  mica_engine *engine = NULL;
  mica_tensor *a = NULL, *b = NULL, *d = NULL;
  mica_shape shape = MICA_SHAPE((int64_t)n, (int64_t)n);
  double seconds = 0, worst = INFINITY;

  mica_status status = a_data && b_data && d_data ? mica_engine_create(NULL, &engine) : MICA_E_NOMEM;
  if (!status) {
    fill(a_data, count, 1);
    fill(b_data, count, 2);
    status = mica_tensor_create_from(engine, MICA_F32, shape, a_data, &a);
  }
  if (!status) status = mica_tensor_create_from(engine, MICA_F32, shape, b_data, &b);
  if (!status) status = mica_tensor_create(engine, MICA_F32, shape, &d);
  if (!status) status = mica_op_gemm(mica_engine_queue(engine), NULL, a, b, NULL, NULL, d);
  if (!status) status = mica_tensor_download(mica_engine_queue(engine), d, d_data, bytes);
  if (!status) worst = worst_error(a_data, b_data, d_data, n);
  if (!status) status = time_products(mica_engine_queue(engine), a, b, d, &seconds);

  if (status) {
    fprintf(stderr, "%s\n", mica_error_message());
  } else {
    printf("%zu x %zu x %zu on %s\n", n, n, n, mica_engine_device(engine)->name);
    printf("%s: the error is at most %.2f of what rounding allows\n", worst <= 1 ? "right" : "WRONG", worst);
    printf("%.1f GFLOP/s, %.2f ms a product\n", 2e-9 * (double)n * (double)count / seconds, seconds * 1e3);
  }
  mica_tensor_destroy(d);
  mica_tensor_destroy(b);
  mica_tensor_destroy(a);
  mica_engine_destroy(engine);
  free(d_data);
  free(b_data);
  free(a_data);
  return status == MICA_E_NO_DEVICE ? 77 : status || !(worst <= 1);
}
