/* labels: device
 *
 * The choice of attention's kernel on a GPU with matrix units: PoCL under another name, whose driver takes the unit's
 * instructions for their emulation. The kernel is tried first, then taken where it can be, and never again where the
 * trial was wrong or the driver cannot build it. */
#include "base/element.h"
#include "ops/attention/attention.h"
#include "ops/select/mma.h"
#include "ops/units_device.h"

enum { HEADS = 2, LENGTH = 70, COUNT = HEADS * LENGTH * 64 };

static mica_engine *engine;

/* Causal attention of heads of that size, as a session of the engine has it. */
static void attend(mica_engine *on, int64_t size, uint16_t *y_data) {
  const mica_shape shape = MICA_SHAPE(1, HEADS, LENGTH, size);
  static uint16_t data[COUNT];
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_feed feeds[3];
  mica_tensor *fed[3];
  mica_value in[3];
  ck_ok(mica_graph_create(&graph));
  for (int k = 0; k < 3; k++) {
    const char *const names[] = {"q", "k", "v"};
    /* From -1 to 1 in steps of 1/8, in f16. */
    for (int i = 0; i < COUNT; i++)
      mica__element_set(MICA_F16, data, i, (double)((i * (k + 3) + i / 64 * 5) % 17 - 8) / 8);
    in[k] = mica_input(graph, names[k], MICA_F16, shape);
    ck_ok(mica_tensor_create_from(on, MICA_F16, shape, data, &fed[k]));
    feeds[k] = (mica_feed){names[k], fed[k]};
  }
  mica_value y = mica_attention(in[0], in[1], in[2], &(mica_attention_config){.causal = true});
  ck_ok(mica_session_create(on, graph, &y, 1, NULL, &session));
  ck_ok(mica_session_run(session, mica_engine_queue(on), feeds, 3));
  const mica_tensor *got = mica_session_output(session, 0);
  ck_ok(mica_tensor_download(mica_engine_queue(on), got, y_data, mica_tensor_bytes(got)));
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  for (int k = 0; k < 3; k++) mica_tensor_destroy(fed[k]);
}

/* Within the rounding of weights and result: values are at most 1. */
static void expect_right(int64_t size) {
  static uint16_t want[COUNT], got[COUNT];
  attend(engine, size, got);
  attend(test_engine(), size, want);
  for (int64_t i = 0; i < HEADS * LENGTH * size; i++)
    ck_assert_double_eq_tol(mica__element_get(MICA_F16, got, i), mica__element_get(MICA_F16, want, i), 0x1p-9);
}

enum { PRODUCTS, UNITS, TILES, PROGRAMS };
#define PROGRAMS_OF(spoil_, with_)                                                                                     \
  {                                                                                                                    \
    {.has = "void mma_trial("}, {.has = "void attention_mma(", .spoil = spoil_, .with = with_}, {                      \
      .has = "attention_gpu("                                                                                          \
    }                                                                                                                  \
  }

START_TEST(a_right_kernel_is_taken) {
  units_program made[PROGRAMS] = PROGRAMS_OF(NULL, NULL);
  engine = units_open("gfx1100", made, PROGRAMS);
  expect_right(64);
  ck_assert_int_eq(made[PRODUCTS].made, 1);
  ck_assert_int_eq(made[UNITS].made, 1);
  ck_assert_int_eq(made[TILES].made, 0);
  /* Heads that are no pieces of 16 bytes are left to the other kernel. */
  expect_right(60);
  ck_assert_int_eq(made[UNITS].made, 1);
  ck_assert_int_eq(made[TILES].made, 1);
  units_close(engine);
}
END_TEST

START_TEST(a_wrong_kernel_is_left) {
  units_program made[PROGRAMS] = PROGRAMS_OF("/ sum[i][r]", "*");
  engine = units_open("gfx1101", made, PROGRAMS);
  expect_right(64);
  ck_assert_int_eq(made[PRODUCTS].made, 1);
  ck_assert_int_eq(made[UNITS].made, 1);
  ck_assert_int_eq(made[TILES].made, 1);
  /* The verdict stays: nothing is tried twice. */
  expect_right(32);
  ck_assert_int_eq(made[UNITS].made, 1);
  units_close(engine);
}
END_TEST

/* Nor is what the driver cannot build asked for again, and the result is none the worse. */
START_TEST(a_kernel_that_does_not_build_is_left) {
  units_program made[] = {{.has = "attention_gpu(", .spoil = "attention_gpu(", .with = "attention_gpu["},
                          {.has = "attention_naive("}};
  engine = units_open("gfx1102", made, 2);
  expect_right(60);
  expect_right(60);
  ck_assert_int_eq(made[0].made, 1);
  ck_assert_int_eq(made[1].made, 1);
  units_close(engine);
}
END_TEST

TESTS(DEVICE, NULL, NULL, a_right_kernel_is_taken, a_wrong_kernel_is_left, a_kernel_that_does_not_build_is_left)
