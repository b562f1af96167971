/* labels: device single
 *
 * The tuner: what it lists, measures, keeps and refuses. */
#include "ops/conv/conv.h"
#include "ops/matmul/gemm.h"
#include "ops/select/choice.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <mica/tune.h>
#include <stdio.h>
#include <string.h>

/* An engine without a cache directory, so that tests beside this one choose as shipped. */
static mica_engine *engine;

static void open_engine(void) { ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = ""}, &engine)); }

static void close_engine(void) {
  test_count_launches(mica_engine_stats(engine).launches);
  mica_engine_destroy(engine);
}

START_TEST(problems_are_parsed) {
  static const char *const good[] = {"gemm 1,1,1",
                                     "gemm 5,6,7,tt",
                                     "gemm 8,9,10,nt,f16",
                                     "gemm 3,3,3,x4,bf16",
                                     "gemm 17,5,33,tn,x2,i8",
                                     "conv fwd,n2,c3,h9,k4,r3,p1",
                                     "conv bwd_data,n2,c3,h9x7,k4,r3x2,s2x1,f16",
                                     "conv bwd_filter,n1,c4,h2x5x4,k4,r2x1x3,g2,d1x2x1",
                                     "conv bf16,fwd,k1,h5,c1,n1",
                                     "conv bwd_filter,n2,c16,h8,k16,r3,p1",
                                     "conv bwd_data,n2,c16,h8,k16,r3,s2,p1,o4"};
  static const char *const bad[] = {"",
                                    "gemm",
                                    "gemm 1,2",
                                    "gemm 0,1,1",
                                    "gemm 1,2,3,4",
                                    "conv 1,2",
                                    "gemm 1,2,3,no",
                                    "gemm 1,2,3,,nn",
                                    "gemm 1;2;3",
                                    "gemm 1,2,3,x0",
                                    "gem 1,2,3",
                                    "gemm 1,2,-3",
                                    "gemm 1,2,3,f99",
                                    "gemm 1,2,3,x1y",
                                    "conv",
                                    "conv fwd",
                                    "conv n1,c1,h1,k1",
                                    "conv fwd,n1,c1,h1",
                                    "conv fwd,n1,c3,h4,k4,g2",
                                    "conv fwd,n1,c1,h4,k1,r5",
                                    "conv fwd,n1,c1,h4,k1,q5",
                                    "conv fwd,n1,c1,h4x,k1",
                                    "conv fwd,n1x2,c1,h4,k1",
                                    "conv fwd,,n1,c1,h4,k1",
                                    "conv fwd,n1,c1,h4,k1,",
                                    "conv fwd,n0,c1,h4,k1",
                                    "conv fwd,n1,n2,c1,h4,k1",
                                    "conv fwd,n1,c1,h4,k1,s0",
                                    "conv fwd,n1,c1,h4,k1,d0",
                                    "conv fwd,n1,c1,h4x4,k1,r3x3x3",
                                    "conv fwd,n1,c1,h2x2x2x2,k1"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    mica_tuner *tuner = NULL;
    double seconds = 0;
    ck_ok(mica_tuner_create(engine, good[i], &tuner));
    ck_assert_uint_gt(mica_tuner_count(tuner), 0);
    ck_assert_double_gt(mica_tuner_flops(tuner), 0);
    ck_ok(mica_tuner_measure(tuner, 0, 1e-3, &seconds));
    ck_assert_double_gt(seconds, 0);
    ck_assert_int_eq(mica_tuner_keep(tuner, 0, -1), MICA_E_INVALID);
    ck_assert_int_eq(mica_tuner_keep(tuner, 0, 0), MICA_E_INVALID);
    ck_assert_int_eq(mica_tuner_keep(tuner, 0, (double)INFINITY), MICA_E_INVALID);
    mica_tuner_destroy(tuner);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    mica_tuner *tuner = NULL;
    ck_assert_msg(mica_tuner_create(engine, bad[i], &tuner) == MICA_E_FORMAT, "\"%s\"", bad[i]);
  }
}
END_TEST

START_TEST(the_best_is_chosen_afterwards) {
  mica_tuner *tuner = NULL;
  size_t naive = 0;
  ck_ok(mica_tuner_create(engine, "gemm 40,41,42", &tuner));
  /* The slowest, which the list alone would not choose. */
  ck_ok(mica_tuner_add(tuner, "gemm_naive any", &naive));
  ck_ok(mica_tuner_keep(tuner, naive, 1e-3));
  char known[MICA__TUNING_TEXT];
  ck_assert(mica__tuning_best(engine, mica_tuner_key(tuner), known));
  ck_assert_str_eq(known, "gemm_naive any");
  /* In quarantine it is not chosen, whatever was kept; nor listed. */
  ck_ok(mica_tuner_quarantine(tuner, naive, "a test says so"));
  ck_assert_int_eq(mica_tuner_add(tuner, "gemm_naive any", &naive), MICA_E_NOT_FOUND);
  mica_tuner_destroy(tuner);
}
END_TEST

/* Winograd's implementations have bounds of their own. */
START_TEST(all_ways_to_a_convolution_are_right) {
  static const char *const problems[] = {"conv fwd,n3,c32,h14,k32,r3,p1", "conv bwd_data,n3,c32,h14,k32,r3,p1",
                                         "conv bwd_filter,n3,c32,h14,k32,r3,p1"};
  for (size_t p = 0; p < sizeof problems / sizeof *problems; p++) {
    mica_tuner *tuner = NULL;
    bool winograd = false;
    ck_ok(mica_tuner_create(engine, problems[p], &tuner));
    for (size_t i = 0; i < mica_tuner_count(tuner); i++) {
      double seconds = 0;
      mica_status status = mica_tuner_measure(tuner, i, 1e-3, &seconds);
      ck_assert_msg(status == MICA_OK, "%s, %s: %s", problems[p], mica_tuner_candidate(tuner, i), mica_error_message());
      if (!strncmp(mica_tuner_candidate(tuner, i), "winograd", 8)) winograd = true;
    }
    ck_assert(winograd || mica_engine_device(engine)->device_class != MICA_DEVICE_CLASS_CPU);
    mica_tuner_destroy(tuner);
  }
}
END_TEST

/* A convolution says of itself what a tuner needs to make the same problem. */
START_TEST(a_convolution_knows_its_problem) {
  const mica_conv_config config = {
      .stride = {2, 1}, .pad = {1, 2}, .pad_more = {1, 0}, .dilation = {1, 2}, .groups = 2};
  char key[MICA__TUNING_TEXT], problem[MICA__TUNING_TEXT];
  mica_tensor *x = NULL, *w = NULL, *y = NULL;
  mica_tuner *tuner = NULL;
  mica__conv conv;
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(3, 4, 10, 9), &x));
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(6, 2, 4, 3), &w));
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(3, 6, 5, 9), &y));
  ck_ok(mica__conv_problem(mica_engine_queue(engine), MICA__CONV_BWD_DATA, &config, x, w, y, NULL, &conv));
  mica__conv_key(&conv, key);
  ck_assert(mica__conv_tuner_problem(&conv, problem));
  ck_ok(mica_tuner_create(engine, problem, &tuner));
  ck_assert_str_eq(mica_tuner_key(tuner), key);
  mica_tuner_destroy(tuner);
  mica_tensor_destroy(x);
  mica_tensor_destroy(w);
  mica_tensor_destroy(y);
}
END_TEST

START_TEST(what_can_be_tuned_is_listed) {
  mica_tunable tunable;
  size_t count = 0;
  for (; mica_tunable_get(count, &tunable); count++) {
    char problem[MICA__TUNING_TEXT];
    mica_tuner *tuner = NULL;
    ck_assert(*tunable.summary && *tunable.syntax && tunable.problems[0]);
    snprintf(problem, sizeof problem, "%s %s", tunable.op, tunable.problems[0]);
    ck_ok(mica_tuner_create(engine, problem, &tuner));
    mica_tuner_destroy(tuner);
  }
  ck_assert_uint_eq(count, 2);
  ck_assert(!mica_tunable_get(0, NULL));
}
END_TEST

START_TEST(candidates_are_listed_once_and_widened) {
  mica_tuner *tuner = NULL;
  ck_ok(mica_tuner_create(engine, "gemm 64,64,64", &tuner));
  for (size_t i = 0; i < mica_tuner_count(tuner); i++) {
    size_t index = 0, before = mica_tuner_count(tuner);
    ck_ok(mica_tuner_add(tuner, mica_tuner_candidate(tuner, i), &index));
    ck_assert_uint_eq(index, i);
    ck_assert_uint_eq(mica_tuner_count(tuner), before);
    ck_ok(mica_tuner_widen(tuner, i));
    if (mica_tuner_count(tuner) > 40) break;
  }
  ck_assert_ptr_null(mica_tuner_candidate(tuner, mica_tuner_count(tuner)));
  ck_assert_int_eq(mica_tuner_add(tuner, "gemm_naive any NO=1", &(size_t){0}), MICA_E_NOT_FOUND);
  ck_assert_int_eq(mica_tuner_add(tuner, "no_such any", &(size_t){0}), MICA_E_NOT_FOUND);
  mica_tuner_destroy(tuner);
}
END_TEST

START_TEST(an_engine_may_tune_by_itself) {
  mica_engine *tuning = NULL;
  float data[20 * 20] = {0};
  char known[MICA__TUNING_TEXT];
  mica_tensor *a = NULL, *d = NULL;
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = "", .tune = true}, &tuning));
  for (size_t i = 0; i < sizeof data / sizeof *data; i++) data[i] = (float)i / 400;
  ck_ok(mica_tensor_create_from(tuning, MICA_F32, MICA_SHAPE(20, 20), data, &a));
  ck_ok(mica_tensor_create(tuning, MICA_F32, MICA_SHAPE(20, 20), &d));
  ck_ok(mica_op_gemm(mica_engine_queue(tuning), NULL, a, a, NULL, NULL, d));
  ck_assert(mica__tuning_best(tuning, "gemm f32*f32>f32 m20 n20 k20 nn x1", known));
  mica_tensor *x = NULL, *w = NULL, *y = NULL;
  ck_ok(mica_tensor_create_from(tuning, MICA_F32, MICA_SHAPE(1, 4, 10, 10), data, &x));
  ck_ok(mica_tensor_create_from(tuning, MICA_F32, MICA_SHAPE(5, 4, 2, 2), data, &w));
  ck_ok(mica_tensor_create(tuning, MICA_F32, MICA_SHAPE(1, 5, 9, 9), &y));
  ck_ok(mica_op_conv_fwd(mica_engine_queue(tuning), NULL, x, w, NULL, y));
  ck_assert(mica__tuning_best(tuning, "conv fwd f32 n1 g1 c4 k5 i1x10x10 r1x2x2 o1x9x9 s1x1x1 p0x0x0 d1x1x1", known));
  mica_tensor_destroy(x);
  mica_tensor_destroy(w);
  mica_tensor_destroy(y);
  mica_tensor_destroy(a);
  mica_tensor_destroy(d);
  mica_engine_destroy(tuning);
}
END_TEST

/* References that never decline, because they have no `decline`, can be the tuner's best as well. */
START_TEST(references_may_be_the_best) {
  enum { N = 101 };
  float numbers[N], boxes[N * 4], sorted[N];
  int32_t kept[N];
  for (int i = 0; i < N; i++) {
    numbers[i] = (float)(i * 37 % N);
    for (int k = 0; k < 4; k++) boxes[i * 4 + k] = (float)(2 * i + k / 2);
  }
  ck_ok(mica__tuning_keep(engine, "sort", "radix_gpu", 1e-3));
  ck_ok(mica__tuning_keep(engine, "nms", "nms_rows", 1e-3));
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_tensor *x = NULL, *b = NULL;
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(N), numbers, &x));
  ck_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(N, 4), boxes, &b));
  mica_value scores = mica_input(graph, "x", MICA_F32, MICA_SHAPE(N));
  mica_value corners = mica_input(graph, "b", MICA_F32, MICA_SHAPE(N, 4));
  const mica_value outputs[] = {mica_sort(scores, 0, false).values, mica_nms(corners, scores, NULL).kept};
  ck_ok(mica_session_create(engine, graph, outputs, 2, NULL, &session));
  ck_ok(mica_session_run(session, mica_engine_queue(engine), (const mica_feed[]){{"x", x}, {"b", b}}, 2));
  ck_ok(mica_tensor_download(mica_engine_queue(engine), mica_session_output(session, 0), sorted, sizeof sorted));
  ck_ok(mica_tensor_download(mica_engine_queue(engine), mica_session_output(session, 1), kept, sizeof kept));
  for (int i = 0; i < N; i++) {
    ck_assert_float_eq(sorted[i], (float)i);
    ck_assert_float_eq(numbers[kept[i]], (float)(N - 1 - i));
  }
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  mica_tensor_destroy(x);
  mica_tensor_destroy(b);
}
END_TEST

TESTS(DEVICE, open_engine, close_engine, problems_are_parsed, the_best_is_chosen_afterwards, references_may_be_the_best,
      candidates_are_listed_once_and_widened, all_ways_to_a_convolution_are_right, a_convolution_knows_its_problem,
      what_can_be_tuned_is_listed, an_engine_may_tune_by_itself)
