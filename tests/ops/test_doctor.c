/* labels: device single
 *
 * The doctor's quarantine: a variant found wrong, and only such a one, is not chosen again until it is found right. And
 * its report: no implementation is passed over in silence. */
#include "ops/conv/conv.h"
#include "ops/layout/strided_copy.h"
#include "ops/matmul/gemm.h"
#include "ops/quant/int8.h"
#include "ops/reduce/reduce.h"
#include "ops/select/launch_check.h"
#include "ops/select/registry.h"
#include "runtime/kernel.h"
#include "runtime/tuning.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/fault_api.h"

#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

START_TEST(a_variant_in_quarantine_is_not_chosen) {
  /* An engine without a cache directory, so that tests beside this one do not see the quarantine. */
  mica_engine *engine = NULL;
  const mica__variant *first = NULL, *other = NULL;
  char name[MICA__TUNING_TEXT];
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = ""}, &engine));
  ck_ok(mica__kernel_choose(engine, &mica__reduce_rows, &first));
  snprintf(name, sizeof name, "reduce_rows.%s", first->name);
  ck_ok(mica__tuning_quarantine(engine, name, "a test says so"));
  ck_ok(mica__kernel_choose(engine, &mica__reduce_rows, &other));
  ck_assert_ptr_ne(first, other);
  /* The other class's variant does the work, and rightly. */
  const float x_data[3] = {1, 2, 4};
  float sum = 0;
  mica_tensor *x = NULL, *y = NULL;
  ck_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(3), x_data, &x));
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(1), &y));
  ck_ok(mica_op_reduce(mica_engine_queue(engine), MICA_REDUCTION_SUM, x, 0, y));
  ck_ok(mica_tensor_download(mica_engine_queue(engine), y, &sum, sizeof sum));
  ck_assert_float_eq(sum, 7);
  for (int v = 0; v < mica__reduce_rows.variant_count; v++) {
    snprintf(name, sizeof name, "reduce_rows.%s", mica__reduce_rows.variants[v].name);
    ck_ok(mica__tuning_quarantine(engine, name, "a test says so"));
  }
  ck_assert_int_eq(mica__kernel_choose(engine, &mica__reduce_rows, &other), MICA_E_UNSUPPORTED);
  ck_assert_int_eq(mica_op_reduce(mica_engine_queue(engine), MICA_REDUCTION_SUM, x, 0, y), MICA_E_UNSUPPORTED);
  mica_tensor_destroy(x);
  mica_tensor_destroy(y);
  mica_engine_destroy(engine);
}
END_TEST

static bool has_none(const mica_device_info *device) {
  (void)device;
  return false;
}

/* A check of another class of devices takes the variant whose vectors and instructions this device has; without one,
 * the first. */
START_TEST(a_check_takes_vectors_and_instructions_that_the_device_has) {
  static const mica__kernel_param params[] = {{.macro = "NUMBER"}};
  const mica__variant variants[] = {
      {.name = "cpu", .classes = MICA__ON_CPU, .values = {1}},
      {.name = "longest", .classes = MICA__ON_GPU, .vector_bytes = UINT32_MAX, .values = {2}},
      {.name = "foreign", .classes = MICA__ON_GPU, .has_instruction = has_none, .values = {3}},
      {.name = "any", .classes = MICA__ON_GPU, .values = {4}},
  };
  mica__kernel_desc desc = {.name = "none", .params = params, .param_count = 1, .variants = variants};
  const mica__exec exec = {.queue = mica_engine_queue(test_engine()), .classes = MICA__ON_GPU};
  int32_t values[MICA__MAX_PARAMS] = {0};
  desc.variant_count = 4;
  ck_ok(mica__exec_values(&exec, &desc, values));
  ck_assert_int_eq(values[0], 4);
  desc.variant_count = 3;
  ck_ok(mica__exec_values(&exec, &desc, values));
  ck_assert_int_eq(values[0], 2);
}
END_TEST

static void look(void *user, const mica_doctor_line *line) {
  ck_assert_msg(line->status == MICA_OK || line->status == MICA_E_UNSUPPORTED, "%s", line->message);
  ++*(size_t *)user;
}

START_TEST(an_examination_passes_and_acquits) {
  mica_doctor_summary summary = {0};
  size_t lines = 0;
  /* Not the default on a CPU; on a GPU tests beside this one take the other variant meanwhile. */
  const char *name = "reduce_rows.gpu";
  ck_ok(mica__tuning_quarantine(test_engine(), name, "a test says so"));
  ck_ok(mica_doctor_run(test_engine(), "reduce", look, &lines, &summary));
  ck_assert_uint_eq(summary.failed, 0);
  ck_assert_int_eq(mica_doctor_run(test_engine(), "no_such_op", look, &lines, &summary), MICA_E_NOT_FOUND);
  ck_assert_uint_gt(summary.passed, 0);
  ck_assert_uint_eq(lines, summary.passed + summary.skipped);
  ck_assert(!mica__tuning_is_bad(test_engine(), name));
}
END_TEST

/* --- launches that choose through mica__exec_values --- */

/* y = f(x) of six numbers, run on the engine. */
static mica_status run_op(mica_engine *engine, mica_value (*build)(mica_value x), float *y) {
  static const float data[6] = {3, 1, 2, 6, 5, 4};
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_tensor *x = NULL;
  ck_ok(mica_graph_create(&graph));
  mica_value out = build(mica_input(graph, "x", MICA_F32, MICA_SHAPE(1, 1, 1, 6)));
  ck_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(1, 1, 1, 6), data, &x));
  mica_status status = mica_session_create(engine, graph, &out, 1, NULL, &session);
  if (status == MICA_OK) status = mica_session_run(session, mica_engine_queue(engine), &(mica_feed){"x", x}, 1);
  if (status == MICA_OK) {
    const mica_tensor *output = mica_session_output(session, 0);
    status = mica_tensor_download(mica_engine_queue(engine), output, y, mica_tensor_bytes(output));
  }
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  mica_tensor_destroy(x);
  return status;
}

static mica_value two_largest(mica_value x) { return mica_top_k(x, 2, 3, false).values; }
static mica_value running_sum(mica_value x) { return mica_cumsum(x, 3, false, false); }
static mica_value pooled(mica_value x) { return mica_max_pool(x, &(mica_pool_config){.size = {1, 2}}); }
static mica_value picked(mica_value x) {
  static const int32_t indices[2] = {3, 0};
  return mica_gather(x, mica_constant(x.graph, MICA_I32, MICA_SHAPE(2), indices), 3);
}

START_TEST(launches_heed_the_quarantine) {
  static const struct {
    const char *kernel, *bad; /* "" for the variant of the device's class */
    mica_value (*build)(mica_value x);
    size_t count;
    float want[6];
  } cases[] = {
      {"cumulative", "", running_sum, 6, {3, 4, 6, 12, 17, 21}},
      {"gather", "", picked, 2, {6, 3}},
      {"max_pool_lines", "cpu", pooled, 3, {3, 6, 5}},
  };
  const char *class = mica__kernel_class(mica_engine_device(test_engine())) == MICA__ON_CPU ? "cpu" : "gpu";
  mica_profile_row rows[8];
  size_t count = 0;
  float y[6];
  mica_engine *engine = NULL;
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = ""}, &engine));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char name[MICA__TUNING_TEXT];
    snprintf(name, sizeof name, "%s.%s", cases[i].kernel, *cases[i].bad ? cases[i].bad : class);
    ck_ok(mica__tuning_quarantine(engine, name, "a test says so"));
    ck_ok(mica_profile_start(engine));
    ck_ok(run_op(engine, cases[i].build, y));
    ck_ok(mica_profile_stop(engine));
    for (size_t k = 0; k < cases[i].count; k++) ck_assert_float_eq(y[k], cases[i].want[k]);
    if (!*cases[i].bad) continue;
    ck_ok(mica_profile_rows(engine, rows, 8, &count));
    for (size_t r = 0; r < count; r++) ck_assert_str_ne(rows[r].kernel, cases[i].kernel);
  }
  /* No variant is left: the sentence says what helps, and it does. */
  ck_ok(run_op(engine, two_largest, y));
  ck_ok(mica__tuning_quarantine(engine, "top_k.any", "a test says so"));
  ck_assert_int_eq(run_op(engine, two_largest, y), MICA_E_UNSUPPORTED);
  ck_assert_msg(strstr(mica_error_message(), "`mica doctor top_k`") != NULL, "%s", mica_error_message());
  mica_doctor_summary summary = {0};
  ck_ok(mica_doctor_run(engine, "top_k", NULL, NULL, &summary));
  ck_ok(run_op(engine, two_largest, y));
  ck_assert_float_eq(y[0], 6);
  mica_engine_destroy(engine);
}
END_TEST

/* --- implementations and copies --- */

static const char *takes_all(const mica__task *task) {
  (void)task;
  return NULL;
}

/* An implementation that would take its kernel's first variant gets another in its place. */
START_TEST(an_implementation_gets_the_variant_that_is_left) {
  static const mica__impl general = {.name = "general", .kernel = &mica__reduce_rows, .decline = takes_all};
  static const mica__impl special = {.name = "special", .kernel = &mica__reduce_columns, .decline = takes_all};
  static const mica__impl *const list[] = {&special, &general, NULL};
  const mica_device_info *device = mica_engine_device(test_engine());
  const mica__variant *first = mica__kernel_variant(&mica__reduce_columns, device), *other = NULL;
  mica_engine *engine = NULL;
  char name[MICA__TUNING_TEXT];
  int problem = 0;
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = ""}, &engine));
  ck_assert_ptr_eq(mica__choose(engine, list, &problem, "a test").task.variant, NULL);
  snprintf(name, sizeof name, "reduce_columns.%s", first->name);
  ck_ok(mica__tuning_quarantine(engine, name, "a test says so"));
  ck_ok(mica__kernel_choose(engine, &mica__reduce_columns, &other));
  mica__choice choice = mica__choose(engine, list, &problem, "a test");
  ck_assert_ptr_eq(choice.impl, &special);
  ck_assert_ptr_ne(other, first);
  ck_assert_ptr_eq(choice.task.variant, other);
  /* Found wrong as an implementation: the next has its turn, with a variant of its own choice. */
  snprintf(name, sizeof name, "special.%s", other->name);
  ck_ok(mica__tuning_quarantine(engine, name, "a test says so"));
  choice = mica__choose(engine, list, &problem, "a test");
  ck_assert_ptr_eq(choice.impl, &general);
  ck_assert_ptr_eq(choice.task.variant, NULL);
  mica_engine_destroy(engine);
}
END_TEST

START_TEST(copies_heed_the_quarantine) {
  const float data[4] = {1, 2, 3, 4};
  const mica__access from = {0, {1, 2}}, to = {0, {2, 1}};
  mica_tensor *x = NULL, *y = NULL;
  mica_engine *engine = NULL;
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = ""}, &engine));
  ck_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(2, 2), data, &x));
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(2, 2), &y));
  mica_queue *queue = mica_engine_queue(engine);
  ck_ok(mica__strided_copy(queue, NULL, MICA_SHAPE(2, 2), x, &from, y, &to));
  ck_ok(mica__tuning_quarantine(engine, "strided_copy.cpu", "a test says so"));
  ck_ok(mica__tuning_quarantine(engine, "strided_copy.gpu", "a test says so"));
  ck_assert_int_eq(mica__strided_copy(queue, NULL, MICA_SHAPE(2, 2), x, &from, y, &to), MICA_E_UNSUPPORTED);
  mica_tensor_destroy(x);
  mica_tensor_destroy(y);
  mica_engine_destroy(engine);
}
END_TEST

static mica_status wrong_reference(const mica__eval *eval) {
  MICA_TRY(mica__op_cumsum.evaluate(eval));
  eval->output[0] += 1e6;
  return MICA_OK;
}

static mica_status check_wrongly(mica__check *check) {
  static const mica__launch_case list[] = {{.inputs = {{MICA_F32, {1, {4}}}}, .input_count = 1, .terms = 4}};
  mica__op wrong = mica__op_cumsum;
  wrong.evaluate = wrong_reference;
  return mica__check_launches(check, &wrong, "wrong", list, 1);
}

static void find_wrong(void *user, const mica_doctor_line *line) {
  unsigned *found = user;
  ck_assert_str_eq(line->kernel, "cumulative");
  ck_assert_int_eq(line->status, MICA_E_NUMERIC);
  if (!strcmp(line->variant, "cpu")) *found |= MICA__ON_CPU;
  if (!strcmp(line->variant, "gpu")) *found |= MICA__ON_GPU;
}

/* What a check finds wrong has the name by which launches look for it. */
START_TEST(a_wrong_launch_is_filed_by_kernel_and_variant) {
  mica__op op = mica__op_cumsum;
  mica_doctor_summary summary = {0};
  unsigned found = 0;
  op.check = check_wrongly;
  ck_ok(mica__check_run(test_engine(), &op, MICA__CHECK_QUICK, find_wrong, &found, &summary));
  ck_assert_uint_eq(found, MICA__ON_ANY);
  ck_assert_uint_eq(summary.failed, 2);
}
END_TEST

/* --- kernels that are declined --- */

/* Asks for a kernel and then fails, as on a device without a compiler whose bundle lacks the kernel. */
static mica_status launch_unsupported(mica_queue *queue, const mica__task *task) {
  int32_t values[MICA__MAX_PARAMS];
  (void)queue;
  MICA_TRY(mica__exec_variant(task->problem, &mica__reduce_columns, &mica__reduce_columns.variants[0], values));
  MICA_TRY(mica__op_cumsum.launch(task->problem)); /* the other implementation launches the same kernel */
  return mica__fail(MICA_E_UNSUPPORTED, "a test says so");
}

static mica_status launch_cumsum(mica_queue *queue, const mica__task *task) {
  (void)queue;
  return mica__op_cumsum.launch(task->problem);
}

static mica_status launch_either(const mica__exec *exec) {
  static const mica__impl lame = {.name = "lame", .decline = takes_all, .launch = launch_unsupported};
  static const mica__impl good = {.name = "good", .decline = takes_all, .launch = launch_cumsum};
  static const mica__impl *const list[] = {&lame, &good, NULL};
  return mica__exec_choose(exec, list, exec, "a test");
}

static mica_status check_either(mica__check *check) {
  static const mica__launch_case list[] = {{.inputs = {{MICA_F32, {1, {4}}}}, .input_count = 1, .terms = 4}};
  mica__op either = mica__op_cumsum;
  either.launch = launch_either;
  return mica__check_launches_on(check, &either, "either", MICA__ON_CPU, list, 1);
}

static void note_either(void *user, const mica_doctor_line *line) {
  size_t *seen = user;
  const bool lame = !strcmp(line->kernel, "reduce_columns"), good = !strcmp(line->kernel, "cumulative");
  seen[0] += lame && line->status == MICA_E_UNSUPPORTED;
  seen[1] += good && line->status == MICA_OK;
  seen[2] += lame && line->status != MICA_E_UNSUPPORTED;
}

/* A kernel that did not run is skipped, not right, although another implementation gave the result. */
START_TEST(a_kernel_that_did_not_run_is_not_right) {
  mica__op op = mica__op_cumsum;
  mica_doctor_summary summary = {0};
  size_t seen[3] = {0};
  op.check = check_either;
  ck_ok(mica__check_run(test_engine(), &op, MICA__CHECK_QUICK, note_either, seen, &summary));
  ck_assert_uint_eq(seen[0], 1);
  ck_assert_uint_eq(seen[1], 1);
  ck_assert_uint_eq(seen[2], 0);
}
END_TEST

/* --- kernels that do not build --- */

static void fault_begin(void) { fault_install(mica__cl_loader()); }

static void note_failure(void *user, const mica_doctor_line *line) {
  char *failed = user;
  if (line->status == MICA_OK || line->status == MICA_E_UNSUPPORTED) return;
  ck_assert_int_eq(line->status, MICA_E_BUILD);
  snprintf(failed, 64, "%s.%s", line->kernel, line->variant);
}

/* Ops that choose from several implementations: in a check the next one does not stand in for one that does not build,
 * in a launch it does. */
START_TEST(a_kernel_that_does_not_build_fails_its_check) {
  static const char *const ops[] = {"max_pool", "max_pool_grad", "top_k", "nms", "sort", "attention"};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
    mica_engine *engine = NULL;
    mica_doctor_summary summary = {0};
    char failed[64] = "";
    ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = ""}, &engine));
    fault_arm(FAULT_BuildProgram, 1, CL_BUILD_PROGRAM_FAILURE);
    ck_ok(mica_doctor_run(engine, ops[i], note_failure, failed, &summary));
    ck_assert_int_eq(fault_fired(), FAULT_BuildProgram);
    ck_assert_msg(summary.failed == 1, "%s: %zu failed", ops[i], summary.failed);
    ck_assert_msg(mica__tuning_is_bad(engine, failed), "%s", failed);
    mica_engine_destroy(engine);
  }
  float y[6];
  mica_engine *engine = NULL;
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = ""}, &engine));
  fault_arm(FAULT_BuildProgram, 1, CL_BUILD_PROGRAM_FAILURE);
  ck_ok(run_op(engine, pooled, y));
  ck_assert_int_eq(fault_fired(), FAULT_BuildProgram);
  ck_assert_float_eq(y[2], 5);
  mica_engine_destroy(engine);
}
END_TEST

/* --- what says nothing of a kernel --- */

START_TEST(memory_that_is_short_quarantines_nothing) {
  mica_engine *engine = NULL;
  mica_doctor_summary summary = {.passed = 77};
  ck_ok(mica_engine_create(&(mica_engine_config){.cache_dir = ""}, &engine));
  /* The first allocation: for a later one what the engine keeps idle would be given back, and it tried again. */
  fault_arm(FAULT_CreateBuffer, 1, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  ck_assert_int_eq(mica_doctor_run(engine, "top_k", NULL, NULL, &summary), MICA_E_DEVICE_MEMORY);
  ck_assert_int_eq(fault_fired(), FAULT_CreateBuffer);
  ck_assert_uint_eq(summary.passed, 77);
  fault_arm(FAULT_ANY, 0, 0);
  ck_assert(!mica__tuning_is_bad(engine, "top_k.any"));
  ck_assert(!mica__tuning_is_bad(engine, "top_k.cpu"));
  float y[2];
  ck_ok(run_op(engine, two_largest, y));
  ck_ok(mica_doctor_run(engine, "top_k", NULL, NULL, &summary));
  ck_assert_uint_eq(summary.failed, 0);
  mica_engine_destroy(engine);
}
END_TEST

/* --- what was not run --- */

typedef struct coverage {
  char names[1 << 14]; /* of implementations with cases */
  size_t without;
} coverage;

static void note_coverage(void *user, const mica_doctor_line *line) {
  coverage *c = user;
  size_t at = strlen(c->names);
  if (line->status == MICA_OK) {
    char name[128];
    snprintf(name, sizeof name, " %s.%.16s ", line->kernel, line->cases);
    if (!strstr(c->names, name)) snprintf(c->names + at, sizeof c->names - at, "%s", name);
    return;
  }
  printf("%s %s %s: %s\n", line->kernel, line->variant, line->cases, line->message);
  c->without++;
}

START_TEST(every_implementation_has_cases) {
  static const mica__op *const ops[] = {&mica__op_conv, &mica__op_gemm};
  for (size_t i = 0; i < 2; i++)
    for (int full = 0; full < 2; full++) {
      static coverage c;
      c = (coverage){.without = 0};
      mica_doctor_summary summary = {0};
      ck_ok(mica__check_list(test_engine(), ops[i], full ? MICA__CHECK_FULL : MICA__CHECK_QUICK, note_coverage, &c,
                             &summary));
      ck_assert_uint_eq(c.without, 0);
      for (const mica__impl *const *impl = mica__gemm_impls; ops[i] == &mica__op_gemm && *impl; impl++)
        ck_assert_msg(strstr(c.names, (*impl)->name) != NULL, "%s", (*impl)->name);
      for (int pass = 0; ops[i] == &mica__op_conv && pass < MICA__CONV_PASSES; pass++)
        for (const mica__impl *const *impl = mica__conv_impls[pass]; *impl; impl++)
          ck_assert_msg(strstr(c.names, (*impl)->name) != NULL, "%s", (*impl)->name);
    }
}
END_TEST

static void note_rows_of_bytes(void *user, const mica_doctor_line *line) {
  ck_assert_int_ne(line->status, MICA_E_NUMERIC);
  if (!strcmp(line->kernel, "max_pool_rows") && strstr(line->cases, "2 cases")) ++*(size_t *)user;
}

/* Both types of bytes have a case with rows long enough for the kernel of rows. */
START_TEST(both_types_of_bytes_reach_the_kernel_of_rows) {
  mica_doctor_summary summary = {0};
  size_t lines = 0;
  ck_ok(
      mica__check_run(test_engine(), &mica__op_int8_max_pool, MICA__CHECK_QUICK, note_rows_of_bytes, &lines, &summary));
  ck_assert_uint_eq(lines, 1);
}
END_TEST

/* The lines about GPUs, each as "kernel.variant". */
typedef struct gpu_lines {
  char names[256][80];
  size_t count;
} gpu_lines;

static void note_gpu_line(void *user, const mica_doctor_line *line) {
  gpu_lines *seen = user;
  if (!strstr(line->cases, " as on a gpu")) return;
  ck_assert_uint_lt(seen->count, sizeof seen->names / sizeof *seen->names);
  snprintf(seen->names[seen->count++], sizeof *seen->names, "%s.%s", line->kernel, line->variant);
}

/* A kernel of 8-bit products has a line per list of cases: for all devices, for processors' instructions, and for
 * filters of one channel. A processor's variants add no line for GPUs. */
START_TEST(variants_for_cpus_repeat_no_check_for_gpus) {
  static gpu_lines seen;
  mica_doctor_summary summary = {0};
  seen.count = 0;
  ck_ok(mica__check_run(test_engine(), &mica__op_int8_conv, MICA__CHECK_QUICK, note_gpu_line, &seen, &summary));
  ck_assert_uint_eq(summary.failed, 0);
  ck_assert_uint_gt(seen.count, 0);
  for (size_t i = 0; i < seen.count; i++) {
    size_t lines = 0;
    for (size_t k = 0; k < seen.count; k++) lines += !strcmp(seen.names[i], seen.names[k]);
    ck_assert_msg(lines <= 3, "%s has %zu lines", seen.names[i], lines);
  }
}
END_TEST

static mica_status check_nothing(mica__check *check) {
  return mica__check_launches(check, &mica__op_cumsum, "none", NULL, 0);
}

static void expect_no_case(void *user, const mica_doctor_line *line) {
  ck_assert_str_eq(line->kernel, "cumulative");
  ck_assert_int_eq(line->status, MICA_E_UNSUPPORTED);
  ck_assert_str_eq(line->message, MICA__NO_CASE);
  ++*(size_t *)user;
}

START_TEST(what_no_case_runs_is_named) {
  mica__op op = mica__op_cumsum;
  mica_doctor_summary summary = {0};
  size_t lines = 0;
  op.check = check_nothing;
  ck_ok(mica__check_run(test_engine(), &op, MICA__CHECK_QUICK, expect_no_case, &lines, &summary));
  ck_assert_uint_eq(lines, 2);
  ck_assert_uint_eq(summary.skipped, 2);

  /* Nor is one excused that asks for what this device has. */
  mica__kernel_desc kernel = **op.kernels;
  mica__variant variant = kernel.variants[0];
  variant.vector_bytes = mica_engine_device(test_engine())->vector_bytes;
  kernel.variants = &variant;
  kernel.variant_count = 1;
  op.kernels = (const mica__kernel_desc *const[]){&kernel, NULL};
  ck_ok(mica__check_run(test_engine(), &op, MICA__CHECK_QUICK, expect_no_case, &lines, &summary));
  ck_assert_uint_eq(lines, 3);
}
END_TEST

START_TEST(a_kernel_names_its_op) {
  mica_doctor_summary summary = {0};
  ck_ok(mica_doctor_run(test_engine(), "cumulative", NULL, NULL, &summary));
  ck_assert_uint_gt(summary.passed, 0);
  ck_assert_int_eq(mica_doctor_run(test_engine(), "softmax", NULL, NULL, &summary), MICA_E_NOT_FOUND);
  ck_assert_msg(strstr(mica_error_message(), "scale_add, functions, reduce, gemm, conv"), "%s", mica_error_message());
}
END_TEST

TEST_GROUPS(DEVICE,
            EACH(NULL, NULL, a_variant_in_quarantine_is_not_chosen,
                 a_check_takes_vectors_and_instructions_that_the_device_has, an_examination_passes_and_acquits,
                 launches_heed_the_quarantine, an_implementation_gets_the_variant_that_is_left,
                 copies_heed_the_quarantine, a_wrong_launch_is_filed_by_kernel_and_variant,
                 a_kernel_that_did_not_run_is_not_right),
            EACH(fault_begin, fault_remove, a_kernel_that_does_not_build_fails_its_check,
                 memory_that_is_short_quarantines_nothing),
            EACH(NULL, NULL, every_implementation_has_cases, both_types_of_bytes_reach_the_kernel_of_rows,
                 variants_for_cpus_repeat_no_check_for_gpus, what_no_case_runs_is_named, a_kernel_names_its_op))
