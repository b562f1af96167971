/* labels: device
 *
 * The choice of the kernel for products of bytes on a GPU with matrix units (units_device.h): tried once, taken where
 * it is right, and left where it is not; the results are the reference's to the bit. */
#include "ops/quant/int8.h"
#include "ops/units_device.h"

enum { M = 37, K = 150, N = 70, UNITS = 0, PLAIN = 1, PROGRAMS = 2 };

static int8_t a_at(int i, int k) { return (int8_t)((i * 31 + k * 7) % 256 - 128); }
static int8_t b_at(int k, int j) { return (int8_t)((k * 13 + j * 101) % 256 - 128); }

static void expect_right(mica_engine *engine) {
  static int8_t a[M * K], b[K * N];
  static int32_t y[M * N];
  const mica__int8_attrs attrs = {.present = 3, .to = MICA_I32, .low = -INFINITY, .high = INFINITY};
  mica_queue *queue = mica_engine_queue(engine);
  mica_tensor *x[2], *out = NULL;
  for (int n = 0; n < M * K; n++) a[n] = a_at(n / K, n % K);
  for (int n = 0; n < K * N; n++) b[n] = b_at(n / N, n % N);
  ck_ok(mica_tensor_create_from(engine, MICA_I8, MICA_SHAPE(M, K), a, &x[0]));
  ck_ok(mica_tensor_create_from(engine, MICA_I8, MICA_SHAPE(K, N), b, &x[1]));
  ck_ok(mica_tensor_create(engine, MICA_I32, MICA_SHAPE(M, N), &out));
  const mica_tensor *const in[] = {x[0], x[1]};
  ck_ok(mica__op_int8_matmul.launch(
      &(mica__exec){.queue = queue, .attrs = &attrs, .inputs = in, .input_count = 2, .output = out}));
  ck_ok(mica_tensor_download(queue, out, y, sizeof y));
  for (int n = 0; n < M * N; n++) {
    int32_t sum = 0;
    for (int k = 0; k < K; k++) sum += a_at(n / N, k) * b_at(k, n % N);
    ck_assert_int_eq(y[n], sum);
  }
  mica_tensor_destroy(out);
  mica_tensor_destroy(x[0]);
  mica_tensor_destroy(x[1]);
}

/* Twice: nothing is tried or built again. */
static void expect_programs(const char *name, const char *spoil, const char *with, int plain) {
  units_program made[PROGRAMS] = {{.has = "void int8_mma(", .spoil = spoil, .with = with}, {.has = "int8_gpu("}};
  mica_engine *engine = units_open(name, made, PROGRAMS);
  for (int call = 0; call < 2; call++) {
    expect_right(engine);
    ck_assert_int_eq(made[UNITS].made, 1);
    ck_assert_int_eq(made[PLAIN].made, plain);
  }
  units_close(engine);
}

START_TEST(a_right_kernel_is_taken) { expect_programs("gfx90a", NULL, NULL, 0); }
END_TEST

START_TEST(a_wrong_kernel_is_left) { expect_programs("gfx942", "int t = *SUMS(1, n", "int t = *SUMS(1, 0", 1); }
END_TEST

TESTS(DEVICE, NULL, NULL, a_right_kernel_is_taken, a_wrong_kernel_is_left)
