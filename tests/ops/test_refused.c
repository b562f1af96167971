/* labels: device
 *
 * A driver that refuses a kernel's instructions: the engine that was refused computes with the next implementation and
 * does not ask again. Another engine of the process, whose driver takes them, is not affected. */
#include "ops/matmul/gemm.h"
#include "ops/quant/int8.h"
#include "runtime/host_cpu.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/fault_api.h"

#include <mica/mica.h>
#include <string.h>

enum { M = 40, K = 64, N = 48 };

static int sign_a(int i, int k) { return (i * 7 + k * 3 + i * k / 5) % 2 ? 1 : -1; }
static int sign_b(int k, int j) { return (j * 5 + k + j * k / 3) % 2 ? 1 : -1; }
static int sum_at(int i, int j) {
  int sum = 0;
  for (int k = 0; k < K; k++) sum += sign_a(i, k) * sign_b(k, j);
  return sum;
}

/* A product of ones and minus ones in bf16 and in bytes, and what is chosen for them. */
typedef struct product {
  mica_engine *engine;
  mica_tensor *a, *b, *y;
} product;

static product product_create(mica_engine *engine, mica_dtype type, mica_dtype result) {
  static uint16_t a16[M * K], b16[K * N];
  static int8_t a8[M * K], b8[K * N];
  product p = {.engine = engine};
  for (int n = 0; n < M * K; n++) {
    a8[n] = (int8_t)sign_a(n / K, n % K);
    a16[n] = a8[n] < 0 ? 0xbf80 : 0x3f80;
  }
  for (int n = 0; n < K * N; n++) {
    b8[n] = (int8_t)sign_b(n / N, n % N);
    b16[n] = b8[n] < 0 ? 0xbf80 : 0x3f80;
  }
  const bool bytes = type == MICA_I8;
  ck_ok(mica_tensor_create_from(engine, type, MICA_SHAPE(M, K), bytes ? (const void *)a8 : a16, &p.a));
  ck_ok(mica_tensor_create_from(engine, type, MICA_SHAPE(K, N), bytes ? (const void *)b8 : b16, &p.b));
  ck_ok(mica_tensor_create(engine, result, MICA_SHAPE(M, N), &p.y));
  return p;
}

static void product_destroy(product *p) {
  mica_tensor_destroy(p->a);
  mica_tensor_destroy(p->b);
  mica_tensor_destroy(p->y);
}

static const char *chosen_gemm(const product *p) {
  mica__gemm gemm;
  ck_ok(mica__gemm_problem(mica_engine_queue(p->engine), NULL, p->a, p->b, NULL, NULL, p->y, &gemm));
  return mica__choose(p->engine, mica__gemm_impls, &gemm, "gemm").impl->name;
}

static void expect_gemm(const product *p) {
  static uint16_t y[M * N];
  ck_ok(mica_op_gemm(mica_engine_queue(p->engine), NULL, p->a, p->b, NULL, NULL, p->y));
  ck_ok(mica_tensor_download(mica_engine_queue(p->engine), p->y, y, sizeof y));
  for (int n = 0; n < M * N; n++) {
    const uint32_t bits = (uint32_t)y[n] << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    ck_assert_int_eq((int)value, sum_at(n / N, n % N));
  }
}

static const mica__int8_attrs int8_attrs = {.present = 3, .to = MICA_I32, .low = -INFINITY, .high = INFINITY};

static const char *chosen_int8(const product *p) {
  const mica_tensor *const in[] = {p->a, p->b};
  const mica__exec exec = {
      .queue = mica_engine_queue(p->engine), .attrs = &int8_attrs, .inputs = in, .input_count = 2, .output = p->y};
  const mica__int8 problem = {.exec = &exec,
                              .attrs = &int8_attrs,
                              .in = {p->a, p->b},
                              .batches = 1,
                              .row_batches = 1,
                              .m = M,
                              .n = N,
                              .depth = K};
  return mica__choose(p->engine, mica__int8_impls, &problem, "int8").impl->name;
}

static void expect_int8(const product *p) {
  static int32_t y[M * N];
  const mica_tensor *const in[] = {p->a, p->b};
  ck_ok(mica__op_int8_matmul.launch(&(mica__exec){
      .queue = mica_engine_queue(p->engine), .attrs = &int8_attrs, .inputs = in, .input_count = 2, .output = p->y}));
  ck_ok(mica_tensor_download(mica_engine_queue(p->engine), p->y, y, sizeof y));
  for (int n = 0; n < M * N; n++) ck_assert_int_eq(y[n], sum_at(n / N, n % N));
}

static mica_engine *engine_create(void) {
  mica_engine *engine = NULL;
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = ""}, &engine));
  return engine;
}

START_TEST(another_engine_still_takes_tiles) {
  mica__host_assume_tiles(true);
  fault_install(mica__cl_loader());
  fault_build("MICA_HAS_AMX=1", NULL);
  mica_engine *refused = engine_create();
  product p = product_create(refused, MICA_BF16, MICA_BF16), q = product_create(refused, MICA_I8, MICA_I32);
  ck_assert_str_eq(chosen_gemm(&p), "gemm_amx");
  ck_assert_str_eq(chosen_int8(&q), "int8_cpu_amx");
  for (int call = 0; call < 2; call++) {
    expect_gemm(&p);
    expect_int8(&q);
    ck_assert_str_ne(chosen_gemm(&p), "gemm_amx");
    ck_assert_str_ne(chosen_int8(&q), "int8_cpu_amx");
  }

  fault_build(NULL, NULL);
  mica_engine *other = engine_create();
  product r = product_create(other, MICA_BF16, MICA_BF16), s = product_create(other, MICA_I8, MICA_I32);
  ck_assert_str_eq(chosen_gemm(&r), "gemm_amx");
  ck_assert_str_eq(chosen_int8(&s), "int8_cpu_amx");
  ck_assert_str_ne(chosen_gemm(&p), "gemm_amx");
  product *const all[] = {&p, &q, &r, &s};
  for (int i = 0; i < 4; i++) product_destroy(all[i]);
  mica_engine_destroy(refused);
  mica_engine_destroy(other);
  fault_remove();
  mica__host_assume_tiles(false);
}
END_TEST

/* With tiles and dot products of bytes both refused, what is left is the kernel of pairs; another engine computes with
 * dot products. */
START_TEST(another_engine_still_takes_dot_products) {
  fault_install(mica__cl_loader());
  fault_build("MICA_HAS_AMX=1", "MICA_HAS_VPDPBUSD=1");
  mica_engine *refused = engine_create();
  product p = product_create(refused, MICA_I8, MICA_I32);
  const bool tiles = !strcmp(chosen_int8(&p), "int8_cpu_amx");
  if (!tiles) ck_assert_str_eq(chosen_int8(&p), "int8_cpu_vnni");
  expect_int8(&p);
  ck_assert_str_eq(chosen_int8(&p), "int8_cpu");

  fault_build("MICA_HAS_AMX=1", NULL);
  mica_engine *other = engine_create();
  product q = product_create(other, MICA_I8, MICA_I32);
  expect_int8(&q);
  ck_assert_str_eq(chosen_int8(&q), "int8_cpu_vnni");
  ck_assert_str_eq(chosen_int8(&p), "int8_cpu");
  product_destroy(&p);
  product_destroy(&q);
  mica_engine_destroy(refused);
  mica_engine_destroy(other);
  fault_remove();
}
END_TEST

static bool has_tiles(void) {
  if (test_is_listed()) return true;
  mica__host_assume_tiles(true);
  const mica_device_info *device = mica_engine_device(test_engine());
  const bool tiles = mica__host_has_tiles(device) && device->vector_bytes >= MICA__LONG_VECTOR;
  mica__host_assume_tiles(false);
  return tiles;
}
static bool has_dots(void) {
  if (test_is_listed()) return true;
  const mica_device_info *device = mica_engine_device(test_engine());
  return mica__host_has_vnni(device) && device->vector_bytes >= MICA__LONG_VECTOR;
}
static const char *lacks_assembly(void) {
  return has_tiles() || has_dots() ? NULL : "assembly is for PoCL on a processor with AVX-512";
}

TESTS(BOTH(DEVICE, lacks_assembly()), NULL, NULL, has_tiles() ? another_engine_still_takes_tiles : &test_none,
      has_dots() ? another_engine_still_takes_dot_products : &test_none)
